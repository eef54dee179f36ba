"""Packing copies that are left out: when that is allowed, and what is sent instead."""

from __future__ import annotations

from itertools import product as every
from math import prod
from pathlib import Path

import pytest

from asphalt.analysis.conditions import one_producer
from asphalt.analysis.schedule.exchange import section
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Layout, Misfit
from asphalt.analysis.tiling.without_copy import layout_without_copy
from asphalt.analysis.verdicts.verdict import Refused
from support.fortran_values import value
from support.judging import SETTINGS, project
from support.producers import exchange_of

_TEXT = """\
subroutine unit(n, nz, m, np, me, u)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, m, np, me
  real(8), intent(out) :: u(n*nz*m*np)
  integer :: i, j, k, p, ierr
  {declare}
  {compute}
  {between}
  {copy}
  {behind}
  call MPI_Alltoall(s, n*nz*m, MPI_DOUBLE_PRECISION, r, n*nz*m, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  u = [r]
  {after}
end subroutine unit
"""
DECLARE = "real(8) :: w(n*np,m,nz), s(n,nz,m,np), r(n,nz,m,np)"
SOURCE = "real(8) :: w(n*np,m,nz),"
COMPUTE = """\
do k = 1, nz
  do j = 1, m
    do i = 1, n*np
      w(i,j,k) = i + 10*j + 100*k + me
    end do
  end do
end do
"""
ASSIGN = "s(i,k,j,p) = w(i+(p-1)*n,j,k)"
COPY = f"""\
do p = 1, np
do j = 1, m
do k = 1, nz
do i = 1, n
  {ASSIGN}
end do
end do
end do
end do
"""


def unit(
    declare: str = DECLARE,
    compute: str = COMPUTE,
    between: str = "",
    copy: str = COPY,
    behind: str = "",
    after: str = "",
) -> str:
    return _TEXT.format(
        declare=declare, compute=compute, between=between, copy=copy, behind=behind, after=after
    )


def changed(text: str, folder: Path) -> str | None:
    """The procedure after the transformation along the computation, the copy left out."""
    changes = project(folder, text, settings=SETTINGS).transform()
    after = changes[0].after.decode() if changes else ""
    return after if ".not. asphalt_s%tiled" in after else None


def test_the_copy_is_only_executed_where_nothing_is_tiled(tmp_path: Path) -> None:
    after = changed(unit(), tmp_path)
    assert after is not None
    lines = [line.strip() for line in after.splitlines()]
    where = lines.index("if (.not. asphalt_s%tiled) then")
    assert lines[where - 1] == "! tiles were sent from w"
    assert lines[where + 1 : where + 6] == [*COPY.split("\n")[:4], ASSIGN]
    assert "do while (asphalt_s%next_tile(w))" in after
    assert after.count("s(") > 0


@pytest.mark.parametrize(
    "parts",
    [
        {"after": "u(1) = s(1,1,1,1)"},
        {"after": "if (me < 0) print *, s"},
        {"behind": "u(1) = s(1,1,1,1)"},
        {"behind": "s(1,1,1,1) = 0"},
        {"compute": "associate(other => s)\n" + COMPUTE,
         "after": "u(1) = other(1,1,1,1)\nend associate"},
        {"between": "w(1,1,1) = 0"},
        {"behind": "w(1,1,1) = 0"},
        {"after": "u(1) = p"},  # the last value of a loop of the copy
        {"declare": DECLARE.replace(SOURCE, "real :: w(n*np,m,nz)\nreal(8) ::")},
        {"declare": DECLARE.replace(SOURCE, "integer(8) :: w(n*np,m,nz)\nreal(8) ::")},
        {"declare": DECLARE.replace("real(8)", "real(8), save")
                    .replace("n*np,m,nz", "8,2,5").replace("n,nz,m,np", "2,5,2,4")},
        {"declare": DECLARE.replace("real(8)", "real(8), target")},
        {"declare": DECLARE + "\nreal(8), pointer :: q(:,:,:)",
         "compute": COMPUTE.replace("w(i,", "q(i,"), "copy": COPY.replace("w(i", "q(i")},
        {"copy": COPY.replace("s(i,k,j,p)", "s(i,k,i,p)")},
        {"copy": COPY.replace("s(i,k,j,p)", "s(i,k,1,p)")},
        {"copy": COPY.replace("do j = 1, m", "do j = 1, k")},
        {"copy": COPY.replace("do i = 1, n\n", "do i = 1, n, 2\n")},
        {"copy": COPY.replace(ASSIGN, ASSIGN + "*2")},
        {"copy": COPY.replace(ASSIGN, f"if (i > 1) {ASSIGN}")},
        {"copy": COPY.replace(ASSIGN, f"{ASSIGN}\nu(i) = i")},
        {"copy": COPY.replace("w(i+", "w(i*i+")},
        {"copy": COPY.replace(",j,k)", ",mod(j,m)+1,k)")},
        {"copy": COPY.replace(",j,k)", ",j,k+p)")},
        {"compute": COMPUTE.replace("w(i,j,k) =", "w(i,j,1) = 0\nw(i,j,k) =")},
        {"compute": COMPUTE.replace("w(i,j,k) =", "if (k > 1) w(i,j,k-1) = 0\nw(i,j,k) =")},
    ],
)  # fmt: skip
def test_a_copy_that_is_needed_stays(parts: dict[str, str], tmp_path: Path) -> None:
    assert changed(unit(**parts), tmp_path) is None


