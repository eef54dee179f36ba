"""Phases: which loops may be tiled together, against the order in which iterations run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.exchange.phase_order import (
    carried_by_fusion,
    carried_by_interchange,
    carried_by_rotation,
)
from asphalt.analysis.exchange.privatisation import (
    covers_whole,
    may_be_read_after,
    may_be_read_later,
)
from asphalt.analysis.exchange.producer import Producer, ProducerPhase
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import loop_bounds
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do
from support.fortran_values import iterations, value
from support.judging import program
from support.producers import exchange_of, found_producers, phases_of, together

DECLARE = "real(8), allocatable :: w(:,:)\nreal(8) :: x, v(n)\ninteger :: j\n"


def exchange(nest: str, **parts: str) -> Exchange:
    return exchange_of(program(declare=DECLARE, nest=nest, **parts))


def fused(nests: str, *variables: str) -> bool:
    return carried_by_fusion(together(exchange(nests), *variables)) is None


WORK = "do z = 1, nz\n  do i = 1, n\n    w(i,{work}) = i\n  end do\nend do\n"
PACK = "do z = 1, nz\n  do i = 1, n\n    s(i,z,1) = w(i,{pack})\n  end do\nend do\n"


@pytest.mark.parametrize(
    ("work", "pack", "legal"),
    [
        ("z", "z", True),
        ("z", "z-1", True),  # packed after it was computed
        ("z", "z+1", False),  # packed an iteration too early
        ("z", "nz+1-z", False),
        ("z", "1", True),
        ("1", "z", False),  # the last iteration's value is packed
        ("mod(z,3)", "z", False),
        ("2*z", "2*z+1", True),  # even ones are written, odd ones are read
    ],
)
def test_fusion(work: str, pack: str, legal: bool) -> None:
    assert fused(WORK.format(work=work) + PACK.format(pack=pack), "z", "z") is legal


def test_phases_that_run_over_other_iterations_are_not_fused() -> None:
    nests = WORK.format(work="z") + PACK.format(pack="z").replace("1, nz", "1, nz-1")
    assert [p.packing.variable for p in found_producers(exchange(nests))] == ["i"]


def test_a_temporary_of_each_iteration_is_no_obstacle() -> None:
    nests = """\
do z = 1, nz
  x = z
  w(:,z) = x
end do
do z = 1, nz
  x = 2*z
  s(:,z,1) = w(:,z) + x
end do
"""
    assert fused(nests, "z", "z")


def test_a_value_that_the_first_phase_carries_to_the_second_is_one() -> None:
    nests = """\
do z = 1, nz
  x = z
  w(:,z) = x
end do
do z = 1, nz
  s(:,z,1) = w(:,z) + x
end do
"""
    assert not fused(nests, "z", "z")


def interchanged(nest: str, variable: str) -> bool:
    found = exchange(nest)
    phase = next(p for p in phases_of(found) if p.variable == variable)
    return carried_by_interchange(together(found, variable), phase) is None


@pytest.mark.parametrize(
    ("statement", "legal"),
    [
        ("s(1,z,p) = z", True),
        ("x = z\n    s(1,z,p) = x", True),
        ("x = x + z\n    s(1,z,p) = x", False),
        ("w(p,z) = w(p-1,z+1)", False),
        ("w(p,z) = w(p-1,z-1)", True),
        ("w(p,z) = w(p-1,z)", True),
        ("w(p,1) = w(p,2)", True),
        ("v(1) = v(1) + z", False),
    ],
)
def test_interchange(statement: str, legal: bool) -> None:
    nest = f"do p = 1, np\n  do z = 1, nz\n    {statement}\n  end do\nend do\n"
    assert interchanged(nest, "z") is legal


def rotated(nest: str, after: str = "") -> bool:
    return carried_by_rotation(together(exchange(nest, after=after), "z")) is None


@pytest.mark.parametrize(
    ("body", "after", "free"),
    [
        ("s(1,z,1) = z", "", True),
        ("x = z\ns(1,z,1) = x", "", True),
        ("x = z\ns(1,z,1) = x", "print *, x\n", False),
        ("x = x + z\ns(1,z,1) = x", "", False),
        ("do j = 1, n\nv(j) = z\nend do\ns(:,z,1) = v", "", True),
        ("do j = 2, n\nv(j) = z\nend do\ns(:,z,1) = v", "", False),  # v(1) is carried
        ("w(1,z) = w(1,z-1)", "", False),
        ("w(1,z) = w(2,z)", "", True),
        ("w(1,z) = 0\nx = w(1,z)", "", True),
        ("if (z > 2) x = z\ns(1,z,1) = x", "", False),
    ],
)
def test_rotation(body: str, after: str, free: bool) -> None:
    inner = body.replace("\n", "\n  ")
    assert rotated(f"do z = 1, nz\n  {inner}\nend do\n", after) is free


def test_only_perfect_nests_are_tilable_inside() -> None:
    nest = """\
do z = 1, nz
  do p = 1, np
    x = p
    do i = 1, n
      s(i,z,p) = x
    end do
  end do
