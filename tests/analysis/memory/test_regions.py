"""What integer sets say about accesses, against the enumeration of all iterations of small loops.

"No violation" is a proof, so it must be true for every size; a violation is only a reason to
refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.memory.regions import Region, Violation
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.ir.expr import Expr, Section
from asphalt.ir.tree import leaves
from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed
from support.fortran_values import expressions, value
from support.nest_oracle import nests, points

NAMES = ("z", "i", "n", "m")
SIZES = [dict(zip("nm", pair, strict=True)) for pair in product((0, 1, 3, 4), (-1, 2))]
INNER, OUTER = expressions("z", "n", "m", leaves=3), expressions("n", "m", leaves=2)
SIMPLE = st.sampled_from(["z", "z+1", "z-1", "i", "i+z", "2*i", "n", "n+1-z", "m", "1", "2*z+1"])
FLAT = st.sampled_from(
    ["n*z+i", "n*z-i", "n*(z-1)+i", "m*z+i", "m*i+z", "n*m*z+n*i+1", "(n+1)*z+i", "n*z+m*i",
     "2*n*z+i", "n*z+1:n*(z+1)", "m*z:m*z+i"]
)  # fmt: skip
SUBSCRIPTS = st.one_of(
    SIMPLE, FLAT.filter(lambda text: ":" not in text), expressions(*NAMES, leaves=4).map(expr_text)
)
SECTIONS = st.builds(
    lambda low, high, step: f"{low}:{high}{step}",
    st.sampled_from(["", "1", "i", "z", "n+1"]),
    st.sampled_from(["", "3", "i", "z", "n"]),
    st.sampled_from(["", ":2", ":-1", ":1"]),
)
STEPS = st.sampled_from(["", "", ", 1", ", -1", ", 2", ", -2"])
LOOPS = st.builds(
    lambda outer, inner, step, other: (
        f"  do z = {outer[0]}, {outer[1]}{step}\n    do i = {inner[0]}, {inner[1]}{other}\n"
        "      {statement}\n    end do\n  end do"
    ),
    st.tuples(OUTER.map(expr_text), OUTER.map(expr_text)),
    st.one_of(st.just(("1", "n")), st.tuples(INNER.map(expr_text), INNER.map(expr_text))),
    STEPS,
    STEPS,
)
ELEMENTS = st.tuples(SUBSCRIPTS, st.one_of(SUBSCRIPTS, SECTIONS, FLAT)).map(
    lambda s: f"s({s[0]},{s[1]})"
)
EXAMPLES = settings(max_examples=80, deadline=None)


def _holds(relation: str, left: int, right: int) -> bool:
    return left < right if relation == "<" else left > right


@EXAMPLES
@given(LOOPS, ELEMENTS, st.sampled_from([0, 1]), st.integers(-1, 1), st.sampled_from("<>"))
def test_no_write_elsewhere_is_true(
    loops: str, element: str, dimension: int, offset: int, relation: str
) -> None:
    found = nests(loops.replace("{statement}", f"{element} = 0"))
    (write,) = found.writes
    tiled = write.loops[0]
    shift = Poly.constant(offset)
    if found.region.write_elsewhere(write, tiled, dimension, shift, relation) is not None:
        return
    for sizes in SIZES:
        for at, touched in points(write, sizes):
            assert not _holds(relation, at["z"], touched[dimension] - offset), (sizes, at, touched)


@EXAMPLES
@given(LOOPS, ELEMENTS, st.sampled_from([0, 1]), st.tuples(OUTER, OUTER))
def test_no_subscript_out_of_bounds_is_true(
    loops: str, element: str, dimension: int, limits: tuple[Expr, Expr]
) -> None:
    found = nests(loops.replace("{statement}", f"{element} = 0"))
    (write,) = found.writes
    lower, upper = limits
    if found.region.out_of_bounds(write, dimension, poly(lower), poly(upper)) is not None:
        return
    assert write.subscripts is not None
    subscript = write.subscripts[dimension]
    whole = isinstance(subscript, Section) and None in (subscript.lower, subscript.upper)
    for sizes in SIZES:
        try:
            low, high = value(lower, sizes), value(upper, sizes)
        except ZeroDivisionError:
            continue
        for at, touched in points(write, sizes):
            # an open end of a section is the bound of the dimension itself
            assert whole or low <= touched[dimension] <= high, (sizes, at, touched)


@EXAMPLES
@given(LOOPS, LOOPS, ELEMENTS, ELEMENTS, st.sampled_from(["<", "=", ">"]))
def test_no_conflict_is_true(
    first: str, second: str, written: str, read: str, relation: str
) -> None:
    body = (
        first.replace("{statement}", f"{written} = 0")
        + "\n"
        + second.replace("{statement}", f"a(1,1) = {read}")
    )
    found = nests(body)
    (write,), (read_access,) = found.writes, found.reads

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        problem.compare(one["z"], relation, two["z"])

    if found.region.conflict(write, read_access, order) is not None:
        return
    for sizes in SIZES:
        writes: dict[tuple[int, ...], set[int]] = {}
        for at, element in points(write, sizes):
            writes.setdefault(element, set()).add(at["z"])
        for at, element in points(read_access, sizes):
            for z in writes.get(element, ()):
                ordered = z == at["z"] if relation == "=" else _holds(relation, z, at["z"])
                assert not ordered, (sizes, element, z, at)


FLAT_NEST = """
  do z = 1, n
    do j = {inner}
      do i = 1, m
        {statement}
      end do
    end do
  end do
