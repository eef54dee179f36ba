"""Waits leave loops whose iterations each transfer a part of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.requests.matching import Matched
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.buffers import waits_behind_loop
from support.mpi_run import SMPI, installed, runtime_texts
from support.stepping import Stepped

_UNIT = """\
subroutine unit(total, w, n, m, comm)
  use mpi
  use asphalt_collectives, only: asphalt_ibcast
  use asphalt_core, only: asphalt_irecv
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, parameter :: fields = 6, many = 500
  integer, intent(in) :: n, m, comm
  real(8), intent(inout) :: w(n, fields)
  real(8) :: total(fields), mean(3, fields), all
  integer :: l, i, ierr, root
  integer :: asphalt_request_1
  root = 0
  {head}
{body}
  end do
end subroutine unit
"""
_START = "    call asphalt_ibcast(total(l), 1, MPI_REAL8, root, comm, asphalt_request_1)\n"
_WAIT = "    call asphalt_wait(asphalt_request_1, total(l))\n"
_WORK = "    do i = 1, n\n      w(i,l) = w(i,l) + 1\n    end do\n"
_BODY = "    total(l) = w(1,l)\n" + _START + _WORK + _WAIT
_LOOP = "do l = 1, fields"
_COLUMN = _START.replace("total(l), 1", "mean(1,l), 3")
_INTO = _WAIT.replace("total(l)", "mean(1,l)")

STAYING = {
    "next iteration reads it": (_LOOP, "    all = total(max(1, l - 1))\n" + _BODY),
    "all of it is read": (_LOOP, _BODY.replace("w(1,l)", "sum(total)")),
    "every iteration has the same part": (_LOOP, _BODY.replace("(l)", "(1)")),
    "two elements": (_LOOP, _BODY.replace("total(l), 1,", "total(l), 2,")),
    "another message touches it": (
        _LOOP,
        "    call MPI_Send(total(1), 1, MPI_REAL8, 0, 1, comm, ierr)\n" + _BODY,
    ),
    "any number of iterations": ("do l = 1, m", _BODY),
    "too many iterations": ("do l = 1, many", _BODY),
    "one iteration": ("do l = 1, 1", _BODY),
    "steps": ("do l = 1, fields, 2", _BODY),
    "it is left early": (_LOOP, _BODY.replace(_WORK, "    if (w(1,l) > 9) exit\n" + _WORK)),
    "an iteration is left early": (_LOOP, "    if (w(1,l) > 9) cycle\n" + _BODY),
    "a communicator ends": (_LOOP, _BODY + "    call MPI_Comm_free(comm, ierr)\n"),
    "an index of the same name": (
        _LOOP,
        "    forall (l = 1:fields) mean(1,l) = total(l)\n" + _BODY,
    ),
    "it prints": (_LOOP, _BODY + "    print *, l\n"),
    "a status is read": (
        _LOOP,
        _BODY.replace("total(l))", "total(l), MPI_STATUS_IGNORE)"),
    ),
    "not always waited for": (_LOOP, _BODY.replace("    call asphalt_wait",
                                                   "    if (n > 1) call asphalt_wait")),
    "waited for twice": (_LOOP, _BODY + _WAIT),
}  # fmt: skip


def _found(
    folder: Path, head: str, body: str
) -> tuple[Stepped, UnitFacts, list[waits_behind_loop.Drain]]:
    text = _UNIT.format(head=head, body=body.rstrip("\n"))
    stepped = Stepped.of(folder, {"unit.f90": text})
    (facts,) = stepped.facts()
    found = [
        one for one in waits_behind_loop.check(facts) if isinstance(one, waits_behind_loop.Drain)
    ]
    return stepped, facts, found


@pytest.mark.parametrize("name", STAYING)
def test_the_wait_stays(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, *STAYING[name])[2] == []


@pytest.mark.parametrize("body", [_BODY, _COLUMN + _WORK + _INTO])
def test_the_wait_leaves(body: str, tmp_path: Path) -> None:
    stepped, facts, (step,) = _found(tmp_path, _LOOP, body)
    stepped.apply(waits_behind_loop, facts, step)
    text = stepped.text("unit.f90")
    assert "  integer :: asphalt_request_1(fields)\n" in text
    part = "total(l)" if body == _BODY else "mean(1,l)"
    assert text.endswith(f"""\
    end do
  end do
  ! asphalt: what all iterations have started is complete behind these
  do l = 1, fields
    call asphalt_wait(asphalt_request_1(l), {part})
  end do
