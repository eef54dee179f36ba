"""Whether a blocking call may become a start and a wait.

The rules for messages are those of Danalis et al., ICS 2009, section 4; ``messages.collectives``
has the rules for collective operations.
"""

from __future__ import annotations

from dataclasses import replace
from operator import eq

from asphalt.analysis.conditions.point_to_point import (
    DIGITS,
    ELSEWHERE,
    ERROR_READ,
    NO_VARIABLE,
    STATUS_READ,
    STAYS,
)
from asphalt.analysis.conditions.site import BINDING, NOT_GIVEN, SKIP, marked, refused_binding
from asphalt.analysis.control_flow.paths import path_witness
from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.data_flow.temporaries import is_live_on_exit, is_local, is_local_until_return
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.exchange.missing_inputs import (
    missing_modules,
    undeclared_constant,
    why_no_default_integer,
)
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.contiguity import may_be_array, reference_contiguity
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import evaluated_storages, storage_of
from asphalt.analysis.messages.collectives import (
    is_predefined_reduction,
    together,
    why_other_digits,
)
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant, predefined_type
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.derived_types import ComponentDeclaration
from asphalt.analysis.names.designators import (
    declarations_on_the_way,
    designator_name,
    spelled_designator,
    symbol_named,
)
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.verdicts.verdict import Cause, Mark, Refused
from asphalt.config.assumptions import BITS, CONTROL, FATAL
from asphalt.ir.expr import Component, Expr, Op, Ref, Unstructured, root_name, walk
from asphalt.ir.stmt import Allocation, ArmHead, Assign, Guarded, Include
from asphalt.ir.tree import Leaf, leaves
from asphalt.support.may_must import MayMustAnswer, unknown, yes
from asphalt.transforms.nonblocking.sides import Side, handle_arrays, is_f08
from asphalt.transforms.nonblocking.statuses import is_status_array, is_typed_status, may_be_another

_STAGES = (Stage.START, Stage.COMPLETE, Stage.BOTH)
COULD = "it could be non-blocking, if there is computation to overlap"
"""The report on a call that could be non-blocking under an assumption."""