"""


@pytest.mark.parametrize(
    ("element", "inner", "apart"),
    [
        ("s(m*z+i)", "1, 1", True),
        ("s(m*(z-1)+i)", "1, 1", True),
        ("s(m*z+1:m*(z+1))", "1, 1", True),
        ("s(i+m*(j-1)+m*k*(z-1))", "1, k", True),  # three dimensions
        ("s(i+m*(j+k*z))", "0, k-1", True),
        ("s(i+(m+2)*z)", "1, 1", True),  # with a gap
        ("s(i+2*m*z)", "1, 2", True),
        ("s(-m*z+i)", "1, 1", True),
        ("s(m*z+i+1)", "1, 1", True),
        ("s(m*z+i+j)", "0, 1", False),  # the first of the next block
        ("s(m*z+1:m*(z+1)+1)", "1, 1", False),
        ("s(i+m*(j-1)+m*k*(z-1))", "1, k+1", False),
        ("s(i+(m-1)*z)", "1, 1", False),
        ("s(i+k*z)", "1, 1", False),  # nothing says that k is not less than m
        ("s(i+m*z*z)", "1, 1", False),  # no product with a parameter
    ],
)
def test_flat_subscripts_are_those_of_more_dimensions(
    element: str, inner: str, apart: bool
) -> None:
    found = nests(FLAT_NEST.format(statement=f"{element} = 0", inner=inner))
    (write,) = found.writes

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        problem.compare(one["z"], "<", two["z"])

    assert (found.region.conflict(write, write, order) is None) is apart


SCALARS = """
  do z = 1, n
    {before}
    do i = {bounds}
      {inside}
      s({element}) = 0
    end do
    {behind}
  end do
"""


@pytest.mark.parametrize(
    ("before", "bounds", "inside", "element", "behind", "apart"),
    [
        ("k = m*z", "1, m", "", "k+i", "", True),
        ("k = m*z; l = k + m", "k + 1, l", "", "i", "", True),
        ("k = 1; k = m*z", "1, m", "", "k+i", "", True),
        ("k = m*z", "1, 1", "", "k+1:k+m", "", True),
        ("", "1, m", "k = m*z", "k+i", "", True),
        ("", "1, m", "", "k+i", "k = m*z", False),  # of the iteration before
        ("k = m*z", "1, m", "k = k + 1", "k+i", "", False),
        ("k = m*z", "1, m", "", "k+i", "k = 0", True),
        ("if (z > 3) k = m*z", "1, m", "", "k+i", "", False),
        ("if (z > 3) then; k = m*z; end if", "1, m", "", "k+i", "", False),
        ("k = m*z; if (z > 3) k = 0", "1, m", "", "k+i", "", False),
        ("k = m*z; call other(k)", "1, m", "", "k+i", "", False),
        ("k = m*i", "1, m", "", "k+i", "", False),  # what i was before its loop
        ("l = z; k = m*l; l = 1", "1, m", "", "k+i", "", True),
        ("k = m*l; l = z", "1, m", "", "k+i", "", False),
        ("k = m*z", "1, m + 1", "", "k+i", "", False),
        ("k = k + m", "1, m", "", "k+i", "", False),  # what it was before
        ("k = m*z; l = k; k = l - k", "1, m", "", "k+i", "", False),
        ("k = m*z", "1, m", "k = k + 1", "k", "", True),
        ("k = m*z - 1", "1, m", "k = k + 1", "k+1", "", True),
        ("k = 2*m*z", "3, m", "k = k + 2", "k", "k = 0", True),
        ("k = m*z", "0, m", "k = k + 1", "k", "", False),  # one more
        ("k = m*z", "1, m", "k = k + 2", "k", "", False),
        ("k = m*z", "z, z+m", "k = k + 1", "k", "", False),
        ("k = m*z", "1, m", "if (i > 3) k = k + 1", "k", "", False),
        ("k = m*z", "1, m", "if (i > 3) cycle; k = k + 1", "k", "", False),
        ("k = m*z", "1, m", "k = k + 1; k = k + 1", "k", "", False),
        ("k = m*z", "1, m", "k = k + z", "k", "", False),
        ("k = m*z", "1, m, 2", "k = k + 1", "k", "", False),
        ("if (z > 3) k = m*z", "1, m", "k = k + 1", "k", "", False),
        ("", "1, m", "k = k + 1", "k", "k = m*z", False),
    ],
)
def test_scalars_that_an_iteration_sets(
    before: str, bounds: str, inside: str, element: str, behind: str, apart: bool
) -> None:
    parts = {"before": before, "bounds": bounds, "inside": inside, "behind": behind}
    found = nests(SCALARS.format(element=element, **parts).replace("; ", "\n    "))
    (write,) = found.writes

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        problem.compare(one["z"], "<", two["z"])

    assert (found.region.conflict(write, write, order) is None) is apart


NEST = """
  do z = 1, n
    do i = 1, m
      {statement}
    end do
  end do
