"""The side effects of calls: a summary for each procedure, computed bottom-up in the call graph.

A procedure is *harmless* if it accesses nothing but its arguments (and reads named constants and
module variables).  Anything else is an effect with a name.  A procedure that is not in the tree may
do anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.argument_accesses import (
    anything,
    bound_arguments,
    is_procedure,
    may_be_copied,
    whole,
)
from asphalt.analysis.effects.array_flow import ArrayFlow, Flow, same_flow
from asphalt.analysis.effects.callee import ArgumentPart, Callee, SharedPart, same_elements
from asphalt.analysis.effects.element_arguments import section_of_element
from asphalt.analysis.effects.known_libraries import library_procedure
from asphalt.analysis.effects.predefined_calls import predefined_effect
from asphalt.analysis.effects.shared_storage import SharedVariable, is_exact, storages_in
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.effects.summary import Summary, is_reset_on_entry, least_summary, summarise
from asphalt.analysis.effects.summary_provenance import ProcedureKey as ProcedureKey
from asphalt.analysis.effects.summary_provenance import Trace, Traces, Tracing
from asphalt.analysis.effects.unit_names import UnitNames
from asphalt.analysis.memory.accesses import (
    ALIASED,
    CalledAccess,
    CallEffect,
    EffectKind,
    Mode,
    NameKind,
    NameSemantics,
    Subscript,
)
from asphalt.analysis.memory.forward_substitution import Values, constants_in
from asphalt.analysis.memory.invariant_frame import Frame
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.memory.storage import name_kind, storage_with_target
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.ir.expr import (
    AltReturn,
    Expr,
    Keyword,
    Ref,
    Section,
    argument_value,
    root_name,
)
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import leaves
from asphalt.support.fixpoint import Fixpoint

T = TypeVar("T")
_UNITS = 128  # of which results are kept
_NOWHERE = Summary(("no procedure",))  # that of no procedure, so that nothing is made from it


@record
class Known:
    """Summaries by procedure, and flows by procedure and storage, of one version of a program."""

    summaries: Mapping[ProcedureKey, Summary | None]
    flows: Mapping[tuple[ProcedureKey, str], Flow]

    @property
    def size(self) -> int:
        """The number of summaries and flows."""
        return len(self.summaries) + len(self.flows)


class Effects:
    """The side effects of the calls of one program; each procedure is analysed on demand.

    ``recall`` gives earlier results under the same assumptions that hold for this program; the
    first question calls it, and it may ask questions itself between one result and the next.
    ``elsewhere`` returns the effects of another program and a procedure of it that does the same,
    and so do all that it calls; ``with_same_summary`` one that has the same summary; None: there is
    none.  ``tracing`` stores summaries for other programs, whose procedures ``locate`` finds in
    this one.  ``why_not_alone``: why no condition of the preprocessor at a unit (its file, its
    names) excludes the calls of an MPI procedure that are not compiled here.  ``given``: those of
    the program of which this one is an edited text, if it is one; what no edit changes is asked
    there.
    """

    def __init__(
        self,
        scopes: Scopes,
        assumed: Assumed | None = None,
        recall: Callable[[], Iterable[Known]] = tuple,
        elsewhere: Callable[[ProcedureKey], tuple[Effects, Located] | None] = lambda key: None,
        tracing: Tracing | None = None,
        locate: Callable[[ProcedureKey], Located | None] = lambda key: None,
        with_same_summary: Callable[[ProcedureKey], tuple[Effects, Located] | None] = lambda key: (
            None
        ),
    ) -> None:
        self.scopes = scopes
        self._tracing = tracing or Tracing(Traces(), lambda key: False)
        self._locate = locate
        self._elsewhere = elsewhere
        self._with_same_summary = with_same_summary
        self._recall = recall
        self.assumed = assumed or Assumed()
        self.why_not_alone: Callable[[str, tuple[str, ...], str], str | None] | None = None
        self.given: Effects | None = None
        self._found: dict[Callable[[Effects], object], object] = {}
        self._of_units: dict[
            tuple[int, Callable[[Scope, Effects], object]], tuple[Scope, object]
        ] = {}
        self._located: dict[ProcedureKey, Located] = {}
        self._frames: dict[ProcedureKey, Frame] = {}
        self._summaries: Fixpoint[ProcedureKey, Summary | None] = Fixpoint(
            compute=self._summarise,
            least=lambda key: least_summary(self.scopes.of(self._located[key])),
            widened=lambda key, value: value,
            unknown=lambda key: None,
        )
        self._flows: Fixpoint[tuple[ProcedureKey, str], Flow] = Fixpoint(
            compute=lambda key: self._flow_of(*key),
            least=lambda key: self._least_flow(*key),
            widened=lambda key, value: Flow.anything(value.maybe.rank),
            unknown=lambda key: Flow.anything(self._rank(*key)),
            same=same_flow,
        )

    def once(self, find: Callable[[Effects], T]) -> T:
        """The result of ``find`` for the program, computed once; it depends on nothing else, and is
        not asked for while summaries are made."""
        if find not in self._found:
            self._found[find] = find(self)
        return cast(T, self._found[find])

    def once_for_all_texts(self, find: Callable[[Effects], T]) -> T:
        """The result of ``find`` for the program of which this one is an edited text, if it is one;
        of questions whose answers no edit changes."""
        return self.once(find) if self.given is None else self.given.once_for_all_texts(find)

    def forget(self) -> None:
        """Forget all results for units and for the program; what is known of procedures stays."""
        self._found.clear()
        self._of_units.clear()
        self._frames.clear()

    def has_found(self, find: Callable[[Effects], object]) -> bool:
        """Whether ``once`` knows the result of ``find``."""
        return find in self._found

    def once_for(self, scope: Scope, find: Callable[[Scope, Effects], T]) -> T:
        """The result of ``find`` for a unit of the program, computed once as long as not many
        other units are asked about in between: see ``once``."""
        key = id(scope), find
        if key not in self._of_units:
            if len(self._of_units) >= _UNITS:
                del self._of_units[next(iter(self._of_units))]
            self._of_units[key] = scope, find(scope, self)
        return cast(T, self._of_units[key][1])

    def names(self, scope: Scope) -> NameSemantics:
        """The names of a unit, with the effects of its calls."""
        if self._summaries.is_running or self._flows.is_running:
            return UnitNames(scope, self.call)
        return self.once_for(scope, _final_names)

    def summary(self, located: Located) -> Summary | None:
        """The summary of a procedure; None: a recursion whose effects could not be bounded."""
        self._recall_known()
        key = self.key(located)
        if not self._summaries.knows(key):
            found = self._elsewhere(key) or self._with_same_summary(key)
            if found is not None:
                effects, same = found
                self._summaries.recall({key: effects.summary(same)})
        value = self._summaries(key)
        self._tracing.answered(key, value)
        return value

    def summary_from_others(self, located: Located) -> Summary:
        """The summary that follows for a procedure from those of the procedures that it calls."""
        self._recall_known()
        return self._summarise(self.key(located))

    def inputs(self, key: ProcedureKey) -> tuple[ProcedureKey, ...] | None:
        """The procedures from whose summaries that of a procedure was made; None: it depends on
        more than these, or on what is not known."""
        return None if key in self._tracing.mixed else self._tracing.inputs.get(key)

    def evaluations(self, key: ProcedureKey) -> tuple[Trace, ...] | None:
        """All summaries that a procedure had on the way to its final one; None: they depend on more
        than others, or are not known."""
        return None if key in self._tracing.mixed else self._tracing.evaluations.get(key)

    def same_elsewhere(self, located: Located) -> tuple[Effects, Located] | None:
        """The effects of another program, and a procedure of it that does the same as this one,
        and so do all that it calls; None: there is none."""
        return self._elsewhere(self.key(located))

    def _summary_of(self, key: ProcedureKey) -> Summary | None:
        if self._summaries.knows(key):
            return self._summaries(key)
        located = self._located.get(key) or self._locate(key)
        return _NOWHERE if located is None else self.summary(located)

    def flow(self, located: Located, storage: str) -> Flow:
        """The regions of one of a procedure's dummies or shared variables, by its storage in the
        procedure, in terms of values on entry."""
        self._recall_known()
        self._tracing.untraced()
        key = self.key(located), storage
        if not self._flows.knows(key):
            found = self._elsewhere(key[0])
            if found is not None:
                effects, same = found
                self._flows.recall({key: effects.flow(same, storage)})
        return self._flows(key)

    @property
    def known(self) -> Known:
        """All final results so far."""
        return Known(self._summaries.final, self._flows.final)

    def _recall_known(self) -> None:
        recall, self._recall = self._recall, tuple
        for known in recall():
            self._summaries.recall(known.summaries)
            self._flows.recall(known.flows)

    def key(self, located: Located) -> ProcedureKey:
        """The key of a procedure."""
        key = (located.path, "/".join(unit.name for unit in located.chain))
        self._located.setdefault(key, located)
        return key

    def _summarise(self, key: ProcedureKey) -> Summary:
        return self._tracing.summary(key, self._summary_of, lambda: self._examined(key))

    def _examined(self, key: ProcedureKey) -> Summary:
        scope = self.scopes.of(self._located[key])
        names = self.names(scope)
        return summarise(scope, examine(scope.unit.body, names), names)

    def _frame(self, key: ProcedureKey) -> Frame:
        if key not in self._frames:
            scope = self.scopes.of(self._located[key])
            values = Values(scope, self.names(scope))
            self._frames[key] = Frame(values, values.footprint.written())
        return self._frames[key]

    def _flow_of(self, key: ProcedureKey, storage: str) -> Flow:
        frame = self._frame(key)
        scope, rank = frame.scope, self._rank(key, storage)
        if is_reset_on_entry(storage, scope):
            return Flow.anything(rank)
        flow = self._flow_of_body(key, storage)
        on_entry = evaluated_on_entry(scope, self.names(scope)).of(storage)
        if any(access.mode is Mode.READ for access in on_entry):
            return replace(flow, exposed=Flow.anything(rank).exposed)
        return flow

    def _flow_of_body(self, key: ProcedureKey, storage: str) -> Flow:
        frame, rank = self._frame(key), self._rank(key, storage)
        scope, names = frame.scope, self.names(frame.scope)
        first = next((leaf for node in scope.unit.body for leaf in leaves(node)), None)
        if first is None:
            return Flow.nothing(rank)
        shape = shape_of(storage, scope, frame.values, first)
        return ArrayFlow(storage, rank, names, frame, shape).of(scope.unit.body)

    def _least_flow(self, key: ProcedureKey, storage: str) -> Flow:
        rank = self._rank(key, storage)
        return Flow(Elements.none(rank), Elements.none(rank), Elements.all(rank))

    def _rank(self, key: ProcedureKey, storage: str) -> int:
        scope = self.scopes.of(self._located[key])
        if "::" in storage:
            owner, _, storage = storage.partition("::")
            scope = self.scopes.module(owner) or scope
        symbol = scope.lookup(storage)
        return 0 if symbol is None or symbol.dims is None else len(symbol.dims)

    def _bound(self, call: Call, scope: Scope) -> tuple[Callee | None, Mapping[str, Expr] | None]:
        """The called procedure, and the actual arguments by dummy."""
        found = invoked(call, scope)
        if found is None:
            callee = library_procedure(call, scope)
        else:
            callee, call = self._callee(found[0]), found[1]
        return callee, None if callee is None else bound_arguments(call, callee.summary.dummies)

    def _callee(self, located: Located) -> Callee | None:
        summary = self.summary(located)
        if summary is None:
            return None
        own = self.scopes.of(located)
        return Callee(
            summary,
            own,
            own.lookup,
            lambda storage: self.flow(located, storage),
            lambda expr: constants_in(expr, own),
        )

    def call(self, call: Call, scope: Scope) -> CallEffect:
        """The effects of a CALL statement or function reference, in terms of the caller."""
        known = predefined_effect(call, self.assumed, scope)
        if known is not None:
            return known
        callee, bound = self._bound(call, scope)
        if callee is None or bound is None:
            return anything(call, scope)
        accesses: list[CalledAccess] = []
        effects = list(callee.summary.effects)
        for dummy, actual in bound.items():
            found = list(self._argument(dummy, actual, bound, callee, scope))
            named = isinstance(actual, Ref) and actual.args is None
            if not found and isinstance(actual, Ref) and named and is_procedure(actual, scope):
                effects.append((EffectKind.UNKNOWN_CALL, f"procedure argument {actual.name}"))
            accesses += found
        for shared, mode in _shared_accesses(callee.summary):
            storages = storages_in(shared, scope)
            if storages is None:
                effects.append((EffectKind.STATE, shared.key))
            else:
                accesses += _reached(shared, mode, storages, callee, bound, scope)
        return CallEffect(tuple(accesses), tuple(effects))

    def writes_argument(self, call: Call, position: int, scope: Scope) -> bool:
        """Whether a call may change its actual argument at a position."""
        arg = argument_value(call.args[position])
        mpi = mpi_call(call, scope)
        if mpi is not None:
            return arg in mpi.defined(scope)
        callee, bound = self._bound(call, scope)
        if callee is None or bound is None:
            return True
        written = callee.summary.written
        return any(arg == actual and dummy in written for dummy, actual in bound.items())

    def _argument(
        self, dummy: str, actual: Expr, bound: Mapping[str, Expr], callee: Callee, scope: Scope
    ) -> Iterable[CalledAccess]:
        summary = callee.summary
        modes = [Mode.READ] if dummy in summary.read else []
        if dummy in summary.defined and isinstance(actual, Ref) and actual.args is None:
            modes = [Mode.WRITE]
        elif dummy in summary.written:
            modes.append(Mode.MAYBE_WRITE)
        copied = may_be_copied(actual, callee.symbol(dummy), scope)
        if copied and not {Mode.READ, Mode.WRITE} & set(modes):
            modes.insert(0, Mode.READ)  # a copy of all of it, which is written back
        if not isinstance(actual, Ref) or (
            name_kind(actual.name, actual.args is not None, scope) is not NameKind.VARIABLE
        ):
            for mode in modes:
                yield from whole(actual, mode, scope)
            return
        storage = storage_with_target(actual.name, scope)
        aliased = storage.split("%")[0] == ALIASED
        subscripts = self._subscripts_passed(dummy, actual, bound, callee, scope)
        once = sum(root_name(other) == actual.name for other in bound.values()) == 1
        symbol = scope.lookup(actual.name)
        parted = (
            once and not copied and not aliased and symbol is not None and symbol.dims is not None
        )
        told = storage != ALIASED or subscripts is not None
        named = actual.name if aliased and told else None
        for mode in modes:
            part = None
            if parted:
                part = ArgumentPart(callee, dummy, actual, bound, mode is not Mode.READ)
            yield CalledAccess(storage, mode, subscripts, part, named)

    def _subscripts_passed(
        self, dummy: str, actual: Ref, bound: Mapping[str, Expr], callee: Callee, scope: Scope
    ) -> tuple[Subscript, ...] | None:
        """The part of the actual argument with which the dummy is associated; None: unknown."""
        if actual.args is None:
            return None
        given = tuple(a for a in actual.args if not isinstance(a, Keyword | AltReturn))
        own, other = callee.symbol(dummy), scope.lookup(actual.name)
        if own is None or other is None or len(given) != len(actual.args):
            return None
        if own.dims is None or any(isinstance(a, Section) for a in given):
            return given
        if callee.scope is None or not same_elements(own, other, callee.scope, scope):
            return None
        return section_of_element(
            actual,
            own,
            bound,
            callee.scope,
            scope,
            lambda call, position: self.writes_argument(call, position, scope),
        )


def _final_names(scope: Scope, effects: Effects) -> NameSemantics:
    return UnitNames(scope, effects.call, {})


def _shared_accesses(summary: Summary) -> Iterable[tuple[SharedVariable, Mode]]:
    """The accesses to shared variables, reads first."""
    key = repr
    for shared in sorted(summary.shared_read, key=key):
        yield shared, Mode.READ
    for shared in sorted(summary.shared_written, key=key):
        yield shared, Mode.WRITE if shared in summary.shared_defined else Mode.MAYBE_WRITE


def _reached(
    shared: SharedVariable,
    mode: Mode,
    storages: tuple[str, ...],
    callee: Callee,
    bound: Mapping[str, Expr],
    scope: Scope,
) -> Iterable[CalledAccess]:
    for storage in storages:
        exact = is_exact(shared, storage, scope)
        own_mode = Mode.MAYBE_WRITE if mode is Mode.WRITE and not exact else mode
        own = shared.key if shared.kind == "module" else shared.name
        part = None
        if shared.path:
            found = storage if storage == ALIASED else "%".join((storage, *shared.path))
            yield CalledAccess(found if exact else storage, own_mode)
            continue
        if exact and own is not None and storage != ALIASED and own_mode is not Mode.WRITE:
            part = SharedPart(callee, own, bound, mode is not Mode.READ)
        yield CalledAccess(storage, own_mode, None, part)
