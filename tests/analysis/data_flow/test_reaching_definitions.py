"""Reaching definitions and the graph below them, against what random programs really do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from asphalt.analysis.control_flow.graph import ENTRY, EXIT
from asphalt.analysis.control_flow.paths import path_witness
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from support.analysed import Analysed
from support.random_control import random_control

needs_gfortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="no gfortran")


@dataclass(frozen=True, slots=True)
class Seen:
    """A use in line ``line`` saw the definition of line ``value``."""

    line: int
    value: int


class CrashedError(Exception):
    """The compiler itself came to grief at a program."""


def observed(text: str) -> dict[str, list[list[Seen]]]:
    """For each procedure, what each run printed, in order."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.f90").write_text(text)
        compiled = subprocess.run(
            ["gfortran", "-std=legacy", "-w", "a.f90", "-o", "a"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "internal compiler error" in compiled.stderr:
            raise CrashedError(text)
        assert compiled.returncode == 0, compiled.stderr
        outcome = subprocess.run(
            ["./a"], cwd=folder, capture_output=True, text=True, timeout=30, check=True
        )
    runs: dict[str, list[list[Seen]]] = {}
    for line in outcome.stdout.splitlines():
        if not line.startswith(" "):
            runs.setdefault(line, []).append([])
            current = runs[line][-1]
        else:
            current.append(Seen(*map(int, line.split())))
    return runs


class Chains:
    """The definitions and uses of one procedure by their lines."""

    def __init__(self, text: str, name: str) -> None:
        unit = Analysed(text, chain=(name,))
        self.reaching = ReachingDefinitions(unit.scope, unit.effects)
        self.graph = self.reaching.graph
        self.by_line: dict[int, int] = {}
        for point in self.graph.points:
            if point.leaf is not None:
                self.by_line[point.line] = self.graph.action(point.leaf) or 0

    def reach(self, line: int) -> set[int]:
        """The lines of the definitions that a use may see."""
        found = self.reaching.use_def(self.by_line[line])
        return {definition.line for chain in found.values() for definition in chain}

    def only(self, line: int) -> set[int]:
        """The lines of definitions that are the only ones to reach a use, for some variable."""
        found = self.reaching.use_def(self.by_line[line])
        assert len(found) >= 1
        if len(found) > 1:
            return set()
        (chain,) = found.values()
        return {chain[0].line} if len(chain) == 1 and chain[0].sure else set()

    def uses(self) -> Iterator[int]:
        """The lines of all uses that print."""
        for point in self.graph.points:
            if point.leaf is not None and "print" in (point.leaf.body or ""):
                yield point.line


def check_any(seed: int) -> None:
    """Compare one program, if it can be compiled."""
    try:
        check(seed)
    except CrashedError:
        reject()


def check(seed: int) -> tuple[int, int]:
    """Compare one program with its chains; gives the pairs that were seen and all pairs."""
    text = random_control(seed, 6, 12)
    seen, possible = 0, 0
    for name, runs in observed(text).items():
        chains = Chains(text, name)
        pairs = {pair for run in runs for pair in run}
        for pair in pairs:
            reach = chains.reach(pair.line)
            assert pair.value in reach, (
                f"seed {seed}, line {pair.line}: {pair.value} not in {reach}"
            )
            only = chains.only(pair.line)
            assert only in (set(), {pair.value})
        points = {chains.by_line[line] for line in chains.uses()}
        ways: set[tuple[int, int]] = set()
        for run in runs:
            lines = [chains.by_line[pair.line] for pair in run]
            ways |= set(zip([ENTRY, *lines], [*lines, EXIT], strict=True))
        for here, there in ways:
            way = path_witness(chains.graph, [here], {there}, points - {there})
            assert way is not None, f"seed {seed}: no way from {here} to {there}"
        seen += len(pairs)
        possible += sum(len(chains.reach(line)) for line in {pair.line for pair in pairs})
    return seen, possible


@needs_gfortran
@settings(max_examples=6)
@given(st.integers(0, 2**32))
def test_every_definition_that_is_seen_is_in_the_chain(seed: int) -> None:
    check_any(seed)


@needs_gfortran
@pytest.mark.wide
@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_many_programs(seed: int) -> None:
    check_any(seed)


@needs_gfortran
def test_the_chains_are_not_everything() -> None:
    """Of what the chains allow, a good part happens in a dozen runs."""
    counts = [check(seed) for seed in (1, 2)]
    assert sum(seen for seen, _ in counts) * 4 > sum(possible for _, possible in counts)


UNIT = """\
module shared
  integer :: g
end module shared
subroutine unit(n, d)
  use shared
  use mpi
  integer :: n, d, a, b, e(3), f, k, requests(2), ierr
  integer, save :: kept
  f(k) = k + b
{body}
end subroutine unit
"""
BODY = 10  # the line of the body's first statement


def chains(body: str, *more: str) -> dict[str, str]:
    """For each PRINT of a body, by its text: where what it reads may come from (0: before)."""
    unit = Analysed(UNIT.format(body=body.rstrip("\n")), *more, chain=("unit",))
    reaching = ReachingDefinitions(unit.scope, unit.effects)
    found: dict[str, str] = {}
    for point in reaching.graph.points:
        text = point.leaf.body if point.leaf is not None else None
        if text and text.startswith("print *, "):
            lines = {
                (d.line - BODY + 1 if d.line else 0, "" if d.sure else "?")
                for chain in reaching.use_def(point.number).values()
                for d in chain
            }
            found[text[9:]] = " ".join(f"{line}{maybe}" for line, maybe in sorted(lines))
    return found


CHAINS = {
    "in-order": ("a = 1\na = 2\nprint *, a", {"a": "2"}),
    "before": ("print *, d", {"d": "0"}),
    "one-line-if": ("a = 1\nif (n > 1) a = 2\nprint *, a", {"a": "1 2"}),
    "element": ("e = 1\ne(2) = 2\nprint *, e", {"e": "1 2?"}),
    "all-elements": ("e(1) = 1\ne(:) = 2\nprint *, e", {"e": "2"}),
    "where": ("e = 1\nwhere (e > 0) e = 2\nprint *, e", {"e": "1 2?"}),
    "forall": ("e = 1\nforall (k = 1:2)\ne(k) = 2\nend forall\nprint *, e(1)", {"e(1)": "1 3?"}),
    "loop": ("a = 1\ndo k = 1, n\nprint *, a\na = 2\nend do", {"a": "1 4"}),
    "loop-variable": ("k = 1\ndo k = 1, n\nprint *, k\nend do", {"k": "2"}),
    "after-a-loop": ("do k = 1, n\nend do\nprint *, k", {"k": "1"}),
    "goto": ("a = 1\nif (n > 1) goto 10\na = 2\n10 print *, a", {"a": "1 3"}),
    "input": ("a = 1\nread *, a\nprint *, a", {"a": "1 2?"}),
    "statement-function": ("b = 1\nprint *, f(2)", {"f(2)": "1"}),
    "associate-element": (
        "e = 1\nassociate (t => e(2))\nt = 3\nprint *, t\nend associate\nprint *, e",
        {"t": "1 3 3?", "e": "1 3?"},
    ),
    "associate-value": (
        "a = 1\nassociate (t => a + 1)\na = 3\nprint *, t\nend associate",
        {"t": "2"},
    ),
    "block": (
        "a = 1\nblock\ninteger :: a\na = 4\nprint *, a\nend block\nprint *, a + 0",
        {"a": "4", "a + 0": "1"},
    ),
    "block-that-is-left": (
        "a = 1\nx: block\ninteger :: a\nexit x\na = 4\nend block x\nprint *, a",
        {"a": "1"},
    ),
    "unknown-call": (
        "a = 1\ng = 2\nkept = 3\ncall other(b)\nprint *, a\nprint *, g\nprint *, kept\nprint *, b",
        {"a": "1", "g": "2 4?", "kept": "3 4?", "b": "0 4?"},
    ),
    "not-understood": ("a = 1\nvendor extension\nprint *, a", {"a": "1 2?"}),
    "received-later": (
        "call MPI_Irecv(b, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, requests(1), ierr)\nb = 2\na = 1\n"
        "call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)\nprint *, b\nprint *, a",
        {"b": "2 4?", "a": "3"},
    ),
    "conditional-line": ("a = 1\n!$ a = 2\nb = 2\nprint *, a", {"a": "1 2"}),
}


@pytest.mark.parametrize("case", CHAINS)
def test_chains(case: str) -> None:
    body, expected = CHAINS[case]
    assert chains(body) == expected


def test_procedures_that_are_seen_through() -> None:
    setting = "subroutine setting(x, y)\ninteger :: x, y\nx = 1\nif (y > 1) y = 2\nend subroutine\n"
    body = "a = 1\nb = 2\ncall setting(a, b)\nprint *, a\nprint *, b"
    assert chains(body, setting) == {"a": "3", "b": "2 3?"}


def test_uses_of_a_definition() -> None:
    unit = Analysed(
        UNIT.format(body="a = 1\nif (n > 1) a = 2\nb = a\na = 3\nb = a"), chain=("unit",)
    )
    reaching = ReachingDefinitions(unit.scope, unit.effects)
    first = next(d for d in reaching.definitions("a") if d.line == BODY)
    assert [reaching.graph.points[use.point].line for use in reaching.def_use(first)] == [BODY + 2]
