"""Receives of loops that are posted before them: what is made of them, and when they stay.

Each rule that the pass would break has a loop that would give other digits, hang or not compile
without it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from asphalt.analysis.verdicts import block_codes
from asphalt.config.errors import UsageError
from asphalt.config.limits import USUAL_CLONES
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.gain.model import Model
from asphalt.machine.platforms import INFINIBAND_DDR_2009
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Context
from asphalt.project import Project
from asphalt.transforms.buffers import buffered_sends, receive_queues
from fuzz.gathers import procedure
from fuzz.transfers import batch
from support.mpi_run import MPICH, OPENMPI, RUNTIME, SMPI, Mpi, build, installed, run
from support.places import KERNELS
from support.stepping import Stepped

_UNIT = """\
subroutine {name}(a, b, c, n, np, comm, x)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  integer :: np
  real(8), intent(inout) :: a(n), b(n), c(n)
  real(8) :: x(n,n), total, factor
  integer :: cnt(0:9), from(0:9), status(MPI_STATUS_SIZE), ierr, i, p, k, m, mine, request
  integer :: tag, kind
  integer, external :: next
{body}
end subroutine {name}
"""
_RECEIVE = "call MPI_Recv(a, cnt(p), MPI_DOUBLE_PRECISION, from(p), 1, comm, status, ierr)"
_USE = "b(:) = 0.5d0*b(:) + a(:)"


def _loop(*body: str, head: str = "do p = 1, np - 1") -> str:
    inner = "".join(f"    {line}\n" for line in body)
    return f"  {head}\n{inner}  end do\n"


def _receive(**changed: str) -> str:
    """The receive with other arguments."""
    text = _RECEIVE
    for old, new in {"buffer": "(a,", "count": "cnt(p)", "source": "from(p)", "tag": " 1,"}.items():
        if old in changed:
            text = text.replace(new, changed[old], 1)
    return text


STAYING = {
    "while": (
        "the trip count is unknown on entry",
        "  p = 0\n" + _loop("p = p + 1", _RECEIVE, _USE, head="do while (p < np)"),
    ),
    "forever": ("the trip count is unknown on entry",
                "  p = 0\n" + _loop("p = p + 1", _RECEIVE, _USE,
                "if (p > np) exit", head="do")),
    "own_bounds": ("its bounds depend on its variable p",
                   "  p = 1\n" + _loop(_RECEIVE, _USE, head="do p = p, np")),
    "called_bounds": (r"a call with unknown effects in line \d+ \(next\)",
                      _loop(_RECEIVE, _USE, head="do p = 1, next(n)")),
    "count_changes": ("cnt", _loop(_RECEIVE, _USE, "cnt(p+1) = cnt(p+1) + 1")),
    "rank_changes": ("mine", "  mine = 0\n" + _loop("mine = mine + 1",
                     _receive(source="mine"), _USE)),
    "tag_is_received": (
        "tag",
        _loop(_receive(tag=" tag,"), _USE, "tag = int(a(1))"),
    ),
    "condition_is_received": (
        "factor",
        _loop("if (factor > 0) then", _RECEIVE, _USE, "factor = a(1)", "end if"),
    ),
    "exit_is_received": ("total", _loop(_RECEIVE, _USE, "total = a(1)", "if (total > 9) exit")),
    "communicator_changes": (
        "tag",
        _loop(_RECEIVE.replace("comm", "tag"), _USE, "tag = comm"),
    ),
    "status_decides": ("status", _loop(_receive(source="status(MPI_SOURCE)"), _USE)),
    "any_rank": ("the program has MPI_ANY_SOURCE", _loop(_receive(source="MPI_ANY_SOURCE"), _USE)),
    "any_tag": ("any tag", _loop(_receive(tag=" MPI_ANY_TAG,"), _USE)),
    "returns": ("the RETURN in line", _loop(_RECEIVE, _USE, "if (p > 3) return")),
    "stops": ("the STOP in line", _loop(_RECEIVE, _USE, "if (p > 3) stop 1")),
    "goes_to": ("the GOTO in line", _loop(_RECEIVE, _USE, "if (p > 3) goto 10") + "10 continue\n"),
    "two_loops": (
        "two loops",
        _loop(_RECEIVE, _USE, "do i = 1, n", "if (i > 3) cycle outer", "c(i) = 1", "end do",
              head="outer: do p = 1, np - 1").replace("end do\n", "end do outer\n")
        .replace("    end do outer", "    end do"),
    ),
    "cases": ("select construct", _loop("select case (p)", "case (1)", _RECEIVE, _USE,
                                        "end select")),
    "prints": ("the PRINT in line", _loop(_RECEIVE, _USE, "print *, p")),
    "new_communicator": ("mpi_comm_dup", _loop(_RECEIVE, _USE,
                                               "call MPI_Comm_dup(comm, mine, ierr)")),
    "probes": ("mpi_probe", _loop("call MPI_Probe(from(p), 1, comm, status, ierr)", _RECEIVE,
                                  _USE)),
    "another_receive": (
        "same rank, tag",
        _loop(_RECEIVE, _USE, "call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, mine, 1, comm, &",
              "  request, ierr)", "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)"),
    ),
    "exchanges": (
        "same rank, tag",
        _loop(_RECEIVE, _USE, "call MPI_Sendrecv(c, n, MPI_DOUBLE_PRECISION, mine, 1, &",
              "  b, n, MPI_DOUBLE_PRECISION, mine, 1, comm, MPI_STATUS_IGNORE, ierr)"),
    ),
    "unknown_procedure": (r"a call with unknown effects in line \d+ \(elsewhere\)",
                          _loop(_RECEIVE, _USE, "call elsewhere(b)")),
    "procedure_receives": ("mpi_recv", _loop(_RECEIVE, _USE, "call receiving(b, n, comm)")),
    "procedure_changes": ("np", _loop("if (p < np) then", _RECEIVE, _USE, "call changing(np)",
                                      "end if")),
    "condition_calls": (r"a call with unknown effects in line \d+ \(next\)",
                        _loop("if (next(p) > 0) then", _RECEIVE, _USE, "end if")),
    "own_type": ("may have gaps", _loop(_RECEIVE.replace("MPI_DOUBLE_PRECISION", "kind"), _USE)),
    "gaps": ("may have gaps", _loop(_RECEIVE.replace("MPI_DOUBLE_PRECISION", "MPI_DOUBLE_INT"),
                                    _USE)),
    "too_long": ("longer than 64 MiB", _loop(_receive(count="9000000"), _USE)),
    "only_receives": ("no work", _loop(_RECEIVE)),
    "counts_are_received": (
        "cnt",
        _loop("call MPI_Recv(cnt, 1, MPI_INTEGER, from(p), 2, comm, MPI_STATUS_IGNORE, ierr)",
              _RECEIVE, _USE),
    ),
}  # fmt: skip
WITHOUT_STEP = {
    # no receive that can be taken apart at all: the pass does not look at the loop
    "error_is_read": _loop(_RECEIVE, _USE, "if (ierr /= 0) stop"),
    "buffer_is_a_copy": _loop(_receive(buffer="(x(1:n:2,1),"), _USE),
    "in_an_inner_loop": _loop("do while (total < 1)", _RECEIVE, _USE, "total = total + a(1)",
                              "end do"),
}  # fmt: skip
_OTHERS = """\
subroutine receiving(b, n, comm)
  use mpi
  implicit none
  integer :: n, comm, ierr
  real(8) :: b(n)
  call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, 0, 1, comm, MPI_STATUS_IGNORE, ierr)
