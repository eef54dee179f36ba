"""Statements that cannot move, whatever their neighbours are.

The form of a statement, directives, and effects can fix it (Danalis et al., ICS 2009, section 4:
the rules for control flow, and for unknown calls).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.call_graph.missing_sources import MissingSource, unknown_module
from asphalt.analysis.data_flow.passed_readings import why_reading_stays
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.loop_exits import (
    blocks_in,
    ends_a_loop,
    ends_inside,
    goes_on_inside,
    loops_in,
    loops_to,
)
from asphalt.analysis.dependence.threads import LoopThreads
from asphalt.analysis.directives.directives import only_accepts
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.memory.accesses import ALIASED, Effect, EffectKind
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.statement_accesses import CONCURRENT, FORALL, concurrent_indexes
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.messages.non_overtaking import MessageOrder
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.names.openmp_sentinels import is_threading
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.stmt import DoHead, Guarded
from asphalt.ir.tree import Leaf, Node, leaves

_PLAIN = frozenset({EffectKind.MPI, EffectKind.ASSUMED})
_LINES_THAT_STAY = OF_THE_PREPROCESSOR | {TriviaKind.CONDITIONAL, TriviaKind.DIRECTIVE}


@dataclass(eq=False)
class Placement:
    """Answers for one unit."""

    facts: UnitFacts
    messages: Messages

    def bound(self, node: Node) -> str | None:
        """Why a statement or construct cannot move, in parts or as a whole, whatever its neighbours
        are."""
        if id(node) not in self._bounds:
            self._bounds[id(node)] = node, self.fixed(node) or self._unknown_part(node)
        return self._bounds[id(node)][1]

    @cached_property
    def _bounds(self) -> dict[int, tuple[Node, str | None]]:
        return {}

    def stays(self, node: Node) -> str | None:
        """Why a statement or construct cannot move as a whole, whatever its neighbours are.

        Parallel loops move with their directives, lines for OpenMP alone with their sentinels, and
        lines that macros change with what stands there, where it means the same in all of the unit.
        """
        if id(node) not in self._staying:
            why = self._fixed_by(node, whole=True)
            reason = self._unknown_part(node) if why is None else why.why
            self._staying[id(node)] = node, reason
        return self._staying[id(node)][1]

    def stays_outside(self, node: Node) -> str | None:
        """``stays``; of a loop in a parallel region of several loops: why it keeps its place to
        what is outside of the region."""
        if not self.threads.threads.region_of(node):
            return self.stays(node)
        why = self._fixed_by(node, whole=True, region=True)
        return self._unknown_part(node) if why is None else why.why

    @cached_property
    def _staying(self) -> dict[int, tuple[Node, str | None]]:
        return {}

    def undivided(self, node: Node) -> str | None:
        """Why a statement or construct cannot be written several times, for some iterations each: a
        parallel loop can, with its directive."""
        one = next((one for one in self.threads.threads.loops if one.loop is node), None)
        if one is None:
            return self.bound(node)
        return self.threads.why_whole(one) or self.repeated(node)

    def repeated(self, node: Node) -> str | None:
        """Why a statement or construct cannot be written several times as it is."""
        frozen = next((leaf for leaf in leaves(node) if leaf.frozen and not leaf.is_hidden), None)
        return self.stays(node) if frozen is None else _from_macro(frozen)

    def fixed(self, node: Node) -> str | None:
        """Why a statement or construct cannot move, whatever its MPI calls do."""
        found = self.fixed_by(node)
        return None if found is None else found.why

    def fixed_by(self, node: Node) -> MissingSource | None:
        """The reason of ``fixed``, with the source that is missing, if one is."""
        return self._fixed_by(node, whole=False)

    def _fixed_by(self, node: Node, whole: bool, *, region: bool = False) -> MissingSource | None:
        why = self._form(node, whole, region)
        if why is not None:
            return MissingSource(why)
        volatile = self._volatile(node)
        if volatile is not None:
            return volatile
        for effect in self.facts.footprint(node).effects:
            if effect.kind in _PLAIN or goes_on_inside(effect, node):
                continue
            if effect.kind is EffectKind.CLOCK:
                why = why_reading_stays(effect, self.facts)
                if why is None:
                    continue
                return MissingSource(why)
            if not self._is_in_no_order(effect):
                return MissingSource(effect.described)
        return None

    def _is_in_no_order(self, effect: Effect) -> bool:
        """Whether an effect is only a DO CONCURRENT or FORALL, whose iterations are analysed
        together, and whose indexes are not named like variables of enclosing loops."""
        seen = effect.kind is EffectKind.OPAQUE and effect.detail in (CONCURRENT, FORALL)
        if not seen or effect.loops:
            return False
        what = effect.leaf.what
        while isinstance(what, Guarded) and what.kind == "if":
            what = what.action
        header = getattr(what, "condition", None)
        own = concurrent_indexes(header)
        outer = {
            loop_variable(loop)
            for node in self.facts.unit.body
            for loop in loops_in(node)
            if any(leaf is effect.leaf for leaf in leaves(loop))
        }
        return bool(own) and not own & outer

    def _form(self, node: Node, whole: bool, region: bool) -> str | None:
        """Why the form of a statement or construct, or its lines, fix it; ``region``: the others of
        its region keep their places to it."""
        unclear = self.threads.unclear
        if unclear is None and not (region and self.threads.threads.region_of(node)):
            unclear = self.threads.around(node)
        if unclear is not None:
            return unclear
        if whole:
            unclear = self.threads.why_unknown(node)
            if unclear is not None:
                return unclear
        parallel = {
            id(leaf)
            for one in (self.threads.threads.inside(node) if whole else ())
            for leaf in leaves(one.loop)
        }
        for leaf in leaves(node):
            where = f"line {line_of(leaf)}"
            skipped = self._skipped.get(id(leaf))
            if skipped is not None:
                return f"{where} is skipped by the directive in line {skipped}"
            stays = (t for t in leaf.lead if t.kind in _LINES_THAT_STAY and not is_conditional(t))
            stay = [t for t in stays if not (id(leaf) in parallel and is_threading(t))]
            if leaf.frozen and not leaf.is_hidden and not (whole and id(leaf) in self._verbatim):
                return _from_macro(leaf)
            if (leaf.frozen and not whole) or not all(only_accepts(t) for t in stay):
                return f"{where} has a directive or a preprocessor line"
            if leaf.joined or ";" in leaf.trail.split("!")[0]:
                return f"{where} has several statements"
            if leaf.label is not None and not ends_a_loop(leaf, node):
                return f"{where} has a label"
            if leaf.label is not None and self._loops_to[leaf.label] > loops_to(leaf.label, node):
                return f"{where} also ends the enclosing loop"
        for loop in loops_in(node):
            if loop.end is None and not ends_inside(loop):
                return f"the loop in line {line_of(loop.head)} has no end of its own"
        construct = next(blocks_in(node), None)
        if construct is not None:
            return f"the {construct.kind.upper()} construct in line {line_of(construct.head)}"
        return None

    def _volatile(self, node: Node) -> MissingSource | None:
        """Why a variable of a statement or construct may be volatile."""
        for access in self.facts.footprint(node).accesses:
            storage, shown = access.storage, access.storage
            if storage == ALIASED:
                storage, shown = next(iter(access.path), access.named or ""), access.spelled
            if not storage:
                continue
            owner, _, name = storage.split("%")[0].rpartition("::")
            symbol = self.facts.scope.lookup(name)
            if owner:  # a procedure may change what its caller does not use
                home = self.facts.scope.scopes.module(owner)
                symbol = symbol if home is None else home.own.get(name, symbol)
            where = f"line {line_of(access.leaf)}: {shown}"
            if symbol is None:
                unseen = unknown_module(name, self.facts.scope)
                why = "its declaration is missing" if unseen is None else unseen.why
                cause = None if unseen is None else unseen.cause
                return MissingSource(f"{where}: it may be volatile: {why}", cause)
            if "volatile" in symbol.attrs:
                return MissingSource(f"{where} is volatile")
        return None

    @cached_property
    def _skipped(self) -> dict[int, int]:
        """The calls with a skip directive, and their completions, each with the line of the
        directive."""
        found: dict[int, int] = {}
        for directive in TransferDirectives(self.facts.located).skipped_here:
            if directive.leaf is not None and self.messages.call(directive.leaf) is not None:
                found[id(directive.leaf)] = directive.line
                for other in self.messages.completion(directive.leaf) or ():
                    found.setdefault(id(other), directive.line)
        return found

    @cached_property
    def _verbatim(self) -> frozenset[int]:
        """The statements with macros whose text means the same wherever it stands in the unit: it
        is all of its line, and nothing there defines macros."""
        own = [leaf for node in self.facts.unit.body for leaf in leaves(node)]
        behind = [*own[1:], self.facts.unit.end]
        for leaf in (*own, self.facts.unit.end):
            if any(t.kind in OF_THE_PREPROCESSOR and not is_conditional(t) for t in leaf.lead):
                return frozenset()
        return frozenset(
            id(leaf)
            for leaf, following in zip(own, behind, strict=True)
            if leaf.frozen and leaf.body and "#" not in leaf.body
            if not leaf.joined and not following.joined
        )

    @cached_property
    def _loops_to(self) -> Counter[int]:
        """The number of loops of the unit that end with the statement of each label."""
        found: Counter[int] = Counter()
        for node in self.facts.unit.body:
            for leaf in leaves(node):
                if isinstance(leaf.what, DoHead) and leaf.what.label is not None:
                    found[leaf.what.label] += 1
        return found

    @cached_property
    def threads(self) -> LoopThreads:
        """The threads of the unit."""
        return LoopThreads(self.facts)

    @cached_property
    def _message_order(self) -> MessageOrder:
        return MessageOrder(self.facts, self.messages)

    def _unknown_part(self, node: Node) -> str | None:
        """An MPI effect that is not that of a call with a known stage."""
        calls = {id(leaf): call for leaf, call in self.messages.calls(node)}
        for effect in self.facts.footprint(node).effects:
            if effect.kind is not EffectKind.MPI:
                continue
            call = calls.get(id(effect.leaf))
            if call is not None and self._message_order.is_passed(call):
                continue
            if call is None or stage_of(call) in (Stage.OTHER, Stage.NOTHING):
                return effect.described + ("" if call is None else _with_files(call))
        return None


def _from_macro(leaf: Leaf) -> str:
    return f"the text of line {line_of(leaf)} comes from a macro or an included file"


def _with_files(call: MpiCall) -> str:
    """What keeps the order of a file operation and of messages."""
    accesses = library_row(call.procedure).accesses
    shared = any(access.store is Store.FILE for access in accesses)
    return ", for messages may order how ranks access files" if shared else ""
