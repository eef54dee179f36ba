"""What statements read and write, and what they do beside."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.accesses import EffectKind, Footprint, Mode
from asphalt.analysis.memory.statement_accesses import examine
from support.analysed import Analysed, described

UNIT = """
subroutine unit(n, a, b, x, f)
  integer, intent(in) :: n
  real :: a(n,n), b(n), x
  real, pointer :: q(:)
  type :: pair
    real :: v(3)
  end type
  type(pair) :: t(4)
  integer :: i, j, idx(10)
  character(8) :: word
  logical :: yes
  real, allocatable :: w(:)
  external :: f
{body}
end subroutine unit
"""


def footprint(body: str) -> Footprint:
    return Analysed(UNIT.format(body=body)).footprint


def accesses(body: str) -> list[str]:
    return [described(access) for access in footprint(body).accesses]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = 1", ["writes x"]),
        ("x = x + b(i)", ["reads x", "reads b(i)", "reads i", "writes x"]),
        ("a(i,:) = b", ["reads b", "writes a(i,:)", "reads i"]),
        ("b(idx(i)) = 0", ["writes b(idx(i))", "reads idx(i)", "reads i"]),
        ("b(1:n:2) = 0", ["writes b(1:n:2)", "reads n"]),
        ("if (yes) x = 1", ["reads yes", "writes x ?"]),
        ("x = sin(b(1))", ["reads b(1)", "writes x"]),
        ("i = size(a, 1)", ["inquires a", "writes i"]),
        ("i = size(b(1:n))", ["inquires b", "reads n", "writes i"]),
        ("where (b > 0) b = 1", ["reads b", "writes b ?"]),
        ("word(2:3) = 'ab'", ["writes word(2:3)"]),
        ("b = [x, real(i)]", ["reads x", "reads i", "writes b"]),
        ("b = [(x*b(i), i = 1, n)]", ["reads b", "reads n", "reads x", "writes b"]),
    ],
)
def test_assignments(statement: str, expected: list[str]) -> None:
    assert accesses(statement) == expected


_FUNCTIONS = """
subroutine unit(n, a, b, x)
  integer, intent(in) :: n
  real :: a(n), b(n), x, s, y, square, both, at, away, loud, f
  integer :: i, shift
  external :: f
  square(y) = y*y
  both(y, s) = square(y) + square(s)*x
  at(i) = a(i + shift)
  loud(y) = f(y)
  {statement}
end subroutine unit
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = square(b(n))", ["reads b(n)", "reads n", "writes x"]),
        ("b(1) = both(b(2), 1.0)", ["reads b(2)", "reads x", "writes b(1)"]),
        ("x = at(n)", ["reads a(n + shift)", "reads n", "reads shift", "writes x"]),
    ],
)
def test_statement_functions_are_expressions(statement: str, expected: list[str]) -> None:
    found = Analysed(_FUNCTIONS.format(statement=statement)).footprint
    assert sorted({described(one) for one in found.accesses}) == sorted(expected)
    assert found.effects == ()


def test_a_statement_function_may_call_others() -> None:
    found = Analysed(_FUNCTIONS.format(statement="x = loud(b(1))")).footprint
    assert [effect.detail for effect in found.effects] == ["f"]


def test_components_of_elements_are_those_of_any_element() -> None:
    found = accesses("t(i)%v(j) = t(1)%v(2)")
    assert found == ["reads t%v", "may write t%v", "reads i", "reads j"]


def test_a_pointer_may_be_any_target() -> None:
    found = footprint("q => w\nq(3) = x")
    assert [a.mode for a in found.accesses if a.writes] == [Mode.MAYBE_WRITE] * 2
    assert "q" not in found.written()


def test_a_pointer_that_points_only_to_what_is_allocated_for_it_is_a_variable() -> None:
    found = footprint("allocate(q(5))\nq(3) = x")
    assert [described(a) for a in found.of("q")] == ["may write q", "writes q(3)"]


def test_loops() -> None:
    found = footprint("do i = 1, n\n  do j = i, n\n    a(j,i) = 0\n  end do\nend do\n")
    (write,) = found.of("a")
    assert len(write.loops) == 2
    assert write.sure
    assert found.written() == {"a", "i", "j"}
    assert found.read() == {"n", "i", "j"}


