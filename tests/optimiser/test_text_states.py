"""The trees that a file passes through while it is transformed."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import pytest

from asphalt.analysis.call_graph.operators import definitions_visible
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.source_tree import file_text
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.optimiser.text_states import EditedTrees
from asphalt.support.garbage_collection import frozen_heap, rare_collections

SOURCE = b"""subroutine s(n)
  integer :: n
  n = 1
end subroutine s
"""


def _facts(tree: Tree) -> UnitFacts:
    effects, _ = Analyses(tree).of()
    (located,) = tree.units_of(next(iter(tree.files)).path)
    return UnitFacts(located, effects)


def test_one_text_is_analysed_once(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE)
    tree = load_tree([path])
    trees = EditedTrees(tree, str(path))
    other = trees.tree(SOURCE.replace(b"1", b"2"))
    assert trees.tree(SOURCE) is tree
    assert trees.tree(SOURCE.replace(b"1", b"2")) is other
    assert other.content(str(path)) == SOURCE.replace(b"1", b"2")
    facts = trees.facts(tree, _facts)
    assert trees.facts(tree, _facts) is facts
    assert trees.facts(other, _facts).unit is other.units_of(str(path))[0].unit
    assert facts.once(Messages) is facts.once(Messages)
    assert facts.once(Messages) is not trees.facts(other, _facts).once(Messages)


def test_facts_of_long_ago_are_made_again_unless_they_are_used(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE)
    trees = EditedTrees(load_tree([path]), str(path), kept=2)
    three = [trees.tree(SOURCE.replace(b"1", str(n).encode())) for n in range(3)]
    first = trees.facts(three[0], _facts)
    for tree in three[1:]:
        trees.facts(tree, _facts)
    assert trees.facts(three[0], _facts) is first
    unit, old = first.unit, weakref.ref(first)
    del first
    for tree in three[1:]:
        trees.facts(tree, _facts)
    assert old() is None
    assert trees.facts(three[0], _facts).unit == unit


def test_what_is_known_of_a_unit_ends_with_its_facts(tmp_path: Path) -> None:
    """At once, although it refers to itself: the collector need not find it."""
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE)
    tree = load_tree([path])
    facts, beside = _facts(tree), _facts(tree)
    found = weakref.ref(facts.once(Messages))
    facts.footprint(facts.unit.body[0])
    kept = beside.once(Messages)
    gc.disable()
    try:
        facts.forget_at_end(with_effects=True)
        beside.forget_at_end(with_effects=True)
        assert facts.once(Messages) is found()
        del facts, beside
        assert found() is None
    finally:
        gc.enable()
    assert list(kept.calls(tree.units_of(str(path))[0].unit.body[0])) == []


def test_what_order_is_asked_for_ends_with_the_facts(tmp_path: Path) -> None:
    """Conflicts that are still to be found refer to what finds them."""
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE.replace(b"n = 1", b"n = 1\n  n = n + 1"))
    facts = _facts(load_tree([path]))
    order = facts.once(Independence.of)
    first, second = facts.unit.body[:2]
    assert order.why_not(first, second) is not None
    assert not order.is_temporary("n", first, second)
    end = weakref.ref(order)
    gc.disable()
    try:
        facts.forget_at_end(with_effects=True)
        del facts, order
        assert end() is None
    finally:
        gc.enable()


def test_facts_that_refer_to_themselves_are_garbage(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE)
    end = _referring_to_themselves(load_tree([path]))
    gc.collect()
    assert end() is None


def _referring_to_themselves(tree: Tree) -> weakref.ref[UnitFacts]:
    facts = _facts(tree)
    facts.forget_at_end(with_effects=True)
    own = [facts]
    assert facts.once(lambda _: own) is own
    return weakref.ref(facts)


def test_garbage_is_collected_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
    with frozen_heap():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_what_is_read_of_other_files_is_shared_however_many_edits_there_were(
    tmp_path: Path,
) -> None:
    """Each unit of a program that is transformed is one edit more."""
    edited, other = tmp_path / "a.f90", tmp_path / "b.f90"
    edited.write_bytes(SOURCE)
    other.write_text("subroutine b\n  call s(1)\nend subroutine b\n")
    first = tree = load_tree([tmp_path])
    file = first.file(str(other))
    for number in range(sys.getrecursionlimit()):
        tree = tree.edited({str(edited): SOURCE.replace(b"1", b"%d" % (number + 2))})
    assert tree.file(str(other)) is file
    assert [located.unit.name for located in tree.mentions("s")] == ["b"]
    assert tree.content(str(edited)) == SOURCE.replace(b"1", b"%d" % (number + 2))
    assert first.content(str(edited)) == SOURCE


def test_nothing_keeps_a_tree_that_nobody_uses(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE.replace(b"n = 1", b"n = n + 1"))
    tree = load_tree([path])
    edited = tree.edited({str(path): SOURCE.replace(b"n = 1", b"n = n + 2")})
    assert _facts(edited).values.written_in_unit("n")
    assert not definitions_visible(_facts(edited).scope)
    known = weakref.ref(edited)
    del edited
    gc.collect()
    assert known() is None


def test_the_text_of_an_edited_file_is_split_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For its units, and for its statements."""
    path = tmp_path / "a.f90"
    path.write_bytes(SOURCE)
    tree = load_tree([path])
    done: list[str] = []
    original = file_text.split

    def counted(source: SourceText, facts: CppFacts | None = None) -> object:
        done.append(source.text)
        return original(source, facts)

    monkeypatch.setattr(file_text, "split", counted)
    edited = tree.edited({str(path): SOURCE.replace(b"1", b"2")})
    assert edited.outline(str(path)).units[0].name == "s"
    assert [located.unit.name for located in edited.units_of(str(path))] == ["s"]
    assert done == [SOURCE.replace(b"1", b"2").decode()]
