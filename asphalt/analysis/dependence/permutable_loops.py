"""Whether the iterations of some loops of a nest may be executed in any order.

They may if no two of them access an element with at least one write, except in variables that are
private to an iteration: each iteration defines them before it reads them, and nothing reads their
last values.
"""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.data_flow.temporaries import is_dead_after, is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.effects.array_flow import ArrayFlow
from asphalt.analysis.memory.accesses import Access, Effect, EffectKind
from asphalt.analysis.memory.invariant_frame import Frame
from asphalt.analysis.memory.loop_scalars import upward_exposed
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.stmt import Guarded, Jump, JumpKind
from asphalt.ir.tree import Do, Node

_UNKNOWN, _APART, _MEETS = range(3)


def region_of(nest: Do, facts: UnitFacts) -> Region:
    """The nest as a region."""
    writes = tuple(a for a in facts.footprint(nest).accesses if a.writes)
    return Region(facts.values, nest.head, frozenset(a.storage for a in writes), writes)


def why_ordered(
    chain: tuple[Do, ...],
    loops: tuple[Do, ...],
    facts: UnitFacts,
    apart: frozenset[str] = frozenset(),
) -> str | None:
    """Why iterations of some ``loops`` of a nest must keep their order; None: they need not.

    ``chain``: the nest's loops from the outermost to the innermost of ``loops``, perfectly nested.
    ``apart``: storages of which each iteration is known to access elements of its own.
    """
    return facts.once(_Orders).why(chain, loops, apart)


class _Orders:
    """The iterations of the nests of one unit; what is found out about them is kept, since there
    are many ways to divide one nest."""

    def __init__(self, facts: UnitFacts) -> None:
        self._facts = facts
        self._why: dict[tuple[object, ...], tuple[tuple[Do, ...], str | None]] = {}
        self._private: dict[tuple[object, ...], tuple[tuple[Do, ...], bool]] = {}
        self._nests: dict[int, Do] = {}
        self._met: dict[tuple[int, int], bytearray] = {}

    def why(
        self, chain: tuple[Do, ...], loops: tuple[Do, ...], apart: frozenset[str]
    ) -> str | None:
        """The same for one of its nests."""
        key = _identities(chain), _identities(loops), apart
        if key not in self._why:  # the loops are kept, so that no others get their identities
            self._why[key] = (*chain, *loops), self._found(chain, loops, apart)
        return self._why[key][1]

    def _found(
        self, chain: tuple[Do, ...], loops: tuple[Do, ...], apart: frozenset[str]
    ) -> str | None:
        facts, nest = self._facts, chain[0]
        accesses, region = facts.footprint(nest).accesses, region_of(nest, facts)
        own = frozenset(
            facts.names.storage(name) for loop in chain if (name := loop_variable(loop))
        )
        for storage in sorted(own):
            if not (is_local(storage, facts) and is_dead_after(storage, nest, facts)):
                return f"{storage} may be read after the loops"
        for number, a in enumerate(accesses):
            for other, b in enumerate(accesses):
                if not a.conflicts(b) or a.storage in own | apart:
                    continue
                if not a.path and self._passes_nothing_on(a.storage, chain):
                    continue
                for loop in loops:
                    if self._meets_later(region, (number, other), loop, nest):
                        lines = f"lines {line_of(a.leaf)} and {line_of(b.leaf)}"
                        name = loop_variable(loop)
                        return f"{lines}: one iteration over {name} may need {a.object} of another"
        return None

    def _passes_nothing_on(self, storage: str, chain: tuple[Do, ...]) -> bool:
        key = storage, _identities(chain)
        if key not in self._private:
            self._private[key] = chain, is_private(storage, chain, self._facts)
        return self._private[key][1]

    def _meets_later(self, region: Region, pair: tuple[int, int], loop: Do, nest: Do) -> bool:
        """The same for two of the accesses of a nest, whose answers take a byte each."""
        accesses, (one, other) = self._facts.footprint(nest).accesses, pair
        key = id(nest), id(loop)
        if key not in self._met:
            self._nests[id(nest)] = nest
            self._met[key] = bytearray(len(accesses) ** 2)
        known, place = self._met[key], one * len(accesses) + other
        if known[place] == _UNKNOWN:
            meets = _meets_later(accesses[one], accesses[other], loop, region)
            known[place] = _MEETS if meets else _APART
        return known[place] == _MEETS


def _identities(loops: tuple[Do, ...]) -> tuple[int, ...]:
    return tuple(id(loop) for loop in loops)


def _meets_later(a: Access, b: Access, loop: Do, region: Region) -> bool:
    name = loop_variable(loop)
    assert name is not None
    if loop not in a.loops or loop not in b.loops:
        return True

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        problem.compare(one[name], "<", two[name])

    return region.conflict(a, b, order) is not None


def is_private(storage: str, chain: tuple[Do, ...], facts: UnitFacts) -> bool:
    """Whether a variable is private to the iterations of the last loop of a chain."""
    nest, body = chain[0], chain[-1].body
    if not is_local(storage, facts) or not is_dead_after(storage, nest, facts):
        return False
    if not upward_exposed(body, storage, facts.names, _covers_nothing):
        return True
    symbol = facts.scope.lookup(storage)
    if symbol is None or not symbol.dims:
        return False
    region = region_of(nest, facts)
    shape = shape_of(storage, facts.scope, facts.values, nest.head)
    frame = Frame(facts.values, region.changing, region.writes)
    flow = ArrayFlow(storage, len(symbol.dims), facts.names, frame, shape)
    return flow.of(body, chain).exposed.is_empty()


def _covers_nothing(node: Node, storage: str) -> bool:
    del node, storage
    return False


def effect_of(nest: Do, facts: UnitFacts) -> Effect | None:
    """An effect of a nest, other than on variables, that cannot move."""
    for effect in facts.footprint(nest).effects:
        if effect.kind is not EffectKind.ASSUMED and not _goes_on(effect):
            return effect
    return None


def _goes_on(effect: Effect) -> bool:
    """Whether an effect is only a CYCLE of the enclosing loop."""
    what = effect.leaf.what
    if isinstance(what, Guarded):
        what = what.action
    return isinstance(what, Jump) and what.kind is JumpKind.CYCLE and what.construct is None
