"""Summaries that are kept when files are edited are those that are made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.summary import Summary
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.invalidation import Sight, Unaffected, UsedNames
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree

SETTINGS = Settings(jobs=1, cache=False)

SOURCES = {
    "shapes.f90": """module shapes
  implicit none
  integer :: scale = 1
  type :: shape
    integer :: sides
  contains
    procedure :: grow => grow_shape
  end type shape
  interface area
    module procedure area_of_integer, area_of_real
  end interface area
contains
  subroutine area_of_integer(n)
    integer, intent(inout) :: n
    n = n + 1
  end subroutine area_of_integer
  subroutine area_of_real(x)
    real, intent(inout) :: x
    x = x + 1.0
  end subroutine area_of_real
  subroutine grow_shape(self)
    class(shape), intent(inout) :: self
    self%sides = self%sides + 1
  end subroutine grow_shape
end module shapes
""",
    "again.f90": """module again
  use shapes, only: enlarge => area_of_integer
  implicit none
end module again
""",
    "low.f90": """subroutine low(n)
  integer, intent(inout) :: n
  n = n + 1
end subroutine low
integer function counted(n)
  integer, intent(in) :: n
  counted = n
end function counted
subroutine quiet(n)
  integer, intent(inout) :: n
  n = 2
end subroutine quiet
""",
    "users.f90": """subroutine by_call(n)
  integer, intent(inout) :: n
  call low(n)
end subroutine by_call
subroutine by_calls(n)
  integer, intent(inout) :: n
  call by_call(n)
end subroutine by_calls
subroutine by_reference(n)
  integer, intent(inout) :: n
  integer, external :: counted
  n = counted(n)
end subroutine by_reference
subroutine by_generic_name(n)
  use shapes
  integer, intent(inout) :: n
  call area(n)
end subroutine by_generic_name
subroutine by_other_name(n)
  use again
  integer, intent(inout) :: n
  call enlarge(n)
end subroutine by_other_name
subroutine by_object(n)
  use shapes
  integer, intent(inout) :: n
  type(shape) :: one
  one%sides = n
  call one%grow()
end subroutine by_object
subroutine by_include(n)
  integer, intent(inout) :: n
  include 'called.inc'
  n = named(n)
end subroutine by_include
subroutine from_inside(n)
  integer, intent(inout) :: n
  integer :: m
  call inside()
  n = m
contains
  subroutine inside()
    m = 3
  end subroutine inside
end subroutine from_inside
recursive subroutine ping(n)
  integer, intent(inout) :: n
  if (n > 0) call pong(n)
end subroutine ping
recursive subroutine pong(n)
  integer, intent(inout) :: n
  n = n - 1
  call ping(n)
  call quiet(n)
end subroutine pong
""",
    "main.f90": """program main
  integer :: n
  n = 1
  call by_calls(n)
  call ping(n)
