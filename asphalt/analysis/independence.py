"""Whether two neighbouring statements may change places, MPI calls included.

Danalis et al., ICS 2009, section 4: the sets USE and DEF of both calls (table 1), the effects in
the library (table 2), and the rules for control flow.  Beyond the paper: nothing that completes a
transfer comes before something that starts one and stood in front of it, so that whatever another
rank waits for still happens before this rank waits itself; a program that cannot deadlock under any
buffering stays so.

Two statements of one statement list, one behind the other, are executed equally often, each time
one after the other, if nothing leaves the list between them; that is the rule of dominance of the
paper for all moves within a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from asphalt.analysis.access import (
    ALIASED,
    CONCURRENT,
    FORALL,
    Access,
    Effect,
    EffectKind,
    Mode,
    concurrent_indexes,
)
from asphalt.analysis.conditional_lines import conditional_statements
from asphalt.analysis.conditions.visible_effects import sentinel_of
from asphalt.analysis.conflicts import Conflict, LookedAt
from asphalt.analysis.constants import constant, is_open
from asphalt.analysis.directives import only_accepts
from asphalt.analysis.error_codes import ErrorCodes, tested
from asphalt.analysis.known_limits import KnownLimits
from asphalt.analysis.loop_ends import (
    blocks_in,
    ends_a_loop,
    ends_inside,
    goes_on_inside,
    loops_in,
    loops_to,
)
from asphalt.analysis.messages import Envelope, Messages, Part, Way, part_of
from asphalt.analysis.mpi_call import MpiCall, mpi_constant
from asphalt.analysis.mpi_library import Store, library_row, needs_the_receive
from asphalt.analysis.mpi_table import table
from asphalt.analysis.regions import Region, loop_variable
from asphalt.analysis.sets import Problem
from asphalt.analysis.symbols import Scope, Scopes
from asphalt.analysis.temporaries import Temporaries
from asphalt.analysis.transfer_directives import TransferDirectives
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.analysis.unseen import Unseen, unseen_module
from asphalt.analysis.wildcards import takes_any_source, takes_any_tag
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, DoHead, Guarded
from asphalt.ir.tree import Node, leaves

_PLAIN = frozenset({EffectKind.MPI, EffectKind.ASSUMED})
_LINES_THAT_STAY = frozenset(
    {TriviaKind.CPP, TriviaKind.CONDITIONAL, TriviaKind.DEAD, TriviaKind.DIRECTIVE}
)
_WILDCARDS = frozenset({"mpi_any_source", "mpi_any_tag"})


class Independence:
    """Answers for one unit."""

    def __init__(self, facts: UnitFacts, messages: Messages) -> None:
        self.facts = facts
        self.messages = messages

    @classmethod
    def of(cls, facts: UnitFacts) -> Independence:
        """The answers for a unit (``facts.once`` keeps them)."""
        return cls(facts, facts.once(Messages))

    def why_not(self, first: Node, second: Node) -> str | None:
        """Why ``second``, the next sibling of ``first``, may not be executed before it; None: it
        may."""
        key = (id(first), id(second))
        if key not in self._answers:  # the nodes are kept, so that no other gets their ids
            self._answers[key] = (first, second, self._why_not(first, second))
        return self._answers[key][2]

    def _why_not(self, first: Node, second: Node) -> str | None:
        for node in (first, second):
            reason = self.bound(node)
            if reason is not None:
                return reason
        return self._messages(first, second) or self._data(first, second)

    @cached_property
    def _answers(self) -> dict[tuple[int, int], tuple[Node, Node, str | None]]:
        return {}

    def bound(self, node: Node) -> str | None:
        """Why a statement or construct has to stay where it is, whatever stands beside it."""
        if id(node) not in self._bounds:
            self._bounds[id(node)] = node, self.fixed(node) or self._unknown_part(node)
        return self._bounds[id(node)][1]

    @cached_property
    def _bounds(self) -> dict[int, tuple[Node, str | None]]:
        return {}

    def fixed(self, node: Node) -> str | None:
        """Why a statement or construct has to stay, whatever its MPI calls do."""
        found = self.fixed_by(node)
        return None if found is None else found.why

    def fixed_by(self, node: Node) -> Unseen | None:
        """The same, with the module of which nothing is known, if that is why."""
        why = self._form(node)
        if why is not None:
            return Unseen(why)
        volatile = self._volatile(node)
        if volatile is not None:
            return volatile
        for effect in () if self.is_idle(node) else self.facts.footprint(node).effects:
            if effect.kind in _PLAIN or goes_on_inside(effect, node):
                continue
            if not self._is_in_no_order(effect):
                return Unseen(f"line {line_of(effect.leaf)}: {effect.kind.value} ({effect.detail})")
        return None

    def _is_in_no_order(self, effect: Effect) -> bool:
        """Whether an effect is but a DO CONCURRENT or FORALL whose indexes have not the names of
        variables of loops around it: what its iterations do is seen, all together."""
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

    def _form(self, node: Node) -> str | None:
        """Why a statement or construct has to stay for what it is, and what stands beside it."""
        if self._unit is not None:
            return self._unit
        for leaf in leaves(node):
            where = f"line {line_of(leaf)}"
            skipped = self._skipped.get(id(leaf))
            if skipped is not None:
                return f"{where} is skipped by the directive in line {skipped}"
            stay = (t for t in leaf.lead if t.kind in _LINES_THAT_STAY)
            if leaf.frozen or not all(only_accepts(t) for t in stay):
                return f"{where} has a directive or a preprocessor line"
            if leaf.joined or ";" in leaf.trail.split("!")[0]:
                return f"{where}: several statements on one line"
            if leaf.label is not None and not ends_a_loop(leaf, node):
                return f"{where} has a label"
            if leaf.label is not None and self._loops_to[leaf.label] > loops_to(leaf.label, node):
                return f"{where} ends the loop around it, too"
        for loop in loops_in(node):
            if loop.end is None and not ends_inside(loop):
                return f"line {line_of(loop.head)}: a loop that ends with another statement"
        construct = next(blocks_in(node), None)
        if construct is not None:
            return f"line {line_of(construct.head)}: {construct.kind} construct"
        return None

    def _volatile(self, node: Node) -> Unseen | None:
        """Why a variable of a statement or construct may be volatile."""
        for access in self.facts.footprint(node).accesses:
            if access.storage == ALIASED:
                continue
            name = access.storage.split("::")[-1]
            symbol = self.facts.scope.lookup(name)
            where = f"line {line_of(access.leaf)}: {access.storage}"
            if symbol is None:
                unseen = unseen_module(name, self.facts.scope)
                why = "nothing is seen that declares it" if unseen is None else unseen.why
                module = None if unseen is None else unseen.module
                return Unseen(f"{where} may be volatile: {why}", module)
            if "volatile" in symbol.attrs:
                return Unseen(f"{where} is volatile")
        return None

    @cached_property
    def _skipped(self) -> dict[int, int]:
        """The calls that directives leave as they are, with what completes them, each with the line
        of the directive."""
        found: dict[int, int] = {}
        for directive in TransferDirectives(self.facts.located).skipped_here:
            if directive.leaf is not None and self.messages.call(directive.leaf) is not None:
                found[id(directive.leaf)] = directive.line
                for other in self.messages.completion(directive.leaf) or ():
                    found.setdefault(id(other), directive.line)
        return found

    @cached_property
    def _loops_to(self) -> Counter[int]:
        """How many loops of the unit end with the statement of each label."""
        found: Counter[int] = Counter()
        for node in self.facts.unit.body:
            for leaf in leaves(node):
                if isinstance(leaf.what, DoHead) and leaf.what.label is not None:
                    found[leaf.what.label] += 1
        return found

    @cached_property
    def _unit(self) -> str | None:
        for leaf, text in conditional_statements(self.facts.unit):
            return f"line {line_of(leaf)}: what this does under OpenMP is not looked at: {text}"
        for leaf in leaves(self.facts.unit):
            for trivia in leaf.lead:
                sentinel = sentinel_of(trivia)
                if sentinel is not None:
                    return f"line {line_of(leaf)}: a directive: {sentinel}"
        return None

    def _unknown_part(self, node: Node) -> str | None:
        """An MPI effect that is not that of a call whose part in transfers is known."""
        if self.is_idle(node):
            return None
        known = {id(leaf): part_of(call) for leaf, call in self.messages.calls(node)}
        for effect in self.facts.footprint(node).effects:
            if effect.kind is EffectKind.MPI and known.get(id(effect.leaf), Part.OTHER) in (
                Part.OTHER,
                Part.NOTHING,
            ):
                return f"line {line_of(effect.leaf)}: {effect.detail}"
        return None

    # Messages

    def calls_between(self, first: Node, second: Node) -> str | None:
        """Why the MPI calls of two statements keep their order, whatever data they touch; None:
        they need not."""
        return self._messages(first, second)

    def is_idle(self, node: Node) -> bool:
        """Whether a statement or construct would only do something in case of an error, which does
        not come back."""
        return self.facts.once(ErrorCodes).is_idle(node)

    def _messages(self, first: Node, second: Node) -> str | None:
        if self.is_idle(first) or self.is_idle(second):
            return None
        for leaf, one in self.messages.calls(first):
            for other_leaf, other in self.messages.calls(second):
                reason = self._calls(one, other)
                if reason is not None:
                    return f"lines {line_of(leaf)} and {line_of(other_leaf)}: {reason}"
        return None

    def _calls(self, one: MpiCall, other: MpiCall) -> str | None:
        before, after = part_of(one), part_of(other)
        if Part.NOTHING in (before, after):
            return None
        if Part.OTHER in (before, after):
            return f"{one.procedure.spelled} and {other.procedure.spelled} keep their order"
        if one.procedure.collective and other.procedure.collective:
            return "collective operations keep their order"
        if self._ready is not None and self._posts(one) and Part.COMPLETE is not after:
            return self._ready
        if before in (Part.START, Part.BOTH) and after in (Part.COMPLETE, Part.BOTH):
            return "a wait before something that another rank may wait for"
        if after in (Part.START, Part.BOTH) and before in (Part.COMPLETE, Part.BOTH):
            reason = self.depends_on_time
            if reason is not None:
                return reason
        return self.overtaking(one, other)

    def overtaking(self, one: MpiCall, other: MpiCall) -> str | None:
        """Whether messages of both may have one envelope, so that they must not change places."""
        if Part.COMPLETE in (part_of(one), part_of(other)):
            return None
        mine, theirs = self.messages.envelopes(one), self.messages.envelopes(other)
        if mine is None or theirs is None:
            return "a message whose envelope is not known"
        for a in mine:
            for b in theirs:
                if a.way is b.way and not self._differ(a, b):
                    return "two messages that may be known by the same rank, tag and communicator"
        return None

    def _differ(self, a: Envelope, b: Envelope) -> bool:
        """Whether two messages of one way certainly differ in rank or tag.

        Wildcards are equal to anything, and other communicators may be the same one.  Where a
        receive takes any tag, it takes what was sent first.
        """
        compared = [(a.peer, b.peer)]
        if a.way is Way.IN or not self._takes_any_tag:
            compared.append((a.tag, b.tag))
        for one, other in compared:
            if self.wildcard(one) or self.wildcard(other):
                continue
            mine, theirs = (self.facts.values.constants(e).value for e in (one, other))
            if mine is not None and theirs is not None and mine != theirs:
                return True
        return False

    def wildcard(self, expr: Expr) -> bool:
        """Whether a rank or a tag may be one that stands for all."""
        constant = mpi_constant(expr, self.facts.scope)
        if constant is not None:
            return constant in _WILDCARDS
        value = self.facts.values.constants(expr).value
        return value is not None and value < 0

    @cached_property
    def _takes_any_tag(self) -> bool:
        return takes_any_tag(self.facts.scope.program)

    @staticmethod
    def _posts(call: MpiCall) -> bool:
        """Whether a call starts a receive."""
        return any(a.store is Store.INCOMING for a in library_row(call.procedure).accesses)

    @cached_property
    def _ready(self) -> str | None:
        """Whether a send of the program is only right behind its receive (MPI-4.0 section 3.4)."""
        for mention in self.facts.scope.program.mpi_calls():
            procedure = table().get(mention.operation)
            if procedure is not None and needs_the_receive(procedure):
                return f"{procedure.spelled} relies on a receive that was started before"
        return None

    @cached_property
    def depends_on_time(self) -> str | None:
        """Why the order in which operations of *different* ranks are started may matter.

        Where every receive names its source, which message a receive gets follows from the order
        of the sends of each rank and of the receives of each rank alone.
        """
        program = self.facts.scope.program
        if takes_any_source(program):
            return "the program receives from any source, so that orders between ranks may matter"
        if self._ready is not None:
            return self._ready
        for mention in program.mpi_calls():
            procedure = table().get(mention.operation.removeprefix("p"))
            procedure = procedure or table().get(mention.operation)
            if procedure is None:
                return f"{mention.operation} is not known"
            stores = {access.store for access in library_row(procedure).accesses}
            if stores & {Store.WINDOW, Store.FILE}:
                return f"ranks share memory or files ({procedure.spelled})"
        return None

    # Data

    def _data(self, first: Node, second: Node) -> str | None:
        conflict = next(self._conflicts(first, second), None)
        return None if conflict is None else conflict.reason

    def sizes_for(self, first: Node, second: Node) -> frozenset[str] | None:
        """The named constants that have to be positive, as they are now, for ``second`` to be
        executed before ``first``; None: that is not enough."""
        if self.bound(first) or self.bound(second) or self._messages(first, second):
            return None
        needed: frozenset[str] = frozenset()
        for conflict in self._conflicts(first, second):
            sizes = conflict.sizes(self.is_positive)
            if sizes is None:
                return None
            needed |= sizes
        return needed

    def data_apart(self, first: Node, second: Node, besides: frozenset[str]) -> bool:
        """Whether two statements have no data in common that keep them in order, but storages
        ``besides``, as long as some named constants stay positive."""
        return all(
            (conflict.first is not None and conflict.first.storage in besides)
            or conflict.sizes(self.is_positive) is not None
            for conflict in self._conflicts(first, second)
        )

    def is_positive(self, name: str) -> bool:
        """Whether a name is that of a named constant which may have any value, and has a positive
        one now."""
        if not is_open(Ref(name, name), self.facts.scope):
            return False
        value = constant(Ref(name, name), self._of_these_sizes)
        return value is not None and value > 0

    @cached_property
    def _of_these_sizes(self) -> Scope:
        """The names of the unit where constants have the values that they have now."""
        return Scopes(self.facts.scope.program).of(self.facts.located)

    def _conflicts(self, first: Node, second: Node) -> Iterator[Conflict]:
        """The conflicts of two statements, each found when it is first asked for."""
        key = (id(first), id(second))
        if key not in self._looked_at:
            rest = self._conflicts_of(first, second)
            self._looked_at[key] = LookedAt(first, second, [], rest)
        looked_at = self._looked_at[key]
        yield from looked_at.found
        for conflict in looked_at.rest:
            looked_at.found.append(conflict)
            yield conflict

    @cached_property
    def _looked_at(self) -> dict[tuple[int, int], LookedAt]:
        return {}

    def _conflicts_of(self, first: Node, second: Node) -> Iterator[Conflict]:
        mine, theirs = self.accesses(first), self.accesses(second)
        if mine is None or theirs is None:
            yield Conflict("it is not known which buffers a wait releases")
            return
        yield from self._conflicting(first, second, mine, theirs)

    def meeting(
        self, first: Node, second: Node, mine: tuple[Access, ...], theirs: tuple[Access, ...]
    ) -> tuple[Access, Access] | None:
        """Two of these accesses of two statements that keep them in order, whatever sizes are
        positive; None: they may change places."""
        for conflict in self._conflicting(first, second, mine, theirs):
            pair = conflict.first, conflict.second
            if pair[0] and pair[1] and conflict.sizes(self.is_positive) is None:
                return pair[0], pair[1]
        return None

    def _conflicting(
        self, first: Node, second: Node, mine: tuple[Access, ...], theirs: tuple[Access, ...]
    ) -> Iterator[Conflict]:
        changing = frozenset(a.storage for a in (*mine, *theirs) if a.writes)
        start = next(leaves(first))
        region = Region(self.facts.values, start, changing, None, self.limits.at(start))
        for a in mine:
            for b in theirs:
                if not (a.writes or b.writes) or not a.meets(b):
                    continue
                if not a.path and self.is_temporary(a.storage, first, second):
                    continue
                if region.conflict(a, b, _any_order) is not None:
                    line = line_of(a.leaf), line_of(b.leaf)
                    reason = f"lines {line[0]} and {line[1]}: {a.object}"
                    why = None if a.path else self._temporaries.why_not(a.storage, first, second)
                    reason += "" if why is None else f" ({why})"
                    yield Conflict(reason, region, a, b)

    @cached_property
    def limits(self) -> KnownLimits:
        """What is known of sizes."""
        return KnownLimits.of(self.facts, self.messages)

    def is_temporary(self, storage: str, first: Node, second: Node) -> bool:
        """Whether two statements may change places although both give a variable values: see
        ``temporaries``."""
        return self._temporaries.between(storage, first, second)

    @cached_property
    def _temporaries(self) -> Temporaries:
        return Temporaries(self.facts, self.accesses)

    def accesses(self, node: Node) -> tuple[Access, ...] | None:
        """All that a statement reads and writes, the buffers of transfers that it starts or
        completes included; None: not known."""
        if id(node) not in self._accesses:
            self._accesses[id(node)] = (node, self._accesses_of(node))
        return self._accesses[id(node)][1]

    @cached_property
    def _accesses(self) -> dict[int, tuple[Node, tuple[Access, ...] | None]]:
        return {}

    def _accesses_of(self, node: Node) -> tuple[Access, ...] | None:
        if self.is_idle(node):
            head = next(leaves(node))
            test = replace(head, what=ArmHead("if", tested(node)))
            return tuple(replace(a, leaf=head) for a in self.facts.footprint(test).accesses)
        found: list[Access] = []
        buffers: dict[int, set[tuple[str, tuple[str, ...], Mode]]] = {}
        for leaf, call in self.messages.calls(node):
            part = part_of(call)
            if part is Part.COMPLETE:
                pending = self.messages.pending(leaf)
                if pending is None:
                    return None
                found += pending
            exact = self.messages.touched(leaf, call)
            if exact is not None:
                buffers[id(leaf)] = {(a.storage, a.path, a.mode) for a in exact}
                found += exact
        for access in self.facts.footprint(node).accesses:
            known = buffers.get(id(access.leaf), set())
            if (access.storage, access.path, access.mode) not in known:
                found.append(access)
        return tuple(found)


def _any_order(problem: Problem, then: Mapping[str, str], later: Mapping[str, str]) -> None:
    """No iteration of one comes before one of the other: all are compared."""
    del problem, then, later