"""


@pytest.mark.parametrize(
    ("element", "relation", "expected"),
    [
        ("s(i,z)", ">", True),
        ("s(i,z)", "<", True),
        ("s(:,z)", ">", True),
        ("s(i,z-1)", ">", False),
        ("s(i,z-1)", "<", True),
        ("s(i,z+1)", ">", True),
        ("s(i,z+1)", "<", False),
        ("s(i,i)", ">", False),
        ("s(i,1)", ">", False),
        ("s(i,mod(z,3))", ">", False),
    ],
)
def test_writes_to_planes_of_other_iterations(element: str, relation: str, expected: bool) -> None:
    found = nests(NEST.format(statement=f"{element} = 0"))
    (write,) = found.writes
    answer = found.region.write_elsewhere(write, write.loops[0], 1, Poly(), relation)
    assert (answer is None) is expected


def test_a_witness_is_an_iteration_and_an_element() -> None:
    found = nests(NEST.format(statement="s(i,z-1) = 0"))
    (write,) = found.writes
    answer = found.region.write_elsewhere(write, write.loops[0], 1, Poly(), ">")
    assert isinstance(answer, Violation)
    assert answer.point is not None
    assert answer.point["subscript 2"] == answer.point["z"] - 1 == answer.point["sent with"]
    assert answer.point["i"] == answer.point["subscript 1"] >= 1


@pytest.mark.parametrize(
    ("element", "upper", "inside"),
    [
        ("s(i,z)", "m", True),
        ("s(i,z)", "n", False),
        ("s(i+1,z)", "m", False),
        ("s(i+1,z)", "m+1", True),
        ("s(1:m,z)", "m", True),
        ("s(m:1:-1,z)", "m", True),
        ("s(m+1:1:-1,z)", "m", False),
        ("s(:,z)", "m", True),
        ("s(i*i,z)", "m*m", False),
    ],
)
def test_subscripts_and_their_dimension(element: str, upper: str, inside: bool) -> None:
    found = nests(NEST.format(statement=f"{element} = 0"))
    (write,) = found.writes
    limit = e(upper)
    answer = found.region.out_of_bounds(write, 0, Poly.constant(1), poly(limit))
    assert (answer is None) is inside


def test_values_are_over_loops_and_what_does_not_change() -> None:
    body = NEST.format(statement="s(i,z) = 0") + "  i = 0\n"
    found = nests(body)
    (write,) = found.writes
    value_of = found.region.value
    assert value_of(e("z + n"), write.loops) == poly(e("z + n"))
    assert value_of(e("i"), write.loops) == poly(e("i"))
    assert value_of(e("i"), ()) is None  # it changes in the region
    assert value_of(e("z"), ()) is None
    assert value_of(e("a(i,z)"), write.loops) is None
    assert value_of(e("t%n"), write.loops) is None
    assert value_of(e("size(a, 1)"), write.loops) == poly(e("size(a, 1)"))
    assert value_of(e("mod(z, 2)"), write.loops) is None
    assert value_of(e("mod(n, 2)"), write.loops) == poly(e("mod(n, 2)"))


COLUMNS = """
subroutine unit(n, m)
  integer, intent(in) :: n, m
  real :: s(n*m+1)
  integer :: z
  do z = 1, n
    call column(s({first}), m)
  end do
end subroutine unit
subroutine column(c, k)
  integer, intent(in) :: k
  real :: c({size})
  integer :: i
  do i = 1, {last}
    c(i) = i
  end do
end subroutine column
"""


@pytest.mark.parametrize(
    ("first", "size", "last", "apart"),
    [
        ("(z-1)*m+1", "k", "k", True),
        ("m*z-m+1", "*", "k", True),
        ("(z-1)*m+1", "k+1", "k+1", False),
        ("(z-1)*m+1", "*", "k+1", False),
        ("(z-1)*m+1", "k", "k-1", True),
        ("(z-1)*(m-1)+1", "k", "k", False),
        ("mod(z,3)*m+1", "k", "k", False),
    ],
)
def test_a_column_of_a_flat_array_is_passed(first: str, size: str, last: str, apart: bool) -> None:
    unit = Analysed(COLUMNS.format(first=first, size=size, last=last), chain=("unit",))
    found = unit.footprint
    writes = [access for access in found.of("s") if access.writes]
    head = next(leaves(unit.body[0]))
    region = Region(unit.values, head, found.written())

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        problem.compare(one["z"], "<", two["z"])

    conflicts = [region.conflict(a, b, order) for a in writes for b in writes]
    assert (conflicts == [None]) is apart
