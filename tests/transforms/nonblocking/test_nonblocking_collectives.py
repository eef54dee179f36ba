"""Collective operations become non-blocking where all ranks enter them from the same call."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.verdicts.verdict import Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.blocking import kept_blocking
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, OPENMPI, RUNTIME, SMPI, Mpi, build, installed, run

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 60
  integer :: me, np, ierr, i, step, own, window, request
  integer, allocatable :: counts(:), starts(:), types(:), bytes(:), places(:)
  integer :: k(n), sums(n)
  real(8) :: a(n), b(n), c(n), d(n), least(n)
  real(8), allocatable :: all(:), parts(:)
  logical :: flag
  external :: mine
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(all(n*np), parts(n*np), counts(np), starts(np), types(np), bytes(np), places(np))
  counts = n; starts = [(n*(i - 1), i = 1, np)]
  types = MPI_DOUBLE_PRECISION; bytes = 8*starts; places = 8*starts
  k = me; a = me + 0.25d0; b = 1; c = 2; d = 3; all = 0; parts = me; sums = 0; least = 0
{body}
  print '(i0, 8z17)', me, sum(a), sum(b), sum(c), sum(d), sum(all), sum(parts), sum(least), &
        dble(sum(sums))
  call MPI_Finalize(ierr)
end program main
{beside}"""
WORLD = "MPI_COMM_WORLD, ierr)\n"
REAL = "MPI_DOUBLE_PRECISION"
BCAST = f"  call MPI_Bcast(a, n, {REAL}, 0, {WORLD}"
BARRIER = f"  call MPI_Barrier({WORLD}"


def reduction(operation: str, values: str = "a, least", kind: str = REAL) -> str:
    return f"  call MPI_Allreduce({values}, n, {kind}, {operation}, {WORLD}"


def work(array: str, value: str = "sin(dble(i))") -> str:
    return f"  do i = 1, n\n    {array}(i) = {array}(i) + {value}\n  end do\n"


def program(body: str, beside: str = "") -> str:
    return _PROGRAM.format(body=body.rstrip("\n"), beside=beside)


def optimised(tmp_path: Path, text: str, *accepted: str) -> Optimised:
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    return optimise(tree, tree.units_of(str(path))[0], Options(accepted=frozenset(accepted)))


def refusals(tmp_path: Path, text: str, *accepted: str) -> list[Refused]:
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    found = kept_blocking(
        Analyses(tree), tree.units_of(str(path))[0], Options(accepted=frozenset(accepted))
    )
    return [refused for refused, _ in found]


def statements(found: Optimised) -> list[str]:
    """Calls of the runtime with their buffers, MPI calls, and loops by what they define."""
    assert found.content is not None
    short: list[str] = []
    _, _, body = found.content.decode().partition("least = 0\n")
    for line in body.splitlines():
        text = line.strip()
        if text.startswith("call asphalt_wait"):
            short.append(f"wait {text.split(', ')[-1].rstrip(')')}")
        elif text.startswith("call "):
            name = text.removeprefix("call ").split("(")[0].removeprefix("asphalt_")
            short.append(name.removeprefix("MPI_").lower())
        elif "(i) =" in text:
            short.append(f"work {text[0]}")
    return short[: short.index("finalize")]


def test_work_comes_into_the_window(tmp_path: Path) -> None:
    found = optimised(tmp_path, program(BCAST + work("b") + work("a")))
    assert statements(found) == ["ibcast", "work b", "wait a", "work a"]
    assert [(one.operation, one.line) for one in found.transfers] == [("MPI_Bcast", 19)]
    assert [one.overlaps for one in found.transfers] == [("do i = 1, n",)]


@pytest.mark.wide
def test_an_empty_window_leaves_it_blocking(tmp_path: Path) -> None:
    assert optimised(tmp_path, program(BCAST + work("a"))).content is None


@pytest.mark.wide
def test_what_it_reads_may_be_read_and_not_changed(tmp_path: Path) -> None:
    gather = f"  call MPI_Allgather(b, n, {REAL}, all, n, {REAL}, {WORLD}"
    found = optimised(tmp_path, program(gather + work("c", "b(i)") + work("b")))
    assert statements(found) == ["iallgather", "work c", "wait all", "work b"]