@pytest.mark.parametrize(
    "body",
    [
        "do i = 1, n\n  if (yes) then\n    x = 0\n  end if\nend do\n",
        "do i = 1, n\n  if (yes) cycle\n  x = 0\nend do\n",
        "do i = 1, n\n  if (yes) then\n    exit\n  end if\n  x = 0\nend do\n",
        "do while (yes)\n  x = 0\nend do\n",
        "select case (i)\ncase (1)\n  x = 0\ncase default\n  x = 1\nend select\n",
    ],
)
def test_what_may_be_skipped_is_not_sure(body: str) -> None:
    assert not any(access.sure for access in footprint(body).of("x"))


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("print *, x", EffectKind.IO),
        ("read *, x", EffectKind.IO),
        ("stop", EffectKind.STOP),
        ("error stop 'no'", EffectKind.STOP),
        ("if (yes) stop 2", EffectKind.STOP),
        ("return", EffectKind.JUMP),
        ("goto 10", EffectKind.JUMP),
        ("allocate(w(3))", EffectKind.ALLOCATION),
        ("deallocate(w)", EffectKind.ALLOCATION),
        ("nullify(q)", EffectKind.ALLOCATION),
        ("q => b", EffectKind.POINTER),
        ("call f(x)", EffectKind.UNKNOWN_CALL),
        ("x = g(x)", EffectKind.UNKNOWN_CALL),
        ("vendor extension", EffectKind.OPAQUE),
        ("forall (i = 1:n) b(i) = 0", EffectKind.OPAQUE),
        ("call random_number(x)", EffectKind.SYSTEM),
    ],
)
def test_effects(statement: str, kind: EffectKind) -> None:
    found = footprint(f"{statement}\n10 continue\n")
    assert kind in {effect.kind for effect in found.effects}


@pytest.mark.parametrize("statement", ["x = 1", "continue", "b = sqrt(b)", "a(1,1) = a(2,2)"])
def test_assignments_have_no_other_effects(statement: str) -> None:
    assert footprint(statement).effects == ()


@pytest.mark.parametrize(
    "body",
    [
        "block\n  real :: x\n  x = 1\nend block\n",
        "associate (y => x)\n  y = 1\nend associate\n",
        "do concurrent (i = 1:n)\n  b(i) = 0\nend do\n",
    ],
)
def test_constructs_with_names_of_their_own_are_not_seen_through(body: str) -> None:
    assert EffectKind.OPAQUE in {effect.kind for effect in footprint(body).effects}


def test_input_writes_and_output_reads() -> None:
    assert accesses("read *, x, b(i)") == ["may write x", "may write b(i)", "reads i"]
    assert accesses("print *, x") == ["reads x"]


def test_only_some_nodes() -> None:
    unit = Analysed(UNIT.format(body="x = 1\ni = 2\n"))
    assert examine(unit.body[1:], unit.names).written() == {"i"}


def test_a_call_writes_its_arguments_and_reads_their_subscripts() -> None:
    found = accesses("call f(b(idx(i)), x + 1)")
    assert "reads idx(i)" in found
    assert any(text.startswith("may write b") for text in found)
    assert "reads x" in found
    assert not any(text.startswith("may write x") for text in found)


def test_functions_in_constructors_are_called() -> None:
    found = footprint("b(1:2) = [x, g(i)]")
    assert [effect.kind for effect in found.effects] == [EffectKind.UNKNOWN_CALL]
    assert {"x", "i"} <= found.read()


