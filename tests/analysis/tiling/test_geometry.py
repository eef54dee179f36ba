"""What a tile sends, and where it lands: addresses against the layout of memory."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from asphalt.analysis.schedule.exchange import TileShape, section
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Address, Divides, Guard, Layout, Misfit
from support.fortran_values import value
from support.judging import CALL, program
from support.producers import exchange_of, found_producers, layout

PLANES = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
ROWS = "do k = 1, nz*np\n  s(:,k) = k\nend do\n"
CUBES = "do k = 0, nz*np-1\n  s(:,:,k) = k\nend do\n"


def arrays(send: str, receive: str, nest: str, call: str = CALL) -> str:
    """A subroutine whose buffers are dummies of these shapes."""
    return f"""
    subroutine unit(s, r, n, nz, np, m)
      use mpi
      integer, intent(in) :: n, nz, np, m
      integer :: z, k, ierr
      real(8), intent(inout) :: s{send}, r{receive}
    {nest}
    {call}
    end subroutine unit
    """


def of(send: str, receive: str, nest: str, call: str = CALL) -> Layout | Misfit:
    return layout(arrays(send, receive, nest, call))


def linear(address: Address, extents: list[int], at: dict[str, int], inside: int, rank: int) -> int:
    """The position in memory, counted from 0, of the first element of a piece."""
    index, stride = 0, 1
    for dimension, (fixed, extent) in enumerate(zip(address.fixed, extents, strict=True)):
        step = 0
        if dimension == address.tile_dimension:
            step += inside * number(address.tile_factor, at)
        if dimension == address.block_dimension:
            step += rank * number(address.block_factor, at)
        subscript = number(fixed, at) + step
        lower = number(fixed, at)
        index += (subscript - lower) * stride
        stride *= extent
    return index


def number(poly: Poly, at: dict[str, int]) -> int:
    return value(poly.expression(), at)


SIZES = [
    {"n": n, "nz": nz, "np": np, "m": n} for n, nz, np in product((1, 3), (1, 2, 5), (1, 2, 3))
]


@pytest.mark.parametrize(
    ("send", "receive", "nest"),
    [
        ("(n,nz,np)", "(n,nz,np)", PLANES),
        ("(n,nz,np)", "(0:n-1,nz,-1:np-2)", PLANES),
        ("(n,nz,np)", "(n*nz,np)", PLANES),
        ("(n,nz,np)", "(n*nz*np)", PLANES),
        ("(n,nz,np)", "(n,nz*np)", PLANES),
        ("(n,nz*np)", "(n,nz*np)", ROWS),
        ("(n,nz*np)", "(n,nz,np)", ROWS),
        ("(n,nz*np)", "(n*nz*np)", ROWS),
    ],
)
def test_pieces_are_where_the_call_has_them(send: str, receive: str, nest: str) -> None:
    found = of(send, receive, nest)
    assert isinstance(found, Layout)
    for at in SIZES:
        unit, block = number(found.unit, at), number(found.block, at)
        assert (unit, block) == (at["n"], at["nz"])
        extents = _extents(send, at)
        for rank, inside in product(range(at["np"]), range(block)):
            expected = rank * unit * block + inside * unit
            assert linear(found.send, extents, at, inside, rank) == expected


@pytest.mark.parametrize(
    ("send", "receive", "nest"),
    [
        ("(nz,n,np)", "(nz,n,np)", "do z = 1, nz\n  s(z,:,:) = z\nend do\n"),
        ("(nz,n,np)", "(nz,0:n-1,-1:np-2)", "do z = 1, nz\n  s(z,:,:) = z\nend do\n"),
        ("(nz,n,np)", "(nz*n,np)", "do z = nz, 1, -1\n  s(z,:,:) = z\nend do\n"),
        ("(nz,n*np)", "(nz,n*np)", "do z = 1, nz\n  s(z,:) = z\nend do\n"),
        ("(nz,n*np)", "(nz*n*np)", "do z = 1, nz\n  s(z,:) = z\nend do\n"),
        ("(2,0:nz-1,m,1,np)", "(2,nz,m,1,np)", "do z = 1, nz\n  s(:,z-1,:,:,:) = z\nend do\n"),
        ("(2,nz,m,np)", "(2*nz*m,np)", "do z = 1, nz\n  s(:,z,:,:) = z\nend do\n"),
        ("(2,nz,m*np)", "(2,nz,m*np)", "do z = 1, nz\n  s(:,z,:) = z\nend do\n"),
    ],
)
def test_runs_of_a_tile_are_where_the_call_has_them(send: str, receive: str, nest: str) -> None:
    inner = 2 if send.startswith("(2") else 1
    outer = "m" if inner == 2 else "n"
    found = of(send, receive, nest, CALL.replace("n*nz", f"{inner}*nz*{outer}"))
    assert isinstance(found, Layout)
    assert found.strides is not None
    for at in SIZES:
        block = [number(extent, at) for extent in found.strides.extents]
        along = found.strides.along
        assert block[along] == number(found.block, at) == at["nz"]
        assert prod(block) == inner * at["nz"] * at[outer]
        assert number(found.unit, at) == inner * at[outer]
        strides = [prod(block[:dimension]) for dimension in range(len(block))]
        for rank, first, planes in product(range(at["np"]), range(block[along]), (1, 2)):
            dims = [(n, apart) for n, apart in zip(block, strides, strict=True)]
            dims[along] = (min(planes, block[along] - first), strides[along])
            expected = [
                rank * prod(block) + element
                for element in range(prod(block))
                if first <= element // inner % at["nz"] < first + dims[along][0]
            ]
            start = linear(found.send, _extents(send, at), at, first, rank)
            assert list(section(start, tuple(dims))) == expected


def _extents(shape: str, at: dict[str, int]) -> list[int]:
    parts = shape[1:-1].split(",")
    found = []
    for part in parts:
        lower, upper = part.split(":") if ":" in part else ("1", part)
        found.append(eval(f"({upper}) - ({lower}) + 1", {}, at))
    return found


@pytest.mark.parametrize(
    ("send", "nest", "pattern", "dimension", "offset"),
    [
        ("(n,nz,np)", PLANES, TileShape.EVERY_BLOCK, 1, 0),
        ("(n,0:nz-1,np)", PLANES.replace(",z,", ",z-1,"), TileShape.EVERY_BLOCK, 1, -1),
        ("(n,nz,np)", "do z = 0, nz-1\n  s(:,z+1,:) = z\nend do\n", TileShape.EVERY_BLOCK, 1, 1),
        ("(n,nz*np)", ROWS, TileShape.SLAB, 1, 0),
        ("(n,1,0:nz*np-1)", CUBES, TileShape.SLAB, 2, 0),
    ],
)
def test_patterns(send: str, nest: str, pattern: TileShape, dimension: int, offset: int) -> None:
    found = of(send, "(n*nz*np)", nest)
    assert isinstance(found, Layout)
    assert (found.pattern, found.dimension, found.offset.value) == (pattern, dimension, offset)


def test_equal_sizes_need_no_guard() -> None:
    found = of("(n,nz,np)", "(n,nz,np)", PLANES)
    assert isinstance(found, Layout)
    assert found.guards == ()


@pytest.mark.parametrize(
    ("send", "nest", "call"),
    [
        ("(m,nz,np)", PLANES, CALL),  # n*nz may not be a block
        ("(n,m,np)", PLANES, CALL),
        ("(n,nz,np)", PLANES.replace("1, nz", "1, m"), CALL),  # maybe not all planes
        ("(n,nz,np)", PLANES.replace("1, nz", "m, nz"), CALL),
        ("(n,nz,np)", PLANES, CALL.replace("r, n*nz", "r, m")),  # other counts
    ],
)
def test_what_is_not_equal_up_to_algebra_is_compared_by_the_run(
    send: str, nest: str, call: str
) -> None:
    found = of(send, "(n,nz,np)", nest, call)
    assert isinstance(found, Layout)
    guards = [guard for guard in found.guards if isinstance(guard, Guard)]
    assert guards
    assert all(guard.left != guard.right for guard in guards)


def test_slabs_of_a_count_in_a_variable() -> None:
    found = of("(n,nz*np)", "(n,nz*np)", ROWS, CALL.replace("n*nz", "m"))
    assert isinstance(found, Layout)
    assert [guard for guard in found.guards if isinstance(guard, Divides)]
    # where there are no columns, the number of planes in a block must still have a value
    assert number(found.block, {"n": 0, "nz": 3, "np": 2, "m": 0}) == 0


@pytest.mark.parametrize(
    ("send", "receive", "nest", "call", "kind"),
    [
        ("(nz,n,2,np)", "(n*nz*np)", "do z = 1, nz\n  s(z,:,:,:) = z\nend do\n", CALL, "strided"),
        ("(4,6,np)", "(4,6,np)", "do z = 1, 6\n  s(:,z,:) = z\nend do\n",
         CALL.replace("n*nz", "7"), "blocks"),
        ("(4,6*np)", "(4,6*np)", "do z = 1, 6*np\n  s(:,z) = z\nend do\n",
         CALL.replace("n*nz", "7"), "blocks"),
        ("(n,nz,np)", "(n,nz,np)", "do z = 1, nz\n  s(:,mod(z,2)+1,:) = z\nend do\n", CALL,
         "subscripts"),
        ("(n,nz,np)", "(n,nz,np)", "do z = 1, nz\n  s(:,2*z,:) = z\nend do\n", CALL, "subscripts"),
        ("(n,nz,np)", "(n,nz,np)", "do z = 1, nz\n  s = z\nend do\n", CALL, "subscripts"),
    ],
)  # fmt: skip
def test_misfits(send: str, receive: str, nest: str, call: str, kind: str) -> None:
    found = of(send, receive, nest, call)
    assert isinstance(found, Misfit)
    assert found.kind == kind
    assert found.reason
    assert found.leaf.span is not None


@pytest.mark.parametrize(
    ("send", "receive"),
    [
        ("(n,nz,np)", "(n,nz,np)"),
        ("(n,nz,np)", "(n*nz*np)"),
        ("(n,nz,np)", "(nz,n,np)"),
        ("(4,6,np)", "(6,4,np)"),
        ("(4,6,np)", "(24*np)"),
    ],
)
def test_the_shape_of_the_receive_buffer_does_not_matter(send: str, receive: str) -> None:
    fixed = send.startswith("(4")
    nest = "do z = 1, 6\n  s(:,z,:) = z\nend do\n" if fixed else PLANES
    found = of(send, receive, nest, CALL.replace("n*nz", "24") if fixed else CALL)
    assert isinstance(found, Layout)
    assert found.guards == ()
    assert found.receive.buffer == "r"


@pytest.mark.parametrize(
    ("send", "nest", "before"),
    [
        ("(n,nz,np)", PLANES, None),
        ("(n,nz,np)", PLANES.replace("1, nz", "2, nz"), 1),
        ("(n,nz,np)", PLANES.replace("1, nz", "1, nz-1"), 0),
        ("(n,nz,np)", PLANES.replace("1, nz", "0, nz+2"), -1),
        ("(n,nz,np)", PLANES.replace("1, nz", "nz-3, 1, -1"), 3),
        ("(n,nz*np)", ROWS, None),
        ("(n,nz*np)", ROWS.replace("nz*np", "nz*np-1"), 0),
        ("(n,0:nz*np-1)", ROWS.replace("1, nz*np", "2, nz*np-2"), 2),
    ],
)
def test_planes_that_the_loop_leaves_out(send: str, nest: str, before: int | None) -> None:
    found = of(send, "(n*nz*np)", nest)
    assert isinstance(found, Layout)
    if before is None:
        assert found.window is None
    else:
        assert found.window is not None
        assert found.window.before.value == before
        assert found.guards == ()


def test_the_most_promising_producer_tiles_the_outer_loop() -> None:
    first, *_ = found_producers(exchange_of(program()))
    assert first.packing.variable == "z"
    assert first.direction == 1
    assert first.start == first.packing.position