def test_control_may_depend_on_what_another_operation_gives(tmp_path: Path) -> None:
    """Behind the start and the wait of the reduction it is not seen that all ranks go one way."""
    most = f"  call MPI_Allreduce(me, step, 1, MPI_INTEGER, MPI_MAX, {WORLD}"
    branch = f"  if (step > 1) then\n{BCAST}{work('b')}{work('a')}  end if\n"
    found = optimised(tmp_path, program(most + branch))
    assert statements(found) == ["allreduce", "ibcast", "work b", "wait a", "work a"]


def test_starts_of_collective_operations_keep_their_order(tmp_path: Path) -> None:
    """The second start would find work in front of the first one."""
    text = program(work("b") + BCAST + reduction("MPI_SUM", "k, sums", "MPI_INTEGER") + work("c"))
    found = optimised(tmp_path, text)
    assert statements(found) == ["ibcast", "iallreduce", "work b", "work c", "wait a", "wait sums"]
    stays = program(work("c") + reduction("MPI_SUM", "b, least") + BCAST + work("d"))
    assert statements(optimised(tmp_path, stays)) == [
        "work c", "allreduce", "ibcast", "work d", "wait a",
    ]  # fmt: skip


@pytest.mark.wide
def test_nothing_passes_a_barrier(tmp_path: Path) -> None:
    assert optimised(tmp_path, program(work("b") + BARRIER + BCAST + BARRIER)).content is None


@pytest.mark.wide
def test_a_receive_starts_before_a_collective_start(tmp_path: Path) -> None:
    receive = f"  call MPI_Recv(d, n, {REAL}, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)\n"
    found = optimised(tmp_path, program(BCAST + receive + work("b") + work("d") + work("a")))
    assert statements(found)[:3] == ["ibcast", "irecv", "work b"]
    assert sorted(statements(found)[3:]) == ["wait a", "wait d", "work a", "work d"]


ELSEWHERE = {
    "rank-dependent": f"  if (me == 0) then\n  {BCAST}  else\n  {BCAST}  end if\n{work('b')}",
    "another-call-that-depends-on-the-rank": (
        f"{BCAST}{work('b')}  if (me > 0) then\n  {BCAST}  else\n  {BCAST}  end if\n"
    ),
    "as-often-as-the-rank-says": f"  do step = 1, me\n  {BCAST}  end do\n{work('b')}",
    "shared-memory": (
        f"  call MPI_Win_create(d, 8_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &\n"
        f"                      window, ierr)\n{BCAST}{work('b')}"
    ),
    "in-a-procedure-that-nobody-calls": "",
}


def some(cases: dict[str, str], quick: set[str]) -> list[object]:
    """The names of cases; all but some are for the long suite."""
    return [n if n in quick else pytest.param(n, marks=pytest.mark.wide) for n in cases]


@pytest.mark.parametrize("name", some(ELSEWHERE, {"another-call-that-depends-on-the-rank"}))
def test_ranks_may_be_elsewhere(name: str, tmp_path: Path) -> None:
    beside = ""
    if not ELSEWHERE[name]:
        beside = "subroutine other(a, n)\n  use mpi\n  implicit none\n  integer :: n, ierr\n"
        beside += f"  real(8) :: a(n)\n{BCAST}end subroutine\n"
    text = program(ELSEWHERE[name] or BCAST + work("b"), beside)
    assert {refused.code.id for refused in refusals(tmp_path, text)} == {"ASP024"}
    assert optimised(tmp_path, text).content is None


_SPREAD = f"""\
subroutine spread_out(a, n)
  use mpi
  implicit none
  integer :: n, ierr
  real(8) :: a(n)
  real(8) :: none(1)
  none = 0
  if (n < 0) call MPI_Send(none, 1, {REAL}, 0, 1, {WORLD}{BCAST}end subroutine spread_out
"""
_MORE = """\
subroutine more(a, n)
  implicit none
  integer :: n
  real(8) :: a(n)
  external :: spread_out
  call {}
end subroutine more
"""