end subroutine receiving
subroutine changing(np)
  implicit none
  integer :: np
  np = np - 1
end subroutine changing
"""


@pytest.fixture(scope="module")
def staying(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Why the loop of each unit stays; 'posted' where it does not."""
    bodies = {name: body for name, (_, body) in STAYING.items()} | WITHOUT_STEP
    alone = {"any_rank"}  # a rule for the whole program
    found: dict[str, list[str]] = {}
    for names in ([n for n in bodies if n not in alone], *([name] for name in sorted(alone))):
        text = "".join(_UNIT.format(name=name, body=bodies[name]) for name in names)
        folder = tmp_path_factory.mktemp("staying")
        for facts in Stepped.of(folder, {"units.f90": text + _OTHERS}).facts():
            steps = ["posted" for _ in receive_queues.check(facts)]
            refused = receive_queues.refusals(facts)
            assert all(one.code in block_codes.EXPANSION and one.witness for one in refused)
            reasons = dict.fromkeys(one.message for one in refused)
            found[facts.unit.name] = [*steps, *reasons]
    return found


@pytest.mark.parametrize("name", STAYING)
def test_a_loop_stays(staying: dict[str, list[str]], name: str) -> None:
    (reason,) = staying[name]
    assert re.search(STAYING[name][0], reason), reason


