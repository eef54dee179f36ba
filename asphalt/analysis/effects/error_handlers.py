"""Whether the errors of all MPI calls of a program are fatal, so that no call returns one.

Communicators and windows have the error handler MPI_ERRORS_ARE_FATAL unless the program sets
another (MPI-4.0 section 9.3).  Then a call that fails does not return, and one that returns has
stored MPI_SUCCESS, which is 0 (section 9.4).

Files have MPI_ERRORS_RETURN (section 14.7), and the user's callbacks (of an attribute, a
generalized request) return codes of their own: nothing is known of these codes, nor of those of a
wait where requests may be those of file operations.
"""

from __future__ import annotations

import re
from functools import cache

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.whole_program import (
    has_unseen_calls,
    knows_unseen_calls,
    why_not_closed_but_for_libraries,
)
from asphalt.analysis.mpi.call import mpi_call, mpi_constant
from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, Timing, table
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.references import actions, references
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.program import Located, Program
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Decl, Opaque, Raw, UnitHead, What
from asphalt.ir.tree import leaves

SUCCESS = "mpi_success"
_OWN_CODES = frozenset({"mpi_buffer_detach"})  # Open MPI 4.1: an error that is not fatal
_FATAL = ("mpi_errors_are_fatal", "mpi_errors_abort")
_CALLED_UNSEEN = ("final", "formatted", "unformatted")
_IO = ("read(", "write(")
_ARGUMENTS = re.compile(r"\s*\(([^()]*)\)")
_BLANK = re.compile(r"[\s&]+")


@record
class Doubt:
    """Why an MPI call may return another code than MPI_SUCCESS.

    ``lifted``: it does not if no error handler returns (the assumption ``fatal``), since the given
    files set none.
    """

    why: str
    lifted: bool


def doubt(effects: Effects) -> Doubt | None:
    """Why an MPI call of a program may return another code than MPI_SUCCESS, whatever is assumed;
    None: no call does."""
    return effects.once(_doubt)


def why_errors_return(effects: Effects) -> str | None:
    """Why an MPI call of a program may return another code than MPI_SUCCESS under the assumptions
    that are accepted; None: no call does."""
    found = doubt(effects)
    return None if found is None or rests_on_fatal(effects) else found.why


def errors_return(effects: Effects) -> bool:
    """Whether ``why_errors_return`` has a reason, which is not looked for."""
    named = effects.once_for_all_texts(_named_doubt)
    if named is not None or effects.assumed.fatal:
        return not (effects.assumed.fatal and (named is None or named.lifted))
    return has_unseen_calls(effects) or doubt(effects) is not None


def may_return(effects: Effects) -> bool:
    """Whether an MPI call may return another code under the assumptions that are accepted, as far
    as that is known before the calls of the program are followed, or was asked before."""
    named = effects.once_for_all_texts(_named_doubt)
    if named is not None:
        return not (named.lifted and effects.assumed.fatal)
    if knows_unseen_calls(effects):
        return not effects.assumed.fatal
    return effects.has_found(_doubt) and why_errors_return(effects) is not None


def rests_on_fatal(effects: Effects) -> bool:
    """Whether it is only assumed that no error handler returns."""
    if not effects.assumed.fatal:
        return False
    found = doubt(effects)
    return found is not None and found.lifted


def _doubt(effects: Effects) -> Doubt | None:
    """Asked once for all texts of a program: no edit sets an error handler, or hides a call."""
    if effects.given is not None:
        return effects.once_for_all_texts(_doubt)
    named = effects.once(_named_doubt)
    if named is not None:
        return named
    unseen = why_not_closed_but_for_libraries(effects)
    return None if unseen is None else Doubt(unseen, lifted=True)


def _named_doubt(effects: Effects) -> Doubt | None:
    """The doubt that names in the given files raise."""
    program = effects.scopes.program
    for procedure in _with_other_codes():
        for name in (procedure.name, f"p{procedure.name}"):
            for place in program.mentions(name):
                text = program.text(place.path) if place.is_unread else ""
                if _text_sets_fatal_handlers(text, name) and "include" not in text:
                    continue
                if place.chain[0].name not in RUNTIME_MODULES:
                    line = _line_with(name, place, effects.scopes.of(place))
                    if line is not None and not _is_never_executed(place, effects):
                        does = f":{line} calls" if line else " names"
                        why = f"{place.path}{does} {procedure.spelled}"
                        return Doubt(why, lifted=False)
            for path in program.foreign_files_with(name):
                if not _text_sets_fatal_handlers(program.text(path), name):
                    return Doubt(f"{path} names {procedure.spelled}", lifted=False)
    binding = binding_without_name(program)
    if binding is not None:
        return Doubt(f"{binding} defines what is called without its name", lifted=True)
    return None


def _is_never_executed(place: Located, effects: Effects) -> bool:
    if place.is_unread or place.unit.kind not in ("subroutine", "function"):
        return False
    sites = effects.once(_call_sites)
    return sites.is_never_executed(sites.of(place))


