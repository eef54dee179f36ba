"""Starts that count as matched are complete in every run: random programs with a library that
remembers every request."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.requests.matching import Match, Matched, Unmatched, matching
from support.analysed import Analysed

# The library: a request is a number that was never given before; what is active has its start line.
CHANCE = """\
module chance
  implicit none
  integer :: state = 1, fuel = 0, here = 0
contains
  integer function coin(n)
    integer, intent(in) :: n
    fuel = fuel - 1
    state = modulo(state*75 + 74, 65537)
    coin = 0
    if (fuel > 0) coin = modulo(state/7, n)
  end function coin
end module chance
"""
LIBRARY = """\
module mpi
  use chance, only: here, coin
  implicit none
  integer, parameter :: mpi_integer = 1, mpi_comm_world = 2, mpi_status_size = 6
  integer :: mpi_status_ignore(6), mpi_statuses_ignore(6,1)
  integer :: given = 0, started(0:999999) = 0
contains
  subroutine mpi_irecv(buf, count, datatype, source, tag, comm, request, ierror)
    integer :: buf, count, datatype, source, tag, comm, request, ierror
    if (number(request) > 0) print '(a, 2i6)', 'again', started(number(request)), here
    given = given + 1
    request = 77000000 + given
    started(given) = here
  end subroutine mpi_irecv
  subroutine mpi_wait(request, status, ierror)
    integer :: request, status(6), ierror
    if (number(request) > 0) then
      print '(a, 2i6)', 'complete', started(number(request)), here
      started(number(request)) = 0
    end if
    request = 0
  end subroutine mpi_wait
  subroutine mpi_waitall(count, requests, statuses, ierror)
    integer :: count, requests(*), statuses(6,*), ierror, k
    do k = 1, count
      call mpi_wait(requests(k), mpi_status_ignore, ierror)
    end do
  end subroutine mpi_waitall
  subroutine mpi_test(request, flag, status, ierror)
    integer :: request, status(6), ierror
    logical :: flag
    flag = coin(2) > 0
    if (flag) call mpi_wait(request, status, ierror)
  end subroutine mpi_test
  integer function number(request)
    integer, intent(in) :: request
    number = request - 77000000
    if (number < 1 .or. number > given) then
      number = 0
    else if (started(number) == 0) then
      number = 0
    end if
  end function number
  subroutine left_over()
    integer :: k
    do k = 1, given
      if (started(k) /= 0) print '(a, 2i6)', 'left', started(k), 0
    end do
    started = 0
  end subroutine left_over
end module mpi
"""
HEAD = """\
  use mpi
  use chance
  implicit none
  integer, intent(in) :: n, m
  integer :: b, r, q, rs(400), i, j, k, l, ierr
  logical :: flag
  k = 0
"""
MAIN = """\
program main
  use mpi
  use chance
  implicit none
  integer :: seed, n, m
  do seed = 1, 24
    n = modulo(seed, 4)
    m = modulo(seed / 4, 4)
{calls}
  end do
