"""Arrays that hand their allocations on with MOVE_ALLOC, as time levels do, keep their shapes if
all of them have the same bounds."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.symbolic.polynomials import poly
from support.analysed import Analysed, e

UNIT = """
subroutine unit(n, steps, b)
  integer, intent(in) :: n, steps
  integer :: k, t
  real :: b(n, *)
  real, allocatable :: old(:,:), now(:,:), new(:,:), spare(:,:)
  type held
    real, allocatable :: a(:,:)
  end type held
  type(held) :: s
  {allocation}
  do t = 1, steps
    k = 0
    {loop}
  end do
end subroutine unit
"""
_ALIKE = "allocate (old(0:n, 4), now(0:n, 4), new(0:n, 4))"
_ROTATION = """\
call move_alloc(old, spare)
call move_alloc(now, old)
call move_alloc(new, now)
call move_alloc(spare, new)"""
_SWAP = """\
call move_alloc(now, spare)
call move_alloc(new, now)
call move_alloc(spare, new)"""


def shape(loop: str, allocation: str = _ALIKE, name: str = "now") -> Shape | None:
    unit = Analysed(UNIT.format(allocation=allocation, loop=loop))
    return shape_of(name, unit.scope, unit.values, unit.leaf("k = 0"))


@pytest.mark.parametrize("name", ["old", "now", "new"])
@pytest.mark.parametrize(
    "loop",
    [
        _ROTATION,
        _SWAP,
        "if (n > 3) call move_alloc(new, now)",
        "call move_alloc(to=now, from=new)",
        f"new = 2*now - old\n{_ROTATION}".replace(
            "new = 2*now - old", "new(1:n, :) = 2*now(1:n, :)"
        ),
        f"now = 3\n{_SWAP}",
        f"call fill(now(:, 1))\n{_ROTATION}",
    ],
)
def test_arrays_that_are_rotated_keep_their_bounds(loop: str, name: str) -> None:
    found = shape(loop, name=name)
    assert found is not None
    assert found.stated
    assert found.lower == (poly(e("0")), poly(e("1")))
    assert found.extent == (poly(e("n + 1")), poly(e("4")))


def test_an_array_that_gets_all_its_allocations_from_others() -> None:
    found = shape("call move_alloc(now, spare)", name="spare")
    assert found is not None
    assert found.stated
    assert found.lower[0] == poly(e("0"))


@pytest.mark.parametrize(
    ("allocation", "loop"),
    [
        (_ALIKE.replace("new(0:n", "new(1:n+1"), _SWAP),  # other lower bounds
        (_ALIKE.replace("new(0:n", "new(0:2*n"), _SWAP),  # other extents
        (_ALIKE.replace("old(0:n", "old(0:2*n"), _ROTATION),
        (f"{_ALIKE}\nallocate (spare(n, 2))\ncall move_alloc(spare, now)", ""),
        (_ALIKE.replace(", new(0:n, 4)", ""), "call move_alloc(new, now)\nnew = now"),
        (_ALIKE.replace(", new(0:n, 4)", ""), "new = 2*now\ncall move_alloc(new, now)"),
        (_ALIKE, f"{_ROTATION}\nspare = reshape([1.0], [1, 1])"),
        (_ALIKE, "call move_alloc(now, old)\nnow = 2*old"),  # from 1 on
        (_ALIKE, "call move_alloc(new, now, k)"),  # it may fail
        (_ALIKE, "call move_alloc(from=new, to=now, stat=k)"),
        (_ALIKE, "call move_alloc(s%a, now)"),
        (_ALIKE, f"{_SWAP}\ncall elsewhere(new)"),
        (_ALIKE, f"{_SWAP}\ndeallocate (now)\nnow = reshape([1.0], [1, 1])"),
        (f"external :: move_alloc\n{_ALIKE}", _SWAP),  # a procedure of the user
        (_ALIKE.replace("(0:n, 4)", "(0:k, 4)"), _SWAP),  # k changes
        (f"call first(now)\n{_ALIKE.replace(', now(0:n, 4)', '')}", _SWAP),
    ],
)
def test_an_array_that_may_get_other_bounds(allocation: str, loop: str) -> None:
    found = shape(loop, allocation)
    assert found is not None
    assert not found.stated