class Rules:
    """The rules for the calls of one unit, with the analyses that they share."""

    def __init__(self, facts: UnitFacts, order: Independence) -> None:
        self.facts = facts
        self.order = order
        self.said = TransferDirectives(facts.located)

    def judged(
        self, leaf: Leaf, call: MpiCall, sides: tuple[Side, ...]
    ) -> Refused | tuple[tuple[Side, ...], tuple[str, ...], tuple[str, ...]]:
        """Why a call remains blocking; or the operations to start instead, the evidence, and the
        assumptions."""
        facts = self.facts
        skipped = self.said.skipped(leaf)
        if skipped is not None:
            return Refused(SKIP, f"skipped by the directive in line {skipped.line}", leaf.span)
        undeclared = undeclared_constant(call, facts.scope)
        if undeclared is not None:
            return Refused(BINDING, undeclared.why, leaf.span, marks=marked(undeclared.mark))
        fixed = self.order.place.fixed_by(leaf)
        cause = None if fixed is None else fixed.cause
        for missing in missing_modules(facts.scope):
            if fixed is not None and missing.cause == cause:
                marks = marked(missing.mark)
                return Refused(NOT_GIVEN, fixed.why, leaf.span, marks=marks, cause=cause)
        stays = None if fixed is None else fixed.why
        stays = stays or self._condition_changes(leaf, call) or _unclear_include(facts)
        if stays is not None:
            return Refused(STAYS, stays, leaf.span, cause=cause)
        function = _function_for(call, facts)
        if function is not None:
            return Refused(STAYS, f"an argument is a result of {function}", leaf.span)
        evidence: list[str] = []
        assumed: tuple[str, ...] = ()
        for side in sides:
            for buffer in (*side.buffers, *side.arrays):
                given = _given(buffer)
                is_variable = _is_one_variable(given, facts)
                if not (is_variable.yes and isinstance(given, Ref | Component)):
                    name = root_name(given) or "a buffer"
                    copied = "it may be passed as a copy, which is gone when the call returns"
                    copied = f"{name} {is_variable.reason}: {copied}"
                    return Refused(NO_VARIABLE, copied, leaf.span)
                evidence.append(f"{spelled_designator(given)} {is_variable.reason}")
            if any(may_be_array(_given(argument), facts.scope) for argument in side.scalars):
                return Refused(STAYS, "an array where MPI has a scalar", leaf.span)
            handles = handle_arrays(call)
            others = (a for a in (*side.scalars, *side.arrays) if a not in handles)
            other = next((a for a in others if not is_default_integer(a, facts.scope)), None)
            if other is not None:
                told, source = why_no_default_integer(other, facts.scope)
                if source is None:
                    return Refused(STAYS, told, leaf.span)
                marks, cause = marked(source.mark), source.cause
                return Refused(NOT_GIVEN, told, leaf.span, marks=marks, cause=cause)
            changed = next((a for a in side.arrays if _may_change_later(a, leaf, facts)), None)
            if isinstance(changed, Ref):
                later = "is changed later, and the operation may read it until it is complete"
                return Refused(STAYS, f"{changed.spelled} {later}", leaf.span)
        if len(sides) == 2 and sides[0].buffers == sides[1].buffers:
            return Refused(STAYS, "one buffer for both messages", leaf.span)
        if _receives_what_it_evaluates(call, facts.scope):
            return Refused(STAYS, "it receives what its arguments evaluate", leaf.span)
        if call.error is not None and is_read(call.error, leaf, facts):
            codes = facts.once(ErrorCodes)
            why = codes.why_not(call)
            if why is not None and call.binding == "unknown":
                return refused_binding(call, facts.located, facts.scope, leaf.span)
            if why is not None:
                return self._code_is_read(leaf, call, why)
            evidence.append("errors are fatal, so that its error code is MPI_SUCCESS")
            if codes.rests_on_fatal:
                assumed = (FATAL.word,)
        status = call.args.get("status")
        if status is not None and is_read(status, leaf, facts):
            if is_f08(call) and not is_typed_status(status, facts):
                message = "its status is not known to be a variable without pointers"
                return Refused(STATUS_READ, message, leaf.span)
            if not is_f08(call) and not is_status_array(status, facts):
                return Refused(STAYS, "its status is not an array of MPI_STATUS_SIZE", leaf.span)
            if may_be_another(status, leaf, call, self.order):
                return Refused(STAYS, "it may change which variable its status is", leaf.span)
            sides = (replace(sides[0], status=status), *sides[1:])
        if not call.procedure.collective:
            return sides, tuple(evidence), assumed
        return self._collective(leaf, call, sides, evidence, assumed)

    def _code_is_read(self, leaf: Leaf, call: MpiCall, why: str) -> Refused:
        """The refusal of a call whose error code is read, and may not be MPI_SUCCESS."""
        assert call.error is not None
        codes = self.facts.once(ErrorCodes)
        lifted = codes.lifted_by if codes.is_code_of(call) else None
        reader = code_reader(call.error, leaf, self.facts)
        read = (
            "its caller may read its error code"
            if reader is None
            else (f"{self.facts.at(reader)} reads its error code")
        )
        marks: tuple[Mark, ...] = ()
        if leaf.span is not None:
            marks = (Mark(leaf.span, "offending", f"{read}; {why}"),)
        if reader is not None and reader.span is not None:
            marks = (*marks, Mark(reader.span, "use", "reads the error code"))
        if lifted is not None:
            message = f"{COULD}, where no error handler returns,"
            return Refused(ERROR_READ, message, leaf.span, f"{read}; {why}", marks, lifted)
        cause = Cause(why) if why == codes.why_others else None
        return Refused(ERROR_READ, f"{read}; {why}", leaf.span, marks=marks, cause=cause)

    def never(self, leaf: Leaf, call: MpiCall) -> Refused:
        """Why asphalt does not use the non-blocking form of a collective operation."""
        skipped = self.said.skipped(leaf)
        if skipped is not None:
            return Refused(SKIP, f"skipped by the directive in line {skipped.line}", leaf.span)
        why = "statements behind it may rely on all ranks having reached it"
        if library_row(call.procedure).transfers:
            why = (
                "where two neighbours are the same rank, its non-blocking form may pair the blocks "
                "in another order"
            )
        return Refused(STAYS, why, leaf.span)

    def _condition_changes(self, leaf: Leaf, call: MpiCall) -> str | None:
        """Why the condition of a one-line IF may not be evaluated twice."""
        facts, what = self.facts, leaf.what
        if not isinstance(what, Guarded):
            return None
        condition = facts.footprint(replace(leaf, what=ArmHead("if", (what.condition,))))
        if condition.effects or any(access.writes for access in condition.accesses):
            return "the condition of its one-line IF calls a procedure"
        done = facts.footprint(replace(leaf, what=what.action)).accesses
        done += self.order.messages.buffers(leaf, call) or ()
        if any(a.writes and a.meets(b) for a in done for b in condition.accesses):
            return "the call changes the condition of its one-line IF"
        return None

    def _collective(
        self,
        leaf: Leaf,
        call: MpiCall,
        sides: tuple[Side, ...],
        evidence: list[str],
        assumed: tuple[str, ...],
    ) -> Refused | tuple[tuple[Side, ...], tuple[str, ...], tuple[str, ...]]:
        digits = why_other_digits(self.facts, call)
        if digits is not None and not is_predefined_reduction(self.facts, call):
            return Refused(DIGITS, digits, leaf.span)
        known = together(self.facts, call)
        if known.why_not is not None and not known.unproved:
            return Refused(ELSEWHERE, known.why_not, leaf.span)
        where = {CONTROL: known.why_not and "all ranks reach it together", BITS: digits}
        needed = [kind for kind, why in where.items() if why is not None]
        open_ones = [kind for kind in needed if not is_accepted_at(kind, leaf, self.facts)]
        if open_ones:
            message = f"{COULD}, where {' and '.join(where[kind] or '' for kind in open_ones)},"
            lifted = ",".join(kind.word for kind in open_ones)
            if CONTROL in open_ones:
                message = f"{known.why_not}; {message}"
                return Refused(ELSEWHERE, message, leaf.span, lifted_by=lifted)
            return Refused(DIGITS, message, leaf.span, lifted_by=lifted)
        assumed = (*(kind.word for kind in needed), *known.assumed, *assumed)
        if CONTROL in needed:
            evidence.append(f"all ranks are assumed to reach {call.procedure.spelled} together")
            return sides, tuple(evidence), assumed
        evidence.append(f"all ranks reach each {call.procedure.spelled} of the program together")
        return sides, tuple(evidence), assumed


