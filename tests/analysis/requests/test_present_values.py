"""Request arrays whose subscripts are named constants, in proofs for any values of these."""

from __future__ import annotations

import pytest

from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.requests.matching import Match, Matched, Unknown, matching
from support.fortran_program import FortranProgram

UNIT = """\
subroutine unit(p, q)
  use mpi
  implicit none
  integer, intent(in) :: p, q
  integer, parameter :: west = 1, east = 2, left = 1, sides = 2
  integer :: r(4), kept, at, ierr
  real :: b(100)
{body}
end subroutine unit
"""
BODY = 8
ALL = "MPI_STATUSES_IGNORE, ierr)\n"


def receive(request: str) -> str:
    return f"call MPI_Irecv(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, {request}, ierr)\n"


def wait_all(count: str, requests: str = "r") -> str:
    return f"call MPI_Waitall({count}, {requests}, {ALL}"


def answers(body: str) -> tuple[Match, ...]:
    program = FortranProgram(UNIT.format(body=body.rstrip("\n")))
    scopes = Scopes(program, any_sizes=True)
    scope, effects = scopes.of(program.all[0]), Effects(scopes)
    values = Values(scope, effects.names(scope))
    return matching(scope, values, ReachingDefinitions(scope, effects))


AT_WEST = "at = p + west\n"
TWO = receive("r(west)") + receive("r(east)")


@pytest.mark.parametrize(
    "body",
    [
        TWO + wait_all("2"),
        TWO + wait_all("sides"),
        receive("r(west)") + receive("r(sides + west)") + wait_all("4"),
        TWO + f"if (p > 1) then\n{wait_all('2')}else\n{wait_all('2')}end if\n",
        TWO + wait_all("1", "r(west)") + wait_all("1", "r(east)"),
        AT_WEST
        + receive("r(at)")
        + "at = p + east\n"
        + receive("r(at)")
        + wait_all("1", "r(at)")
        + wait_all("1", "r(p + west)"),
    ],
)
def test_different_constants_are_different_requests(body: str) -> None:
    found = answers(body)
    assert all(isinstance(one, Matched) for one in found[:2]), found


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # two names of one number
        (receive("r(west)") + receive("r(left)") + wait_all("2"), "line 9 may use the same"),
        # the second one may not be set anew
        (
            AT_WEST
            + receive("r(at)")
            + "if (q > 1) at = p + east\n"
            + receive("r(at)")
            + wait_all("4"),
            "line 11 may use the same",
        ),
        # arguments may be equal, and outside of what is completed
        (receive("r(p)") + receive("r(q)") + wait_all("4"), "line 9 may use the same"),
        # with other values, the other call completes one that is completed here now
        (TWO + wait_all("1") + wait_all("3", "r(2)"), "MPI_Waitall in line 10 may have"),
        # a copy of the request completes it where the values are equal
        (receive("r(west)") + "kept = r(west)\n" + receive("r(east)") + wait_all("2"), "line 9"),
        # not complete by the present values either
        (receive("r(sides + west)") + wait_all("2"), "MPI_Waitall in line 9 may have another"),
        # whether the operation is complete depends on its progress
        (
            receive("r(west)") + "call MPI_Waitany(2, r, kept, MPI_STATUS_IGNORE, ierr)\n",
            "MPI_Waitany in line 9",
        ),
    ],
)
def test_what_the_values_of_now_do_not_decide(body: str, reason: str) -> None:
    found = answers(body)[0]
    assert isinstance(found, Unknown), found
    assert found.reason.startswith(reason)
