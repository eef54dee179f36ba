"""An interface body means the external procedure that has its binding label (F2018 18.10.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.expr import Ref

_DEFINED = "subroutine work(a){}\n  real :: a\n  a = 2\nend subroutine work\n"
_BODY = """\
  interface
    subroutine work(a){}
      real :: a
    end subroutine work
  end interface
"""
_CALLER = """\
{module}subroutine caller(a)
{use}{body}  real :: a
  call work(a)
end subroutine caller
"""
_BAR = ' bind(c, name="bar")'


@pytest.mark.parametrize("in_module", [False, True])
@pytest.mark.parametrize(
    ("declared", "defined", "same"),
    [
        ("", "", True),
        (_BAR, _BAR, True),
        (_BAR, _BAR.replace('"', "'"), True),
        (" bind(c)", ' bind(c, name="work")', True),
        (_BAR, "", False),
        ("", _BAR, False),
        (_BAR, " bind(c)", False),
    ],
)
def test_an_interface_body_means_what_has_its_label(
    declared: str, defined: str, same: bool, in_module: bool, tmp_path: Path
) -> None:
    body = _BODY.format(declared)
    text = _CALLER.format(
        module=f"module bodies\n{body}end module bodies\n" if in_module else "",
        use="  use bodies\n" if in_module else "",
        body="" if in_module else body,
    )
    (tmp_path / "a.f90").write_text(_DEFINED.format(defined) + text)
    tree = load_tree([tmp_path], Settings(cache=False))
    (caller,) = (u for u in tree.units_of(str(tmp_path / "a.f90")) if u.unit.name == "caller")
    found = procedure_named(Ref("work", "work"), Scopes(tree).of(caller))
    assert (found is not None) is same