def _receives_what_it_evaluates(call: MpiCall, scope: Scope) -> bool:
    """Whether a subscript in an argument, or a count, may change with the message: the wait would
    evaluate it again, and so would a send that starts behind the receive."""
    inside = {
        storage
        for parameter, actual in call.bound()
        if parameter.kind not in ("STATUS", "ERROR_CODE")
        for storage in list(evaluated_storages(actual, scope))[parameter.kind == "BUFFER" :]
        if storage is not None
    }
    written = [call.args.get(t.argument) for t in library_row(call.procedure).transfers if t.writes]
    received = {next(evaluated_storages(b, scope), None) for b in written if b is not None}
    return any(
        all(map(eq, one.split("%"), other.split("%")))
        for one in received
        if one is not None
        for other in inside
    )


def why_types_are_lost(call: MpiCall, facts: UnitFacts) -> str | None:
    """Why an operation with a datatype for each rank cannot be started as one.

    Open MPI 4.1 passes ``MPI_Ialltoallw`` of C an array that is freed when the Fortran procedure
    returns, and releases the derived types in it at the wait.
    """
    for parameter, actual in call.bound():
        if parameter.array and parameter.kind == "DATATYPE" and not _are_predefined(actual, facts):
            types = "" if not isinstance(actual, Ref) else f" in {actual.spelled}"
            return f"derived types{types} would not outlive its start in Open MPI 4.1"
    return None


def _are_predefined(types: Expr, facts: UnitFacts) -> bool:
    """Whether nothing but names of predefined types is ever assigned to an array."""
    if not isinstance(types, Ref) or not is_local(types.name, facts):
        return False
    storage = storage_of(types.name, facts.scope)
    for node in facts.unit.body:
        for leaf in leaves(node):
            what = leaf.action
            if isinstance(what, Allocation) and what.kind == "allocate" and not what.options:
                continue
            if not any(a.writes and a.storage == storage for a in facts.footprint(leaf).accesses):
                continue
            if not isinstance(what, Assign) or predefined_type(what.value, facts.scope) is None:
                return False
    return True


_VALUES = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)


def _function_for(call: MpiCall, facts: UnitFacts) -> str | None:
    """A procedure of the program, or an operator of it, that a call takes an argument from.

    Buffers are arguments of the wait too, and communicators of both starts: it would be called
    twice.  And a handle of a derived type that it returns has no component.
    """
    for _, argument in call.bound():
        for part in walk(argument):
            if isinstance(part, Unstructured):
                return part.text
            if isinstance(part, Op) and not facts.names.is_intrinsic_operation(part):
                return part.op
            if isinstance(part, Ref) and mpi_constant(part, facts.scope) is None:
                kind = facts.names.kind(part.name, part.args is not None)
                if kind not in _VALUES:
                    return part.spelled
    return None