end do
"""
    assert [phase.variable for phase in phases_of(exchange(nest))] == ["z", "p"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("do z = 1, nz", 1),
        ("do z = nz, 1, -1", -1),
        ("do z = 1, nz, 1", 1),
        ("do z = 1, nz, 2", None),
        ("do z = 1, nz, me", None),
    ],
)
def test_bounds_of_loops(head: str, expected: int | None) -> None:
    found = exchange(f"{head}\n  s(:,z,:) = z\nend do\n" + "do z = 1, 1\n  x = 1\nend do\n")
    loop = found.place.siblings[found.place.position - 2]
    assert isinstance(loop, Do)
    producer = together(found, "z") if expected else None
    if producer is None:
        other = found.place.siblings[found.place.position - 1]
        assert isinstance(other, Do)
        producer = together(exchange("do z = 1, nz\n  s(:,z,:) = z\nend do\n"), "z")
    bounds = loop_bounds(loop, producer.region)
    assert (bounds.direction if bounds else None) == expected


def test_what_covers_an_array() -> None:
    nest = """\
do z = 1, nz
  do j = 1, n
    v(j) = z
  end do
  s(:,z,1) = v
end do
"""
    found = exchange(nest)
    covers = covers_whole(found)
    (phase, *_) = phases_of(found)
    inner = phase.tiled.body[0]
    assert covers(inner, "v")
    assert not covers(inner, "s")


@pytest.mark.parametrize(("after", "live"), [("", False), ("print *, x\n", True)])
def test_what_may_be_read_later(after: str, live: bool) -> None:
    found = exchange("do z = 1, nz\n  x = z\n  s(:,z,:) = x\nend do\n", after=after)
    assert may_be_read_later(together(found, "z"), "x") is live
    assert may_be_read_later(together(found, "z"), "s")


_HANDED = """\
real(8) :: buf(n), x
integer :: idx(n), k, request
character(8) :: word
type box
  real(8) :: buf(4)
end type box
type(box) :: t, ts(4)
real(8), external :: f
"""


@pytest.mark.parametrize(
    ("buffer", "kept", "forgotten"),
    [
        ("x", "x", "buf idx k t"),
        ("buf", "buf", "x idx"),
        ("buf(k)", "buf", "k"),
        ("buf(idx(3))", "buf", "idx"),
        ("buf(idx(k):)", "buf", "idx k"),
        ("buf(idx)", "buf", "idx"),  # a vector subscript: a copy is sent
        ("f(idx)", "idx", "buf"),  # it may return a pointer to its argument
        ("f(buf(idx(3)))", "buf idx", "x"),
        ("t%buf(k)", "t", "k buf"),
        ("ts(k)%buf", "ts", "k buf"),
        ("ts(idx(k))%buf(k)", "ts", "idx k buf"),
        ("word(k:k)", "word", "buf"),  # a substring is spelled like a section
    ],
)
def test_what_a_call_may_keep(buffer: str, kept: str, forgotten: str) -> None:
    """A call that is not complete on return has the address of its buffer, but what only tells
    where that is has been read."""
    start = "MPI_Isend({}, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)"
    found = exchange_of(program(declare=_HANDED, before=f"call {start.format(buffer)}\n"))
    position = found.place.position
    assert all(may_be_read_after(found, name, position) for name in kept.split())
    assert not any(may_be_read_after(found, name, position) for name in forgotten.split())


# Fusion against enumeration: the order of two accesses to one element may not change.

SUBSCRIPTS = st.sampled_from(["z", "z+1", "z-1", "2", "i", "nz+1-z", "2*z", "z+i", "mod(z,3)", "n"])
BOUNDS = st.sampled_from([("1", "nz"), ("nz", "1"), ("2", "5"), ("1", "1")])


def points(access: Access, names: Mapping[str, int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The value of ``z`` and the element, for each iteration of the loops around."""

    def enter(loops: tuple[Do, ...], at: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        if not loops:
            yield at
            return
        head = loops[0].head.what
        assert isinstance(head, DoHead)
        first, last = (value(bound, at) for bound in (head.first, head.last) if bound is not None)
        step = 1 if head.step is None else value(head.step, at)
        name = getattr(head.var, "name", "")
        for number in iterations(first, last, step):
            yield from enter(loops[1:], {**at, name: number})

    assert access.subscripts is not None
    for at in enter(access.loops, names):
        yield at["z"], tuple(value(s, at) for s in access.subscripts if not hasattr(s, "stride"))


def _sites(producer: Producer, phase: ProducerPhase, storage: str) -> list[Access]:
    return [a for a in producer.phase_accesses(phase) if a.storage == storage]


@settings(max_examples=60, deadline=None)
@given(SUBSCRIPTS, SUBSCRIPTS, SUBSCRIPTS, SUBSCRIPTS, BOUNDS, st.booleans())
def test_fusion_keeps_the_order(
    a: str, b: str, c: str, d: str, bounds: tuple[str, str], down: bool
) -> None:
    head = f"do z = {bounds[0]}, {bounds[1]}{', -1' if down else ''}\n  do i = 1, 2\n"
    nests = (
        f"{head}    w({a},{b}) = z\n  end do\nend do\n"
        f"{head}    s(i,z,1) = w({c},{d})\n  end do\nend do\n"
    )
    producer = together(exchange(nests), "z", "z")
    if carried_by_fusion(producer) is not None:
        return
    before, after = (_sites(producer, phase, "w") for phase in producer.phases)
    names = {"n": 3, "nz": 8}
    for first, second in product(before, after):
        written: dict[tuple[int, ...], list[int]] = {}
        for z, element in points(first, names):
            written.setdefault(element, []).append(z)
        for z, element in points(second, names):
            for earlier in written.get(element, ()):
                # tile by tile, iteration z of the second phase runs before `earlier` of the first
                assert not (earlier < z if down else earlier > z)
