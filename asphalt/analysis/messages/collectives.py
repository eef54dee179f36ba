"""Collective operations that may become non-blocking: all ranks enter them from the same call.

A blocking collective operation does not match a non-blocking one (MPI-4.0 section 6.12), so that a
call may only change its form if no rank can be in another call instead.  And another algorithm of a
reduction may add in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.uncalled import is_uncalled
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in, mpi_constant
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.mpi.mentions import mpi_mentions
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing, procedure, table
from asphalt.analysis.mpi.reductions import ORDER_FREE_REDUCTIONS, PREDEFINED_REDUCTIONS
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.uniformity.uniformity import Level, Uniformity
from asphalt.config.assumptions import UNIFORM
from asphalt.ir.program import Located, MpiMention
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, leaves


def nonblocking_form(blocking: MpiProcedure) -> MpiProcedure | None:
    """The procedure that starts a blocking collective operation with buffers."""
    if not blocking.collective or blocking.timing is not Timing.BLOCKING:
        return None
    form = table().get(blocking.name.replace("mpi_", "mpi_i", 1))
    if form is None or not form.collective or not library_row(blocking).transfers:
        return None
    given = tuple(p.name for p in form.parameters if p.kind != "REQUEST")
    return form if given == tuple(p.name for p in blocking.parameters) else None


@record
class Together:
    """Whether all ranks reach each call of an operation in a program, and equally often.

    ``why_not``: why ranks may enter the operation from different calls; None: they do not.
    ``unproved``: only a proof is missing, and no call is known to depend on the rank.
    ``assumed``: what the proof assumes.
    """

    why_not: str | None
    unproved: bool = False
    assumed: tuple[str, ...] = ()


def together(facts: UnitFacts, call: MpiCall) -> Together:
    """Whether all ranks reach each call of an operation, and equally often.

    One call at a uniform place is not enough: one rank may be in a call of the operation before it,
    and the others in a call after it.  So the answer is the same for all calls of an operation in a
    unit, and looked for once.
    """
    answers = facts.once(_answers)
    key = call.operation, call.procedure.name
    if key not in answers:
        answers[key] = _together(facts, call)
    return answers[key]


def _answers(facts: UnitFacts) -> dict[tuple[str, str], Together]:
    """Those of ``together`` for a unit, by operation."""
    return {}


def _together(facts: UnitFacts, call: MpiCall) -> Together:
    program = facts.scope.program
    if facts.uniformity is None:
        return Together("the ranks that reach this call are unknown")
    known = facts.effects.once(_Collectives)
    if known.shared_memory is not None:
        return Together(known.shared_memory)
    mentions = [m for m in program.mpi_calls() if _is(m.operation, call.procedure)]
    hidden = _not_compiled(facts, call, mentions)
    if hidden is not None:
        return Together(hidden)
    mentions = [m for m in mentions if m.live]
    names = sorted({mention.operation for mention in mentions})
    units = [located for name in names for located in program.mentions(name)]
    executed = tuple(not is_uncalled(one, facts.once_called, program) for one in units)
    key = facts.uniformity, call.operation, call.procedure.name, executed
    if key not in known.together:
        asked = call.operation, mentions, zip(units, executed, strict=True)
        known.together[key] = _of_program(facts.uniformity, facts.effects.scopes, *asked)
    return known.together[key]


class _Collectives:
    """What is known of the collective operations of a program.

    ``shared_memory``: why ranks may share memory.  ``together``: whether all ranks reach an
    operation together, by what is known of values and the units that count as executed.
    """

    def __init__(self, effects: Effects) -> None:
        self.shared_memory = _shared_memory(effects.scopes)
        self.together: dict[tuple[Uniformity, str, str, tuple[bool, ...]], Together] = {}


def _of_program(
    uniformity: Uniformity,
    scopes: Scopes,
    operation: str,
    mentions: Sequence[MpiMention],
    units: Iterable[tuple[Located, bool]],
) -> Together:
    """Whether all ranks reach each call of an operation, for all units of the program alike.

    ``mentions``: of the operation.  ``units``: those that mention it, each with whether it is
    executed.
    """
    seen: set[tuple[str, int, int]] = set()  # there may be several in a line
    unproved: Together | None = None
    assumed: set[str] = set()
    for located, executed in units:
        scope = scopes.of(located)
        for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
            found = mpi_call_in(leaf, scope)
            if found is None or found.operation != operation or leaf.span is None:
                continue
            seen.add((located.path, leaf.span.first, leaf.span.first_col))
            if located.chain[0].name in RUNTIME_MODULES:  # all ranks come there together
                continue
            if not executed or _is_alone(found, scope):
                continue
            where = f"the call in {located.path}:{leaf.span.first}"
            answer = _reached(uniformity, scope, leaf, found, where)
            if answer.why_not is not None and not answer.unproved:
                return answer
            unproved = unproved or (None if answer.why_not is None else answer)
            assumed.update(answer.assumed)
    understood = Counter((path, line) for path, line, _ in seen)
    there = Counter((m.path, m.line) for m in mentions)
    missed = next((m for m in mentions if understood[m.path, m.line] < there[m.path, m.line]), None)
    if missed is not None:
        return Together(f"{missed.path}:{missed.line} is not understood")
    return unproved or Together(None, assumed=tuple(sorted(assumed)))


def _is_alone(call: MpiCall, scope: Scope) -> bool:
    """Whether no other rank takes part in a collective call, so that it matches no call but
    itself (MPI-4.0 section 6.2.4)."""
    comm = call.args.get("comm")
    return comm is not None and mpi_constant(comm, scope) == "mpi_comm_self"


def _reached(
    uniformity: Uniformity, scope: Scope, leaf: Leaf, call: MpiCall, where: str
) -> Together:
    judgement = uniformity.reached(scope, leaf, call.args.get("comm"))
    if judgement.level is not Level.UNIFORM:
        why = f"it is not proved that all ranks reach {where} ({judgement.evidence})"
        return Together(why, unproved=judgement.level is Level.UNKNOWN)
    open_ones = [a for a in judgement.assumptions if a.partition(":")[0] != UNIFORM.word]
    if open_ones:
        return Together(f"all ranks reach {where} only with {', '.join(open_ones)}")
    return Together(None, assumed=judgement.assumptions)


def _not_compiled(facts: UnitFacts, call: MpiCall, mentions: list[MpiMention]) -> str | None:
    """The call of an operation that other configurations compile, if no condition of the
    preprocessor around what changes here can exclude these."""
    hidden = [m for m in mentions if not m.live]
    if not hidden:
        return None
    other, why = next((m for m in hidden if not m.removed), None), ""
    if other is None:
        chain = tuple(unit.name for unit in facts.located.chain)
        ask = facts.effects.why_not_alone
        found = "" if ask is None else ask(facts.located.path, chain, call.procedure.name)
        if found is None:
            return None
        other, why = hidden[0], found and f"; {found}"
    what = f"calls {call.procedure.spelled} in text that this configuration does not compile"
    return f"{other.path}:{other.line} {what}{why}"


def _is(operation: str, wanted: MpiProcedure) -> bool:
    found = procedure(operation)
    return found is not None and found.name == wanted.name


def _shared_memory(scopes: Scopes) -> str | None:
    """Whether other ranks may write what a rank reads, with a collective operation as
    synchronisation."""
    for mention in mpi_mentions(scopes):
        found = procedure(mention.operation)
        if found is None:
            return f"{mention.operation} is not known"
        if any(parameter.kind == "WINDOW" for parameter in found.parameters):
            return f"ranks share memory ({found.spelled})"
    return None


def why_other_digits(facts: UnitFacts, call: MpiCall) -> str | None:
    """Why another algorithm may give other results; None: it does not, or there is no reduction."""
    for parameter, actual in call.bound():
        if parameter.kind != "OPERATION":
            continue
        operation = mpi_constant(actual, facts.scope)
        if operation in ORDER_FREE_REDUCTIONS:
            return None
        types = [datatype_of(a, facts.scope) for p, a in call.bound() if p.kind == "DATATYPE"]
        exact = all(known is not None and known.family == "integer" for known in types)
        if operation in PREDEFINED_REDUCTIONS and exact:
            return None
        return "the order in which the ranks' values are combined may change"
    return None


def is_predefined_reduction(facts: UnitFacts, call: MpiCall) -> bool:
    """Whether a reduction calls no procedure of the user."""
    return all(
        mpi_constant(actual, facts.scope) in PREDEFINED_REDUCTIONS
        for parameter, actual in call.bound()
        if parameter.kind == "OPERATION"
    )