def layouts(text: str) -> Layout | Misfit:
    exchange = exchange_of(text)
    position = one_producer.definer(exchange)
    assert not isinstance(position, Refused)
    where = position if isinstance(position, int) else position.position
    found = [p for p in one_producer.producers(exchange, where) if not isinstance(p, Refused)]
    (producer,) = [p for p in found if p.copy is not None and len(p.packing.loops) == 1]
    assert producer.copy is not None
    return layout_without_copy(producer, producer.copy)


def number(poly: Poly, at: dict[str, int]) -> int:
    return value(poly.expression(), at)


@pytest.mark.parametrize("subscripts", ["i+(p-1)*n,j,k", "p*n+1-i,j,nz+1-k", "i+(p-1)*n,m+1-j,k"])
@pytest.mark.parametrize("block", ["i,k,j,p", "k,j,i,p", "j,i,k,p", "i,j,k,p"])
def test_what_is_sent_is_what_the_copy_would_have_packed(block: str, subscripts: str) -> None:
    """Against the loops of the copy, executed one iteration after the other."""
    extents = {"i": "n", "j": "m", "k": "nz", "p": "np"}
    shape = ",".join(extents[name] for name in block.split(","))
    declare = DECLARE.replace("n,nz,m,np", shape)
    found = layouts(
        unit(
            declare=declare,
            copy=COPY.replace(ASSIGN, f"s({block}) = w({subscripts})"),
        )
    )
    assert isinstance(found, Layout)
    assert found.strides is not None
    assert found.strides.source is not None
    assert found.guards == ()
    for n, m, nz, np in every((1, 3), (1, 2), (1, 4), (1, 3)):
        at = {"n": n, "m": m, "nz": nz, "np": np}
        sizes = [number(extent, at) for extent in found.strides.extents]
        apart = [number(distance, at) for distance in found.strides.source]
        send = found.send
        strides = (1, n * np, n * np * m)
        packed = {}
        for i, j, k, p in every(*(range(1, e + 1) for e in (n, m, nz, np))):
            here = {**at, "i": i, "j": j, "k": k, "p": p}
            source = [eval(text, {}, here) for text in _split(subscripts)]
            inside = [here[name] - 1 for name in block.split(",")[:-1]]
            element = sum(x * prod(sizes[:d]) for d, x in enumerate(inside))
            packed[p - 1, element] = sum((x - 1) * y for x, y in zip(source, strides, strict=True))
        for rank in range(np):
            for first in range(nz):
                planes = min(2, nz - first)
                *inner, blocks = apart
                dims = list(zip(sizes, inner, strict=True))
                along = found.strides.along
                dims[along] = (planes, apart[along])
                start = [number(fixed, at) for fixed in send.fixed]
                start[send.tile_dimension] += first * number(send.tile_factor, at)
                start[send.block_dimension] += rank * number(send.block_factor, at)
                offset = sum((x - 1) * y for x, y in zip(start, strides, strict=True))
                begin = sum(
                    (number(x, at) - 1) * y for x, y in zip(send.fixed, strides, strict=True)
                )
                assert offset == begin + rank * blocks + first * apart[along]
                step = prod(sizes[:along])
                wanted = [
                    packed[rank, element]
                    for element in range(prod(sizes))
                    if first <= element // step % nz < first + planes
                ]
                assert list(section(offset, tuple(dims))) == wanted


def _split(subscripts: str) -> list[str]:
    return subscripts.split(",")
