"""What may make prepushing illegal, by construction: put into one exchange of a program.

``stays``: no correct transformation can prepush this exchange (something that another rank or the
outside sees would happen before it should, or what is sent would not be what the call sends), or
the conditions of the design rule it out because nobody can know: asphalt must leave it alone.  The
others may be handled, or refused: results tell.  None of this asks asphalt's analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fuzz.odd_arguments import ARGUMENTS
from fuzz.oddity import BLOCK, PLAIN_LOOPS, Lines, Oddity, call_with

NONE = Oddity(False)


def _touching(declare: Lines) -> Lines:
    """A procedure that changes the first element of the send buffer behind the back."""
    return (
        "subroutine {tag}_touch{q}()",
        *declare,
        "{s0} = 7",
        "end subroutine {tag}_touch{q}",
    )


# The send buffer changes under its own name or another one, after it is final for the nest.
_CHANGED = {
    "changed after": Oddity(True, between=("if (nz > 0) {s0} = 99",)),
    "changed after in a loop": Oddity(
        True, between=("do i = 1, 2", "if (nz > 0) {s0} = {s0} + i", "end do")
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
    "modulo": Oddity(False, {**BLOCK, **PLAIN_LOOPS}, subscript="{modulo}"),
    "index array": Oddity(False, {**BLOCK, **PLAIN_LOOPS}, subscript="{shuffled}"),
    "planes by index": Oddity(False, {**BLOCK, **PLAIN_LOOPS, "lower": 1},
                              subscript="{plane_shuffled}"),
    "into the plane before": Oddity(
        False, {**BLOCK, **PLAIN_LOOPS, "down": False}, unchecked=True,
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
    "stop": Oddity(True, each=("if (x > 1d30) stop",)),
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
        True, {"work": ""}, nest=(("!$omp parallel do lastprivate(z)",), ()), each=("v(1) = z",)
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
        call=call_with("{count}, {mpi}", "part{q}"),
        close=("end do", "call MPI_Comm_free(part{q}, ierr)"),
    ),
    "two places, nobody knows": Oddity(
        True, {"labelled": False}, open=("call fz_choice(cnt)", "if (cnt == 0) then"),
        other=("else",), close=("end if",),
    ),
    "any source": Oddity(
        False, declare=("integer :: got{q}", "{request} :: pending{q}"),
        # on one rank, MPI_ALLTOALL of MPICH 4.0.2 never ends while a receive of any tag is pending
        ahead=("call MPI_Irecv(got{q}, 1, MPI_INTEGER, MPI_ANY_SOURCE, "
               "merge(5, MPI_ANY_TAG, np == 1), MPI_COMM_WORLD, pending{q}, ierr)",),
        behind=("call MPI_Send(me, 1, MPI_INTEGER, mod(me + 1, np), 5, MPI_COMM_WORLD, ierr)",
                "call MPI_Wait(pending{q}, MPI_STATUS_IGNORE, ierr)",
                "call fz_integer('{tag} got{q}', [got{q}], 1)"),
    ),
    "two statements": Oddity(False, between=("x = 1; y = 2",)),
    "one line": Oddity(False, {"uneven": "", "call": "plain"}, call=(
        "if (me < 0) x = 1; call MPI_Alltoall({s}, {count}, {mpi}, {r}, {count}, {mpi}, "
        "MPI_COMM_WORLD, ierr)",
    )),
    "preprocessor": Oddity(False, between=("#ifdef FZ_OTHER", "if (nz > 0) {s0} = 99", "#endif")),
    "preprocessor in nest": Oddity(
        False, {"order": "zpi"},
        end=("#ifdef FZ_OTHER", "if (z >= {first} + mod(me, 2)) exit", "#endif"),
    ),
}  # fmt: skip

ODDITIES: Mapping[str, Oddity] = MappingProxyType({"": NONE, **_CHANGED, **_SEEN, **ARGUMENTS})
_DRAWN = {name: oddity for name, oddity in ODDITIES.items() if name and not oddity.real}
MUST_STAY = tuple(name for name, oddity in _DRAWN.items() if oddity.stays)
MAY_CHANGE = tuple(name for name, oddity in _DRAWN.items() if not oddity.stays)
