"""Exchanges of all ranks with all that are written out with messages between two ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.exchange.peers import Peers, peers_of
from asphalt.analysis.schedule.check import Fault, check
from asphalt.analysis.schedule.check_packed import (
    PackedExchange,
    check_packed,
    check_packed_sizes,
    packed_schedule,
    packed_sizes,
)
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.diagnostics.model import SiteReport
from asphalt.frontend.statements.expressions import parse_expression as expression
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf
from asphalt.project import Project
from support.judging import SETTINGS, transformed
from support.mpi_run import OPENMPI, RUNTIME, build, installed, run
from support.open_coded import (
    ACCEPTED,
    BESIDE,
    BY_RANK,
    NOT_AGREED,
    OWN,
    RECEIVES,
    REPEATED,
    RING,
    SENDS,
    WAIT,
    program,
)

SECOND_WAIT = "call MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE, ierr)\n"
PROBE = (
    "call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, seen, MPI_STATUS_IGNORE, ierr)\n"
)
TO_ITSELF = """\
call MPI_Sendrecv(me, 1, MPI_INTEGER, me, {tag}, many, 1, MPI_INTEGER, me, {tag}, &
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
TWICE = """\
do turn = 1, np - 1
  p = modulo(me + turn, np)
  pending = pending + 1
  call MPI_Isend(s(1,1,p), n, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, requests(pending), ierr)
  pending = pending + 1
  call MPI_Isend(s(1,2,p), n, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, requests(pending), ierr)
end do
"""


def _with(before: str, length: str) -> str:
    """A program whose messages have another length, which statements in front of them set."""
    messages = (RECEIVES + SENDS).replace("  pending = p", before + "  pending = p")
    text = messages.replace(" n*nz,", f" {length},") + WAIT
    return program(text, declare="integer(1) :: short\n")


REFUSED = {
    "a rank is missed": (program(RECEIVES + SENDS.replace("np - 1", "np - 2") + WAIT), "ASP070"),
    "the first rank is missed": (
        program(
            RING.replace("do turn = 1, np - 1\n  p = modulo(me + turn, np)", "do p = 1, np - 1")
        ),
        "ASP070",
    ),
    "two messages for each rank": (program(RECEIVES + TWICE + WAIT), "ASP070"),
    "tags that differ": (program(RECEIVES + SENDS.replace("p, 5,", "p, 6,") + WAIT), "ASP070"),
    "a tag that depends on the rank": (program(RING.replace("p, 5,", "p, p,")), "ASP070"),
    "a place that depends on the turn": (
        program(RECEIVES + SENDS.replace("s(1,1,p)", "s(1,1,turn)") + WAIT),
        "ASP070",
    ),
    "another block is copied": (
        program(RECEIVES + SENDS + OWN.replace("s(:,:,me)", "s(:,:,0)") + WAIT),
        "ASP070",
    ),
    "less than the block is copied": (
        program(RECEIVES + SENDS + "r(:,2:nz,me) = s(:,2:nz,me)\n" + WAIT),
        "ASP070",
    ),
    "a wait for some of them": (
        program(RING.replace("all(pending,", "all(pending - 1,")),
        "ASP071",
    ),
    "a wait for the sends alone": (
        program(RECEIVES + SENDS + WAIT.replace("requests,", "requests(np:),")),
        "ASP071",
    ),
    "requests that were counted before": (
        program(RING.replace("pending = 0", "pending = many"), before="many = 0\n"),
        "ASP071",
    ),
    "one request for two messages": (program(BESIDE.replace("turn + 2", "turn + 1")), "ASP071"),
    "requests that overlap": (program(BESIDE.replace("2*turn + 2", "turn + 2")), "ASP071"),
    "requests with gaps": (
        program(BESIDE.replace("2*turn", "3*turn").replace("requests,", "requests(1),")),
        "ASP071",
    ),
    "fewer requests are waited for": (
        program(BESIDE.replace("all(2*np,", "all(2*np - 1,")),
        "ASP071",
    ),
    "a request that no message has": (program(BESIDE.replace("turn + 2", "turn + 3")), "ASP071"),
    "requests of the ranks, one for two messages": (
        program(BY_RANK.replace("np + p + 1", "p + 1")),
        "ASP071",
    ),
    "requests of half of the ranks": (
        program(BY_RANK.replace("np + p + 1", "np + modulo(me + 2*turn, np) + 1")),
        "ASP071",
    ),
    "requests that are used again": (program(after=SECOND_WAIT), "ASP071"),
    "statuses that are read": (
        program(
            RECEIVES + SENDS + WAIT.replace("MPI_STATUSES_IGNORE", "statuses"),
            after="if (np > 1) print *, statuses(MPI_SOURCE,1)\n",
        ),
        "ASP071",
    ),
    "a loop variable that is read": (program(after="print *, turn\n"), "ASP071"),
    "synchronous sends": (program(RING.replace("Isend", "Issend")), "ASP071"),
    "a count that the messages set": (
        program(RECEIVES + SENDS.replace("n*nz,", "merge(n*nz, 0, pending > 0),") + WAIT),
        "ASP072",
    ),
    "a length from another loop": (
        program(
            RECEIVES.replace("  pending =", "  many = counts(p)\n  pending =", 1)
            + SENDS.replace("n*nz,", "many,")
            + WAIT
        ),
        "ASP071",
    ),
    "a directive between them": (
        program(RECEIVES + "!$omp parallel do\n" + SENDS + WAIT),
        "ASP705",
    ),
    "a line for some compilations between them": (
        program(RECEIVES + "!$ pending = pending + 0\n" + SENDS + WAIT),
        "ASP072",
    ),
    "messages that another configuration would receive": (
        program(RECEIVES + "#ifdef X\n" + SENDS + "#else\n" + SENDS + "#endif\n" + WAIT),
        "ASP073",
    ),
    "a print between them": (program(RECEIVES + "print *, me\n" + SENDS + WAIT), "ASP072"),
    "work between them": (program(RECEIVES + SENDS + "s(1,1,me) = 3\n" + WAIT), "ASP072"),
    "the own block is copied where none is sent": (
        program(
            (RECEIVES + SENDS).replace("  pending", "  if (counts(p) == 1) cycle\n  pending")
            + OWN
            + WAIT,
            before="counts(me) = 1\n",
        ),
        "ASP070",
    ),
    "all is copied before": (program("r = s\n" + RECEIVES + SENDS + WAIT), "ASP072"),
    "all is set between them": (
        program("pending = 0\n" + SENDS + "r = 0\n" + RECEIVES.partition("\n")[2] + WAIT),
        "ASP072",
    ),
    "requests that are counted anew": (
        program(RECEIVES + "pending = 0\n" + SENDS + WAIT),
        "ASP072",
    ),
    "a wait under a condition": (
        program(RECEIVES + SENDS + WAIT.replace("call", "if (many > 0) call"), before="many = 1\n"),
        "ASP071",
    ),
    "the own block is converted": (
        program().replace("s(:,:,:), r(:,:,:)", "s(:,:,:)\n  integer(8), allocatable :: r(:,:,:)"),
        "ASP070",
    ),
    "another message with the tag": (program(after=TO_ITSELF.format(tag=5)), "ASP073"),
    "a receive of any tag": (
        program(after=TO_ITSELF.format(tag=6).replace("me, 6, &", "me, MPI_ANY_TAG, &")),
        "ASP073",
    ),
    "a probe": (program(before=PROBE, declare="logical :: seen\n"), "ASP073"),
    "a program of which a part is unknown": (program(after="call elsewhere()\n"), "ASP073"),
    "ranks that do not come": (
        program("  " + RING + "end if\n").replace("  do z = 1", "  if (me < 2) then\n  do z = 1"),
        "ASP201",
    ),
    "a count that is received": (
        program((RECEIVES + SENDS + WAIT).replace(" n*nz,", " int(r(1,1,p)),")),
        "ASP301",
    ),
}


def report(path: Path, text: str) -> SiteReport:
    """What is said of the one exchange of a program."""
    source = path / ("exchange.F90" if "#if" in text else "exchange.f90")
    source.write_text(text.replace("  #", "#"))
    project = Project(source, settings=SETTINGS)
    assert project.problems == ()
    (site,) = project.sites()
    return site.report


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_exchange_with_messages_is_one_of_all_with_all(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, ACCEPTED[name])
    assert (found.verdict, found.code) == ("proved", None)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    text, code = REFUSED[name]
    found = report(tmp_path, text)
    assert (found.verdict, found.code) == ("refused", code)


NOT_UNDERSTOOD = {
    "a length that is set in a branch": _with(
        "  many = n*nz\n  if (p + me == 1) then\n    many = n\n  end if\n", "many"
    ),
    "a message that a branch leaves out": _with(
        "  if (np > 0) then\n    if (p + me == 1) cycle\n  end if\n", "n*nz"
    ),
    "a length that is rounded": _with("  many = 0.5*n\n", "many*2"),
    "a length of another kind": _with("  short = 256 + n\n", "short*1"),
}


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_no_exchange_where_a_message_is_not_understood(name: str, tmp_path: Path) -> None:
    (tmp_path / "exchange.f90").write_text(NOT_UNDERSTOOD[name])
    project = Project(tmp_path / "exchange.f90", settings=SETTINGS)
    assert project.problems == ()
    assert project.sites() == ()


def test_messages_with_another_tag_are_none_of_these(tmp_path: Path) -> None:
    assert report(tmp_path, program(after=TO_ITSELF.format(tag=6))).verdict == "proved"


def test_a_halo_is_no_site(tmp_path: Path) -> None:
    """Its loops go over neighbours, not over ranks."""
    halo = RING.replace("modulo(me + turn, np)", "right(turn)").replace(
        "modulo(me - turn, np)", "left(turn)"
    )
    text = program(halo, declare="integer :: left(9), right(9)\n", before="left = 0\nright = 0\n")
    (tmp_path / "halo.f90").write_text(text)
    assert Project(tmp_path / "halo.f90", settings=SETTINGS).sites() == ()


# -- what becomes of it --------------------------------------------------------------------------


def written(folder: Path, text: str) -> tuple[Path, Path, Path]:
    """The original, what it becomes, and the header."""
    (folder / "before").mkdir()
    source = folder / "before" / "exchange.f90"
    source.write_text(text)
    (change,) = Project(source, settings=SETTINGS).transform()
    (folder / "after").mkdir()
    (folder / "after" / "exchange.f90").write_bytes(change.after)
    (parameter,) = change.parameters
    header = folder / "after" / "asphalt_params.inc"
    header.write_text(
        "".join(
            f"      integer, parameter :: asphalt_{name}_{parameter.site} = @{name}@\n"
            for name in "kd"
        )
    )
    return source, folder / "after" / "exchange.f90", header


def assert_same(
    folder: Path,
    text: str,
    tilings: tuple[tuple[int, int], ...],
    ranks: tuple[int, ...],
    runtime: Sequence[Path] = RUNTIME,
) -> None:
    """What the transformed program prints, at some K and D and on some numbers of ranks."""
    source, after, header = written(folder, text)
    pattern = header.read_text()
    for mpi in installed(OPENMPI):
        original = build(mpi, [source], source.parent, FLAGS)
        wanted = {number: run(mpi, original, number) for number in ranks}
        assert all(outcome.code == 0 for outcome in wanted.values())
        for tile, depth in tilings:
            header.write_text(pattern.replace("@k@", str(tile)).replace("@d@", str(depth)))
            program = build(mpi, [*runtime, after], after.parent, FLAGS)
            for number in ranks:
                found = run(mpi, program, number)
                assert found.code == 0, found.stderr
                lines = sorted(found.stdout.splitlines())
                assert lines == sorted(wanted[number].stdout.splitlines()), (tile, depth, number)


FLAGS = ("-O1", "-g", "-fcheck=all")


def test_the_messages_stay_for_runs_that_do_not_tile(tmp_path: Path) -> None:
    _, after, _ = written(tmp_path, program())
    lines = [line.strip() for line in after.read_text().splitlines()]
    begin = next(n for n, line in enumerate(lines) if "%finished(" in line)
    kept = [line.strip() for line in RING.splitlines()]
    assert lines[begin + 1 : begin + 1 + len(kept)] == kept


@pytest.mark.wide
@pytest.mark.parametrize("name", ACCEPTED)
def test_bits_are_equal_for_all_forms(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASPHALT_TILED", str(tmp_path / "tiled"))
    tilings = ((1, 1), (2, 3), (3, 2), (20, 1), (0, 2))
    assert_same(tmp_path, ACCEPTED[name], tilings, (1, 2, 3, 5))
    assert (tmp_path / "tiled").exists()


@pytest.mark.wide
@pytest.mark.parametrize("name", NOT_AGREED)
def test_sends_that_are_no_receives_are_left_to_the_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASPHALT_TILED", str(tmp_path / "tiled"))
    assert_same(tmp_path, NOT_AGREED[name], ((1, 1), (3, 2)), (2, 3, 4))
    assert not (tmp_path / "tiled").exists()


@pytest.mark.wide
def test_many_ranks_report_each_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPHALT_TILED", str(tmp_path / "tiled"))
    few = next(source for source in RUNTIME if source.stem == "asphalt_packed")
    many = tmp_path / few.name
    assert "few_ranks = 64\n" in few.read_text()
    many.write_text(few.read_text().replace("few_ranks = 64\n", "few_ranks = 0\n"))
    runtime = [many if source == few else source for source in RUNTIME]
    text = REPEATED["other lengths"]
    assert_same(tmp_path, text, ((1, 1), (3, 2)), (1, 2, 3, 5), runtime)
    assert (tmp_path / "tiled").exists()


@pytest.mark.wide
@pytest.mark.parametrize("name", REPEATED)
def test_exchanges_that_come_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASPHALT_TILED", str(tmp_path / "tiled"))
    assert_same(tmp_path, REPEATED[name], ((1, 1), (3, 2)), (1, 2, 3, 5))
    assert (tmp_path / "tiled").exists()


def test_no_function_of_the_runtime_is_an_operand(tmp_path: Path) -> None:
    """A compiler need not evaluate what cannot change a condition any more: what the program
    takes for its ranks is compared within the runtime."""
    text = "".join(transformed(tmp_path, program()).replace("&", "").split())
    assert ",ranks=np,rank=me)" in text
    assert "asphalt_rank" not in text


def test_the_check_of_the_schedule_finds_faults() -> None:
    assert check_packed() is None
    sizes = packed_sizes(((2, 3), (1, 2)), (3, 4), 2, 2)
    assert check_packed_sizes(sizes) is None
    first, second = sizes.ranks
    early = replace(sizes, ranks=(replace(first, units=(2, 4)), second))  # than it is computed
    programs = [packed_schedule(rank, early) for rank in range(2)]
    fault = check(programs, PackedExchange(sizes))
    assert fault is not None
    assert fault.kind is Fault.EARLY_SEND


def test_ranks_of_a_loop() -> None:
    def peers(text: str, first: str, last: str) -> object:
        head = DoHead("count", Ref("turn", "turn"), expression(first), expression(last))
        return peers_of(Do(Leaf(head), (), None), expression(text), None)

    me, ranks = Poly.atom(Ref("me", "me")), Poly.atom(Ref("np", "np"))
    assert peers("modulo(me + turn, np)", "1", "np - 1") == Peers(ranks, me, me)
    assert peers("modulo(me - turn, np)", "1", "np - 1") == Peers(ranks, me, me)
    assert peers("modulo(me + turn - 1, np)", "2", "np") == Peers(ranks, me, me)
    assert peers("mod(me - turn + np, np)", "1", "np - 1") == Peers(ranks, me, me)
    assert peers("mod(me + turn, np)", "0", "np - 1") == Peers(ranks, None, me)
    assert peers("turn - 1", "1", "np") == Peers(ranks, None, None)
    for text, first, last in (
        ("mod(me - turn, np)", "1", "np - 1"),  # negative
        ("modulo(me + 2*turn, np)", "1", "np - 1"),
        ("modulo(me + turn, np)", "1", "np - 2"),
        ("modulo(me + turn, np)", "0", "np"),
        ("turn", "1", "np"),
        ("ieor(me, turn)", "1", "np - 1"),
    ):
        assert isinstance(peers(text, first, last), str), text


@pytest.mark.parametrize("name", ["a block that may be empty", "a block with a positive factor"])
def test_the_own_block_is_copied_where_all_factors_are_negative(name: str, tmp_path: Path) -> None:
    """Messages are left out then, and the copy is not."""
    path = tmp_path / "main.f90"
    path.write_text(ACCEPTED[f"{name} is copied"])
    (change,) = Project(path, settings=SETTINGS).transform()
    words = " ".join(change.after.decode().replace("&", " ").split())
    always = "0, asphalt_peer == me .or. many > 0)" in words
    assert always is ("positive" in name)
