"""What callers see of a procedure beside what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.names.procedure_interfaces import same_interface
from asphalt.analysis.names.scopes import scope_of
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree

TEXT = """integer function f(a, n) result(r)
  integer, parameter :: m = 2
  integer, intent(in) :: n
  real(kind=kind(1.0)), intent(inout) :: a(n, m)
  integer :: i
  i = n
  r = i
end function f
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("  i = n\n", "  i = n + 1\n", True),
        ("  integer :: i\n", "  integer :: i, j\n  integer :: requests(4)\n", True),
        ("m = 2\n", "m = 3\n", False),
        ("a(n, m)", "a(m, n)", False),
        ("a(n, m)", "a(:, :)", False),
        ("intent(inout)", "intent(in)", False),
        ("real(kind=kind(1.0))", "real(kind=kind(1.0d0))", False),
        ("real(kind=kind(1.0)),", "real(kind=kind(1.0)), target,", False),
        ("f(a, n)", "f(n, a)", False),
        ("integer function", "pure integer function", False),
        ("integer function", "real function", False),
    ],
)
def test_declarations_that_callers_see(tmp_path: Path, old: str, new: str, same: bool) -> None:
    path = tmp_path / "a.f90"
    path.write_text(TEXT)
    tree = load_tree([path], Settings(jobs=1, cache=False))
    assert old in TEXT
    after = tree.edited({str(path): TEXT.replace(old, new, 1).encode()})
    one, other = (scope_of(t.units_of(str(path))[0], t) for t in (tree, after))
    assert same_interface(one, other) is same
