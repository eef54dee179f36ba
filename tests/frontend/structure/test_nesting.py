from __future__ import annotations

import pytest

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.source import Form, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Arm, Block, Branch, Do, File, Leaf, Node, Unit


def _parse(text: str, form: Form = Form.FREE) -> File:
    return parse_file(SourceText("t.f", text, form, 132))


def _outline(node: Node | Arm | None) -> str:
    """The tree in brackets; a leaf is its first word."""
    match node:
        case None:
            return "-"
        case Leaf(what=Raw(code)):
            return code.split("(")[0].split()[0]
        case Do(_, body, end):
            return f"do[{_all(body)}]{'' if end is None else _outline(end)}"
        case Branch(kind, arms, end):
            inner = "|".join(_all(arm.body) for arm in arms)
            return f"{kind}[{inner}]{_outline(end)}"
        case Block(kind, _, body, end):
            return f"{kind}[{_all(body)}]{_outline(end)}"
        case Unit():
            parts = f"{_all(node.spec)};{_all(node.body)}"
            if node.contains is not None:
                parts += f";{_all(node.contained)}"
            return f"{node.kind} {node.name}[{parts}]".replace(" [", "[")
    raise AssertionError(node)


def _all(nodes: tuple[Node, ...]) -> str:
    return " ".join(_outline(node) for node in nodes)


def _units(text: str, form: Form = Form.FREE) -> str:
    file = _parse(text, form)
    assert not file.stray
    return _all(file.units)


def _body(text: str, form: Form = Form.FREE) -> str:
    """The outline of statements in the execution part of a subroutine."""
    indent = "" if form is Form.FREE else "      "
    (unit,) = _parse(f"{indent}subroutine s\n{text}{indent}end\n", form).units
    assert not unit.spec
    return _all(unit.body)


def _refused(text: str, form: Form = Form.FREE) -> str:
    with pytest.raises(InputError) as caught:
        _parse(text, form)
    return str(caught.value)


def test_units() -> None:
    text = """
module m
  use n
  interface
    subroutine e(x)
      real x
    end subroutine
    module procedure q
  end interface
  type, public :: t
    integer a
  contains
    procedure p
  end type
contains
  real function f(x)
    real x
    f = g(x)
  contains
    function g(y)
      g = y
    end
  end function f
end module
program p
  call s
end
block data
  common /c/ x
end block data
submodule (m) n
contains
  module procedure q
    x = 1
  end procedure
end submodule
"""
    assert _units(text) == (
        "module m[use interface[subroutine e[real;] module]end type[integer contains procedure]end;"
        ";function f[real;f;function g[;g]]]"
        " program p[;call] block_data[common;]"
        " submodule n[;;module_procedure q[;x]]"
    )


def test_main_program_without_program_statement() -> None:
    file = _parse("! c\ninteger i\ni = 1\nend\nsubroutine s\nend\n")
    assert _all(file.units) == "program[integer;i] subroutine s[;]"
    assert file.units[0].head is None


def test_statements_without_an_end_are_no_unit() -> None:
    file = _parse("subroutine s\nend\nreal x\nif (a) then\n b = 1\nend if\n")
    assert [unit.name for unit in file.units] == ["s"]
    assert len(file.stray) == 4


def test_include_lines_between_units() -> None:
    file = _parse("include 'a'\nmodule m\ncontains\ninclude 'b'\nend\n")
    (unit,) = file.units
    assert unit.head is not None
    assert [entry.kind for entry in unit.head.lead] == [TriviaKind.CPP]
    assert [entry.text for entry in unit.end.lead] == ["include 'b'\n"]
    file = _parse("include 'a'\nreal x\nend\n")
    assert _all(file.units) == "program[include real;]"


def test_constructs() -> None:
    text = """
if (a) then
  b = 1
else if (c) then
  outer: do i = 1, n
    d = 1
  end do outer
else
end if
select case (i)
case (1)
  e = 1
case default
end select
select type (p)
type is (t)
  f = 1
class default
  g = 1
end select
where (a > 0)
  a = 1
elsewhere
  a = 2
end where
forall (i = 1:n)
  a(i) = 1
end forall
associate (x => y)
  block
    integer z
    critical
      z = 1
    end critical
  end block
end associate
if (a) b = 1
where (a > 0) a = 1
forall (i = 1:n) a(i) = 1
"""
    assert _body(text) == (
        "if[b|do[d]end|]end select[|e|]end select[|f|g]end where[a|a]end forall[a]end"
        " associate[block[integer critical[z]end]end]end if where forall"
    )


