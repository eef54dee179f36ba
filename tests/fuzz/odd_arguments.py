"""Oddities of the arguments of the call, of the buffers and of the bounds."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.oddity import BLOCK, Oddity, call_with

_ALLOCATE_R = "deallocate({r})\nallocate({r}({received}))\n{r} = -2"

ARGUMENTS: Mapping[str, Oddity] = {
    "in place": Oddity(
        True, {"uneven": ""},
        call=("call MPI_Alltoall(MPI_IN_PLACE, {count}, {mpi}, {s}, {count}, {mpi}, "
              "MPI_COMM_WORLD, ierr)",),
    ),
    "counted in the nest": Oddity(
        True, {**BLOCK, "skipped": (0, 0)}, ahead=("cnt = 0",),
        end=("if (v(1) > -1d30) cnt = cnt + n",), call=call_with("cnt, {mpi}"),
    ),
    "count set late": Oddity(
        False, {"uneven": ""}, ahead=("cnt = 0",), between=("cnt = {count}",),
        call=call_with("cnt, {mpi}"),
    ),
    "count in a function": Oddity(
        True, {"uneven": ""}, declare=("integer, external :: {tag}_count{q}",),
        call=("call MPI_Alltoall({s}, {tag}_count{q}({count}), {mpi}, {r}, {count}, {mpi}, "
              "MPI_COMM_WORLD, ierr)",),
        units=("integer function {tag}_count{q}(most)", "implicit none", "integer :: most",
               "integer, save :: calls = 0", "calls = calls + 1",
               "{tag}_count{q} = most",
               "end function {tag}_count{q}"),
    ),
    "communicator set late": Oddity(
        False, {"uneven": ""}, declare=("{communicator} :: part{q}",),
        ahead=("part{q} = MPI_COMM_SELF",), between=("part{q} = MPI_COMM_WORLD",),
        call=call_with("{count}, {mpi}", "part{q}"),
    ),
    "communicator split between": Oddity(
        True, {"uneven": ""}, declare=("{communicator} :: part{q}",),
        between=("call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, part{q}, ierr)",),
        call=call_with("{count}, {mpi}", "part{q}"), behind=("call MPI_Comm_free(part{q}, ierr)",),
    ),
    "reversed ranks": Oddity(
        False, {"uneven": ""}, declare=("{communicator} :: part{q}",),
        open=("call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, part{q}, ierr)",),
        call=call_with("{count}, {mpi}", "part{q}"), close=("call MPI_Comm_free(part{q}, ierr)",),
    ),
    "two groups": Oddity(
        True, {"uneven": ""}, real=True,
        declare=("{communicator} :: part{q}", "{communicator} :: both{q}"),
        open=("if (np > 1) then",
              "call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, part{q}, ierr)",
              "call MPI_Intercomm_create(part{q}, 0, MPI_COMM_WORLD, 1 - mod(me, 2), 9, both{q}, "
              "ierr)"),
        call=call_with("{count}, {mpi}", "both{q}"),
        close=("call MPI_Comm_free(both{q}, ierr)", "call MPI_Comm_free(part{q}, ierr)", "end if"),
    ),
    "self": Oddity(False, {"uneven": ""}, call=call_with("{count}, {mpi}", "MPI_COMM_SELF")),
    "derived type": Oddity(
        True, {"shape": "slab", "uneven": ""}, declare=("{datatype} :: kind{q}",),
        open=("call MPI_Type_contiguous(nz, {mpi}, kind{q}, ierr)",
              "call MPI_Type_commit(kind{q}, ierr)"),
        call=call_with("n, kind{q}"), close=("call MPI_Type_free(kind{q}, ierr)",),
    ),
    "bytes": Oddity(False, {"uneven": ""}, call=call_with("{bytes}*{count}, MPI_BYTE")),
    "pairs of types": Oddity(
        False, {"uneven": "", "type": "real8"},
        call=("call MPI_Alltoall({s}, {count}, {mpi}, {r}, 8*({count}), MPI_BYTE, "
              "MPI_COMM_WORLD, ierr)",),
    ),
    "allocated between": Oddity(True, {"storage": "allocatable"}, between=(_ALLOCATE_R,)),
    "allocated in nest": Oddity(
        True, {"storage": "allocatable"}, each=(f"if (z == {{first}}) then\n{_ALLOCATE_R}\nend if",)
    ),
    "pointer moves": Oddity(
        True, {"storage": "pointer", "skipped": (0, 0)},
        declare=("{type}, pointer :: q{q}({deferred})",),
        ahead=("allocate(q{q}({dims}))", "q{q} = 3"), between=("{s} => q{q}",),
    ),
    "pointer moves in nest": Oddity(
        True, {"storage": "pointer", "skipped": (0, 0)},
        declare=("{type}, pointer :: q{q}({deferred})",),
        ahead=("allocate(q{q}({dims}))", "q{q} = 3"), each=("if (z == {last}) {s} => q{q}",),
    ),
    "gaps": Oddity(
        True, {"storage": "assumed", "uneven": "", "inner": "loops", "call": "plain",
               "shape": "block"},
        homes=("module", "internal"), gaps=True,
    ),
    "bounds by rank": Oddity(False, {"down": False}, bounds="{first} + mod(me, 2), {last}"),
    "bounds by np": Oddity(False, {"down": False}, bounds="{first} + mod(np, 2), {last}"),
    "bounds changed in nest": Oddity(
        False, {"down": False, "order": "zpi"}, declare=("integer :: upto{q}",),
        ahead=("upto{q} = {last}",), bounds="{first}, upto{q}", each=("upto{q} = 1",),
    ),
    "step of two": Oddity(False, {"down": False, "late": 0}, bounds="{first}, {last}, 2"),
    "few bytes": Oddity(False, {"uneven": ""}, call=call_with("{count}, MPI_BYTE")),
    "nonblocking": Oddity(
        False, {"uneven": ""}, declare=("{request} :: later{q}",),
        call=("call MPI_Ialltoall({s}, {count}, {mpi}, {r}, {count}, {mpi}, MPI_COMM_WORLD, "
              "later{q}, ierr)", "y = y + 1", "call MPI_Wait(later{q}, MPI_STATUS_IGNORE, ierr)"),
    ),
    "type for each rank": Oddity(
        False, {"uneven": ""},
        declare=("integer :: many{q}(4), where{q}(4)", "{datatype} :: kinds{q}(4)"),
        open=("do p = 1, np", "many{q}(p) = {count}", "where{q}(p) = {bytes}*(p-1)*({count})",
              "kinds{q}(p) = {mpi}", "end do"),
        call=("call MPI_Alltoallw({s}, many{q}, where{q}, kinds{q}, {r}, many{q}, where{q}, "
              "kinds{q}, MPI_COMM_WORLD, ierr)",),
    ),
    "count less": Oddity(False, {**BLOCK}, call=call_with("n*max(0, nz-1), {mpi}")),
    "received twice": Oddity(False, behind=("if (nz > 0) {s0} = {r0}",)),
}  # fmt: skip