@pytest.mark.parametrize("name", WITHOUT_STEP)
def test_other_loops_stay(staying: dict[str, list[str]], name: str) -> None:
    assert "posted" not in staying[name]


def _expanded(tmp_path: Path, body: str, limit: int | None = None) -> list[str]:
    """The executable statements after the pass alone, without comments of the program."""
    stepped = Stepped.of(tmp_path, {"unit.f90": _UNIT.format(name="unit", body=body) + _OTHERS})
    for facts in stepped.facts():
        for step in receive_queues.check(facts, limit):
            stepped.apply(receive_queues, facts, step)
    lines = [line.strip() for line in stepped.text("unit.f90").splitlines()]
    begin = next(n for n, line in enumerate(lines) if line.startswith("integer, external"))
    return [line for line in lines[begin + 1 : lines.index("end subroutine unit")] if line]


def test_all_are_posted_and_taken_in_the_order_of_the_loop(tmp_path: Path) -> None:
    assert _expanded(tmp_path, _loop("! from all", _RECEIVE, _USE)) == [
        "type(asphalt_queue) :: asphalt_queue_1",
        "! asphalt: all receives of the next loop, each into a buffer of its own",
        "do p = 1, np - 1",
        "call asphalt_post(asphalt_queue_1, cnt(p), MPI_DOUBLE_PRECISION, from(p), 1, comm)",
        "end do",
        "do p = 1, np - 1",
        "! from all",
        "! asphalt: MPI_Recv posted before the loop",
        "call asphalt_take(asphalt_queue_1, a)",
        _USE,
        "end do",
    ]


def test_what_decides_is_asked_twice(tmp_path: Path) -> None:
    body = _loop(
        "if (p == 3) cycle", "if (cnt(p) > 0) then", _RECEIVE, _USE, "else if (np > 9) then",
        "if (n > 4) " + _receive(tag=" 2,"), _USE, "else", "total = 0", "end if",
        "if (np > 7) exit", "if (n > 8) cycle", head="all: do p = 1, np - 1",
    ).replace("end do", "end do all")  # fmt: skip
    lines = _expanded(tmp_path, body)
    assert lines[2 : lines.index("end do") + 1] == [
        "do p = 1, np - 1",
        "if (p == 3) cycle",
        "if (cnt(p) > 0) then",
        "call asphalt_post(asphalt_queue_1, cnt(p), MPI_DOUBLE_PRECISION, from(p), 1, comm)",
        "else if (np > 9) then",
        "if (n > 4) call asphalt_post(asphalt_queue_1, cnt(p), MPI_DOUBLE_PRECISION, from(p), 2, "
        "comm)",
        "end if",
        "if (np > 7) exit",
        "end do",
    ]
    assert lines.count("if (n > 4) call asphalt_take(asphalt_queue_1, a)") == 1


def test_a_status_that_is_read_comes_with_its_message(tmp_path: Path) -> None:
    lines = _expanded(tmp_path, _loop(_RECEIVE, _USE, "total = status(MPI_TAG)"))
    assert "call asphalt_take(asphalt_queue_1, a, status)" in lines


def test_sends_in_the_loop_stay_where_they_are(tmp_path: Path) -> None:
    send = "call MPI_Send(b, n, MPI_DOUBLE_PRECISION, from(p), 2, comm, ierr)"
    lines = _expanded(tmp_path, _loop(send, _RECEIVE, _USE))
    assert lines.index(send) == lines.index("do p = 1, np - 1", 3) + 1


def test_the_limit_is_given_on(tmp_path: Path) -> None:
    assert "from(p), 1, comm, 8)" in " ".join(_expanded(tmp_path, _loop(_RECEIVE, _USE), 8))


@pytest.mark.parametrize(("limit", "count"), [(0, "cnt(p)"), (1, "131073")])
def test_no_copy_where_the_limit_is_known_to_be_too_small(
    tmp_path: Path, limit: int, count: str
) -> None:
    body = _loop(_receive(count=count), _USE)
    assert "call asphalt_take(asphalt_queue_1, a)" not in _expanded(tmp_path, body, limit)


