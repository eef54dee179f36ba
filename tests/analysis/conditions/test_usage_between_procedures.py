"""Findings that need more than one procedure: requests that are passed on, and ranks that never
meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.project import Project
from support.judging import SETTINGS, program, project
from support.places import RUNTIME_PROGRAMS

REAL = "MPI_DOUBLE_PRECISION"
WORLD = "MPI_COMM_WORLD"
_DECLARED = """\
integer :: request, other, requests(4), k
real(8) :: a(4), b(4)
"""
_START = """
subroutine start(a, request)
  use mpi
  implicit none
  real(8), asynchronous :: a(4)
  integer, intent(inout) :: request
  integer :: ierr
  {condition}call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)
{more}end subroutine start
"""
_FINISH = """
subroutine finish(request)
  use mpi
  implicit none
  integer, intent(inout) :: request
  integer :: ierr
  {condition}call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
end subroutine finish
"""
_MIDDLE = """
subroutine middle(a)
  implicit none
  real(8) :: a(4)
  integer{attribute} :: r
  {before}call start(a, r)
end subroutine middle
"""
_PASS = """
subroutine pass(a, r)
  use mpi
  implicit none
  real(8) :: a(4)
  integer :: r, ierr
  call start(a, r)
{more}end subroutine pass
"""
_CALL = "call start(a, request)\n"
_END = "call finish(request)\n"
_WAIT = "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"


def _program(text: str, beside: str = "", contained: str = "") -> str:
    before = "a = me\nr = 0\n"
    return program(
        declare=_DECLARED, before=before, nest="", call=text, contained=contained, beside=beside
    )


def _start(condition: str = "", more: str = "") -> str:
    return _START.format(condition=condition, more=more)


def _finish(condition: str = "") -> str:
    return _FINISH.format(condition=condition)


def _middle(before: str = "", attribute: str = "") -> str:
    return _MIDDLE.format(before=before, attribute=attribute)


def _pass(more: str = "") -> str:
    return _PASS.format(more=more)


def _loop(text: str) -> str:
    return f"do k = 1, np\n{text}end do\n"


def _send(to: object, tag: int = 1, count: int = 4, comm: str = WORLD) -> str:
    return f"call MPI_Send(a, {count}, {REAL}, {to}, {tag}, {comm}, ierr)\n"


def _recv(source: object, tag: object = 1, count: int = 4, comm: str = WORLD) -> str:
    last = f"{comm}, MPI_STATUS_IGNORE, ierr"
    return f"call MPI_Recv(b, {count}, {REAL}, {source}, {tag}, {last})\n"


def _at(rank: object, text: str, others: str = "") -> str:
    return f"if (me == {rank}) then\n{text}{f'else{chr(10)}{others}' if others else ''}end if\n"


FOUND = {
    "started for a caller": ("ASP030", _program(_CALL, _start())),
    "in a loop": ("ASP030", _program(_loop(_CALL), _start())),
    "under a condition": ("ASP030", _program(f"if (np > 1) {_CALL}", _start())),
    "an element": ("ASP030", _program("call start(a, requests(2))\n", _start())),
    "in a procedure": ("ASP030", _program("call middle(a)\n", _start() + _middle())),
    "through a procedure": ("ASP030", _program("call pass(a, request)\n", _start() + _pass())),
    "waited for by a procedure": ("ASP031", _program(_END, _finish())),
    "from another source": ("ASP032", _program(_at(0, _send(1), _recv(1)))),
    "to another rank": ("ASP032", _program(_at(0, _send(1)) + _at(2, _recv(0)))),
    "to the sender": ("ASP032", _program(_at(0, _send(0), _recv("MPI_ANY_SOURCE")))),
    "under the opposite": (
        "ASP032", _program(f"if (me /= 0) then\n{_recv(0)}else\n{_send(0)}end if\n")
    ),
    "a rank in a variable": ("ASP032", _program("k = 0\n" + _at("k", _send(1), _recv("k + 1")))),
    "of another communicator": (
        "ASP032", _program(_send("modulo(me + 1, np)") + _recv(0, comm="MPI_COMM_SELF")),
    ),
    "too long for one rank": (
        "ASP033",
        _program(_at(0, _send(1) + _send(2, count=2)) + _at(1, _recv(0)) + _at(2, _recv(0, 1, 1))),
    ),
    "too long with any tag": ("ASP033", _program(_at(0, _send(1), _recv(0, "MPI_ANY_TAG", 3)))),
}  # fmt: skip
SILENT = {
    "completed by the caller": _program(_CALL + _WAIT, _start()),
    "completed by another procedure": _program(_CALL + _END, _start() + _finish()),
    "completed behind the loop": _program(_loop(_CALL) + _WAIT, _start()),
    "completed in the procedure": _program(_CALL, _start(more="  call MPI_Wait(request, &\n"
                                                         "    MPI_STATUS_IGNORE, ierr)\n")),
    "completed with others": _program(
        "call start(a, requests(1))\ncall MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierr)\n",
        _start(),
    ),
    "completed by an internal procedure": _program(
        f"{_CALL}call done()\n", _start(), f"subroutine done()\n{_WAIT}end subroutine\n"
    ),
    "not always started": _program(_CALL, _start(condition="if (a(1) > 0) ")),
    "completed on the way": _program("call pass(a, request)\n", _start() + _pass(
        "  call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)\n")),
    "completed behind it": _program("call pass(a, request)\n" + _WAIT, _start() + _pass()),
    "passed on": _program(_CALL, _start(more="  call elsewhere(request)\n")),
    "stopped": _program(_CALL + "stop\n", _start()),
    "may not go on": _program(_CALL + "call elsewhere(a)\n", _start()),
    "said by a directive": _program(f"!$asphalt match(one)\n{_CALL}", _start()),
    "kept for the next call": _program(
        "call middle(a)\ncall middle(a)\n",
        _start() + _finish() + _middle("if (r /= -1) call finish(r)\n  ", ", save"),
    ),
    "started before": _program(_CALL + _END, _start() + _finish()),
    "no request": _program("request = MPI_REQUEST_NULL\n" + _END, _finish()),
    "not always waited for": _program(_END, _finish("if (ierr == 0) ")),
    "given from outside": _program("read *, request\n" + _END, _finish()),
    "a pair": _program(_at(0, _send(1), _recv(0))),
    "two conditions": _program(_at(0, _send(2)) + _at(2, _recv(0))),
    "any source": _program(_at(0, _send(1), _recv("MPI_ANY_SOURCE"))),
    "nobody": _program(_at(0, _send(1), _recv("MPI_PROC_NULL"))),
    "all by computed ranks": _program(_send("modulo(me + 1, np)") + _recv("modulo(me - 1, np)")),
    "ranks of another communicator": _program(
        f"call MPI_Comm_split({WORLD}, 0, -me, other, ierr)\n"
        + _at(0, _send(0, comm="other"), _recv(0, comm="other"))
    ),
    "a communicator that is not known": _program(
        f"call MPI_Comm_dup({WORLD}, other, ierr)\n" + _send("me") + _recv("me", comm="other")
    ),
    "the rank is changed": _program(
        _at(0, f"me = 1\n{_send('me')}") + f"if (me == 1) then\n{_recv('MPI_ANY_SOURCE')}end if\n"
    ),
    "one fits": _program(
        _at(0, _send(1) + _send(1, count=2)) + _at(1, _recv(0, 1, 2) + _recv(0))
    ),
}  # fmt: skip
_QUICK = {
    "completed by the caller", "completed by another procedure", "not always started",
    "kept for the next call", "no request", "two conditions", "ranks of another communicator",
    "the rank is changed",
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str, tmp_path: Path) -> None:
    code, text = FOUND[name]
    (report,) = project(tmp_path, text).findings
    assert (report.verdict, report.code) == ("finding", code), report
    assert report.operation.startswith("MPI_")
    assert report.witness
    lines = text.splitlines()
    assert "call " in lines[report.line - 1]


@pytest.mark.parametrize(
    "name", [n if n in _QUICK else pytest.param(n, marks=pytest.mark.wide) for n in SILENT]
)
def test_silent(name: str, tmp_path: Path) -> None:
    assert project(tmp_path, SILENT[name]).findings == ()


def test_given_statements_have_none() -> None:
    """A receive from a queue names neither its source nor its communicator."""
    assert Project(RUNTIME_PROGRAMS, settings=SETTINGS).findings == ()
