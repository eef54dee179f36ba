"""Which buffer an argument passes, and under which shapes it can be seen."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from asphalt.analysis.exchange.buffers import View, buffer_of, views
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.symbolic.polynomials import Poly
from support.fortran_values import value
from support.judging import CALL, program, site
from support.producers import exchange_of

ARRAYS = "real(8) :: s(n,nz,4,2:5), r(n,nz,4)\ntype pair\n  real(8) :: x(n,nz,4)\nend type\n"
STRUCTURE = "type(pair) :: t, ts(2)\ninteger :: rows(3)\n"


def exchange(actual: str) -> Exchange:
    call = CALL.replace("(s,", f"({actual},")
    return exchange_of(program(arrays=ARRAYS, declare=STRUCTURE, allocate="", call=call))


def sent(found: Exchange) -> tuple[View, ...]:
    arguments = found.call.procedure.exchange
    assert arguments is not None
    buffer = buffer_of(found, arguments.send)
    return () if buffer is None else tuple(views(found, buffer, found.leaf))


def number(poly: Poly) -> int:
    found = value(poly.expression(), {})
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("actual", "first", "ranks"),
    [
        ("s", (1, 1, 1, 2), (4,)),
        ("s(:,:,:,:)", (1, 1, 1, 2), (4,)),
        ("s(1,1,1,2)", (1, 1, 1, 2), (4,)),
        ("s(1:3,1:8,:,2:5)", (1, 1, 1, 2), (4, 3, 2, 1)),
        ("s(1,1,1,4)", (1, 1, 1, 4), (4, 3, 2, 1)),
        ("s(:,:,:,3)", (1, 1, 1, 3), (4, 3, 2, 1)),
        ("s(:,:,2:3,3)", (1, 1, 2, 3), (3, 2, 1)),
        ("s(1,5,1,3)", (1, 5, 1, 3), (2, 1)),
        ("s(3,1,1,3)", (3, 1, 1, 3), (1,)),
        ("t%x", (1, 1, 1), (3,)),
        ("t%x(1,1,3)", (1, 1, 3), (3, 2, 1)),
    ],
)
def test_where_a_buffer_begins(actual: str, first: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    found = sent(exchange(actual))
    assert tuple(view.shape.rank for view in found) == ranks
    for view in found:
        begin = (*view.shape.lower, *view.tail)
        assert tuple(number(poly) for poly in begin) == first


@pytest.mark.parametrize(
    "actual",
    [
        "(s)",
        "s + 1",
        "s(::2,:,:,:)",
        "s(1:2,:,:,:)",
        "s(:,1,:,2)",
        "s(:,rows,1,2)",
        "s(rows(1),rows,1,2)",
        "ts(1)%x",
        "ts%x(1,1,1)",
        "n*nz",
    ],
)
def test_no_buffer_without_gaps(actual: str) -> None:
    assert sent(exchange(actual)) == ()


@pytest.mark.parametrize("actual", ["s(1,1,1,4)", "s(:,:,2:3,3)", "s(1,5,1,3)", "s(3,1,1,3)"])
def test_views_name_the_elements_that_follow_in_memory(actual: str) -> None:
    """An element of a view is where its position in the view says, counted from the first."""
    extents = (3, 8, 4, 4)
    lower = (1, 1, 1, 2)

    def address(subscripts: tuple[int, ...]) -> int:
        place, stride = 0, 1
        for subscript, low, extent in zip(subscripts, lower, extents, strict=True):
            place, stride = place + (subscript - low) * stride, stride * extent
        return place

    for view in sent(exchange(actual)):
        tail = tuple(number(poly) for poly in view.tail)
        begin = tuple(number(poly) for poly in view.shape.lower)
        sizes = [number(extent) for extent in view.shape.extent if extent is not None]
        assert len(sizes) == view.shape.rank
        for steps in product(*(range(size) for size in sizes)):
            inside = sum(
                step * number(view.shape.stride(dimension)) for dimension, step in enumerate(steps)
            )
            element = (*(b + s for b, s in zip(begin, steps, strict=True)), *tail)
            assert address(element) == address((*begin, *tail)) + inside


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ("s(:,z,:,3)", "proved"),
        ("s(:,z,:,4)", "refused"),
        ("s(:,z,:,z)", "refused"),
        ("s(:,z,:,:)", "refused"),  # the ranks would be spread over two dimensions
        ("s(:,z,1:5,3)", "refused"),
    ],
)
def test_the_nest_writes_the_part_that_is_passed(
    written: str, verdict: str, tmp_path: Path
) -> None:
    call = CALL.replace("(s,", "(s(1,1,1,3),").replace("n*nz", "24")
    nest = f"do z = 1, nz\n  {written} = z\nend do\n"
    text = program(arrays=ARRAYS, allocate="", nest=nest, call=call)
    assert site(tmp_path, text).report.verdict == verdict
