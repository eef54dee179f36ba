"""Units: every statement interpreted, and the border between specification and body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.statements.interpret import interpret_spec, interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.stmt import Opaque, Raw
from asphalt.ir.tree import Block, Leaf, Node, Unit, leaves, units_in

FREE = b"""\
module m
  use iso_c_binding, only: c_int
  implicit none
  type :: t
    private
    integer :: a(3) = 0
    procedure(f), pointer, nopass :: p => null()
  contains
    procedure, pass :: run => run_t
    generic :: go => run
    final :: done
  end type t
  interface g
    module procedure f, h
    subroutine ext(x) bind(c)
      real, intent(in) :: x
    end subroutine
  end interface
  enum, bind(c)
    enumerator :: red = 1, green
  end enum
contains
  function f(x) result(y)
    real, intent(in) :: x
    real :: y, w(10)
    w(1) = x
    outer: do i = 1, 10
      if (x > 0) then
        call s(w)
      else if (x < 0) then
        cycle outer
      end if
      select case (i)
      case (1); y = 1
      case default
        where (w > 0) w = 0
      end select
    end do outer
    associate (z => w(2))
      write (*, 10) z
    end associate
10  format (f10.3)
  contains
    subroutine inner
      y = 2
    end subroutine
  end function
end module
"""

FIXED = b"""\
      SUBROUTINE S(N, A)
      IMPLICIT REAL*8 (A-H, O-Z)
      DIMENSION A(N)
      COMMON /BLK/ B(10), C
      DATA D /1.0D0/
      SQ(X) = X*X
      B(1) = 2
      DO 20 I = 1, N
      DO 20 J = 1, N
   20 A(I) = SQ(A(J))
      IF (N) 30, 30, 40
   30 GOTO 40
   40 RETURN
      END