def test_the_runtime_has_the_same_limit() -> None:
    (found,) = (text for source in RUNTIME for text in source.read_text().splitlines()
                if ":: usual_mebibytes" in text)  # fmt: skip
    assert found.endswith(f" = {USUAL_CLONES}")


# Sends


def _departing(tmp_path: Path, body: str) -> int:
    """How many sends are awaited, and can leave from copies."""
    stepped = Stepped.of(tmp_path, {"unit.f90": _UNIT.format(name="unit", body=body)})
    steps = [
        step for step in stepped.steps(buffered_sends) if isinstance(step, buffered_sends.Depart)
    ]
    awaited = [step.awaited for step in steps]
    assert stepped.applied(buffered_sends) == len(steps)
    return sum(awaited)


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        (("a(:) = p*c(:)", "SEND"), 1),
        (("a(:) = p*c(:)", "if (p /= 3) SEND"), 1),
        (("a(:) = p*c(:)", "SEND", "if (ierr /= 0) stop"), 0),  # the error is read
        (("c(:) = p*c(:)", "SEND"), 0),  # the buffer is not filled: nothing to wait for
        (("a(:) = p*c(:)", "SSEND"), 0),  # it returns when the receive has begun
        (("a(:) = p*c(:)", "SEND", "call MPI_Barrier(comm, ierr)"), 0),
    ],
)
def test_sends_of_a_loop_that_fills_the_buffer(
    tmp_path: Path, body: tuple[str, ...], steps: int
) -> None:
    send = "call MPI_Send(a, n, MPI_DOUBLE_PRECISION, from(p), 1, comm, ierr)"
    lines = [line.replace("SSEND", send.replace("_S", "_Ss")).replace("SEND", send)
             for line in body]  # fmt: skip
    assert _departing(tmp_path, _loop(*lines)) == steps


# All together


def _optimised(stepped: Stepped, unit: str, model: Model | None = None) -> Optimised:
    (facts,) = (facts for facts in stepped.facts() if facts.unit.name == unit)
    return optimise(stepped.tree, facts.located, context=Context(model))


def test_all_receives_come_before_all_work_that_they_do_not_need(tmp_path: Path) -> None:
    """In both phases of a gather, whatever the ranks do in them."""
    sources = {name: (KERNELS / "ocean_gather" / name).read_text("latin-1")
               for name in ("original.f", "sizes.inc", "work.f")}  # fmt: skip
    # on a network whose messages of this length wait for their receives
    model = Model((INFINIBAND_DDR_2009,))
    found = _optimised(Stepped.of(tmp_path, sources), "xcaget", model)
    assert [transfer.operation for transfer in found.transfers] == [
        "MPI_Recv", "MPI_Send", "MPI_Recv", "MPI_Send",
    ]  # fmt: skip
    text = (found.content or b"").decode()
    body = text[text.index("SUBROUTINE XCAGET") :]
    words = re.findall(r"ASPHALT_POST|ASPHALT_TAKE|ASPHALT_SEND|CALL METRIC", body)[3:]
    assert words == ["ASPHALT_POST", "ASPHALT_POST", "CALL METRIC", "ASPHALT_TAKE", "CALL METRIC",
                     "ASPHALT_SEND", "ASPHALT_TAKE", "ASPHALT_SEND"]  # fmt: skip


def test_a_branch_is_not_split_for_nothing(tmp_path: Path) -> None:
    body = "  if (np > 1) then\n" + _loop(_RECEIVE, "c(:) = c(:) + a(:)") + "  end if\n"
    text = _UNIT.format(name="unit", body=body)
    found = _optimised(Stepped.of(tmp_path, {"unit.f90": text}), "unit")
    assert [step.transformation for step in found.steps] == ["expansion"]