def _call_sites(effects: Effects) -> CallSites:
    return CallSites(effects.scopes, effects.assumed)


def _line_with(name: str, located: Located, scope: Scope) -> int | None:
    """The line of the first statement of a unit that refers to a name, or else that of the unit,
    or 0 for text that is not analysed; None: all of them only set handlers that do not return."""
    unit = located.unit
    own = [leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node)]
    named = [
        (leaf, what)
        for leaf in own
        for what in actions(leaf.what)
        if any(True for _ in references(what, name))
    ]
    returning = (leaf.line for leaf, what in named if not _sets_fatal_handler(what, scope))
    if named:
        return next(returning, None)
    return own[0].line if own else 0


def _sets_fatal_handler(what: What, scope: Scope) -> bool:
    """Whether a statement calls MPI to set a predefined error handler that ends the program."""
    call = mpi_call(what, scope) if isinstance(what, Call) else None
    if call is None:
        return False
    handlers = [
        call.args.get(p.name)
        for p in call.procedure.parameters
        if p.kind == "ERRHANDLER" and p.direction is Direction.IN
    ]
    return bool(handlers) and all(
        handler is not None and mpi_constant(handler, scope) in _FATAL for handler in handlers
    )


def binding_without_name(program: Program) -> str | None:
    """The file and line of a final subroutine, or of defined input or output, in a program; None:
    it has none."""
    for name in _CALLED_UNSEEN:
        for place in program.mentions(name):
            if place.chain[0].name in RUNTIME_MODULES:
                continue
            if (line := _line_that_binds(place)) is not None:
                return f"{place.path}:{line}"
    return None


def _text_sets_fatal_handlers(text: str, name: str) -> bool:
    """Whether a text that is not analysed, of whatever language, holds the name of a procedure
    only where it calls it to set a predefined error handler that ends the program."""
    found = [match.end() for match in re.finditer(rf"(?<!\w){name}(?!\w)", text)]
    return bool(found) and all(_has_fatal_argument(text[end:]) for end in found)


def _has_fatal_argument(text: str) -> bool:
    """Whether a list of arguments follows, one of which is such an error handler."""
    list_of = _ARGUMENTS.match(text)
    if list_of is None:
        return False
    handlers = [one for one in _BLANK.sub("", list_of[1]).split(",") if "mpi_err" in one]
    return len(handlers) == 1 and handlers[0] in _FATAL


def _line_that_binds(located: Located) -> int | None:
    """The line in which a unit makes a procedure a finalizer, or defined input or output (F2018
    7.5.6, 12.6.4.8), which statements call without its name; None: it does not."""
    unit = located.unit
    for leaf in (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node)):
        match leaf.what:
            case Decl(kind="procedure", attrs=attrs, groups=groups):
                found = "final" in attrs or any(name.startswith(_IO) for name, _ in groups)
            case UnitHead(kind="interface", name=name):
                found = name.startswith(_IO)
            case Opaque(names=names):
                found = not names.isdisjoint(_CALLED_UNSEEN)
            case Raw():
                found = True
            case _:
                found = False
        if found:
            return leaf.line
    return None


@cache
def _with_other_codes() -> tuple[MpiProcedure, ...]:
    """The procedures that set an error handler, or after which other codes may occur; not those of
    files, whose handlers get the errors of operations on files alone (MPI-4.0 section 9.3).

    A user's callback returns a code to the library, and may store one that no call shows.
    """
    return tuple(
        procedure
        for procedure in table().values()
        if not is_of_file(procedure)
        if procedure.name in _OWN_CODES
        or any(p.kind.endswith("FUNCTION") for p in procedure.parameters)
        or any(p.kind == "ERRHANDLER" and p.direction is Direction.IN for p in procedure.parameters)
    )


def is_of_file(procedure: MpiProcedure) -> bool:
    """Whether a procedure operates on a file, whose errors are returned."""
    return procedure.name.startswith("mpi_file_") or any(
        p.kind == "FILE" for p in procedure.parameters
    )


def may_be_of_file(procedure: MpiProcedure, effects: Effects) -> bool:
    """Whether a procedure operates on a file, or may complete an operation on one."""
    if is_of_file(procedure):
        return True
    starts = procedure.timing in (Timing.NONBLOCKING, Timing.PERSISTENT)
    has_request = any(p.kind == "REQUEST" for p in procedure.parameters)
    return has_request and not starts and effects.once_for_all_texts(_has_file_requests)


def _has_file_requests(effects: Effects) -> bool:
    """Whether a program has non-blocking operations on files."""
    program = effects.scopes.program
    names = (
        name
        for procedure in table().values()
        if is_of_file(procedure) and any(p.kind == "REQUEST" for p in procedure.parameters)
        for name in (procedure.name, f"p{procedure.name}")
    )
    return any(program.mentions(name) or program.foreign_files_with(name) for name in names)