def _may_change_later(array: Expr, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether the unit may change an argument behind the call, so that a compiler might do it
    before the wait."""
    reaching = facts.reaching
    start = reaching.graph.action(leaf)
    if not isinstance(array, Ref) or start is None:
        return True
    symbol = facts.scope.lookup(array.name)
    if symbol is not None and symbol.origin is Origin.PARAMETER:
        return False
    storage = storage_of(array.name, facts.scope)
    changing = {d.point for d in reaching.definitions(storage) if d.leaf is not None}
    return path_witness(reaching.graph, [start], changing) is not None


def _given(argument: Expr) -> Expr:
    """What the call has for an argument of the run-time procedure."""
    own = isinstance(argument, Component) and argument.name == "mpi_val"
    return argument.base if own and isinstance(argument, Component) else argument


def _unclear_include(facts: UnitFacts) -> str | None:
    """Why it is not known where declarations end: an include file that may hold statements."""
    program = facts.scope.program
    for node in facts.unit.spec:
        for leaf in leaves(node):
            what = leaf.what
            if isinstance(what, Include) and program.include(facts.located, what.path) is None:
                return f"line {line_of(leaf)} includes more than declarations"
    return None


def _is_one_variable(buffer: Expr, facts: UnitFacts) -> MayMustAnswer:
    """Whether a buffer is passed without a copy."""
    if not isinstance(buffer, Ref | Component):
        return unknown("is a part of an expression")
    if mpi_constant(buffer, facts.scope) is not None:
        return unknown("is a constant of MPI")
    name = designator_name(buffer)
    if name is None:
        return reference_contiguity(buffer, facts.scope)
    symbol = symbol_named(name, facts.scope)
    if symbol is None and isinstance(buffer, Component):  # behind a pointer
        declared = declarations_on_the_way(buffer, facts.scope)
        if declared is not None and is_scalar(buffer, facts.scope):
            return _is_scalar_component(declared[-1])
        return reference_contiguity(buffer, facts.scope)
    if symbol is None:
        return unknown("is not known to be a variable")
    if symbol.origin is Origin.PARAMETER:
        return unknown("is a constant")
    if symbol.origin in (Origin.PROCEDURE, Origin.INTRINSIC):
        return unknown("is a function, of which the result is sent")
    one = is_scalar(buffer, facts.scope) or (
        isinstance(buffer, Component) and not may_be_array(buffer, facts.scope)
    )
    if symbol.dims is None and buffer.args is None and one:
        return yes("is a scalar variable")
    return reference_contiguity(buffer, facts.scope)


def _is_scalar_component(declared: ComponentDeclaration) -> MayMustAnswer:
    if declared.decl.kind != "type":
        return unknown("is a procedure pointer")
    return yes("is a scalar variable")


def is_read(expr: Expr, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether the value that a call assigns to a variable may be read, in the unit or elsewhere."""
    if mpi_constant(expr, facts.scope) is not None:
        return False
    if not isinstance(expr, Ref):
        return True
    if not is_local_until_return(expr.name, facts):
        return True
    storage, reaching = storage_of(expr.name, facts.scope), facts.reaching
    point = reaching.graph.action(leaf)
    if point is None:
        return True
    given = [d for d in reaching.definitions(storage) if d.point == point]
    return not given or any(is_live_on_exit(one, facts) or reaching.def_use(one) for one in given)


def code_reader(error: Expr, leaf: Leaf, facts: UnitFacts) -> Leaf | None:
    """A statement of the unit that may read the error code that a call stores; None: only another
    unit may."""
    if not isinstance(error, Ref):
        return None
    storage, reaching = storage_of(error.name, facts.scope), facts.reaching
    point = reaching.graph.action(leaf)
    given = [d for d in reaching.definitions(storage) if d.point == point]
    uses = (use.leaf for one in given for use in reaching.def_use(one))
    return min((use for use in uses if use is not None), key=line_of, default=None)


def is_code_read(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> bool:
    """Whether anything may read the MPI_SUCCESS that a call would store, and the variable may have
    another value before."""
    error = call.error
    if not isinstance(error, Ref) or not is_read(error, leaf, facts):
        return False
    return not is_stored_before(leaf, call, facts)


def is_stored_before(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> bool:
    """Whether something may read the MPI_SUCCESS of a call, and others have stored it before."""
    error = call.error
    if not isinstance(error, Ref) or not is_read(error, leaf, facts):
        return False
    return facts.once(ErrorCodes).is_success_before(leaf, storage_of(error.name, facts.scope))


def is_code_lost(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> bool:
    """Whether somebody may read another value than MPI_SUCCESS if neither a call nor others that
    start or complete messages store their error codes any more.

    What stands in the variable before a call is enough if no such call has put it there, or if the
    variable had this value before that one, too: then it has it from a call that stays.
    """
    error = call.error
    if error is None or not is_read(error, leaf, facts):
        return False
    if facts.once(ErrorCodes).why_not(call) is not None or is_code_read(leaf, call, facts):
        return True
    assert isinstance(error, Ref)
    point = facts.reaching.graph.action(leaf)
    if point is None:
        return True
    storage, messages = storage_of(error.name, facts.scope), facts.once(Messages)
    for definition in facts.reaching.at(point, storage):
        other = None if definition.leaf is None else messages.call(definition.leaf)
        if definition.leaf is None or other is None or stage_of(other) not in _STAGES:
            continue
        if not facts.once(ErrorCodes).is_success_before(definition.leaf, storage):
            return True
    return False