_TEXT = """\
program p
  use mpi
  use asphalt_queues, only: asphalt_queue, asphalt_post, asphalt_take, asphalt_send
  implicit none
  integer, parameter :: n = 80000, times = 9, limits(3) = [1, 0, 64]
  type(asphalt_queue) :: queue
  real(8) :: a(n), sum
  integer :: me, np, i, it, limit, cnt, ierr, status(MPI_STATUS_SIZE)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do it = 1, 3
    sum = 0
    a = -1
    limit = limits(it)
    if (me == 0) then
      do i = 1, times
        call asphalt_post(queue, n, MPI_DOUBLE_PRECISION, np - 1, 7, MPI_COMM_WORLD, limit)
        call asphalt_post(queue, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 7, MPI_COMM_WORLD, limit)
      end do
      do i = 1, times
        call asphalt_take(queue, a, status)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, cnt, ierr)
        sum = 0.5d0*sum + cnt + a(1) + 2*a(i) + 3*a(n)
        call asphalt_take(queue, a)
        if (a(i) /= 100 + i) sum = -1d9
      end do
      print '(a,f24.10)', 'sum', sum
    else if (me == np - 1) then
      do i = 1, times
        a = 100 + i
        call asphalt_send(a, n - 7000*(i - 1), MPI_DOUBLE_PRECISION, 0, 7, MPI_COMM_WORLD, limit)
        a = 0
      end do
    end if
  end do
  call MPI_Finalize(ierr)
end program p
"""


@pytest.mark.parametrize(
    "mpi", [pytest.param(m, marks=[pytest.mark.wide] if m is not SMPI else []) for m in installed()]
)
def test_messages_beyond_the_limit_wait(tmp_path: Path, mpi: Mpi) -> None:
    """At most one copy of 0.6 MB, or none, or all; the last messages are on their way when the
    sender ends."""
    (tmp_path / "p.f90").write_text(_TEXT)
    outcome = run(mpi, build(mpi, [*RUNTIME, tmp_path / "p.f90"], tmp_path, ("-O1", "-w")), 2)
    assert outcome.code == 0, outcome.stderr
    lines = [line for line in outcome.stdout.splitlines() if "sum" in line]
    assert len(lines) == 3
    assert len(set(lines)) == 1
    assert "-1000000000" not in lines[0]


def test_a_random_procedure_is_the_same_each_time() -> None:
    assert procedure(5, 3) == procedure(5, 3)
    assert procedure(5, 3) != procedure(5, 4)


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
def test_a_sample_of_gathers_gives_the_same_results(tmp_path: Path) -> None:
    found = batch(11, 0, 3, SMPI, "-O0", tmp_path, (4,), "gathers")
    assert found.failures == []
    assert found.steps["the receives"] >= 2


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed())
def test_more_gathers_give_the_same_results(tmp_path: Path, mpi: Mpi) -> None:
    found = batch(12, 0, 40, mpi, "-O2", tmp_path, (2, 3, 4), "gathers")
    assert found.failures == []
    assert found.steps["the receives"] >= 15


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        ("ocean_gather", b"asphalt: what begins the next iteration"),
        ("ocean_sum", b"asphalt: MPI_Bcast made non-blocking"),  # copies would lose on one network
    ],
)
def test_kernels_give_the_same_bits(tmp_path: Path, kernel: str, text: bytes, mpi: Mpi) -> None:
    source = tmp_path / "source"
    source.mkdir()
    names = ("results.f90", "work.f", "original.f")
    for name in (*names, "sizes.inc"):
        folder = KERNELS / ("common" if name == names[0] else kernel)
        shutil.copy(folder / name, source / name)
    (change,) = Project(source, settings=Settings(passes=TRANSFERS, cache=False)).transform()
    assert text in change.after
    outputs = []
    for place, content in (("before", change.before), ("after", change.after)):
        folder = tmp_path / place
        shutil.copytree(source, folder)
        (folder / "original.f").write_bytes(content)
        files = [*RUNTIME, *(folder / name for name in names)]
        program = build(mpi, files, folder, ("-O2", "-w", "-std=legacy"))
        outputs.append([_hashes(run(mpi, program, ranks).stdout) for ranks in (1, 2, 3, 4)])
    assert outputs[0] == outputs[1]
    assert all(outputs[0])


def _hashes(text: str) -> list[str]:
    return [line for line in text.splitlines() if "hash" in line.lower()]


def test_the_setting(tmp_path: Path) -> None:
    (tmp_path / "unit.f90").write_text(_UNIT.format(name="unit", body=_loop(_RECEIVE, _USE)))
    (change,) = Project(
        tmp_path, settings=Settings(passes=("expansion",), clone_limit=3, cache=False)
    ).transform()
    assert b"1, comm, 3)" in change.after
    with pytest.raises(UsageError, match="clone_limit must be 0 or more"):
        Settings(clone_limit=-1)
