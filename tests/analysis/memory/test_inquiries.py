"""Inquiries about shapes keep their value, and are bounds in the subscripts of their own array."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.inquiries import in_stated_bounds
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Leaf, leaves
from support.stepping import Stepped

_TEXT = """\
subroutine halves(n, m, far, g)
  implicit none
  integer, intent(in) :: n, m, far
  real(8), intent(inout) :: g(:,:)
  real(8), allocatable :: u(:,:), w(:,:)
  integer :: i, k, last
  allocate (u(n,0:m+1), w(0:n,m))
  u = 1d0
  {before}
  do i = 1, n
    last = {asked}
    {between}
    {target} = g(i,1)
  end do
  g(1,1) = u(1,1) + w(1,1)
end subroutine halves
"""
_USUAL = {"before": "k = 1", "asked": "ubound(u, 2) - 1", "between": "k = 2"}


def _index(folder: Path, target: str, **changes: str) -> tuple[str, str]:
    """The last subscript of an element that is defined: its value, also in terms of the bounds."""
    text = _TEXT.format(**{**_USUAL, **changes}, target=target)
    (facts,) = Stepped.of(folder, {"a.f90": text}).facts()
    (leaf,) = (
        leaf
        for node in facts.unit.body
        for leaf in leaves(node)
        if isinstance(leaf.what, Assign) and _defined(leaf).endswith("last)")
    )
    target_ref = leaf.what.target  # type: ignore[union-attr]
    assert isinstance(target_ref, Ref)
    assert target_ref.args is not None
    values = facts.values
    value = values.polynomial(target_ref.args[-1], leaf)  # type: ignore[arg-type]
    (access,) = (one for one in facts.footprint(leaf).accesses if one.writes)
    return str(value), str(in_stated_bounds(value, access, values))


def _defined(leaf: Leaf) -> str:
    assert isinstance(leaf.what, Assign)
    target = leaf.what.target
    last = target.args[-1] if isinstance(target, Ref) and target.args else None
    return f"({last.name})" if isinstance(last, Ref) else ""


def test_a_bound_of_the_array_itself_is_the_stated_one(tmp_path: Path) -> None:
    assert _index(tmp_path, "u(i,last)") == ("ubound - 1", "m")


@pytest.mark.parametrize(
    ("asked", "bound"), [("size(u, 2)", "m + 2"), ("lbound(u, 2)", "0"), ("size(u, 1)", "n")]
)
def test_extents_and_lower_bounds(asked: str, bound: str, tmp_path: Path) -> None:
    assert _index(tmp_path, "u(i,last)", asked=asked)[1] == bound


def test_another_array_may_have_elements_where_it_has_none(tmp_path: Path) -> None:
    # with m < -1, ubound(u, 2) is 0, and w may be defined at -1
    found = _index(tmp_path, "w(i,last)")
    assert found == ("ubound - 1", "ubound - 1")


@pytest.mark.parametrize(
    "changes",
    [
        {"between": "if (i == far) u = g"},
        {"between": "if (i == far) call move_alloc(w, u)"},
        {"asked": "ubound(u, k) - 1"},
    ],
)
def test_the_shape_may_be_another_one(changes: dict[str, str], tmp_path: Path) -> None:
    assert _index(tmp_path, "u(i,last)", **changes)[1] == "last"