end program main
"""


class Writer:
    """One random procedure with requests; lines are counted from ``first``."""

    def __init__(self, name: str, random: Random, first: int) -> None:
        self.random, self.first = random, first
        self.lines = [f"subroutine {name}(n, m)", *HEAD.splitlines()]
        self.labels = 0
        for _ in range(random.randrange(3, 8)):
            self.statement(0, ())
        if random.random() < 0.7:
            self.call(self.pick("MPI_Waitall(6, rs, MPI_STATUSES_IGNORE, ierr)", *self.waits()))
        if self.labels:
            self.lines.append("10 continue")
            if random.random() < 0.7:
                self.call(self.pick(*self.waits()))
        self.lines.append(f"end subroutine {name}")

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def call(self, what: str, guard: str = "") -> None:
        self.lines.append(f"here = {self.first + len(self.lines) + 1}")
        self.lines.append(f"{guard}call {what}")

    def waits(self, *more: str) -> list[str]:
        single = ("r", "r", "q", "rs(1)", "rs(2)", *more)
        found = [f"MPI_Wait({x}, MPI_STATUS_IGNORE, ierr)" for x in single]
        for count, first in (
            ("2", "rs"),
            ("n", "rs"),
            ("2*n", "rs"),
            ("n", "rs(n+1)"),
            ("k", "rs"),
        ):
            found.append(f"MPI_Waitall({count}, {first}, MPI_STATUSES_IGNORE, ierr)")
        return [*found, "MPI_Test(r, flag, MPI_STATUS_IGNORE, ierr)"]

    def start(self, *more: str) -> str:
        request = self.pick("r", "r", "q", "rs(1)", "rs(2)", *more, *more)
        return f"MPI_Irecv(b, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, {request}, ierr)"

    def statement(self, depth: int, indices: tuple[str, ...]) -> None:
        more = [f"rs({x})" for i in indices for x in (i, f"2*{i}", f"2*{i}-1", f"n+{i}", f"7-{i}")]
        kind = self.random.choices(
            ["start", "wait", "guarded", "loop", "fill", "if", "leave", "set", "counted"],
            [5, 5, 3, 2 if depth < 2 else 0, 3 if depth < 2 else 0, 3 if depth < 2 else 0, 1, 1, 2],
        )[0]
        condition = self.pick("coin(2) > 0", "n > 1", "m > 1", ".not. n > 1")
        match kind:
            case "start":
                self.call(self.start(*more))
            case "wait":
                self.call(self.pick(*self.waits(*more)))
            case "guarded":
                what = self.start(*more) if self.random.random() < 0.5 else self.pick(*self.waits())
                self.call(what, f"if ({condition}) ")
            case "loop":
                variable = "ij"[depth]
                bounds = self.pick("1, n", "1, n", "n, 1, -1", "1, 2", "2, n")
                self.lines.append(f"do {variable} = {bounds}")
                for _ in range(self.random.randrange(1, 3)):
                    self.statement(depth + 1, (*indices, variable))
                self.lines.append("end do")
            case "fill":
                variable = "ij"[depth]
                one = self.pick(variable, f"2*{variable}", f"n+{variable}", f"7-{variable}")
                last, other = self.pick("n", "n", "3"), self.pick("n", "n", "3")
                self.lines.append(f"do {variable} = 1, {last}")
                self.call(f"MPI_Irecv(b, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, rs({one}), ierr)")
                self.lines.append("end do")
                if self.random.random() < 0.6:
                    self.lines.append(f"do {variable} = {other}, 1, -1")
                    self.call(f"MPI_Wait(rs({one}), MPI_STATUS_IGNORE, ierr)")
                    self.lines.append("end do")
                else:
                    self.call(self.pick(*self.waits()))
            case "if":
                self.lines.append(f"if ({condition}) then")
                self.statement(depth + 1, indices)
                if self.random.random() < 0.5:
                    self.lines.append("else")
                    self.statement(depth + 1, indices)
                self.lines.append("end if")
            case "leave":
                self.labels += 1
                kinds = ["return", "goto 10", *(["exit", "cycle"] if indices else [])]
                self.lines.append(f"if ({condition}) {self.random.choice(kinds)}")
            case "set":
                self.lines.append("k = 0")
            case _:
                element = "k+1"
                if self.random.random() < 0.9:
                    element = "k"
                    self.lines.append("k = k + 1")
                self.call(
                    f"MPI_Irecv(b, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, rs({element}), ierr)"
                )


def random_requests(seed: int, procedures: int) -> tuple[str, list[str]]:
    """A program without its library, and the names of its procedures."""
    random = Random(seed)
    lines: list[str] = []
    names = [f"p{number}" for number in range(procedures)]
    for name in names:
        lines += Writer(name, random, len(lines) + 1).lines
    calls = "\n".join(
        f"    state = seed; fuel = 100; k = 0; print '(a)', '{n}'; call {n}(n, m); call left_over()"
        for n in names
    ).replace(" k = 0;", "")
    return "\n".join(lines) + "\n" + MAIN.format(calls=calls), names


def events(text: str) -> list[tuple[int, str, int, int]]:
    """What happened: number of the call, kind of event, line of the start, line of the other
    call."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.f90").write_text(CHANCE + LIBRARY + text)
        compiled = subprocess.run(
            ["gfortran", "-w", "-fallow-argument-mismatch", "a.f90", "-o", "a"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert compiled.returncode == 0, compiled.stderr
        outcome = subprocess.run(
            ["./a"], cwd=folder, capture_output=True, text=True, timeout=30, check=True
        )
    found, call = [], 0
    for line in outcome.stdout.splitlines():
        words = line.split()
        if len(words) == 1:
            call += 1
        else:
            found.append((call, words[0], int(words[1]), int(words[2])))
    return found


def check(seed: int) -> Counter[str]:
    """Compare the verdicts of one program with its runs; counts the verdicts."""
    text, names = random_requests(seed, 8)
    counts: Counter[str] = Counter()
    verdicts: dict[int, Match] = {}
    for name in names:
        unit = Analysed(CHANCE + text, chain=(name,))
        reaching = ReachingDefinitions(unit.scope, unit.effects)
        for found in matching(unit.scope, unit.values, reaching):
            assert found.leaf.span is not None
            verdicts[found.leaf.span.first - CHANCE.count("\n")] = found
            counts[type(found).__name__] += 1
    found_events = events(text)
    lost = {(call, start) for call, kind, start, _ in found_events if kind != "complete"}
    for call, kind, start, other in found_events:
        verdict = verdicts[start]
        about = f"seed {seed}: {kind} {start} {other}"
        if isinstance(verdict, Matched):
            assert kind == "complete", about
            lines = {leaf.span.first for leaf in verdict.partners if leaf.span is not None}
            assert other + CHANCE.count("\n") in lines, f"{about} {lines}"
        if kind == "complete":
            wait = verdicts.get(other)
            assert not isinstance(wait, Unmatched) or _is_partial(wait), about
        if isinstance(verdict, Unmatched) and _is_partial(verdict):
            assert (call, start) in lost, about  # it may be lost to the next with its request
            counts["partial"] += 1
    return counts


def _is_partial(found: Unmatched) -> bool:
    return "rs(" in found.reason or "some elements" in found.reason


needs_gfortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="no gfortran")


@needs_gfortran
@settings(max_examples=3)
@given(st.integers(0, 2**32))
def test_what_is_matched_is_completed(seed: int) -> None:
    check(seed)


@needs_gfortran
@pytest.mark.wide
@settings(max_examples=400)
@given(st.integers(0, 2**32))
def test_many_programs(seed: int) -> None:
    check(seed)


@needs_gfortran
def test_all_verdicts_occur() -> None:
    counts = check(1) + check(2)
    assert min(counts[kind] for kind in ("Matched", "Unmatched", "Unknown")) >= 5, counts
