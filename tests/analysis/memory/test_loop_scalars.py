"""Which variables carry a value from one iteration to the next, or out of a loop."""

from __future__ import annotations

import pytest

from asphalt.analysis.exchange.site import statements
from asphalt.analysis.memory.accesses import RefinedNames
from asphalt.analysis.memory.loop_scalars import is_copy, live_after, surely_defined, upward_exposed
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.ir.stmt import What
from asphalt.ir.tree import Do, Leaf, Node
from support.analysed import Analysed

UNIT = """
subroutine unit(n, a, b)
  integer, intent(in) :: n
  real :: a(n), b(n), x, y
  integer :: i, j, k
  logical :: yes
{body}
end subroutine unit
"""


def never(node: Node, storage: str) -> bool:
    return False


def is_exposed(body: str, name: str = "x") -> bool:
    unit = Analysed(UNIT.format(body=body))
    return upward_exposed(unit.body, name, unit.names, never)


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\ny = x",
        "do i = 1, n\n  x = i\n  a(i) = x\nend do",
        "if (yes) then\n  x = 1\nelse\n  x = 2\nend if\ny = x",
        "y = 1",
        "x = 1\nif (yes) x = 2\ny = x",
        "do i = 1, n\n  if (yes) cycle\n  x = i\n  a(i) = x\nend do",
        "select case (i)\ncase (1)\n  x = 1\ncase default\n  x = 2\nend select\ny = x",
    ],
)
def test_defined_before_it_is_read(body: str) -> None:
    assert not is_exposed(body)


@pytest.mark.parametrize(
    "body",
    [
        "y = x",
        "x = x + 1",
        "if (yes) x = 1\ny = x",
        "if (yes) then\n  x = 1\nend if\ny = x",
        "do i = 1, n\n  x = i\nend do\ny = x",  # the loop may have no trips
        "do i = 1, n\n  a(i) = x\n  x = i\nend do",
        "select case (i)\ncase (1)\n  x = 1\nend select\ny = x",
        "call elsewhere(x)",
        "read *, x",
        "do while (x > 0)\n  x = 1\nend do",
        "c: if (yes) then\n  if (n > 3) exit c\n  x = 1\nelse\n  x = 2\nend if c\ny = x",
        "if (yes) goto 10\nx = 1\n10 continue\ny = x",
    ],
)
def test_may_be_read_before_it_is_defined(body: str) -> None:
    assert is_exposed(body) or body.startswith("read")


def test_a_loop_defines_its_variable() -> None:
    assert not is_exposed("do i = 1, n\nend do\nk = i", "i")


def test_arrays_by_what_covers_them() -> None:
    unit = Analysed(UNIT.format(body="do i = 1, n\n  a(i) = 0\nend do\ny = a(2)"))
    assert upward_exposed(unit.body, "a", unit.names, never)
    assert not upward_exposed(unit.body, "a", unit.names, lambda node, name: isinstance(node, Do))


@pytest.mark.parametrize(("last", "partly"), [("elsewhere", False), ("elsewhere (b < 0)", True)])
def test_masked_assignments(last: str, partly: bool) -> None:
    body = f"where (b > 0)\n  a = 1\n{last}\n  a = 2\nend where\nb = a"
    assert is_exposed(body, "a") is partly


@pytest.mark.parametrize(
    ("body", "defined"),
    [
        ("x = 1", True),
        ("if (yes) then\n  x = 1\nelse\n  x = 2\nend if", True),
        ("if (yes) x = 1", False),
        ("if (yes) return\nx = 1", False),
        ("y = x\nx = 1", False),
        ("do i = 1, n\n  x = 1\nend do", False),
        ("goto 10\nx = 1\n10 continue", False),
        ("do i = 1, n\n  y = x\nend do\nx = 1", False),
        ("if (x > 1) then\n  x = 1\nelse\n  x = 2\nend if", False),
        ("if (yes) then\n  x = 1\nelse if (n > 1) then\n  x = 2\nend if", False),
        ("if (yes) then\n  y = x\nelse\n  x = 2\nend if\nx = 1", False),
        ("select case (n)\ncase (1)\n  x = 1\ncase default\n  x = 2\nend select\ny = x", True),
        ("select case (n)\ncase (1)\n  x = 1\ncase (2)\n  x = 2\nend select\ny = x", False),
        ("c: if (yes) then\n  if (n > 3) exit c\n  x = 1\nelse\n  x = 2\nend if c", False),
        ("block\n  x = 1\nend block\ny = x", True),
        ("c: block\n  if (yes) exit c\n  x = 1\nend block c", False),
        ("y = 1\nx = y\ny = x", True),
    ],
)
def test_surely_defined(body: str, defined: bool) -> None:
    unit = Analysed(UNIT.format(body=body))
    whole = examine(unit.body, unit.names)
    found = surely_defined(unit.body, ("x", "i"), whole, unit.names)
    assert ("x" in found, found <= {"x", "i"}) == (defined, True)
    assert ("i" in found) is (body.startswith("do ") and "return" not in body)