@pytest.mark.parametrize(
    ("others", "busy"),
    [
        ("", True),
        # what nothing calls is never executed, unless it may be called from elsewhere
        (_MORE.format("spread_out(a, n)"), True),
        (_MORE.format("spread_out(a, n)").replace("(a, n)", "(a, n) bind(c)", 1), False),
        pytest.param(_MORE.format("elsewhere(spread_out)"), False, marks=pytest.mark.wide),
    ],
)
def test_a_procedure_whose_calls_are_all_inlined_is_not_executed_any_more(
    others: str, busy: bool, tmp_path: Path
) -> None:
    text = program("  call spread_out(a, n)\n" + work("b") + work("a"), _SPREAD + others)
    found = optimised(tmp_path, text)
    assert (found.content is not None) is busy
    if busy:
        assert statements(found) == ["ibcast", "work b", "wait a", "work a"]
        assert "inline" in [step.transformation for step in found.steps]


@pytest.mark.wide
def test_a_call_that_is_not_compiled_here(tmp_path: Path) -> None:
    text = program(
        BCAST + work("b") + "  !$ call MPI_Bcast(a, n, MPI_REAL8, 0, MPI_COMM_WORLD, i)\n"
    )
    assert refusals(tmp_path, text) != []
    assert optimised(tmp_path, text).content is None


READ = "  read (*, *) step\n"  # perhaps another number on each rank
UNPROVED = f"{READ}  if (step > 1) then\n  {BCAST}{work('b')}  end if\n"


@pytest.mark.parametrize(
    ("body", "accepted", "assumed"),
    [
        (UNPROVED, (), None),
        (UNPROVED, ("control",), ("control",)),
        (
            UNPROVED.replace("  call MPI_B", "!$asphalt assume(control)\n  call MPI_B"),
            (),
            ("control",),
        ),
        (
            UNPROVED.replace("  if (step", "!$asphalt assume(uniform: step)\n  if (step"),
            (),
            ("uniform:step",),
        ),
        (UNPROVED.replace(BCAST, reduction("MPI_SUM")), ("control",), None),
        (UNPROVED.replace(BCAST, reduction("MPI_SUM")), ("control", "bits"), ("control", "bits")),
        # a call that depends on the rank is no missing proof
        (UNPROVED.replace("step > 1", "me > 1"), ("control",), None),
        (f"{UNPROVED}  if (me > 1) then\n  {BCAST}  end if\n", ("control",), None),
        (
            UNPROVED.replace(BCAST, ELSEWHERE["shared-memory"].partition("  do")[0]),
            ("control",),
            None,
        ),
    ],
)
def test_control_may_be_assumed(
    body: str, accepted: tuple[str, ...], assumed: tuple[str, ...] | None, tmp_path: Path
) -> None:
    found = optimised(tmp_path, program(body), *accepted)
    if assumed is None:
        assert found.content is None
        return
    assert [one.assumed for one in found.transfers] == [assumed]
    assert found.content is not None
    assert all(f"! asphalt: assumed: {one}\n" in found.content.decode() for one in assumed)


def test_all_missing_assumptions_are_suggested(tmp_path: Path) -> None:
    text = program(UNPROVED.replace(BCAST, reduction("MPI_SUM")))
    (refused,) = refusals(tmp_path, text)
    assert (refused.code.id, refused.all_lifting) == ("ASP024", ("control", "bits"))


def test_no_assumption_is_suggested_that_is_not_enough(tmp_path: Path) -> None:
    somewhere = f"  if (me == 0) then\n  {reduction('MPI_SUM')}  end if\n{work('b')}"
    found = refusals(tmp_path, program(somewhere))
    assert [(one.code.id, one.lifted_by) for one in found] == [("ASP024", None)]


@pytest.mark.parametrize(
    ("call", "accepted", "split"),
    [
        (reduction("MPI_SUM"), (), False),
        (reduction("MPI_SUM"), ("bits",), True),
        pytest.param(reduction("MPI_MAX"), (), True, marks=pytest.mark.wide),
        pytest.param(
            reduction("MPI_PROD", "k, sums", "MPI_INTEGER"), (), True, marks=pytest.mark.wide
        ),
        pytest.param(reduction("own"), ("bits",), False, marks=pytest.mark.wide),
    ],
)
def test_the_order_of_additions(
    call: str, accepted: tuple[str, ...], split: bool, tmp_path: Path
) -> None:
    create = "  call MPI_Op_create(mine, .true., own, ierr)\n"
    text = program(create + call + work("b"))
    found = optimised(tmp_path, text, *accepted)
    assert (found.content is not None) is split
    if split:
        assert [one.assumed for one in found.transfers] == [accepted]
    else:
        (refused,) = refusals(tmp_path, text, *accepted)
        assert refused.code.id == "ASP025"
        assert refused.lifted_by == (None if accepted else "bits")