def test_names_that_are_keywords() -> None:
    text = "end = 3\ndo = 4\nif(1) = 2\nselect = 1\nelse = 2\ncase(1) = 2\ncontains = 3\n"
    assert _body(text) == "end do if select else case contains"


def test_labelled_loops() -> None:
    text = """
      do 10 i = 1, n
      do 10 j = 1, n
        a = 1
   10 continue
      do 20 i = 1, n
        do 30 j = 1, n
          a = 1
   30   continue
   20 b(i) = 1
      do 40 i = 1, n
        if (a) then
          b = 1
        end if
   40 end do
      do50i=1,n
   50 c o n t i n u e
"""
    assert _body(text, Form.FIXED) == (
        "do[do[a continue]] do[do[a]continue b] do[if[b]end]end do[]c"
    )


def test_label_that_ends_no_loop() -> None:
    assert _body("10 continue\ndo 20 i = 1, 2\n10 continue\n20 continue\n") == (
        "continue do[continue]continue"
    )


def test_specification_part_ends_at_the_first_executable_statement() -> None:
    statements = "real f, x;f(x) = x + 1;10 format (i3);data y /1/;x = 1;data z /1/"
    assert _units(f"subroutine s\n{statements}\nend\n") == "subroutine s[real f format data;x data]"


def test_construct_ends_the_specification_part() -> None:
    assert _units("subroutine s\nreal x\ndo\nend do\nend\n") == "subroutine s[real;do[]end]"


def test_procedure_names_are_folded() -> None:
    (unit,) = _parse("SUBROUTINE FooBar\nEND\n").units
    assert unit.name == "foobar"


def test_directive_stands_in_the_lead_of_the_loop_head() -> None:
    (unit,) = _parse("subroutine s\na = 1 ! c\n!$omp do\ndo i = 1, n\nend do\nend\n").units
    first, loop = unit.body
    assert isinstance(first, Leaf)
    assert first.trail == " ! c\n"
    assert isinstance(loop, Do)
    assert [entry.kind for entry in loop.head.lead] == [TriviaKind.DIRECTIVE]


def test_statements_on_one_line() -> None:
    assert _body("do i = 1, n; if (a) then; b = 1; end if; end do\n") == "do[if[b]end]end"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("end\n", "t.f:1: END that ends nothing"),
        ("program p\nend do\nend\n", "t.f:2: END DO inside the PROGRAM p of line 1"),
        ("subroutine s\nif (a) then\nend\n", "t.f:3: END inside the IF of line 2"),
        ("subroutine s\ndo i = 1, 2\nend if\n", "t.f:3: END IF inside the DO of line 2"),
        ("subroutine s\nx = 1\n", "t.f:1: the END of this SUBROUTINE s is missing"),
        ("module m\ncontains\nx = 1\nend\n", "t.f:3: a statement after CONTAINS that begins"),
        ("subroutine s\nelse\nend\n", "t.f:2: ELSE inside the SUBROUTINE s of line 1"),
        ("subroutine s\ncase (1)\nend\n", "t.f:2: CASE inside the SUBROUTINE s of line 1"),
        ("module m\nend subroutine\n", "t.f:2: END SUBROUTINE inside the MODULE m of line 1"),
        ("subroutine s\nsubroutine t\nend\n", "t.f:2: SUBROUTINE inside the SUBROUTINE s of line"),
        ("do 10 i = 1, 2\nif (a) then\n10 continue\nend\n", "t.f:4: END inside the IF of line 2"),
        ("end do\n", "t.f:1: END DO that ends nothing"),
    ],
)
def test_inconsistent_nesting(text: str, message: str) -> None:
    assert _refused(text).startswith(message)


def test_nesting_has_a_limit() -> None:
    text = "program p\n" + "if (a) then\n" * 300 + "end if\n" * 300 + "end\n"
    assert _refused(text) == "t.f:201: nested deeper than 200 levels"
