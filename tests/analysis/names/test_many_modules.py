"""Names come through chains of modules of any length; many modules that use each other all are each
asked once."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Absence, Scope, Scopes
from asphalt.analysis.names.symbol import Symbol
from asphalt.analysis.names.used_names import used_names
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.expr import Ref

_FIRST = """\
module m0
  implicit none
  integer :: first
contains
  subroutine start
  end subroutine start
end module m0
"""
_NEXT = """\
module m{0}
{1}
  implicit none
  integer :: a{0}
end module m{0}
"""
_LAST = """\
subroutine last
{0}
  implicit none
  call start
  call absent
end subroutine last
"""


def _uses(numbers: range) -> str:
    return "\n".join(f"  use m{number}" for number in numbers)


def _last(folder: Path, texts: list[str]) -> Scope:
    """The scope of ``last`` in a program with some modules."""
    (folder / "all.f90").write_text(_FIRST + "".join(texts))
    tree = load_tree([folder], Settings(cache=False))
    (last,) = (u for u in tree.units_of(str(folder / "all.f90")) if u.unit.name == "last")
    return Scopes(tree).of(last)


def test_a_chain_of_modules_has_any_length(tmp_path: Path) -> None:
    texts = [_NEXT.format(n, _uses(range(n - 1, n))) for n in range(1, 30)]
    scope = _last(tmp_path, [*texts, _LAST.format("  use m29")])
    found = procedure_named(Ref("start", "start"), scope)
    assert found is not None
    assert found.chain[0].name == "m0"
    assert {"first", "a1", "a29"} <= used_names(scope)


def test_modules_that_all_use_those_before_them_are_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 40
    texts = [_NEXT.format(n, _uses(range(n))) for n in range(1, count)]
    scope = _last(tmp_path, [*texts, _LAST.format(_uses(range(count)))])
    asked: list[tuple[str, str]] = []
    whole = Scope._seen_by_users

    def seen_by_users(self: Scope, name: str, visiting: frozenset[str]) -> Symbol | Absence:
        asked.append((self.unit.name, name))
        return whole(self, name, visiting)

    monkeypatch.setattr(Scope, "_seen_by_users", seen_by_users)
    assert len(used_names(scope)) == count + 1
    assert procedure_named(Ref("start", "start"), scope) is not None
    assert procedure_named(Ref("absent", "absent"), scope) is None
    assert len(asked) == len(set(asked))


def test_modules_in_a_circle_end(tmp_path: Path) -> None:
    texts = [_NEXT.format(1, "  use m2"), _NEXT.format(2, "  use m1")]
    scope = _last(tmp_path, [*texts, _LAST.format("  use m1\n  use m0")])
    assert procedure_named(Ref("start", "start"), scope) is not None
    assert "a2" in used_names(scope)


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ("omp_lib", True),
        ("ieee_arithmetic", True),
        ("openacc, only: other => acc_init", True),
        ("unseen, only: other", True),
        ("unseen, start => other", False),
        ("unseen", False),
        ("unseen, other => start", True),  # renamed, it has no name of its own
    ],
)
def test_an_external_procedure_is_meant_where_no_module_may_give_its_name(
    used: str, found: bool, tmp_path: Path
) -> None:
    (tmp_path / "start.f90").write_text("subroutine start\nend subroutine start\n")
    scope = _last(tmp_path, [_LAST.format(f"  use {used}")])
    assert (procedure_named(Ref("start", "start"), scope) is not None) is found


def test_a_name_of_an_intrinsic_module_is_no_external_procedure(tmp_path: Path) -> None:
    (tmp_path / "own.f90").write_text("subroutine omp_init_lock\nend subroutine\n")
    scope = _last(tmp_path, [_LAST.format("  use omp_lib")])
    assert procedure_named(Ref("omp_init_lock", "omp_init_lock"), scope) is None