end program main
""",
}
INCLUDED = "  integer, external :: counted\n  integer :: named\n  named(n) = counted(n)\n"

BODIES = (
    "    n = n + 1\n",
    "    x = x + 1.0\n",
    "    self%sides = self%sides + 1\n",
    "  n = n + 1\n",
    "  counted = n\n",
    "  n = 2\n",
    "    m = 3\n",
    "  call low(n)\n",
    "  n = n - 1\n",
)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "called.inc").write_text(INCLUDED)
    return load_tree([tmp_path], SETTINGS)


def _summaries(tree: Tree, effects: Effects) -> dict[tuple[str, ...], Summary | None]:
    return {
        (entry.path, *(unit.name for unit in located.chain)): effects.summary(located)
        for entry in tree.files
        for located in tree.units_of(entry.path)
        if located.unit.kind != "module"
    }


def _path(tree: Tree, name: str) -> str:
    return next(entry.path for entry in tree.files if Path(entry.path).name == name)


def _edited(tree: Tree, name: str, old: str, new: str) -> Tree:
    path = _path(tree, name)
    text = tree.content(path).decode()
    assert old in text
    return tree.edited({path: text.replace(old, new, 1).encode()})


def _by_unit(tree: Tree, analyses: Analyses) -> dict[str, Summary | None]:
    effects, _ = analyses.of()
    return {key[-1]: summary for key, summary in _summaries(tree, effects).items()}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("more", ["    write (*, *) 1\n", "    continue\n", "    call quiet(k)\n"])
def test_an_edited_tree_has_the_summaries_that_it_has_by_itself(
    tree: Tree, tmp_path: Path, body: str, more: str
) -> None:
    """Whatever was known before: all, or nothing."""
    name = next(name for name, text in SOURCES.items() if body in text)
    for known in (False, True):
        analyses = Analyses(tree)
        if known:
            _summaries(tree, analyses.of()[0])
        after = _edited(tree, name, body, body + more)
        alone = _summaries(after, Analyses(after).of()[0])
        assert _summaries(after, analyses.edited(after).of()[0]) == alone
        followed = analyses.followed_by(after)
        assert _summaries(after, followed.of()[0]) == alone
        back = after.edited({_path(tree, name): tree.content(_path(tree, name))})
        first = _summaries(tree, Analyses(tree).of()[0])
        assert _summaries(back, followed.edited(back).of()[0]) == first


def test_callers_see_what_an_edit_makes_a_procedure_do(tree: Tree) -> None:
    analyses = Analyses(tree)
    before = _by_unit(tree, analyses)
    after = _edited(tree, "low.f90", "  n = n + 1\n", "  n = n + 1\n  write (*, *) n\n")
    now = _by_unit(after, analyses.edited(after))
    changed = {name for name in before if before[name] != now[name]}
    assert changed == {"low", "by_call", "by_calls", "main"}


def test_users_of_a_module_see_what_becomes_of_its_declarations(tree: Tree) -> None:
    analyses = Analyses(tree)
    reaching = "  procedure :: grow => grow_shape\n"
    assert _by_unit(tree, analyses)["by_object"] is not None
    after = _edited(tree, "shapes.f90", reaching, "  procedure :: grow => other_shape\n")
    alone = _by_unit(after, Analyses(after))
    assert alone["by_object"] != _by_unit(tree, analyses)["by_object"]
    assert _by_unit(after, analyses.edited(after)) == alone


def test_what_is_unaffected_is_not_looked_at_again(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    after = _edited(tree, "users.f90", "  call low(n)\n", "  call low(n)\n  n = 1\n")
    made: list[str] = []
    original = Effects._summarise

    def counted(self: Effects, key: tuple[str, str]) -> Summary:
        made.append(key[1])
        return original(self, key)

    monkeypatch.setattr(Effects, "_summarise", counted)
    _by_unit(after, analyses.edited(after))
    assert sorted(made) == ["by_call"]  # it does what it did, and so do its callers


def test_what_is_found_out_for_one_edit_is_known_for_the_next(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyses = Analyses(tree)
    first = _edited(tree, "main.f90", "n = 1", "n = 2")
    _by_unit(first, analyses.edited(first))
    monkeypatch.setattr(Effects, "_summarise", lambda self, key: pytest.fail(f"{key} again"))
    second = _edited(tree, "main.f90", "n = 1", "n = 3")
    effects, _ = analyses.edited(second).of()
    for entry in second.files:
        for located in second.units_of(entry.path):
            if located.unit.kind not in ("module", "program"):
                assert effects.summary(located) is not None


def _examined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The procedures whose statements are looked at from now on."""
    made: list[str] = []
    original = Effects._examined

    def counted(self: Effects, key: tuple[str, str]) -> Summary:
        made.append(key[1])
        return original(self, key)

    monkeypatch.setattr(Effects, "_examined", counted)
    return made