COMPONENTS = """
module plans
  type inner
    real, allocatable :: send(:,:)
    real, pointer :: there(:)
  end type
  type plan
    type(inner) :: buffers
    type(inner) :: several(2)
    real :: fixed(4), x
    integer :: n
  end type
contains
  subroutine unit(p, many, t, i)
    type(plan) :: p, many(3)
    type(plan), target :: t
    integer :: i
    integer, allocatable :: own(:)
    {body}
  end subroutine
end module
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("p%buffers%send(i,:) = p%x", ["reads p%x", "may write p%buffers%send(i,:)", "reads i"]),
        ("p%fixed = 0", ["may write p%fixed"]),
        ("i = p%n", ["reads p%n", "writes i"]),
        ("i = size(p%buffers%send, 1)", ["inquires p%buffers%send", "writes i"]),
        (
            "i = size(p%several(i)%send)",
            # which it was given with the element: a part of its value
            ["reads p%several%send", "reads i", "writes i"],
        ),
        (
            "p%buffers%there(i) = 0",
            ["reads p%buffers%there", "may write (aliased)", "reads i"],
        ),
        ("p%several(i)%send = 0", ["may write p%several%send", "reads i"]),
        (
            "p%several(i)%there(1) = 0",
            ["may write p", "may write (aliased)", "reads i"],
        ),
        ("many(i)%fixed(1) = 0", ["may write many%fixed", "reads i"]),
        ("t%fixed(1) = 0", ["may write (aliased)", "may write (aliased)"]),
    ],
)
def test_a_component_is_an_object_of_its_own(statement: str, expected: list[str]) -> None:
    text = COMPONENTS.replace("{body}", statement)
    found = Analysed(text, chain=("plans", "unit")).footprint.accesses
    assert [described(access) for access in found] == expected


def test_accesses_to_a_structure_are_accesses_to_its_components() -> None:
    text = COMPONENTS.replace("{body}", "p%x = 1; p%buffers = many(1)%buffers; p = many(2)")
    found = Analysed(text, chain=("plans", "unit")).footprint
    assert len(found.of("p")) == 3
    assert [described(a) for a in found.of("p%x")] == ["may write p%x", "writes p"]
    assert [described(a) for a in found.of("p%buffers%send")] == [
        "may write p%buffers",
        "writes p",
    ]
    assert found.may_write("p%n")


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("many(1)%fixed(1) = 0", "i = int(many(2)%x)", False),
        ("p%several(1)%send = 0", "i = int(p%fixed(1))", False),
        ("many(1)%fixed(1) = 0", "i = int(many(2)%fixed(1))", True),
        ("p%several(1)%send = 0", "i = int(p%several(2)%send(1,1))", True),
        ("p%several(1)%send = 0", "p%several = p%several(2:1:-1)", True),
        ("many(1)%fixed(1) = 0", "many = many(3:1:-1)", True),
        ("p%several(1)%there(1) = 0", "i = int(t%x)", True),
        ("associate (p => many(1))\np%x = 0\nend associate", "i = int(many(1)%x)", True),
    ],
)
def test_components_of_different_names_are_different_storage(
    one: str, two: str, expected: bool
) -> None:
    unit = Analysed(COMPONENTS.replace("{body}", f"{one}\n{two}"), chain=("plans", "unit"))
    done = [examine((node,), unit.names) for node in unit.body]
    opaque = any(e.kind is EffectKind.OPAQUE for e in done[0].effects)
    found = any(a.conflicts(b) for a in done[0].accesses for b in done[1].accesses)
    assert (found or opaque) == expected


@pytest.mark.parametrize(
    ("asks", "changes", "expected"),
    [
        ("size(p%buffers%send)", "p%buffers%send(1,1) = 0", False),  # only elements
        ("size(p%buffers%send)", "p%buffers%send = 0", True),
        ("size(p%buffers%send)", "deallocate(p%buffers%send)", True),
        ("size(p%buffers%send)", "p%buffers = p%several(1)", True),
        ("size(p%buffers%send)", "p = many(1)", True),
        ("size(p%buffers%send)", "p%fixed(1) = 0", False),
        ("size(p%buffers%send)", "call ext(p%buffers)", True),
        ("size(many(2)%buffers%send)", "many(2) = p", True),
        ("size(many(2)%buffers%send)", "many(1:2) = p", True),
        ("size(p%several(1)%send)", "p%several(1) = p%buffers", True),
        ("size(many(2)%fixed)", "many(2) = p", False),
        ("size(own)", "own(2) = i", False),
        ("size(own)", "own = [1, 2]", True),
        ("size(own)", "allocate(own(3))", True),
        ("size(p%buffers%send)", "allocate(p%buffers%send(3,i))", True),
        ("size(t%buffers%there)", "t%buffers%there => t%fixed", True),
    ],
)
def test_a_size_is_changed_by_what_may_give_another(
    asks: str, changes: str, expected: bool
) -> None:
    body = f"i = {asks}\n{changes}"
    unit = Analysed(COMPONENTS.replace("{body}", body), chain=("plans", "unit"))
    one, two = (examine((node,), unit.names).accesses for node in unit.body)
    found = any(a.conflicts(b) for a in one for b in two if a.storage != "i")
    assert found == expected


def test_a_statement_is_examined_once() -> None:
    found = Analysed(UNIT.format(body="do i = 1, n\n  b(i) = x\nend do"))
    alone, again = (examine((found.leaf("b(i)"),), found.names).accesses for _ in range(2))
    assert all(one is other for one, other in zip(alone, again, strict=True))
    (loop,) = found.body
    inside = [a for a in examine((loop,), found.names).accesses if a.leaf is alone[0].leaf]
    assert [a.loops for a in alone] == [()] * 3
    assert [a.loops for a in inside] == [(loop,)] * 3


@pytest.mark.parametrize("alone_first", [True, False])
def test_indexes_of_a_construct_are_variables_for_a_statement_alone(alone_first: bool) -> None:
    """What is known of the statement does not count where an enclosing construct binds a name."""
    found = Analysed(UNIT.format(body="do concurrent (i = 1:n)\n  b(i) = x\nend do"))
    nodes = [found.leaf("b(i)"), *found.body]
    texts = {
        id(node): [described(access) for access in examine((node,), found.names).accesses]
        for node in (nodes if alone_first else reversed(nodes))
    }
    assert texts[id(nodes[0])] == ["reads x", "writes b(i)", "reads i"]
    assert texts[id(nodes[1])] == ["reads n ?", "reads x ?", "may write b(:) ?"]


def test_a_statement_that_may_be_skipped_is_not_sure_although_it_is_alone() -> None:
    found = Analysed(UNIT.format(body="x = 1\nif (yes) then\n  b(1) = x\nend if"))
    alone = examine((found.leaf("b(1)"),), found.names).accesses
    skipped = examine(found.body, found.names).accesses
    assert [a.sure for a in alone] == [True, True]
    assert [a.sure for a in skipped if a.storage == "b"] == [False]