end subroutine unit
""")
    assert f"call asphalt_ibcast({part}, " in text
    assert "comm, asphalt_request_1(l))" in text
    assert not any(waits_behind_loop.check(facts) for facts in stepped.facts())


_PROGRAM = """\
program sums
  use mpi
  implicit none
  integer, parameter :: fields = 5, n = 400
  real(8) :: w(n, fields), total(fields)
  integer :: me, ierr, step, l, i
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  w = me + 0.5d0
  do step = 1, 3
    do l = 1, fields
      total(l) = 0
      do i = 1, n
        total(l) = total(l) + w(i,l)*sin(dble(i + step))
      end do
      call MPI_Bcast(total(l), 1, MPI_DOUBLE_PRECISION, mod(l, 2), MPI_COMM_WORLD, ierr)
      do i = 1, n
        w(i,l) = w(i,l) + cos(dble(i*l))
      end do
    end do
    w(1,1) = w(1,1) + sum(total)
  end do
  print '(i0, 2z17)', me, sum(w), sum(total)
  call MPI_Finalize(ierr)
end program sums
"""


def test_a_program_gives_the_same_digits(tmp_path: Path) -> None:
    if SMPI not in installed():
        pytest.skip("no SMPI")
    (tmp_path / "source").mkdir()
    path = tmp_path / "source" / "sums.f90"
    path.write_text(_PROGRAM)
    tree = load_tree([path.parent])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert found.content is not None
    assert "waits" in [step.transformation for step in found.steps]
    assert b"asphalt_request_1(fields)" in found.content
    before = Stepped.of(tmp_path / "before", {"sums.f90": _PROGRAM})
    text = found.content.decode()
    files = {**runtime_texts(text), "sums.f90": text}
    after = Stepped.of(tmp_path / "after", files)
    same = before.result(SMPI, tmp_path / "a", ["sums.f90"], 4)
    assert after.result(SMPI, tmp_path / "b", list(files), 4) == same


_GUARDED = (
    "    if (n > 1) call asphalt_irecv(mean(1,l), 3, MPI_REAL8, root, 1, comm, asphalt_request_1)\n"
    + _WORK
    + "    if (n > 1) then\n"
    "      call asphalt_wait(asphalt_request_1, mean(1,l))\n"
    "      total(l) = mean(1,l) + l\n"
    "    end if\n"
)


def test_what_needs_the_message_goes_with_the_wait(tmp_path: Path) -> None:
    stepped, facts, (step,) = _found(tmp_path, _LOOP, _GUARDED)
    stepped.apply(waits_behind_loop, facts, step)
    text = stepped.text("unit.f90")
    assert text.endswith("""\
  ! asphalt: what all iterations have started is complete behind these
  do l = 1, fields
    if (n > 1) then
      call asphalt_wait(asphalt_request_1(l), mean(1,l))
      total(l) = mean(1,l) + l
    end if
  end do
