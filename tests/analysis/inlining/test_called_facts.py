"""Called procedures are analysed once for all texts of a unit, if nothing of them is edited."""

from __future__ import annotations

from pathlib import Path

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.inlining.called_facts import CalledFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.tree import leaves
from support.stepping import Stepped

_CALLER = """\
subroutine caller(a)
  real(8), intent(inout) :: a(9)
  a = 1
  call called(a)
end subroutine caller
"""
_CALLED = """\
subroutine called(a)
  real(8), intent(inout) :: a(9)
  call deeper(a)
end subroutine called
"""
_DEEPER = """\
subroutine deeper(a)
  real(8), intent(inout) :: a(9)
  a = a + 1
end subroutine deeper
"""


class _Texts:
    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.tree = Stepped.of(folder, files).tree
        self.analyses = Analyses(self.tree)

    def edited(self, name: str, old: str, new: str) -> Tree:
        (path,) = (entry.path for entry in self.tree.files if entry.path.endswith(name))
        text = self.tree.content(path).decode()
        assert old in text
        return self.tree.edited({path: text.replace(old, new).encode()})

    def called(self, tree: Tree) -> UnitFacts:
        """The analyses of the called procedure, as the caller in a tree gets them."""
        effects, _ = self.analyses.edited(tree).of()
        every = (one for entry in tree.files for one in tree.units_of(entry.path))
        caller = next(one for one in every if one.unit.name == "caller")
        facts = UnitFacts(caller, effects)
        calls = (leaf.call for node in caller.unit.body for leaf in leaves(node))
        (found,) = (invoked(call, facts.scope) for call in calls if call is not None)
        assert found is not None
        return facts.once(CalledFacts).of(found[0])


def test_an_edit_of_the_caller_leaves_the_analyses(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, {"a.f90": _CALLER, "b.f90": _CALLED, "c.f90": _DEEPER})
    one, other = (texts.called(texts.edited("a.f90", "a = 1", f"a = {n}")) for n in (2, 3))
    assert one is other


def test_an_edit_of_what_is_called_does_not(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, {"a.f90": _CALLER, "b.f90": _CALLED, "c.f90": _DEEPER})
    one = texts.called(texts.edited("a.f90", "a = 1", "a = 2"))
    for name, old, new in (("b.f90", "call deeper(a)", "a = 2"), ("c.f90", "a + 1", "a(9)")):
        found = texts.called(texts.edited(name, old, new))
        assert found is not one
        assert found.effects is not one.effects


def test_a_procedure_in_other_lines_is_analysed_there(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, {"a.f90": _CALLER + _CALLED, "c.f90": _DEEPER})
    one = texts.called(texts.edited("a.f90", "  a = 1\n", "  a = 2\n"))
    other = texts.called(texts.edited("a.f90", "  a = 1\n", "  a = 1\n  a = 2\n"))
    lines = [found.unit.body[0].line for found in (one, other)]
    assert lines[1] == lines[0] + 1