GATHER = f"  call MPI_Allgatherv(b, n, {REAL}, all, counts, starts, {REAL}, {WORLD}"

STAY = {
    "counts-that-change-later": GATHER + work("c") + "  counts = 0\n",
    "a-copy": f"  call MPI_Bcast(a(1:n:2), n/2, {REAL}, 0, {WORLD}" + work("c"),
    "computed-counts": GATHER.replace("counts", "2*counts/2") + work("c"),
    "error-code": BCAST + work("c") + "  if (ierr /= MPI_SUCCESS) stop 1\n",
}


@pytest.mark.parametrize("name", some(STAY, {"counts-that-change-later"}))
def test_it_stays_blocking(name: str, tmp_path: Path) -> None:
    text = program(STAY[name])
    assert optimised(tmp_path, text).content is None
    assert {refused.code.id for refused in refusals(tmp_path, text)} <= {
        "ASP020", "ASP021", "ASP023",
    }  # fmt: skip


def test_what_is_done_in_place_is_read_and_written_until_the_wait(tmp_path: Path) -> None:
    call = reduction("MPI_MAX", "MPI_IN_PLACE, a")
    found = optimised(tmp_path, program(call + work("b") + work("c", "a(i)")))
    assert statements(found) == ["iallreduce", "work b", "wait a", "work c"]
    assert "asphalt_iallreduce(asphalt_in_place, a, n" in (found.content or b"").decode()
    assert optimised(tmp_path, program(call + work("c", "a(i)"))).content is None
    assert optimised(tmp_path, program(call + work("a"))).content is None


def test_one_count_may_stand_for_a_block_of_each_rank(tmp_path: Path) -> None:
    """The buffer has more of them than the operation gives."""
    call = f"  call MPI_Reduce_scatter_block(all(1), b, n, {REAL}, MPI_MAX, {WORLD}"
    behind = "  do i = n + 1, n*np\n    all(i) = 1\n  end do\n"
    assert optimised(tmp_path, program(call + behind)).content is None
    reads = "  do i = n + 1, n*np\n    c(1) = c(1) + all(i)\n  end do\n"
    assert optimised(tmp_path, program(call + reads)).content is not None


def test_a_barrier_stays(tmp_path: Path) -> None:
    (refused,) = refusals(tmp_path, program(work("b") + BARRIER + work("c")))
    assert refused.code.id == "ASP023"
    assert "statements behind it may rely on all ranks having reached it" in refused.message