def test_each_statement_is_examined_once_for_all_variables() -> None:
    unit = Analysed(UNIT.format(body="k = 0\nx = 1\ny = x\nif (yes) then\n  x = y\nend if"))
    whole, asked = examine(unit.body, unit.names), list[object]()

    class Counting(RefinedNames):
        def effective_statement(self, what: What, leaf: Leaf) -> What:
            asked.append(leaf)
            return super().effective_statement(what, leaf)

    names = Counting(unit.names)
    assert surely_defined(unit.body, ("x", "y", "k", "i"), whole, names) == {"x", "y", "k"}
    assert len(asked) == len(set(map(id, asked)))


def live(body: str) -> bool:
    """Whether ``x`` may be read after the statement ``k = 0``."""
    unit = Analysed(UNIT.format(body=body))
    place = next(p for leaf, p in statements(unit.body) if leaf is unit.leaf("k = 0"))
    return live_after(place.levels, "x", unit.names, never)


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\nk = 0",
        "k = 0\nx = 1\ny = x",
        "do i = 1, n\n  x = i\n  k = 0\nend do",
        "do i = 1, n\n  x = i\n  y = x\n  k = 0\nend do\nx = 2\ny = x",
        "y = x\nk = 0",
    ],
)
def test_dead(body: str) -> None:
    assert not live(body)


@pytest.mark.parametrize(
    "body",
    [
        "k = 0\ny = x",
        "k = 0\nif (yes) x = 1\ny = x",
        "do i = 1, n\n  y = x\n  k = 0\nend do",  # in the next iteration
        "do i = 1, n\n  k = 0\n  if (yes) x = i\nend do\ny = x",
        "if (yes) then\n  k = 0\nend if\ny = x",
        "10 y = x\nk = 0\ngoto 10",
        "do i = 1, n\n  k = 0\n  if (yes) cycle\n  x = 1\nend do\ny = x",
    ],
)
def test_live(body: str) -> None:
    assert live(body)


@pytest.mark.parametrize(
    ("statement", "copies"),
    [
        ("a(i) = b(i)", True),
        ("a(i) = b(n+1-i)", True),
        ("a(i) = 2*b(i)", False),
        ("a(i) = x", False),
        ("a(i) = sin(b(i))", False),
        ("a(i) = real(i)", False),
        ("call elsewhere(a(i))", False),
        ("call elsewhere(b)\n  a(i) = b(i)", False),
        ("if (yes) a(i) = b(i)", True),
        ("if (yes) call elsewhere(b)\n  a(i) = b(i)", False),
    ],
)
def test_copies(statement: str, copies: bool) -> None:
    unit = Analysed(UNIT.format(body=f"do i = 1, n\n  {statement}\nend do"))
    (loop,) = unit.body
    assert isinstance(loop, Do)
    assert is_copy(loop, unit.names) is copies


SIZED = """
subroutine unit(n, b)
  integer, intent(in) :: n
  real, intent(in) :: b(n)
  real, allocatable :: w(:)
  real :: fixed(10)
  character(:), allocatable :: word
  integer :: i
{body}
end subroutine unit
"""


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("w", "i = size(w)\nw = b(1:i/2)", True),
        ("word", "i = len(word)\nword = 'ab'", True),
        ("w", "do i = 1, size(w)\n  w(i) = b(i)\nend do", False),  # only parts are assigned
        ("fixed", "i = size(fixed)\nfixed = b(1:i)", False),  # it has one size
    ],
)
def test_a_size_that_an_assignment_may_change(name: str, body: str, expected: bool) -> None:
    unit = Analysed(SIZED.format(body=body))
    assert upward_exposed(unit.body, name, unit.names, never) is expected
    whole = examine(unit.body, unit.names)
    assert not (surely_defined(unit.body, (name,), whole, unit.names) and expected)
