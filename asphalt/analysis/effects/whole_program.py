"""Whether all that a program does is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.call_graph.missing_sources import why_unknown
from asphalt.analysis.effects.argument_accesses import called_name
from asphalt.analysis.effects.known_libraries import library_procedure
from asphalt.analysis.effects.predefined_calls import predefined_effect
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Effect, EffectKind
from asphalt.analysis.memory.place_accesses import ASSIGNED, BOUND
from asphalt.analysis.memory.statement_accesses import CONCURRENT, FORALL, examine
from asphalt.analysis.mpi.procedures import procedure, procedures_with
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.mpi.standard.row import CONNECTS
from asphalt.analysis.names.known_library_names import LIBRARY_MODULES, is_library_name
from asphalt.analysis.names.references import actions, references
from asphalt.analysis.names.resolve import gives
from asphalt.analysis.names.scopes import Absence, Answer, Origin, Scope, Symbol
from asphalt.analysis.names.visibility import chain
from asphalt.config.runtime import offering
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Opaque, Raw, Use
from asphalt.ir.tree import Leaf, leaves

_UNSEEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE)
_NEAR = 100
"""The units, main programs first, whose CALL statements are looked at before summaries are made."""


def is_closed(effects: Effects) -> bool:
    """Whether all that a program does is seen: it has a main program, no call goes to where
    nothing is known, and no other program is connected to it."""
    return not has_unseen_calls(effects) and _why_not_closed(effects, lambda effect: False) is None


def has_unseen_calls(effects: Effects) -> bool:
    """Whether CALL statements alone show, near a main program, that not every call of a program is
    seen, those of procedures of well-known libraries aside; it asks for no summary."""
    return effects.once(_has_unseen_calls)


def why_not_closed_but_for_libraries(effects: Effects) -> str | None:
    """Why not every call of a program is seen, those of procedures of well-known libraries aside
    (which call nothing of the program); None: it is.

    Constructs that bind names count as what stands in them.
    """
    return _why_not_closed(effects, lambda effect: _calls_nothing(effect, effects))


def _why_not_closed(effects: Effects, is_known: Callable[[Effect], bool]) -> str | None:
    program = effects.scopes.program
    mains = program.main_programs()
    if not mains and program.has_foreign_main():
        return "the main program is in C, which is not analysed"
    if not mains:
        return "the main program is not among the given files"
    for mention in program.mpi_calls():
        found = procedure(mention.operation)
        name = mention.operation if found is None else found.name
        if name in procedures_with(CONNECTS):
            spelled = mention.operation if found is None else found.spelled
            return f"{spelled} ({mention.path}:{mention.line}) connects another program"
    for main in mains:
        for effect in examine(main.unit.body, effects.names(effects.scopes.of(main))).effects:
            if effect.kind not in _UNSEEN or is_known(effect):
                continue
            if effect.kind is EffectKind.OPAQUE:
                return _not_understood(effects, main, effect.leaf)
            return _unseen(effect.detail, main, effect.leaf, effects)
    return None


def knows_unseen_calls(effects: Effects) -> bool:
    """Whether ``has_unseen_calls`` holds and was asked before."""
    return effects.has_found(_has_unseen_calls) and has_unseen_calls(effects)


def _has_unseen_calls(effects: Effects) -> bool:
    scopes = effects.scopes
    waiting = [scopes.of(main) for main in scopes.program.main_programs()]
    found = {id(scope.unit) for scope in waiting}
    for scope in islice(waiting, _NEAR):  # which grows meanwhile
        for leaf in (leaf for node in scope.unit.body for leaf in leaves(node)):
            call = leaf.action
            if not isinstance(call, Call):
                continue
            if predefined_effect(call, effects.assumed, scope) is not None:
                continue
            target = invoked(call, scope)
            if target is None and library_procedure(call, scope) is None:
                effect = Effect(
                    EffectKind.UNKNOWN_CALL, leaf, called_name(call.procedure, scope), ()
                )
                if not _calls_nothing(effect, effects):
                    return True
            elif target is not None and id(target[0].unit) not in found:
                found.add(id(target[0].unit))
                waiting.append(scopes.of(target[0]))
    return False


def _not_understood(effects: Effects, main: Located, leaf: Leaf) -> str:
    """The statement that is not understood, in the main program or in what it calls."""
    for scope in _called_units(effects.scopes.of(main)):
        for other in (other for node in scope.unit.body for other in leaves(node)):
            if isinstance(other.what, Opaque | Raw):
                return f"{scope.located.path}:{other.line} is not understood"
    return f"a statement below {main.path}:{leaf.line} is not understood"


def _unseen(name: str, main: Located, leaf: Leaf, effects: Effects) -> str:
    """Which call goes to where nothing is known, and why, as far as that can be said."""
    plain = name.rpartition("%")[2]
    for located in effects.scopes.program.mentions(plain):
        for other in (other for node in located.unit.body for other in leaves(node)):
            for what in actions(other.what):
                if name != plain or any(True for _ in references(what, name)):
                    missing = why_unknown(name, effects.scopes.of(located))
                    why = "" if missing is None else f": {missing.why}"
                    return f"what {plain} does is not known{_place(located, other)}{why}"
    return f"what {plain} does is not known{_place(main, leaf)}"


def _place(located: Located, leaf: Leaf) -> str:
    return f" ({located.path}:{leaf.line})"


def _called_units(scope: Scope) -> Iterator[Scope]:
    """A unit, and the units that CALL statements lead to from there."""
    found = {id(scope.unit)}
    waiting = [scope]
    while waiting:
        here = waiting.pop()
        yield here
        for leaf in (leaf for node in here.unit.body for leaf in leaves(node)):
            what = leaf.action
            known = invoked(what, here) if isinstance(what, Call) else None
            if known is not None and id(known[0].unit) not in found:
                found.add(id(known[0].unit))
                waiting.append(here.scopes.of(known[0]))


def _calls_nothing(effect: Effect, effects: Effects) -> bool:
    """Whether an effect is the call of a library procedure, or the binding or use of a name that a
    construct binds."""
    name = effect.detail
    if effect.kind is EffectKind.UNKNOWN_CALL:
        return (
            _is_of_library(name, effects)
            or _is_bound_name(name, effects)
            or _is_of_runtime(name, effects)
        )
    if name.startswith(ASSIGNED):
        return _is_bound_name(name.removeprefix(ASSIGNED), effects)
    return name in (CONCURRENT, FORALL) or name.endswith((" construct", BOUND))


def _is_of_runtime(name: str, effects: Effects) -> bool:
    """Whether a name is that of a procedure of asphalt's runtime, which calls nothing of the
    program, or of one that is bound to a type of the runtime or that the runtime alone mentions."""
    owner, bound, plain = name.rpartition("%")
    if owner:
        return True
    if name in offering():
        return not effects.scopes.program.defines(name) or _is_defined_by_runtime(name, effects)
    places = tuple(effects.scopes.program.mentions(plain)) if bound else ()
    return bool(places) and all(place.chain[0].name in RUNTIME_MODULES for place in places)


def _is_defined_by_runtime(name: str, effects: Effects) -> bool:
    """Whether asphalt's runtime is among the given files, and no other unit has this name."""
    return all(
        place.unit.name != name or place.chain[0].name in RUNTIME_MODULES
        for place in effects.scopes.program.mentions(name)
    )


