"""The effects of calls of intrinsic procedures that do more than define their arguments.

The standard ones are those of Fortran 2018, section 16.9.  Compilers add others (the GNU Fortran
manual, chapter 9; Intel's portability library has most of them): a name is one of these if no file
of the tree defines it, no declaration makes it an external procedure of the user, and no unknown
module can provide it.

They depend on, or change, what lies outside of the program: clocks, files, the generator of random
numbers.  No variable but their arguments changes, and they call nothing of the program.  Intrinsic
procedures of coarrays (CO_SUM, ATOMIC_ADD, EVENT_QUERY ...) have no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from asphalt.analysis.call_graph.defined_operations import may_be_derived
from asphalt.analysis.call_graph.operators import finalizers_visible
from asphalt.analysis.effects.argument_accesses import anything, bound_arguments, whole
from asphalt.analysis.memory.accesses import CallEffect, EffectKind, Mode
from asphalt.analysis.names.intrinsics import ADDED
from asphalt.analysis.names.scopes import Absence, Origin, Scope, Symbol
from asphalt.ir.expr import Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Call

# Name and arguments; `>` defined, `=` read and perhaps changed, nothing: read.
_STANDARD = """
command_argument_count
cpu_time time>
date_and_time date> time> zone> values>
execute_command_line command wait exitstat= cmdstat> cmdmsg=
get_command command> length> status> errmsg=
get_command_argument number value> length> status> errmsg=
get_environment_variable name value> length> status> trim_name errmsg=
move_alloc from= to= stat> errmsg=
mvbits from frompos len to= topos
random_init repeatable image_distinct
random_number harvest>
random_seed size> put get>
system_clock count> count_rate> count_max>
"""
_ADDED = """
abort
chdir name status>
dtime values= time>
etime values= time>
exit status
fdate date>
flush unit
getarg pos value>
getcwd c> status>
getenv name value>
getlog c>
getpid
hostnm c> status>
iargc
idate values=
irand flag
itime values=
rand flag
rename path1 path2 status>
second time>
sleep seconds
srand seed
system command status>
unlink path status>
"""
_SILENT = frozenset({"command_argument_count", "getpid", "iargc", "move_alloc", "mvbits"})
"""Those that depend on nothing that changes during a run, except their arguments."""
_ENDING = frozenset({"abort", "exit"})
_MODES = {"": (Mode.READ,), ">": (Mode.MAYBE_WRITE,), "=": (Mode.READ, Mode.MAYBE_WRITE)}
_NOT_ADDED = frozenset({"pointer", "generic", "procedure", "target", "external"})


@record
class Row:
    """An intrinsic procedure: its folded name, and its arguments with their modes."""

    name: str
    arguments: tuple[tuple[str, str], ...]

    @property
    def effects(self) -> tuple[tuple[EffectKind, str], ...]:
        """What a call does beyond its arguments."""
        if self.name in _ENDING:
            return ((EffectKind.STOP, self.name),)
        if self.name == "move_alloc":
            return ((EffectKind.ALLOCATION, self.name),)
        return () if self.name in _SILENT else ((EffectKind.SYSTEM, self.name),)

    @property
    def dummies(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(name for name, _ in self.arguments)

    def modes(self, dummy: str) -> tuple[Mode, ...]:
        """The accesses to an actual argument."""
        return _MODES[dict(self.arguments)[dummy]]


@cache
def _rows(text: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """The arguments of each procedure, each with its mode."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in text.strip().splitlines():
        name, *arguments = row.split()
        found[name] = tuple(
            (one.rstrip(">="), one[-1] if one[-1] in ">=" else "") for one in arguments
        )
    return found


def intrinsic_row(call: Call, scope: Scope) -> Row | None:
    """The row of the intrinsic procedure with effects that a call references; None: it references
    something else."""
    procedure = call.procedure
    if not isinstance(procedure, Ref):
        return None
    name = procedure.name
    symbol = scope.lookup(name)
    if name in _rows(_STANDARD):
        own = symbol is not None and symbol.origin is Origin.INTRINSIC
        return Row(name, _rows(_STANDARD)[name]) if own else None
    if name in ADDED and _is_added(name, scope):
        return Row(name, _rows(_ADDED)[name])
    return None


def intrinsic_effect(call: Call, scope: Scope) -> CallEffect | None:
    """The effect of a call of an intrinsic procedure with effects; None: it references something
    else."""
    row = intrinsic_row(call, scope)
    if row is None:
        return None
    bound = bound_arguments(call, row.dummies)
    if bound is None:
        return anything(call, scope)
    accesses = [
        access
        for dummy, actual in bound.items()
        for mode in row.modes(dummy)
        for access in whole(actual, mode, scope)
    ]
    effects = list(row.effects)
    moved = (actual for dummy, actual in bound.items() if dummy in ("from", "to"))
    if row.name == "move_alloc" and finalizers_visible(scope):
        effects += [
            (EffectKind.UNKNOWN_CALL, "final subroutine")
            for item in moved
            if may_be_derived(item, scope)
        ]
    return CallEffect(tuple(accesses), tuple(effects))


def _is_added(name: str, scope: Scope) -> bool:
    """Whether a name can only be that of a procedure that compilers add."""
    answer = scope.resolve(name)
    if name in scope.shadowed or answer is Absence.UNKNOWN:
        return False
    if isinstance(answer, Symbol):
        if answer.dims is not None or answer.attrs & _NOT_ADDED:
            return False
        if answer.origin is not Origin.LOCAL and "intrinsic" not in answer.attrs:
            return False  # a procedure of a module, or one that the unit or its host contains
    return not scope.program.defines(name)
