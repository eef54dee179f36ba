"""Small programs, each written in several ways that mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PLAIN = "plain"
WAYS = (
    "allocatable",
    "module",
    "component",
    "allocatable component",
    "target",
    "variable sizes",
    "mpif.h",
    "subroutine",
    "upper case",
    "macros",
)
"""How else a program may be written."""

_MACROS = {
    "mpi_double_precision": "MTYPE",
    "mpi_isend": "SEND_LATER",
    "mpi_irecv": "RECV_LATER",
    "mpi_waitall": "ALL_DONE",
    "mpi_sendrecv": "SWAP",
    "mpi_alltoall": "TRANSPOSED",
    "mpi_bcast": "FROM_ROOT",
    "mpi_comm_world": "WORLD",
    "mpi_statuses_ignore": "NO_STATUSES",
}


@dataclass(frozen=True)
class Text:
    """A program: ``sizes`` are its constants, ``arrays`` and ``kept`` its arrays and those of other
    types with their shapes, ``body`` its statements, in which ``{a}`` is an array.

    ``fixed``: the ways in which it cannot be written.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, str]
    body: str
    scalars: str = "integer :: ierr, rank, ranks, left, right, i, j, k, step"
    fixed: tuple[str, ...] = ()

    def written(self, way: str) -> str:
        """The program, written in one way."""
        constants = [f"integer, parameter :: {name} = {n}" for name, n in self.sizes.items()]
        set_up: list[str] = []
        if way == "variable sizes":
            set_up = [f"{name} = {n}" for name, n in self.sizes.items()]
            constants = [f"integer :: {', '.join(self.sizes)}"]
        dynamic = way in ("allocatable", "module", "variable sizes")
        names = {name: name for name in self.arrays}
        declared = [f"real(8) :: {name}({shape})" for name, shape in self.arrays.items()]
        before: list[str] = []
        if dynamic:
            declared = [
                f"real(8), allocatable :: {name}({_any(shape)})"
                for name, shape in self.arrays.items()
            ]
        elif way == "target":
            declared = [line.replace("real(8)", "real(8), target") for line in declared]
        elif way.endswith("component"):
            names = {name: f"state%{name}" for name in self.arrays}
            if way.startswith("allocatable"):
                declared = [
                    f"real(8), allocatable :: {name}({_any(shape)})"
                    for name, shape in self.arrays.items()
                ]
                dynamic = True
            declared = ["type :: states", *declared, "end type", "type(states) :: state"]
        if way == "module":
            before = ["module held", "implicit none", *declared, "end module"]
            declared = []
        if dynamic:
            set_up += [f"allocate({names[name]}({shape}))" for name, shape in self.arrays.items()]
        mpi = (
            ["implicit none", "include 'mpif.h'"]
            if way == "mpif.h"
            else ["use mpi", *(["use held"] if before else []), "implicit none"]
        )
        body = [*set_up, *self.body.format(**names).splitlines()]
        inside = [*mpi, *constants, self.scalars, *declared, *body]
        if way == "subroutine":
            lines = ["subroutine work", *inside, "end subroutine", "program whole", "call work"]
        else:
            lines = [*before, "program whole", *inside]
        lines.append("end program")
        text = "\n".join(lines) + "\n"
        if way == "upper case":
            text = text.upper()
        if way == "macros":
            for word, name in _MACROS.items():
                text = text.replace(word, name)
            text = "".join(f"#define {m} {w}\n" for w, m in _MACROS.items()) + text
        return text

    @property
    def ways(self) -> tuple[str, ...]:
        """How it may be written."""
        return tuple(way for way in WAYS if way not in self.fixed)


def _any(shape: str) -> str:
    depth = parts = 0
    for sign in shape:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        parts += sign == "," and depth == 0
    return ", ".join(":" * (parts + 1))


_BEGIN = """\
call mpi_init(ierr)
call mpi_comm_rank(mpi_comm_world, rank, ierr)
call mpi_comm_size(mpi_comm_world, ranks, ierr)
left = modulo(rank - 1, ranks)
right = modulo(rank + 1, ranks)
"""
_STENCIL = """\
  do j = 1, n
    do i = 1, n
      {b}(i, j) = 0.25d0*({a}(i-1, j) + {a}(i+1, j) + {a}(i, j-1) + {a}(i, j+1))
    end do
  end do
  do j = 1, n
    do i = 1, n
      {a}(i, j) = {b}(i, j)
    end do
  end do
end do
print *, rank, sum({a}), sum({b})
call mpi_finalize(ierr)
"""
_FIELDS = {"a": "0:n+1, 0:n+1", "b": "0:n+1, 0:n+1"}
_FILL = """\
do j = 0, n + 1
  do i = 0, n + 1
    {a}(i, j) = mod(i*7 + j*3 + rank*11, 13)
    {b}(i, j) = 0
  end do
end do
do step = 1, 3
"""
BLOCKING = Text(
    {"n": 200},
    _FIELDS,
    _BEGIN
    + _FILL
    + """\
  call mpi_sendrecv({a}(1, n), n, mpi_double_precision, right, 1, {a}(1, 0), n, &
    mpi_double_precision, left, 1, mpi_comm_world, mpi_status_ignore, ierr)
  call mpi_sendrecv({a}(1, 1), n, mpi_double_precision, left, 2, {a}(1, n+1), n, &
    mpi_double_precision, right, 2, mpi_comm_world, mpi_status_ignore, ierr)
"""
    + _STENCIL,
)
REQUESTS = Text(
    {"n": 200},
    _FIELDS,
    _BEGIN
    + _FILL
    + """\
  call mpi_irecv({a}(1, 0), n, mpi_double_precision, left, 1, mpi_comm_world, q(1), ierr)
  call mpi_irecv({a}(1, n+1), n, mpi_double_precision, right, 2, mpi_comm_world, q(2), ierr)
  call mpi_isend({a}(1, n), n, mpi_double_precision, right, 1, mpi_comm_world, q(3), ierr)
  call mpi_isend({a}(1, 1), n, mpi_double_precision, left, 2, mpi_comm_world, q(4), ierr)
  call mpi_waitall(4, q, mpi_statuses_ignore, ierr)
"""
    + _STENCIL,
    "integer :: ierr, rank, ranks, left, right, i, j, k, step, q(4)",
)
SHARED = Text(
    {"n": 3000},
    {"a": "n", "b": "n", "w": "n"},
    _BEGIN
    + """\
do i = 1, n
  {a}(i) = merge(i, 0, rank == 0)
  {w}(i) = i + rank
  {b}(i) = 0
end do
call mpi_bcast({a}, n, mpi_double_precision, 0, mpi_comm_world, ierr)
do i = 1, n
  {w}(i) = sqrt({w}(i)) + 1
end do
do i = 1, n
  {b}(i) = {a}(i) + {w}(i)
end do
print *, rank, sum({b})
call mpi_finalize(ierr)
""",
)
BUFFERS = Text(
    {"n": 100},
    {**_FIELDS, "s": "n", "r": "n"},
    _BEGIN
    + _FILL
    + """\
  do i = 1, n
    {s}(i) = {a}(n, i)
  end do
  call mpi_sendrecv({s}, n, mpi_double_precision, right, 1, {r}, n, mpi_double_precision, &
    left, 1, mpi_comm_world, mpi_status_ignore, ierr)
  do i = 1, n
    {a}(0, i) = {r}(i)
  end do
"""
    + _STENCIL,
)
PROGRAMS = {"blocking": BLOCKING, "requests": REQUESTS, "shared": SHARED, "buffers": BUFFERS}