def test_procedures_of_a_circle_are_not_looked_at_again_while_the_edited_one_does_the_same(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    same = _edited(tree, "users.f90", "  n = n - 1\n", "  integer :: k\n  k = n\n  n = k - 1\n")
    more = _edited(tree, "users.f90", "  n = n - 1\n", "  n = n - 1\n  write (*, *) n\n")
    made = _examined(monkeypatch)
    _by_unit(same, analyses.edited(same))
    assert set(made) == {"pong"}
    made.clear()
    _by_unit(more, analyses.edited(more))
    assert set(made) == {"pong", "ping", "main"}
    made.clear()
    again = _edited(more, "users.f90", "write (*, *) n", "write (*, *) n + 1")
    _by_unit(again, analyses.edited(again))
    assert set(made) == {"pong"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(n)\n  integer, intent(inout) :: n\n  n = n - 1\n", "(n)\n  integer :: n\n  n = n - 1\n"),
        ("pong(n)\n  integer, intent(inout) :: n\n", "pong(n)\n  integer, intent(inout) :: n(2)\n"),
        ("pong(n)\n", "pong(m)\n"),
    ],
)
def test_what_is_declared_otherwise_is_seen_by_callers(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    after = _edited(tree, "users.f90", old, new)
    alone = _by_unit(after, Analyses(after))
    made = _examined(monkeypatch)
    assert _by_unit(after, analyses.edited(after)) == alone
    assert {"ping", "pong", "main"} <= set(made)


def test_an_edit_that_makes_or_renames_units_leaves_nothing_as_it_was(tree: Tree) -> None:
    sight = Sight(tree, UsedNames())
    path = _path(tree, "users.f90")
    for old, new in (
        ("subroutine by_call(n)\n", "subroutine by_call(n)\n  interface low\n  end interface\n"),
        ("end subroutine pong\n", "end subroutine pong\nsubroutine low(n)\nend subroutine low\n"),
        ("end subroutine pong\n", "end subroutine pong\nx = y\n"),
    ):
        after = _edited(tree, "users.f90", old, new)
        assert Unaffected(sight, after).place(path, ("ping",)) is None
    after = _edited(tree, "users.f90", "  call low(n)\n", "  call low(n)\n\n")
    assert Unaffected(sight, after).place(path, ("ping",)) is not None
    assert Unaffected(sight, after).place(path, ("by_call",)) is None


def test_lines_of_the_preprocessor_are_about_all_that_follows(tmp_path: Path) -> None:
    source = tmp_path / "a.F90"
    one = "subroutine a(n)\n  integer :: n\n#define X 1\n  n = 2\nend subroutine a\n"
    source.write_text(one + "subroutine b(n)\n  integer :: n\n  n = 3\nend subroutine b\n")
    tree = load_tree([tmp_path], SETTINGS)
    sight = Sight(tree, UsedNames())
    for old, new, same in (("n = 2", "n = 4", True), ("#define X 1", "#define X 2", False)):
        place = Unaffected(sight, _edited(tree, "a.F90", old, new)).place(str(source), ("b",))
        assert (place is not None) is same


@pytest.mark.parametrize(
    ("included", "same"),
    [("  integer :: more\n", True), ("  interface low\n  end interface\n", False)],
)
def test_an_include_line_is_about_the_unit_that_it_stands_in(
    tmp_path: Path, included: str, same: bool
) -> None:
    """Unless it brings an interface, of whose generic name the calls of others may be."""
    (tmp_path / "more.inc").write_text(included)
    source = tmp_path / "a.f90"
    units = "subroutine {0}(n)\n  integer :: n\n  n = 2\nend subroutine {0}\n"
    source.write_text(units.format("a") + units.format("b"))
    tree = load_tree([tmp_path], SETTINGS)
    sight = Sight(tree, UsedNames())
    after = _edited(tree, "a.f90", "  n = 2\n", "  include 'more.inc'\n  n = 2\n")
    assert Unaffected(sight, after).place(str(source), ("a",)) is None
    assert (Unaffected(sight, after).place(str(source), ("b",)) is not None) is same
    alone = _by_unit(after, Analyses(after))
    assert _by_unit(after, Analyses(tree).edited(after)) == alone


def test_an_edit_within_a_circle_costs_looks_at_the_edited_procedure_alone(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was found from another procedure of the circle than it is asked for now."""
    analyses = Analyses(tree)
    effects, _ = analyses.of()
    ping = next(u for u in tree.units_of(_path(tree, "users.f90")) if u.unit.name == "ping")
    effects.summary(ping)
    more = "  n = n - 1\n  call quiet(n)\n"
    after = _edited(tree, "users.f90", "  n = n - 1\n", more)
    alone = _by_unit(after, Analyses(after))
    made = _examined(monkeypatch)
    now, _ = analyses.edited(after).of()
    pong = next(u for u in after.units_of(_path(tree, "users.f90")) if u.unit.name == "pong")
    assert now.summary(pong) == alone["pong"]
    assert set(made) == {"pong"}


NEW = "subroutine fresh(n)\n  integer, intent(inout) :: n\n  n = 7\nend subroutine fresh\n"


def _with_new(tree: Tree, name: str, in_front_of: str, new: str, *more: tuple[str, str]) -> Tree:
    """A tree in which a file has a new unit, and other text as well."""
    path = _path(tree, name)
    text = tree.content(path).decode()
    for old, now in ((in_front_of, new + in_front_of), *more):
        assert old in text
        text = text.replace(old, now, 1)
    return tree.edited({path: text.encode()})


def test_a_new_procedure_is_seen_by_those_alone_that_call_it(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The units behind it have other numbers."""
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    place = "subroutine by_calls(n)\n"
    after = _with_new(tree, "users.f90", place, NEW, ("  call low(n)\n", "  call fresh(n)\n"))
    alone = _by_unit(after, Analyses(after))
    made = _examined(monkeypatch)
    assert _by_unit(after, analyses.edited(after)) == alone
    assert set(made) == {"fresh", "by_call", "by_calls", "main"}
    followed = analyses.followed_by(after)
    assert _by_unit(after, followed) == alone
    back = after.edited({_path(tree, "users.f90"): tree.content(_path(tree, "users.f90"))})
    assert _by_unit(back, followed.edited(back)) == _by_unit(tree, Analyses(tree))


def test_a_new_procedure_of_one_text_is_not_that_of_another(tree: Tree) -> None:
    """Its caller is the same in both."""
    analyses = Analyses(tree)
    place, call = "subroutine by_calls(n)\n", ("  call low(n)\n", "  call fresh(n)\n")
    for body in ("  n = 7\n", "  write (*, *) n\n", "  n = 7\n  n = n\n"):
        after = _with_new(tree, "users.f90", place, NEW.replace("  n = 7\n", body), call)
        alone = _by_unit(after, Analyses(after))
        assert _by_unit(after, analyses.edited(after)) == alone


def test_an_edited_procedure_is_not_taken_for_the_new_one_at_its_place(tree: Tree) -> None:
    """Which does what the other one did."""
    analyses = Analyses(tree)
    before = _by_unit(tree, analyses)
    own = SOURCES["users.f90"].split("subroutine by_calls")[0].replace("by_call", "fresh")
    more = ("  call low(n)\nend subroutine by_call\n", "  print *, n\nend subroutine by_call\n")
    for place in ("subroutine by_call(n)\n", "subroutine by_calls(n)\n"):
        after = _with_new(tree, "users.f90", place, own, more)
        alone = _by_unit(after, Analyses(after))
        assert alone["by_call"] != before["by_call"]
        assert _by_unit(after, analyses.edited(after)) == alone


def test_a_new_procedure_of_a_module_is_seen_by_those_alone_that_call_it(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    after = _with_new(tree, "shapes.f90", "  subroutine grow_shape", NEW)
    alone = _by_unit(after, Analyses(after))
    made = _examined(monkeypatch)
    assert _by_unit(after, analyses.edited(after)) == alone
    assert set(made) == {"shapes/fresh"}


@pytest.mark.parametrize(
    ("name", "in_front_of", "new", "more"),
    [
        pytest.param("users.f90", "subroutine by_calls(n)\n", NEW, "", id="unnamed"),
        pytest.param(
            "users.f90", "subroutine by_calls(n)\n", NEW, "call fresh(n)", id="called before"
        ),
        pytest.param(
            "users.f90", "subroutine by_calls(n)\n", NEW, "external :: fresh", id="named before"
        ),
        pytest.param(
            "users.f90", "subroutine by_calls(n)\n", NEW, "void fresh_(int *n) { }", id="in C"
        ),
        pytest.param(
            "users.f90", "subroutine by_calls(n)\n", NEW.replace("fresh", "low"), "", id="known"
        ),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            NEW.replace("fresh", "mpi_send"),
            "",
            id="of MPI",
        ),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            NEW.replace("  n = 7\n", "  interface low\n  end interface low\n"),
            "",
            id="with an interface",
        ),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            NEW.replace("  n = 7\n", "  include 'called.inc'\n"),
            "",
            id="with included text",
        ),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            NEW.replace("  n = 7\n", "  n = 7\ncontains\n" + NEW.replace("fresh", "inner")),
            "",
            id="with procedures in it",
        ),
        pytest.param("users.f90", "  subroutine inside()\n", NEW, "", id="in a procedure"),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            "module fresh\n  integer :: n\nend module fresh\n",
            "",
            id="a module",
        ),
        pytest.param(
            "users.f90",
            "subroutine by_calls(n)\n",
            "block data fresh\nend block data fresh\n",
            "",
            id="block data",
        ),
    ],
)
def test_which_units_may_be_new_where_others_do_what_they_did(
    tree: Tree, tmp_path: Path, name: str, in_front_of: str, new: str, more: str
) -> None:
    """A procedure that nothing could name, by itself; ``more``: what named it."""
    kept = not more and new == NEW and "inside" not in in_front_of
    if "void" in more:
        (tmp_path / "more.c").write_text(f"{more}\n")
    elif more:
        unit = f"subroutine before(n)\n  integer :: n\n  {more}\nend subroutine before\n"
        (tmp_path / "more.f90").write_text(unit)
    tree = load_tree([tmp_path], SETTINGS)
    analyses = Analyses(tree)
    _by_unit(tree, analyses)
    after = _with_new(tree, name, in_front_of, new)
    unaffected = Unaffected(Sight(tree, UsedNames()), after)
    assert (unaffected.place(_path(tree, name), ("ping",)) is not None) is kept
    assert _by_unit(after, analyses.edited(after)) == _by_unit(after, Analyses(after))


def test_units_that_are_new_and_others_that_are_gone_leave_nothing_as_it_was(tree: Tree) -> None:
    sight, path = Sight(tree, UsedNames()), _path(tree, "users.f90")
    gone = SOURCES["users.f90"]
    gone = gone[gone.index("subroutine by_calls") : gone.index("subroutine by_reference")]
    for new in (NEW, ""):
        after = _edited(tree, "users.f90", gone, new)
        assert Unaffected(sight, after).place(path, ("ping",)) is None
    moved = _edited(tree, "users.f90", gone, "")
    moved = moved.edited({path: moved.content(path) + gone.encode() + NEW.encode()})
    assert Unaffected(sight, moved).place(path, ("ping",)) is None
