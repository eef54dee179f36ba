"""What may make prepushing illegal, by construction: put into one exchange of a program.

``stays``: no correct transformation can prepush this exchange (something that another rank or the
outside sees would happen before it should, or what is sent would not be what the call sends), or
the conditions of the design rule it out because nobody can know: asphalt must leave it alone.  The
others may be handled, or refused: results tell.  None of this asks asphalt's analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Oddity:
    """Statements for places around an exchange, as templates (``Names.known``).

    ``wants``: choices that the exchange must have.  ``homes``: where it may stand; empty: anywhere.
    ``unchecked``: a subscript leaves its dimension, so that no build may check bounds.
    ``other``: the nest and the call are repeated there, behind ``other`` in the text.
    """

    stays: bool
    wants: Mapping[str, object] = field(default_factory=dict)
    homes: Lines = ()
    declare: Lines = ()
    open: Lines = ()
    ahead: Lines = ()
    nest: tuple[Lines, Lines] = ((), ())
    each: Lines = ()
    inside: Lines = ()
    end: Lines = ()
    between: Lines = ()
    around_call: tuple[Lines, Lines] = ((), ())
    call: Lines = ()
    behind: Lines = ()
    close: Lines = ()
    other: Lines = ()
    units: Lines = ()
    contained: Lines = ()
    subscript: str = ""
    bounds: str = ""
    unchecked: bool = False
    gaps: bool = False
    twice: bool = False
    known: bool = False


NONE = Oddity(False)
_BLOCK = {"shape": "block", "uneven": ""}
_PLAIN_LOOPS = {"inner": "loops", "condition": "", "late": 0}


def _call(send: str, comm: str = "MPI_COMM_WORLD", buffer: str = "{s}") -> Lines:
    return (f"call MPI_Alltoall({buffer}, {send}, {{r}}, {send}, {comm}, ierr)",)


def _touching(declare: Lines) -> Lines:
    """A procedure that changes the first element of the send buffer behind the back."""
    return (
        "subroutine {tag}_touch{q}()",
        *declare,
        "{s0} = 7",
        "end subroutine {tag}_touch{q}",
    )


_ALLOCATE_R = "deallocate({r})\nallocate({r}({received}))\n{r} = -2"

# The send buffer changes under its own name or another one, after it is final for the nest.
_CHANGED = {
    "changed after": Oddity(True, between=("{s0} = 99",)),
    "changed after in a loop": Oddity(
        True, between=("do i = 1, 2", "{s0} = {s0} + i", "end do")
    ),
    "changed by all iterations": Oddity(False, end=("{s0} = z",)),
    "another nest first": Oddity(
        False, ahead=("do z = {first}, {last}", "{s}{first_of_z} = 5 - z", "end do")
    ),
    "equivalence": Oddity(
        True, {"storage": "fixed"}, known=True, between=("e{q}(1) = 7",),
        declare=("{type} :: e{q}(1)", "equivalence (e{q}(1), {s0})"),
    ),
    "equivalence in nest": Oddity(
        True, {"storage": "fixed"}, known=True, end=("e{q}(1) = z",),
        declare=("{type} :: e{q}(1)", "equivalence (e{q}(1), {s0})"),
    ),
    "pointer": Oddity(
        True, {"storage": "target"}, declare=("{type}, pointer :: q{q}({deferred})",),
        ahead=("q{q} => {s}",), between=("q{q}{corner} = 7",),
    ),
    "pointer in nest": Oddity(
        False, {"storage": "target"}, declare=("{type}, pointer :: q{q}({deferred})",),
        ahead=("q{q} => {s}",), end=("q{q}{corner} = z",),
    ),
    "pointer to received": Oddity(
        False, {"storage": "target"}, declare=("{type}, pointer :: q{q}({deferred})",),
        ahead=("q{q} => {r}",), end=("q{q}{corner} = z",),
        between=("if (nz > 0) x = real(q{q}{corner})",),
    ),
    "associate": Oddity(
        True, open=("associate (a{q} => {s})",), between=("a{q}{corner} = 7",),
        close=("end associate",),
    ),
    "associate received": Oddity(
        False, open=("associate (a{q} => {r})",), each=("x = real(a{q}{corner})",),
        close=("end associate",),
    ),
    "common": Oddity(
        True, {"storage": "common"}, known=True, between=("call {tag}_touch{q}()",),
        units=_touching(("implicit none", "{parameters}", "{common}")),
    ),
    "module": Oddity(
        True, {"storage": "module"}, between=("call {tag}_touch{q}()",),
        units=_touching(("use {tag}_data{q}, only: s{q}", "implicit none")),
    ),
    "module in nest": Oddity(
        False, {"storage": "module"}, end=("call {tag}_touch{q}()",),
        units=_touching(("use {tag}_data{q}, only: s{q}", "implicit none")),
    ),
    "host": Oddity(
        True, homes=("main", "procedure", "module"), between=("call {tag}_touch{q}()",),
        contained=_touching(()),
    ),
    "dummy twice": Oddity(
        True, {"storage": "explicit"}, homes=("procedure", "module"), twice=True,
        between=("b{q}{corner} = 7",),
    ),
    "modulo": Oddity(False, {**_BLOCK, **_PLAIN_LOOPS}, subscript="{modulo}"),
    "index array": Oddity(False, {**_BLOCK, **_PLAIN_LOOPS}, subscript="{shuffled}"),
    "planes by index": Oddity(False, {**_BLOCK, **_PLAIN_LOOPS, "lower": 1},
                              subscript="{plane_shuffled}"),
    "into the plane before": Oddity(
        False, {**_BLOCK, **_PLAIN_LOOPS, "down": False}, unchecked=True,
        inside=("if (z > {first}) {s}{below} = {s}{below} + 1",),
    ),
}  # fmt: skip

# Somebody else sees, or decides, what happens between the nest and the call.
_SEEN = {
    "print in nest": Oddity(True, each=("if (me == 0) print *, 'iteration', z",)),
    "print between": Oddity(True, between=("if (me == 0) print *, 'between'",)),
    "barrier in nest": Oddity(
        True, {"uneven": ""}, each=("call MPI_Barrier(MPI_COMM_WORLD, ierr)",)
    ),
    "broadcast between": Oddity(
        True, between=("call MPI_Bcast(x, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)",)
    ),
    "ring between": Oddity(
        True, declare=("integer :: got{q}",),
        between=("call MPI_Sendrecv(me, 1, MPI_INTEGER, mod(me + 1, np), 3, got{q}, 1, "
                 "MPI_INTEGER, mod(me + np - 1, np), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)",
                 "y = y + got{q}"),
    ),
    "stop": Oddity(True, each=("if (x > 1d30) stop 3",)),
    "exit": Oddity(True, {"order": "zpi"}, end=("if (z >= {first} + mod(me, 2)) exit",)),
    "uniform exit": Oddity(True, {"order": "zpi"}, end=("if (u > 6.5d0) exit",)),
    "goto": Oddity(
        True, each=("if (u > 6.5d0 .and. z > {first}) goto {label}",),
        behind=("{label} continue",),
    ),
    "goto between": Oddity(
        True, between=("if (u > 6.5d0) goto {label}",), behind=("{label} continue",)
    ),
    "return": Oddity(
        True, homes=("procedure", "module", "internal"), each=("if (x > 1d30) return",)
    ),
    "nest under a condition": Oddity(True, nest=(("if (u > 6.5d0) then",), ("end if",))),
    "call under a condition": Oddity(True, around_call=(("if (u > 6.5d0) then",), ("end if",))),
    "nest on odd ranks": Oddity(True, nest=(("if (mod(me, 2) == 1) then",), ("end if",))),
    "two places": Oddity(
        True, {"labelled": False}, open=("if (mod(me, 2) == 0) then",), other=("else",),
        close=("end if",),
    ),
    "two places in turn": Oddity(
        False, {"labelled": False}, open=("if (mod(int(u), 2) == 0) then",), other=("else",),
        close=("end if",),
    ),
    "hidden in nest": Oddity(True, {"uneven": ""}, each=("call fz_hidden(y)",)),
    "hidden between": Oddity(True, between=("call fz_hidden(y)",)),
    "state": Oddity(
        False, each=("x = {tag}_next{q}()",), declare=("real(8), external :: {tag}_next{q}",),
        units=("real(8) function {tag}_next{q}()", "implicit none", "integer, save :: calls = 0",
               "calls = calls + 1", "{tag}_next{q} = calls", "end function {tag}_next{q}"),
    ),
    "parallel": Oddity(
        True, {"work": ""}, nest=(("!$omp parallel do private(z)",), ()), each=("v(1) = z",)
    ),
    "skip": Oddity(True, around_call=(("!$asphalt skip",), ())),
    "wtime": Oddity(
        False, declare=("real(8) :: clock{q}",), between=("clock{q} = MPI_Wtime()",),
        behind=("if (clock{q} < 0) print *, 'no clock'",),
    ),
    "steps by color": Oddity(
        False, {"uneven": ""}, declare=("{communicator} :: part{q}", "integer :: turn{q}"),
        open=("call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, part{q}, ierr)",
              "do turn{q} = 1, 1 + mod(me, 2)"),
        call=_call("{count}, {mpi}", "part{q}"),
        close=("end do", "call MPI_Comm_free(part{q}, ierr)"),
    ),
    "any source": Oddity(
        False, declare=("integer :: got{q}", "{request} :: pending{q}"),
        ahead=("call MPI_Irecv(got{q}, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, "
               "MPI_COMM_WORLD, pending{q}, ierr)",),
        behind=("call MPI_Send(me, 1, MPI_INTEGER, mod(me + 1, np), 5, MPI_COMM_WORLD, ierr)",
                "call MPI_Wait(pending{q}, MPI_STATUS_IGNORE, ierr)",
                "call fz_integer('{tag} got{q}', [got{q}], 1)"),
    ),
    "two statements": Oddity(False, between=("x = 1; y = 2",)),
}  # fmt: skip

# The arguments of the call, the buffers, the bounds.
_ARGUMENTS = {
    "in place": Oddity(
        True, {"uneven": ""},
        call=("call MPI_Alltoall(MPI_IN_PLACE, {count}, {mpi}, {s}, {count}, {mpi}, "
              "MPI_COMM_WORLD, ierr)",),
    ),
    "counted in the nest": Oddity(
        True, {**_BLOCK, "skipped": (0, 0)}, ahead=("cnt = 0",),
        end=("if (v(1) > -1d30) cnt = cnt + n",), call=_call("cnt, {mpi}"),
    ),
    "count set late": Oddity(
        False, {"uneven": ""}, ahead=("cnt = 0",), between=("cnt = {count}",),
        call=_call("cnt, {mpi}"),
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
        call=_call("{count}, {mpi}", "part{q}"),
    ),
    "communicator split between": Oddity(
        True, {"uneven": ""}, declare=("{communicator} :: part{q}",),
        between=("call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, part{q}, ierr)",),
        call=_call("{count}, {mpi}", "part{q}"), behind=("call MPI_Comm_free(part{q}, ierr)",),
    ),
    "reversed ranks": Oddity(
        False, {"uneven": ""}, declare=("{communicator} :: part{q}",),
        open=("call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, part{q}, ierr)",),
        call=_call("{count}, {mpi}", "part{q}"), close=("call MPI_Comm_free(part{q}, ierr)",),
    ),
    "self": Oddity(False, {"uneven": ""}, call=_call("{count}, {mpi}", "MPI_COMM_SELF")),
    "derived type": Oddity(
        True, {"shape": "slab", "uneven": ""}, declare=("{datatype} :: kind{q}",),
        open=("call MPI_Type_contiguous(nz, {mpi}, kind{q}, ierr)",
              "call MPI_Type_commit(kind{q}, ierr)"),
        call=_call("n, kind{q}"), close=("call MPI_Type_free(kind{q}, ierr)",),
    ),
    "bytes": Oddity(False, {"uneven": ""}, call=_call("{bytes}*{count}, MPI_BYTE")),
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
        False, {"down": False}, ahead=("cnt = {last}",), bounds="{first}, cnt", each=("cnt = 1",)
    ),
    "step of two": Oddity(False, {"down": False, "late": 0}, bounds="{first}, {last}, 2"),
    "count less": Oddity(False, {**_BLOCK}, call=_call("n*max(0, nz-1), {mpi}")),
    "received twice": Oddity(False, behind=("if (nz > 0) {s0} = {r0}",)),
}  # fmt: skip

ODDITIES: Mapping[str, Oddity] = MappingProxyType({"": NONE, **_CHANGED, **_SEEN, **_ARGUMENTS})
MUST_STAY = tuple(name for name, oddity in ODDITIES.items() if oddity.stays)
MAY_CHANGE = tuple(name for name, oddity in ODDITIES.items() if name and not oddity.stays)