def _is_bound_name(name: str, effects: Effects) -> bool:
    """Whether a name is, wherever the program mentions it, one that a construct binds (F2018
    19.4: it is a variable or a value, never a procedure), or else a variable."""
    scopes = tuple(map(effects.scopes.of, effects.scopes.program.mentions(name)))
    return bool(scopes) and all(
        _is_variable(scope.visible(name)) or (name in scope.shadowed and _is_absent(name, scope))
        for scope in scopes
    )


def _is_absent(name: str, scope: Scope) -> bool:
    return scope.visible(name) is Absence.ABSENT and not scope.program.defines(name)


def _is_variable(answer: Answer) -> bool:
    return (
        isinstance(answer, Symbol)
        and answer.origin.is_variable
        and not answer.attrs & {"external", "procedure", "pointer"}
        and answer.dims is not None
    )


def _is_of_library(name: str, effects: Effects) -> bool:
    """Whether a name is, wherever the program mentions it, that of a library procedure."""
    program = effects.scopes.program
    if not is_library_name(name) or program.defines(name):
        return False
    scopes = map(effects.scopes.of, program.mentions(name))
    return all(_may_only_be_of_library(name, scope) for scope in scopes)


def _may_only_be_of_library(name: str, scope: Scope) -> bool:
    """Whether no dummy, pointer, or module of the user gives a name in a unit."""
    symbol = scope.lookup(name)
    if symbol is not None and (
        symbol.origin is Origin.DUMMY or symbol.attrs & {"pointer", "target"}
    ):
        return False
    return not any(one.lacks_host for one in chain(scope)) and all(
        use.module in LIBRARY_MODULES
        or use.intrinsic
        or scope.scopes.module(use.module) is not None
        or not gives(use, name)
        for use in _uses(scope)
    )


def _uses(scope: Scope) -> Iterator[Use]:
    here: Scope | None = scope
    while here is not None:
        yield from here.declared.uses
        here = here.host