def test_an_operation_of_neighbours_stays(tmp_path: Path) -> None:
    exchange = f"  call MPI_Neighbor_alltoall(a, n/2, {REAL}, b, n/2, {REAL}, {WORLD}"
    (refused,) = refusals(tmp_path, program(exchange + work("c")))
    assert refused.code.id == "ASP023"
    assert "where two neighbours are the same rank" in refused.message


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_in_place_with_typed_handles(mpi: Mpi, tmp_path: Path) -> None:
    """MPI_IN_PLACE of ``mpi_f08`` is another variable than that of ``mpi``."""
    calls = (reduction("MPI_MAX", "here, a"), reduction("MPI_MIN", "here, b"))
    text = program("".join(call + work("c") for call in calls)).replace("integer :: k(n)", _TYPES)
    text = text.replace("use mpi\n", "use mpi_f08, here => MPI_IN_PLACE\n")
    text = text.replace("types = MPI", "kinds = MPI").replace("types(np)", "kinds(np)")
    found = optimised(tmp_path, text)
    assert found.content is not None
    assert len(found.transfers) == 2
    printed = []
    for kind, made in (("before", text.encode()), ("after", found.content)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(made)
        built = build(mpi, [*RUNTIME, folder / "main.f90"], folder, ["-O2"])
        outcome = run(mpi, built, 3)
        assert outcome.code == 0, outcome.stderr
        printed.append(sorted(outcome.stdout.splitlines()))
    assert printed[0] == printed[1]
    assert len(printed[0]) == 3


_TYPES = "type(MPI_Datatype), allocatable :: kinds(:)\n  integer :: k(n)"


@pytest.mark.wide
def test_counts_are_read_until_the_wait(tmp_path: Path) -> None:
    """Of an operation that the user has started."""
    start = GATHER.replace("Allgatherv", "Iallgatherv").replace("ierr", "request, ierr")
    wait = "  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
    change = "  do i = 1, np\n    counts(i) = i\n  end do\n"
    assert optimised(tmp_path, program(start + wait + change)).content is None
    assert statements(optimised(tmp_path, program(start + wait + work("c")))) == [
        "iallgatherv", "work c", "wait",
    ]  # fmt: skip


BLOCKS = f"n, {REAL}"
ALL = (
    f"MPI_Bcast(a, {BLOCKS}, 0,",
    f"MPI_Reduce(a, least, {BLOCKS}, MPI_MIN, np - 1,",
    "MPI_Allreduce(k, sums, n, MPI_INTEGER, MPI_SUM,",
    f"MPI_Gather(b, {BLOCKS}, all, {BLOCKS}, 0,",
    f"MPI_Gatherv(b, {BLOCKS}, all, counts, starts, {REAL}, 0,",
    f"MPI_Scatter(parts, {BLOCKS}, d, {BLOCKS}, 0,",
    f"MPI_Scatterv(parts, counts, starts, {REAL}, d, {BLOCKS}, 0,",
    f"MPI_Allgather(b, {BLOCKS}, all, {BLOCKS},",
    f"MPI_Allgatherv(b, {BLOCKS}, all, counts, starts, {REAL},",
    f"MPI_Alltoall(parts, {BLOCKS}, all, {BLOCKS},",
    f"MPI_Alltoallv(parts, counts, starts, {REAL}, all, counts, starts, {REAL},",
    "MPI_Alltoallw(parts, counts, bytes, types, all, counts, places, types,",
    "MPI_Scan(k, sums, n, MPI_INTEGER, MPI_SUM,",
    "MPI_Exscan(k, sums, n, MPI_INTEGER, MPI_SUM,",
    f"MPI_Reduce_scatter(parts, least, counts, {REAL}, MPI_MAX,",
    f"MPI_Reduce_scatter_block(all, d, {BLOCKS}, MPI_MIN,",
    f"MPI_Allreduce(MPI_IN_PLACE, b, {BLOCKS}, MPI_MAX,",
    f"MPI_Allgather(MPI_IN_PLACE, 0, {REAL}, all, {BLOCKS},",
    "MPI_Scan(MPI_IN_PLACE, k, n, MPI_INTEGER, MPI_SUM,",
    f"MPI_Alltoall(MPI_IN_PLACE, 0, {REAL}, parts, {BLOCKS},",
)
CHANGE = "".join(work(x, "dble(me*i)") for x in "abd") + (
    "  do i = 1, n*np\n    parts(i) = parts(i) + 0.5d0*all(i)\n  end do\n"
)
WHOLE = program(
    "  do step = 1, 2\n"
    + "".join(f"  call {call} MPI_COMM_WORLD, ierr)\n{work('c')}{CHANGE}{BARRIER}" for call in ALL)
    + "  end do\n",
    "subroutine mine()\nend subroutine\n",
)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_all_of_them_compute_the_same(mpi: Mpi, tmp_path: Path) -> None:
    found = optimised(tmp_path, WHOLE)
    assert found.content is not None
    assert len(found.transfers) == len(ALL)
    flags = ["-O2", "-w", "-fallow-argument-mismatch"]
    results: dict[str, list[list[str]]] = {}
    for kind, text in (("before", WHOLE.encode()), ("after", found.content)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(text)
        runtime = [] if kind == "before" else [*RUNTIME]
        built = build(mpi, [*runtime, folder / "main.f90"], folder, flags)
        for ranks in (2, 3) if mpi is SMPI else (1, 3):  # SMPI's MPI_Ibcast fails on one rank
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.setdefault(kind, []).append(sorted(outcome.stdout.splitlines()))
    assert results["before"] == results["after"]
    assert [len(lines) for lines in results["after"]] == [2 if mpi is SMPI else 1, 3]