"""


def _parsed(content: bytes, path: str = "t.f90") -> Unit:
    return parse_file(source_text(path, content)).units[0]


def _unit(spec: Iterable[str], body: Iterable[str] = ()) -> Unit:
    """A subroutine as the splitter might have divided it."""

    def raw(lines: Iterable[str]) -> tuple[Node, ...]:
        return tuple(Leaf(Raw(line)) for line in lines)

    head, end = Leaf(Raw("subroutine s(x, n)")), Leaf(Raw("end"))
    return Unit("subroutine", "s", head, raw(spec), raw(body), None, (), end)


def _kinds(nodes: Iterable[Node]) -> list[str]:
    return [type(n.what).__name__ if isinstance(n, Leaf) else type(n).__name__ for n in nodes]


def _all_kinds(unit: Unit) -> list[str]:
    return _kinds(leaf for leaf in leaves(unit))


def test_deep_leaves_nothing_raw_or_opaque() -> None:
    kinds = _all_kinds(interpret_unit(_parsed(FREE), deep=True))
    assert "Raw" not in kinds
    assert "Opaque" not in kinds


def test_shallow_leaves_contained_units_alone() -> None:
    module = _parsed(FREE)
    shallow = interpret_unit(module)
    assert shallow.contained == module.contained
    assert "Raw" not in _kinds((*shallow.spec, *shallow.body, shallow.end))


def test_texts_labels_and_order_stay() -> None:
    before = _parsed(FREE)
    after = interpret_unit(before, deep=True)
    pairs = list(zip(leaves(before), leaves(after), strict=True))
    for one, other in pairs:
        assert isinstance(one.what, Raw)
        assert not isinstance(other.what, Raw)
        assert (one.lead, one.head, one.body, one.trail) == (
            other.lead, other.head, other.body, other.trail,
        )  # fmt: skip
        assert (one.span, one.label, one.name) == (other.span, other.label, other.name)
    names = [unit.name for unit in units_in(after)]
    assert names == [unit.name for unit in units_in(before)]


def test_interpreting_twice_changes_nothing() -> None:
    once = interpret_unit(_parsed(FREE), deep=True)
    assert interpret_unit(once, deep=True) == once


def test_definitions_know_the_block_they_stand_in() -> None:
    spec = interpret_spec(_parsed(FREE)).spec
    blocks = {n.kind: _kinds(leaf for leaf in leaves(n)) for n in spec if isinstance(n, Block)}
    assert blocks["interface"] == ["UnitHead", "Decl", "UnitHead", "Decl", "Plain", "Plain"]
    assert blocks["enum"] == ["UnitHead", "Decl", "Plain"]
    assert blocks["type"] == ["UnitHead", *["Decl"] * 3, "Plain", *["Decl"] * 3, "Plain"]


def test_fixed_form() -> None:
    unit = interpret_unit(_parsed(FIXED, "t.f"))
    assert _kinds(unit.spec) == ["Decl", "Decl", "Decl", "Decl", "StatementFunction"]
    assert _all_kinds(unit)[6:] == [
        "Assign", "DoHead", "DoHead", "Assign", "Jump", "Jump", "Jump", "Plain",
    ]  # fmt: skip


def test_interpret_spec_leaves_the_body_raw() -> None:
    unit = interpret_spec(_unit(["integer n, a(3)", "a(n) = 1"], ["n = 2"]))
    assert _kinds(unit.spec) == ["Decl"]
    assert _kinds(unit.body) == ["Raw", "Raw"]
    assert unit.head is not None
    assert _kinds([unit.head]) == ["UnitHead"]


def test_an_assignment_to_a_declared_array_begins_the_body() -> None:
    for declaration in (
        "real a(10)", "dimension a(10)", "common /x/ a(10)", "real, dimension(:) :: a",
        "pointer (p, a(10))",
    ):  # fmt: skip
        unit = interpret_unit(_unit([declaration, "a(i) = x", "b(i) = x"], ["n = 1"]))
        assert _kinds(unit.spec) == ["Decl"]
        assert _kinds(unit.body) == ["Assign", "Assign", "Assign"]


def test_dimensions_may_come_after_the_type() -> None:
    unit = interpret_unit(_unit(["real a", "dimension a(3)", "a(i) = x"]))
    assert _kinds(unit.body) == ["Assign"]


def test_a_declared_scalar_makes_a_statement_function() -> None:
    unit = interpret_unit(_unit(["real a"], ["a(y) = y*x", "integer k", "k = 1"]))
    assert _kinds(unit.spec) == ["Decl", "StatementFunction", "Decl"]
    assert _kinds(unit.body) == ["Assign"]
    unit = interpret_unit(_unit(["real a, b"], ["a(y) = y*x", "integer k", "b(y) = y", "k = 1"]))
    assert _kinds(unit.spec) == ["Decl", "StatementFunction", "Decl", "StatementFunction"]
    assert _kinds(unit.body) == ["Assign"]


def test_an_undeclared_name_is_what_the_splitter_took_it_for() -> None:
    unit = interpret_unit(_unit(["use m", "f(y) = y"], ["k = 1"]))
    assert _kinds(unit.spec) == ["Use", "StatementFunction"]
    unit = interpret_unit(_unit(["use m"], ["f(y) = y", "k = 1"]))
    assert _kinds(unit.body) == ["Assign", "Assign"]


def test_what_cannot_be_understood_is_opaque_alone() -> None:
    unit = interpret_unit(_unit(["real a(3)"], ["sync all", "a(1) = 1"]))
    assert _kinds(unit.body) == ["Opaque", "Assign"]
    first = unit.body[0]
    assert isinstance(first, Leaf)
    assert isinstance(first.what, Opaque)
    assert first.what.names == {"sync", "all"}


def test_an_executable_statement_in_a_specification_begins_the_body() -> None:
    unit = interpret_unit(_unit(["integer n", "call t", "integer k"], ["n = 1"]))
    assert _kinds(unit.spec) == ["Decl"]
    assert _kinds(unit.body) == ["Call", "Decl", "Assign"]


def test_a_declaration_after_what_is_not_understood_belongs_to_the_specification() -> None:
    unit = interpret_unit(_unit(["integer n"], ["attributes(device) :: n", "real a(3)", "n = 1"]))
    assert _kinds(unit.spec) == ["Decl", "Opaque", "Decl"]
    assert _kinds(unit.body) == ["Assign"]
    unit = interpret_unit(_unit(["integer n"], ["data n /1/", "sync all", "n = 1"]))
    assert _kinds(unit.body) == ["Decl", "Opaque", "Assign"]


def test_a_definition_that_moves_is_interpreted() -> None:
    head, component, end = (Leaf(Raw(t)) for t in ("type t", "integer a", "end type"))
    block = Block("type", head, (component,), end)
    unit = interpret_unit(replace(_unit(["integer n"]), body=(Leaf(Raw("attributes x")), block)))
    assert _all_kinds(unit)[1:] == ["Decl", "Opaque", "UnitHead", "Decl", "Plain", "Plain"]
    assert unit.body == ()