end subroutine unit
""")
    assert "if (n > 1) call asphalt_irecv(mean(1,l), 3, MPI_REAL8, root, 1, comm," in text
    (facts,) = stepped.facts()
    assert all(isinstance(match, Matched) for match in facts.once(Messages).matches)


def test_a_labelled_loop_keeps_its_label(tmp_path: Path) -> None:
    labelled = _UNIT.replace("  end do\nend sub", "10 continue\nend sub")
    text = labelled.format(head="do 10 l = 1, fields", body=_GUARDED.rstrip("\n"))
    stepped = Stepped.of(tmp_path, {"unit.f90": text})
    assert stepped.applied(waits_behind_loop) == 1
    assert "10 continue\n  ! asphalt: what all" in stepped.text("unit.f90")
    assert "  do l = 1, fields\n    if (n > 1) then\n" in stepped.text("unit.f90")


STAYING_GUARDED = {
    "other conditions": _GUARDED.replace("if (n > 1) then", "if (n > 2) then"),
    "conditions by iteration": _GUARDED.replace("if (n > 1) call", "if (mod(l, 2) == 0) call")
    .replace("if (n > 1) then", "if (mod(l, 2) == 1) then"),
    "a condition that changes": "    root = root + 1\n" + _GUARDED.replace("n > 1", "root > 1"),
    "the next iteration needs it": _GUARDED.replace("w(i,l) + 1", "w(i,l) + total(max(1, l - 1))"),
    "the same iteration needs it": _GUARDED
    + _WORK.replace("w(i,l) + 1", "w(i,l) + total(l)")
    + "    root = int(w(1,l))\n",
    "it is for the iteration before": _GUARDED.replace(_WORK, "").replace(
        "    if (n > 1) call asphalt_irecv", "    if (n > 0) call asphalt_irecv"),
    "something is sent behind it": _GUARDED.replace(
        "      total(l) = ", "      call MPI_Send(w(1,l), 1, MPI_REAL8, 0, 9, comm, ierr)\n"
        "      total(l) = "),
    "all of a buffer": _GUARDED.replace("mean(1,l), 3,", "mean(1,l), m,"),
    "in an inner loop": "    do i = 1, 2\n" + _GUARDED.replace(_WORK, "") + "    end do\n",
}  # fmt: skip


@pytest.mark.parametrize("name", STAYING_GUARDED)
def test_the_wait_stays_with_its_start(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, _LOOP, STAYING_GUARDED[name])[2] == []


_OWN = """\
subroutine unit(a, b, n, other, comm)
  use mpi
  implicit none
  integer, parameter :: few = 9
  integer, intent(in) :: n, other, comm
  real(8), intent(inout) :: a(n, few), b(n, few)
  integer :: i, j, ierr, single, status(MPI_STATUS_SIZE)
  integer :: each(few)
  do j = 1, few
    a(:,j) = 2*a(:,j)
    call MPI_Isend(a(:,j), n, MPI_DOUBLE_PRECISION, other, 1, comm, {start}, ierr)
    call MPI_Wait({wait}, {status}, ierr)
{body}  end do
{behind}end subroutine unit
"""
_OWN_WORK = "    do i = 1, n\n      b(i,j) = sqrt(b(i,j))\n    end do\n"


def _own(start: str, wait: str = "", body: str = "", behind: str = "", status: str = "") -> str:
    return _OWN.format(
        start=start,
        wait=wait or start,
        status=status or "MPI_STATUS_IGNORE",
        body=body or _OWN_WORK,
        behind=behind,
    ).replace("a(:,j), n, MPI", "a(1,j), n, MPI")


@pytest.mark.parametrize(
    ("request_of", "declared"),
    [
        ("each(j)", ""),
        (
            "single",
            "  ! asphalt: single for each iteration\n  integer :: asphalt_requests_1(few)\n",
        ),
    ],
)
def test_waits_of_the_program_leave(request_of: str, declared: str, tmp_path: Path) -> None:
    """An array of requests stays; a scalar one becomes an array (figure 1, c to e)."""
    stepped = Stepped.of(tmp_path, {"unit.f90": _own(request_of)})
    assert stepped.applied(waits_behind_loop) == 1
    text = stepped.text("unit.f90")
    element = request_of if declared == "" else "asphalt_requests_1(j)"
    assert declared in text
    assert f"comm, {element}, " in text.replace("&\n                   ", "")
    assert text.endswith(f"""\
{_OWN_WORK}  end do
  ! asphalt: what all iterations have started is complete behind these
  do j = 1, few
    call MPI_Wait({element}, MPI_STATUS_IGNORE, ierr)
  end do
end subroutine unit
""")
    (facts,) = stepped.facts()
    assert all(isinstance(match, Matched) for match in facts.once(Messages).matches)


def test_the_last_status_is_that_of_the_last_wait(tmp_path: Path) -> None:
    """Waits leave in their order."""
    text = _own("each(j)", behind="  b(1,1) = status(1)\n", status="status")
    stepped = Stepped.of(tmp_path, {"unit.f90": text})
    assert stepped.applied(waits_behind_loop) == 1
    assert "    call MPI_Wait(each(j), status, ierr)\n  end do\n  b(1,1) =" in stepped.text(
        "unit.f90"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_own("each(2)"), id="one element for all"),
        pytest.param(_own("each(j)", "each(few+1-j)"), id="another element"),
        pytest.param(_own("each(j)", behind="  print *, each\n"), id="requests that are read"),
        pytest.param(_own("single", behind="  print *, single\n"), id="a request that is read"),
        pytest.param(
            _own("single", body=_OWN_WORK + "    a(1,j) = single\n"), id="one that is read there"
        ),
        pytest.param(
            _own("each(j)", body="    b(:,j) = a(1,1)\n    a(1,1) = j\n"), id="what is sent changes"
        ),
        pytest.param(_own("each(j)").replace("few", "n"), id="any number of iterations"),
    ],
)
def test_waits_of_the_program_stay(text: str, tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"unit.f90": text})
    assert stepped.applied(waits_behind_loop) == 0
