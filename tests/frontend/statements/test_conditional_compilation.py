"""Lines behind ``!$``: their statements, for both compilations, and the same text."""

from __future__ import annotations

import pytest

from asphalt.frontend.lexical.source_text import FIXED_WIDTH, FREE_WIDTH, SourceText
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.expr import Op, OpaqueExpr, Ref
from asphalt.ir.source import Form, TriviaKind
from asphalt.ir.stmt import IO, ArmHead, Assign, Call, Guarded, Jump
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit, leaves
from asphalt.unparse.unparse import unparse

_FREE = "program p\n  integer :: n\n{}  n = 1\nend program p\n"
_FIXED = "      program p\n      integer n\n{}      n = 1\n      end\n"
WITH = OpaqueExpr("!$", frozenset())


def _unit(text: str, form: Form = Form.FREE) -> Unit:
    width = FREE_WIDTH if form is Form.FREE else FIXED_WIDTH
    file = parse_file(SourceText("p.f90", text, form, width))
    (unit,) = (interpret_unit(one, deep=True) for one in file.units)
    assert unparse(file.__class__(file.path, form, "\n", width, (unit,))) == text
    return unit


def _remaining(unit: Unit) -> list[str]:
    lead = (entry for leaf in leaves(unit) for entry in leaf.lead)
    return [entry.text for entry in lead if entry.kind is TriviaKind.CONDITIONAL]


def _hidden(nodes: tuple[Node, ...]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in leaves(node) if leaf.is_hidden]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("  !$ n = omp_get_max_threads() ! all\n", Assign),
        ("!$ n = 1 + & ! of two\n!$ & 2\n", Assign),
        ("!$ call work(n)\n", Call),
        ("!$ print *, 'a!b;c', n\n", IO),
        ("!$ write (*, *) n\n", IO),
        ("!$ stop\n", Jump),
    ],
)
def test_a_line_is_a_statement_under_a_condition(line: str, kind: type) -> None:
    unit = _unit(_FREE.format(line))
    hidden = unit.body[0]
    assert isinstance(hidden, Leaf)
    assert hidden.is_hidden
    assert hidden.frozen
    assert isinstance(hidden.what, Guarded)
    assert hidden.what.condition == WITH
    assert isinstance(hidden.what.action, kind)
    assert hidden.line == 3
    assert not _remaining(unit)


@pytest.mark.parametrize("sentinel", ["!$", "c$", "*$"])
def test_a_line_of_fixed_form(sentinel: str) -> None:
    unit = _unit(_FIXED.format(f"{sentinel}    n = 1 +\n{sentinel}   &  2\n"), Form.FIXED)
    (hidden,) = _hidden(unit.body)
    assert isinstance(hidden.what, Guarded)
    assert isinstance(hidden.what.action, Assign)
    assert isinstance(hidden.what.action.value, Op)
    assert hidden.span is not None
    assert (hidden.span.first, hidden.span.last) == (3, 4)


@pytest.mark.parametrize(
    "line",
    [
        "!$ use omp_lib\n",
        "!$ do n = 1, 2\n!$ end do\n",
        "!$ n = 1; n = 2\n",
        "!$ 10 n = 2\n",
        "!$ goto 10\n",
        "!$ write (*, *, err=10) n\n",
        "!$ call MPI_Barrier(n)\n",
        "!$ allocate (a(3))\n",
        "!$ if (n > 1) then\n",
        "!$ else\n",
        "!$ end if\n",
        "!$ if (n > 1) then\n  n = 3\n!$ else\n  n = 4\n!$ end if\n",
        "!$ if (n > 1) then\n!$ n = 3\n!$ else\n  n = 4\n!$ end if\n",
    ],
)
def test_other_lines_remain_lines(line: str) -> None:
    unit = _unit(_FREE.format(line))
    assert _remaining(unit)
    assert not any(isinstance(node, Branch) for node in unit.body)


@pytest.mark.parametrize("width", [71, 73])
def test_a_line_beyond_the_limit_of_fixed_form_remains_one(width: int) -> None:
    line = f"!$    n = 1{'+ 1'.rjust(width - 11)}\n"
    assert len(_hidden(_unit(_FIXED.format(line), Form.FIXED).body)) == (width < 72)


def test_a_line_among_declarations_remains_one() -> None:
    unit = _unit("program p\n!$ f(x) = x\n  integer :: n\n  n = 1\nend program p\n")
    assert len(_remaining(unit)) == 1


def test_a_construct_is_executed_always_without_openmp() -> None:
    unit = _unit(_FREE.format("!$ if (n > 1) then\n  n = 3\n!$  n = 4\n!$ endif\n"))
    (branch,) = (node for node in unit.body if isinstance(node, Branch))
    (arm,) = branch.arms
    assert isinstance(arm.head.what, ArmHead)
    (condition,) = arm.head.what.exprs
    assert isinstance(condition, Op)
    assert condition.op == ".or."
    assert condition.operands[0] == Op(".not.", (WITH,))
    assert [isinstance(leaf, Leaf) and leaf.is_hidden for leaf in arm.body] == [False, True]


def test_constructs_of_lines_alone_have_their_arms() -> None:
    lines = (
        "!$ if (n > 1) then\n!$  n = 3\n!$ else if (n > 0) then\n!$  if (n > 7) then\n!$  n = 5\n"
        "!$  else\n!$  n = 4\n!$  end if\n!$ else\n!$  n = 2\n!$ end if\n"
    )
    unit = _unit(_FREE.format(lines))
    branch = unit.body[0]
    assert isinstance(branch, Branch)
    assert [arm.head.what.kind for arm in branch.arms if isinstance(arm.head.what, ArmHead)] == [
        "if",
        "else_if",
        "else",
    ]
    inner = branch.arms[1].body[0]
    assert isinstance(inner, Branch)
    assert len(inner.arms) == 2


def test_lines_stand_in_the_list_that_they_end() -> None:
    lines = (
        "  do n = 1, 2\n    print *, n\n!$  n = 3\n  end do\n"
        "  if (n > 1) then\n!$ n = 4\n  else\n!$ n = 5\n  end if\n"
    )
    unit = _unit(_FREE.format(lines).replace("end program", "!$ n = 6\nend program"))
    loop, branch, _, last = unit.body
    assert isinstance(loop, Do)
    assert len(_hidden(loop.body)) == 1
    assert isinstance(branch, Branch)
    assert [len(_hidden(arm.body)) for arm in branch.arms] == [1, 1]
    assert isinstance(last, Leaf)
    assert last.is_hidden


def test_the_end_of_a_parallel_loop_belongs_to_it() -> None:
    lines = "!$omp parallel do\n  do n = 1, 2\n  end do\n\n!$omp end parallel do ! n\n"
    unit = _unit(_FREE.format(lines))
    loop, last = unit.body
    assert isinstance(loop, Do)
    assert loop.end is not None
    assert isinstance(last, Leaf)
    assert loop.end.trail.endswith("!$omp end parallel do ! n\n")
    assert last.lead == ()


def test_a_one_line_if_has_both_conditions() -> None:
    (hidden,) = _hidden(_unit(_FREE.format("!$ if (n > 1) n = 3\n")).body)
    assert isinstance(hidden.what, Guarded)
    condition = hidden.what.condition
    assert isinstance(condition, Op)
    assert condition.op == ".and."
    assert condition.operands[0] == WITH
    assert isinstance(hidden.what.action, Assign)
    assert isinstance(hidden.what.action.target, Ref)
