"""What begins an iteration is done at the end of the one before, where receives have no work."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import rotation
from support.stepping import Stepped

_UNIT = """\
subroutine steps(u, v, n, last, below, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, below, comm
  integer, intent(inout) :: last
  real(8), intent(inout) :: u(0:n), v(0:n)
  integer :: i, k, ierr
{declared}
  ! step after step
  do k = {bounds}
{first}
    call MPI_Recv(u, 1, MPI_DOUBLE_PRECISION, below, 1, comm, MPI_STATUS_IGNORE, ierr)
{behind}
  end do
{rest}
end subroutine steps

subroutine relax(step, n, v)
  implicit none
  integer, intent(in) :: step, n
  real(8), intent(inout) :: v(0:n)
  v = v/step
end subroutine relax
"""
_RECV = "    call MPI_Recv(u, 1, MPI_REAL8, below, 2, comm, MPI_STATUS_IGNORE, ierr)"
_CALL = "    call relax(k, n, v)"
_NEST = """\
    ! relaxed
    do i = 1, n
      v(i) = v(i) + k
    end do"""


def _stepped(folder: Path, **parts: str) -> Stepped:
    plain = {"declared": "", "bounds": "1, last", "first": _CALL, "behind": "", "rest": ""}
    return Stepped.of(folder, {"steps.f90": _UNIT.format(**plain | parts)})


def _rotated(folder: Path, **parts: str) -> list[str]:
    stepped = _stepped(folder, **parts)
    assert stepped.applied(rotation) == 1
    text = stepped.text("steps.f90")
    body = text[text.index("  ! step after step") : text.index("end subroutine steps")]
    return [line for line in body.splitlines() if line.strip()]


def test_a_call(tmp_path: Path) -> None:
    assert _rotated(tmp_path) == [
        "  ! step after step",
        "  ! asphalt: what begins the first iteration; later ones have it at the end of the one"
        " before",
        "  if (1 <= last) call relax(1, n, v)",
        "  do k = 1, last",
        "    call MPI_Recv(u, 1, MPI_DOUBLE_PRECISION, below, 1, comm, MPI_STATUS_IGNORE, ierr)",
        "    ! asphalt: what begins the next iteration",
        "    if (k < last) call relax(k + 1, n, v)",
        "  end do",
    ]


_FIXED = """\
      SUBROUTINE STEPS(U, V, N, LAST, BELOW, COMM)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER N, LAST, BELOW, COMM, I, K, IERR
      DOUBLE PRECISION U(0:N), V(0:N)
      DO K = 1, LAST
         DO I = 1, N
            V(I) = V(I)
C        WHAT COMES IN EACH STEP
     &             + K
         END DO
         CALL MPI_RECV(U, 1, MPI_DOUBLE_PRECISION, BELOW, 1, COMM,
     &                 MPI_STATUS_IGNORE, IERR)
      END DO
      END
"""


def test_fixed_form(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"steps.f": _FIXED})
    assert stepped.applied(rotation) == 1
    lines = stepped.text("steps.f").splitlines()
    assert sum("WHAT COMES" in line for line in lines) == 1
    number = lines.index("         IF (K < LAST) THEN")
    assert [line for line in lines[number : number + 5] if not line.startswith("!")] == [
        "         IF (K < LAST) THEN",
        "           DO I = 1, N",
        "              V(I) = V(I) + (K + 1)",
        "           END DO",
        "         END IF",
    ]


def test_a_nest(tmp_path: Path) -> None:
    lines = _rotated(tmp_path, first=_NEST)
    assert lines[2:8] == [
        "  if (1 <= last) then",
        "    ! relaxed",
        "    do i = 1, n",
        "      v(i) = v(i) + 1",
        "    end do",
        "  end if",
    ]
    assert lines[-7:-1] == [
        "    ! asphalt: what begins the next iteration",
        "    if (k < last) then",
        "      do i = 1, n",
        "        v(i) = v(i) + (k + 1)",
        "      end do",
        "    end if",
    ]


def test_a_loop_that_certainly_has_an_iteration(tmp_path: Path) -> None:
    lines = _rotated(tmp_path, bounds="3, 9")
    assert "  call relax(3, n, v)" in lines
    assert "    if (k < 9) call relax(k + 1, n, v)" in lines


def test_a_private_bound(tmp_path: Path) -> None:
    """What a procedure does that is not seen is no obstacle behind the work."""
    parts = {
        "bounds": "1, m",
        "declared": "  integer :: m",
        "behind": "    call unknown()\n" + _RECV,
    }
    assert "    if (k < m) call relax(k + 1, n, v)" in _rotated(tmp_path, **parts)


def test_the_report_says_whether_the_work_went_elsewhere(tmp_path: Path) -> None:
    stepped = _stepped(tmp_path)
    stepped.applied(rotation)
    facts = next(f for f in stepped.facts() if f.unit.name == "steps")
    assert not rotation.is_used(facts)
    behind = "    if (k < last) v(1) = 0\n    v(2) = 1\n"
    facts = _stepped(tmp_path / "moved", behind=behind).facts()[0]
    assert rotation.is_used(facts)


STAYS = {
    "no work first": {"first": "    v(1) = 0"},
    "work behind": {"behind": _NEST},
    "cycle": {"behind": "    if (u(0) > 0) cycle\n    v(2) = 0"},
    "exit": {"first": "    if (u(0) > 0) exit\n" + _CALL},
    "return": {"behind": "    if (u(0) > 0) return"},
    "goto": {"behind": "    if (u(0) > 0) goto 10", "rest": "10 continue"},
    "print": {"first": _NEST.replace("    end do", "      print *, i\n    end do")},
    "label": {"first": "    do 10 i = 1, n\n      v(i) = k\n10  continue"},
    "name": {"first": _NEST.replace("do i", "each: do i", 1) + " each"},
    "step": {"bounds": "1, last, 2"},
    "down": {"bounds": "last, 1, -1"},
    "bound changes": {"behind": "    last = last - 1"},
    "impure bound": {"bounds": "1, again(n)", "declared": "  integer, external :: again"},
    "unknown": {"first": _CALL.replace("relax", "unknown")},
    "bound may change": {
        "bounds": "1, m",
        "declared": "  integer :: m\n  common /seen/ m",
        "behind": "    call unknown()\n" + _RECV,
    },
    "volatile bound": {"bounds": "1, m", "declared": "  integer, volatile :: m"},
    "variable seen": {"declared": "  integer :: m\n  common /seen/ m\n  equivalence (m, k)"},
    "directive": {"first": "    !$omp simd\n" + _NEST},
    "two on a line": {"first": _CALL + "; v(1) = 0"},
    "save": {"declared": "  save :: k"},
    **{
        f"no number: {what}": {
            "declared": "  real(8), parameter :: w(2) = 1",
            "first": _NEST.replace("v(i) = v(i) + k", f"if (k > 1) v(i) = v(i) + {what}"),
        }
        for what in ("60/(k - 1)", "mod(i, k - 1)", "log(k - 1d0)", "0**(k - 2)", "w(k - 1)",
                     "sum(v(1:k-1))")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_a_loop_begins_where_it_began(name: str, tmp_path: Path) -> None:
    assert not _stepped(tmp_path, **STAYS[name]).steps(rotation)


def test_numbers_that_no_compiler_refuses(tmp_path: Path) -> None:
    """What is divided by, or asked for, is no number in the first iteration, either."""
    goes = ["i/(k + i)", "v(k)", "dble(k)", "k/2"]
    first = _NEST.replace("v(i) + k", "v(i) + " + " + ".join(goes))
    assert "v(i) = v(i) + i/(1 + i) + v(1) + dble(1) + 1/2" in " ".join(
        _rotated(tmp_path, first=first)
    )
    first = _NEST.replace("v(i) + k", "v(i) + 60/(k - 1)")
    assert "60/(below - 1)" in " ".join(
        _rotated(tmp_path / "no constant", first=first, bounds="below, last")
    )


def test_the_variable_is_of_the_default_kind(tmp_path: Path) -> None:
    text = _UNIT.replace("integer :: i, k, ierr", "integer :: i, ierr\n  integer(8) :: k")
    plain = {"declared": "", "bounds": "1, last", "first": _NEST, "behind": "", "rest": ""}
    stepped = Stepped.of(tmp_path, {"steps.f90": text.format(**plain)})
    assert not stepped.steps(rotation)


def test_what_a_contained_procedure_can_read_stays(tmp_path: Path) -> None:
    text = _UNIT.replace("end subroutine steps\n", "contains\n  subroutine inner\n    v(1) = k\n"
                         "  end subroutine inner\nend subroutine steps\n", 1)  # fmt: skip
    plain = {"declared": "", "bounds": "1, last", "behind": "", "rest": ""}
    for first in ("    call inner\n", "    call elsewhere(inner)\n"):
        stepped = Stepped.of(tmp_path, {"steps.f90": text.format(**plain, first=first + _CALL)})
        assert not stepped.steps(rotation)
    called = text.replace("  do k", "  call inner\n  do k", 1)  # elsewhere in the procedure
    stepped = Stepped.of(tmp_path, {"steps.f90": called.format(**plain, first=_CALL)})
    assert called != text
    assert not stepped.steps(rotation)
