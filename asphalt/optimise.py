"""The optimiser: transformations of transfers between two ranks, applied until none finds a step.

Danalis et al., ICS 2009, figure 2.  After every step the file is unparsed, read again and analysed
anew, so that each step is proved for the text that will stand there.  First loops that only
communicate are unrolled, procedures that exchange messages are inlined and branches of constants
decided, which is kept only if it brings more transfers beside work.  Then four kinds of steps:
the receives of a loop that works on what they bring are posted before it, other blocking transfers
become non-blocking, branches are split behind what starts a transfer, and code motion fills the
overlap windows that come of it.  The second and the third gain nothing by themselves: a transfer
whose window stays empty is left blocking, and everything is done again without it; branches are
split only if windows get more work by it.  Then, waits for several operations are split into waits
for one each, and nests behind a wait into interior and edges, one after the other; a split is kept
if code motion then finds more work for a window.  Last, sends leave from copies.

Nothing of that is kept that loses: ``gain`` says what a unit costs on a fast and on a slow network,
and what a renamed buffer, messages that are received or sent through copies, split nests, and
all of it together may not cost more than the unit did without it.  (Danalis et al.
report that their greedy order once cloned a buffer at a loss, section 6.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from asphalt.analyses import Analyses
from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.left_over import called_from
from asphalt.analysis.messages import Messages
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.analysis.verdict import Refused
from asphalt.edited_trees import EditedTrees
from asphalt.frontend.second_opinion import opinions
from asphalt.frontend.second_outline import differs
from asphalt.frontend.tree import Tree
from asphalt.gain.model import PRECISION, Model, Price
from asphalt.garbage import collected_seldom
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves
from asphalt.naming import site_name
from asphalt.transforms import (
    branches,
    decomposition,
    departure,
    draining,
    expansion,
    fission,
    hoisting,
    inline,
    motion,
    nonblocking,
    opening,
    peeling,
    pipelining,
    renaming,
    splitting,
    unrolling,
    waits,
)
from asphalt.transforms.beside import started, work_beside
from asphalt.transforms.edit import replace_unit
from asphalt.transforms.new_names import next_number
from asphalt.transforms.pipelines import Pipeline
from asphalt.transforms.publishing import with_shown
from asphalt.transforms.step import Step, Transformation, Trial
from asphalt.transforms.windows import work_in_windows
from asphalt.unparse.unparse import unparse

PREPARING = tuple(
    Transformation(module.NAME, module.check, module.apply)
    for module in (unrolling, inline, branches, hoisting)
)
OPENING = Transformation(opening.NAME, opening.check, opening.apply)
RENAMING = Transformation(renaming.NAME, renaming.check, renaming.apply)
EXPANDING = Transformation(expansion.NAME, expansion.check, expansion.apply)
DEPARTING = Transformation(departure.NAME, departure.check, departure.apply)
DECOMPOSING = Transformation(decomposition.NAME, decomposition.check, decomposition.apply)
STARTING = Transformation(nonblocking.NAME, nonblocking.check, nonblocking.apply)
WIDENING = (
    Transformation(fission.NAME, fission.check, fission.apply),
    Transformation(motion.NAME, motion.moves, motion.apply),
)
DIVIDING = tuple(
    Transformation(module.NAME, module.check, module.apply)
    for module in (waits, splitting, peeling, draining)
)
TILING = Transformation(pipelining.NAME, pipelining.check, pipelining.apply)
_ALL = (*PREPARING, RENAMING, EXPANDING, STARTING, DECOMPOSING, *WIDENING, *DIVIDING, TILING)
NAMES = tuple(dict.fromkeys(t.name for t in _ALL))
_PREPARING = frozenset(t.name for t in PREPARING)
_GAINING = frozenset({decomposition.NAME, expansion.NAME, motion.NAME})
MOST_STEPS = 500
"""Of one unit; more is a defect, not a program."""
FIXPOINT = "no transformation finds another step"
LOSING = "the cost model says that the unit would lose by it"


@dataclass(frozen=True, slots=True)
class Done:
    """A step that was applied: by which transformation, and what it did.

    ``gained``: the seconds that one execution of the unit takes less by it, by network; below zero
    for one that others need, and nothing for one that only prepares the unit: what the model knows
    of sizes is not the same before and after it.
    """

    transformation: str
    does: str
    evidence: tuple[str, ...]
    gained: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A blocking call that was split or posted ahead: the line where it stood, the MPI procedure,
    and how many operations it starts; ``assumed``: what that rests on, by name.  ``beside``: the
    loops and calls that it overlaps with now."""

    line: int
    operation: str
    messages: int
    assumed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tiled:
    """A nest that is executed in tiles, with its messages: the name of the site in the header, the
    line and the MPI procedure of the receive, and the variable of the loop."""

    site: str
    line: int
    operation: str
    along: str


@dataclass(frozen=True, slots=True)
class Optimised:
    """What became of one unit.

    ``content``: of its file; None: nothing was gained, and nothing is changed.  ``transfers``: the
    blocking ones that are overlapped with work now.  ``refused``: what could not be split.
    ``ended``: the rule that ended it.  ``tiled``: the nests that have a K and a D.
    """

    path: str
    unit: str
    content: bytes | None
    steps: tuple[Done, ...]
    transfers: tuple[Transfer, ...]
    refused: tuple[Refused, ...]
    ended: str
    tiled: tuple[Tiled, ...] = ()


def optimise(
    tree: Tree,
    located: Located,
    passes: Collection[str] = NAMES,
    *,
    accepted: frozenset[str] = frozenset(),
    clone_limit: int | None = None,
    model: Model | None = None,
) -> Optimised:
    """The best that the given transformations make of a unit of a tree.

    ``accepted``: the assumptions that the user accepts.  ``clone_limit``: MiB that copies of
    message buffers may have; None: as usual.  ``model``: what decides what is worth it; None: the
    usual networks.
    """
    chain = tuple(unit.name for unit in located.chain)
    run = _Run(tree, located.path, chain, passes, accepted, clone_limit, model or Model())
    disagreement = run.disagreement()
    if disagreement is not None:
        return Optimised(located.path, located.unit.name, None, (), (), (), disagreement)
    with collected_seldom():
        return run.best()


def kept_blocking(
    tree: Tree, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[tuple[Refused, str], ...]:
    """The blocking transfers and collective operations of a unit that cannot be made non-blocking,
    with the procedure."""
    return tuple(
        (found, spelled)
        for found, spelled in _judged(tree, located, accepted)
        if isinstance(found, Refused)
    )


def nothing_beside(
    tree: Tree,
    located: Located,
    overlapped: Collection[int],
    accepted: frozenset[str] = frozenset(),
) -> tuple[tuple[Refused, str], ...]:
    """Those that could be, but stay as they are: all but the ones of the lines ``overlapped``."""
    message = "it could be non-blocking, but no work comes beside it that is worth it"
    return tuple(
        (Refused(NOTHING_BESIDE, message, found.leaf.span), spelled)
        for found, spelled in _judged(tree, located, accepted)
        if isinstance(found, nonblocking.Split) and found.line not in overlapped
    )


def _judged(
    tree: Tree, located: Located, accepted: frozenset[str]
) -> Iterator[tuple[nonblocking.Split | Refused, str]]:
    """All of them, each with the procedure."""
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    facts = UnitFacts(located, effects, tree.file(located.path).eol, uniformity, accepted)
    messages = facts.once(Messages)
    spelled = {leaf.span: call.procedure.spelled for leaf, call in messages.own_calls()}
    for found in facts.once(nonblocking.check):
        assert isinstance(found, nonblocking.Split | Refused)
        span = found.span if isinstance(found, Refused) else found.leaf.span
        yield found, spelled.get(span, "")


@dataclass(frozen=True, slots=True)
class _State:
    """The tree after some steps; ``trees``: after each of them; ``split``: the transfer behind each
    new request; ``ahead``: the receives that are posted ahead."""

    tree: Tree
    steps: tuple[Done, ...]
    trees: tuple[Tree, ...] = ()
    split: tuple[Transfer, ...] = ()
    ahead: tuple[Transfer, ...] = ()


class _Run:
    """The optimisation of one unit."""

    def __init__(
        self,
        tree: Tree,
        path: str,
        chain: tuple[str, ...],
        passes: Collection[str],
        accepted: frozenset[str],
        clone_limit: int | None,
        model: Model,
    ) -> None:
        self.tree = tree
        self.path = path
        self.chain = chain
        self.passes = passes
        self.accepted = accepted
        self.known = EditedTrees(tree, path)
        self.model = model
        self._prices: dict[bytes, Price] = {}
        self._once_called: frozenset[str] = frozenset()
        self.expanding = replace(EXPANDING, check=partial(expansion.check, limit=clone_limit))
        self.departing = replace(DEPARTING, check=partial(departure.check, limit=clone_limit))

    def facts(self, tree: Tree) -> UnitFacts:
        """The unit as it stands in a tree; proofs hold for any values of named constants."""
        return self.known.facts(tree, self._analysed)

    def _analysed(self, tree: Tree) -> UnitFacts:
        effects, uniformity = Analyses(tree).of(any_sizes=True)
        eol = tree.file(self.path).eol
        found = UnitFacts(self._located(tree), effects, eol, uniformity, self.accepted)
        if tree is self.tree:
            self._once_called = called_from(found.scope)
        return replace(found, once_called=self._once_called)

    def price(self, tree: Tree) -> Price:
        """What the unit costs as it stands in a tree."""
        content = tree.content(self.path)
        if content not in self._prices:
            self._prices[content] = self.model.price(tree, self._located(tree))
        return self._prices[content]

    def _located(self, tree: Tree) -> Located:
        (found,) = (
            located
            for located in tree.units_of(self.path)
            if tuple(unit.name for unit in located.chain) == self.chain
        )
        return found

    def disagreement(self) -> str | None:
        """Why a unit is not touched: two units of one name, or parsers that read it differently."""
        same = [
            located
            for located in self.tree.units_of(self.path)
            if tuple(unit.name for unit in located.chain) == self.chain
        ]
        if len(same) != 1:
            return "two units have one name"
        other = differs(self.tree.index(self.path), same[0].chain)
        if other is not None:
            return f"two parsers read it differently: {other}"
        unit = same[0].unit
        statements = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
        found = opinions(statements, same[0].form, self.tree.file(self.path).width)
        if found.disagreements:
            return f"two parsers read line {found.disagreements[0].line} differently"
        return None

    def best(self) -> Optimised:
        """The unit with all transfers split whose windows get some work.

        What prepares the unit for that, exchanges of called procedures inlined before all, is only
        kept if more transfers overlap with work by it.
        """
        begin = _State(self.tree, ())
        plain = found = self._renamed(begin, self._from(begin))
        prepared = self._closure(begin, PREPARING)
        if len(prepared.steps) >= MOST_STEPS:
            return self._pipelined(plain, begin)
        if prepared.steps:
            more = self._renamed(prepared, self._from(prepared))
            if len(more.transfers) > len(plain.transfers):
                found = more
        found = self._opened(prepared, found)
        if found is plain or not prepared.steps:
            return self._pipelined(found, prepared)
        found = self._pipelined(found, prepared)
        # lines of what was inlined are none of this file as it stands: the procedure's own tells
        line = self._head_line()
        return replace(found, transfers=tuple(replace(t, line=line) for t in found.transfers))

    def _opened(self, prepared: _State, found: Optimised) -> Optimised:
        """The same with procedures inlined that compute what is behind receives, if that gains."""
        opened = self._closure(prepared, (OPENING,))
        if opened.tree is prepared.tree:
            return found
        more = self._renamed(opened, self._from(opened))
        if more.content is None or self._hidden(more) <= self._hidden(found):
            return found
        # a procedure takes the same time wherever it stands, but may be priced otherwise
        steps = ((opened.tree, more), (self.tree, found))
        saved, before = (self.price(self._tree_of(o)).saved(self.price(t)) for t, o in steps)
        least = [PRECISION * seconds for seconds in self.price(opened.tree).seconds]
        differences = [s - b for s, b in zip(saved, before, strict=True)]
        if any(d < -e for d, e in zip(differences, least, strict=True)):
            return found
        if not any(d > e for d, e in zip(differences, least, strict=True)):
            return found
        # what was inlined has no messages: all that there are stand in the same order, unless
        # renaming has added lines; then the unit tells where they are
        opened_lines, lines = (self._lines(state.tree) for state in (opened, prepared))
        same = len(opened_lines) == len(lines)
        same = same and all(t.line in opened_lines for t in more.transfers)
        earlier = dict(zip(opened_lines, lines, strict=False)) if same else {}
        head = self.facts(self.tree).unit.head
        line = 1 if head is None else line_of(head)
        return replace(
            more,
            transfers=tuple(replace(t, line=earlier.get(t.line, line)) for t in more.transfers),
        )

    def _lines(self, tree: Tree) -> list[int]:
        """The lines of all calls of MPI."""
        return [line_of(leaf) for leaf, _ in self.facts(tree).once(Messages).own_calls()]

    def _tree_of(self, found: Optimised) -> Tree:
        return self.tree if found.content is None else self.known.tree(found.content)

    def _head_line(self) -> int:
        """The line of the unit's head: where lines of what was made are none of this file."""
        head = self.facts(self.tree).unit.head
        return 1 if head is None else line_of(head)

    def _pipelined(self, found: Optimised, prepared: _State) -> Optimised:
        """The same with a nest and the messages before and behind it cut into tiles, where that is
        enough work; ``prepared``: where to look for it if nothing else was gained."""
        state = _State(self.tree, found.steps)
        if found.content is not None:
            state = replace(state, tree=self.known.tree(found.content))
        for begin in (state, prepared) if found.content is None else (state,):
            step = self._tiling(begin)
            if step is not None:
                made = self._applied(begin, self.facts(begin.tree), TILING, step)
                own = begin.tree is self.tree
                new = tuple(
                    Transfer(line if own else self._head_line(), operation, 1)
                    for line, operation in step.blocking
                )
                line = step.line if own else self._head_line()
                return replace(
                    found,
                    content=made.tree.content(self.path),
                    steps=made.steps,
                    transfers=tuple(sorted((*found.transfers, *new), key=lambda t: t.line)),
                    tiled=(Tiled(step.site, line, step.receive.operation, step.along),),
                )
        return found

    def _tiling(self, state: _State) -> Pipeline | None:
        """A nest with enough work to be cut into tiles together with messages."""
        if TILING.name not in self.passes:
            return None
        steps = (
            replace(step, site=site_name(Path(self.path), step.site, 1, 1))
            for step in self.facts(state.tree).once(pipelining.check)
            if isinstance(step, Pipeline)
        )
        return next((step for step in steps if step.amount >= pipelining.LEAST_WORK), None)

    def _renamed(self, begin: _State, found: Optimised) -> Optimised:
        """The same with the buffers of some transfers renamed: one after the other, each if more
        work comes beside transfers by it; then all others at once, if that brings more."""
        if RENAMING.name not in self.passes:
            return found
        while True:
            facts = self.facts(begin.tree)
            steps = [step for step in RENAMING.check(facts) if isinstance(step, Step)]
            for step in steps:
                state = self._applied(begin, facts, RENAMING, step)
                more = self._from(state)
                if self._is_more(more, found):
                    begin, found = state, more
                    break
            else:
                break
        if len(steps) > 1:
            more = self._from(self._closure(begin, (RENAMING,)))
            if self._is_more(more, found):
                return more
        return found

    def _is_more(self, more: Optimised, found: Optimised) -> bool:
        """Whether more work stands beside transfers, and the unit loses nothing by that."""
        return self._hidden(more) > self._hidden(found) and not self._loses(more, found)

    def _loses(self, more: Optimised, found: Optimised) -> bool:
        """Whether the unit takes longer with the steps of ``more``."""
        prices = [self.price(self._tree_of(one)) for one in (more, found)]
        return prices[0].loses(prices[1])

    def _hidden(self, found: Optimised) -> tuple[int, int]:
        """How many transfers overlap with work, and with how much of it."""
        if found.content is None:
            return 0, 0
        facts = self.facts(self.known.tree(found.content))
        work = motion.hidden_work(facts) + decomposition.hidden_work(facts)
        return len(found.transfers), work

    def _from(self, begin: _State) -> Optimised:
        """All transfers overlapped; collective operations whose blocks are filled or used one by
        one become messages unless one operation overlaps with more, or costs less."""
        whole, blocks = self._formed(begin, ()), self._in_blocks(begin)
        if not blocks:
            return whole
        parted = self._formed(begin, blocks)
        is_worse = self._hidden(parted) < self._hidden(whole) or self._loses(parted, whole)
        return whole if is_worse else parted

    def _in_blocks(self, begin: _State) -> tuple[Transfer, ...]:
        """The collective operations that can become messages, one for each block."""
        if decomposition.NAME not in self.passes:
            return ()
        return tuple(
            Transfer(part.split.line, part.split.operation, 1, part.split.assumed, part.beside)
            for part in decomposition.parts_of(self.facts(begin.tree))
        )

    def _decomposed(self, state: _State, blocks: tuple[Transfer, ...]) -> _State:
        facts = self.facts(state.tree)
        for step in DECOMPOSING.check(facts) if blocks else ():
            if isinstance(step, decomposition.Decompose) and len(step.parts) == len(blocks):
                state = self._applied(state, facts, DECOMPOSING, step)
                return replace(state, ahead=(*state.ahead, *blocks))
        return state

    def _formed(self, begin: _State, blocks: tuple[Transfer, ...]) -> Optimised:
        """All transfers split that overlap with work; with receives posted ahead and sends from
        copies only if the copies cost less than what they hide.  ``blocks``: become messages."""
        ahead = self._ahead(begin)
        state, refused = self._overlapped(begin, ahead, blocks)
        if ahead and state.ahead:
            without, others = self._overlapped(begin, (), blocks)
            if not self.price(state.tree).gains(self.price(without.tree)):
                state, refused = without, others
        state = replace(state, split=self._beside(begin, state))
        return self._result(begin, state, refused)

    def _overlapped(
        self, begin: _State, ahead: tuple[Transfer, ...], blocks: tuple[Transfer, ...]
    ) -> tuple[_State, tuple[Refused, ...]]:
        """The transfers split whose windows get work, with the receives ``ahead`` posted, and
        ``blocks`` as messages."""
        # where messages can be cut as they stand, no nest is divided, no send leaves from a copy
        whole = self._tiling(begin) is None
        left = frozenset(transfer.line for transfer in (*ahead, *blocks))
        while True:
            state, refused = self._split(begin, left)
            if ahead:
                state = replace(self._closure(state, (self.expanding,)), ahead=ahead)
            state = self._widened(begin, state, DIVIDING if whole else ())
            idle = self._idle(begin, state)
            if not idle:
                state = self._departed(begin, state, left) if whole else state
                return self._decomposed(state, blocks), refused
            left |= idle

    def _departed(self, begin: _State, state: _State, left: frozenset[int]) -> _State:
        """What is still a blocking send leaves from a copy, where another send may follow it, if
        the unit loses nothing by the copy."""
        waiting = [
            Transfer(step.line, step.operation, 1)
            for step in _blocking_sends(self.facts(begin.tree))
            if step.line in left
        ]
        while expansion.NAME in self.passes and waiting and len(state.steps) < MOST_STEPS:
            facts = self.facts(state.tree)
            sends = [id(step.leaf) for step in _blocking_sends(facts)]
            for step in self.departing.check(facts):
                assert isinstance(step, departure.Depart)
                more = self._applied(state, facts, self.departing, step)
                if not self.price(more.tree).loses(self.price(state.tree)):
                    sent = waiting.pop(min(sends.index(id(step.leaf)), len(waiting) - 1))
                    state = replace(more, ahead=(*state.ahead, sent))
                    break
            else:
                break
        return state

    def _ahead(self, begin: _State) -> tuple[Transfer, ...]:
        """The receives that are posted ahead, and not split."""
        if expansion.NAME not in self.passes or self._tiling(begin) is not None:
            return ()
        return tuple(
            Transfer(line, operation, 1)
            for step in self.expanding.check(self.facts(begin.tree))
            if isinstance(step, expansion.Expand)
            for line, operation in step.operations
        )

    def _widened(self, begin: _State, state: _State, dividings: Sequence[Transformation]) -> _State:
        """The windows filled, with parts of what ``dividings`` divide, too; branches are split only
        if there is more work in windows then, and no more transfers go without."""
        wide = self._closure(state, WIDENING)
        new = wide.steps[len(state.steps) :]
        if all(step.transformation != fission.NAME for step in new):
            return self._all_divided(wide, dividings)
        whole = self._closure(state, [t for t in WIDENING if t.name != fission.NAME])
        whole, wide = (self._all_divided(one, dividings) for one in (whole, wide))
        work = [motion.hidden_work(self.facts(s.tree)) for s in (whole, wide)]
        idle = [len(self._idle(begin, s)) for s in (whole, wide)]
        if idle[0] != idle[1]:
            return whole if idle[0] < idle[1] else wide
        return whole if work[0] >= work[1] else wide

    def _all_divided(self, state: _State, dividings: Sequence[Transformation]) -> _State:
        for dividing in dividings:
            state = self._divided(state, dividing)
        return state

    def _split(self, state: _State, left: frozenset[int]) -> tuple[_State, tuple[Refused, ...]]:
        """All blocking transfers made non-blocking, but those of the lines ``left``."""
        facts = self.facts(state.tree)
        found = facts.once(nonblocking.check)
        refused = tuple(f for f in found if isinstance(f, Refused))
        if nonblocking.NAME not in self.passes:
            return state, ()
        split: list[Transfer] = []
        for number, one in enumerate(found):
            if isinstance(one, Refused) or one.line in left:
                continue
            assert isinstance(one, nonblocking.Split)
            facts = self.facts(state.tree)
            # the same call: those before it are found no more.  Where control depends on what
            # one of them gives, it may not be proved any more that all ranks come here
            step = facts.once(nonblocking.check)[number - len(split)]
            if isinstance(step, Refused):
                continue
            state = self._applied(state, facts, STARTING, step)
            split.append(Transfer(one.line, one.operation, len(one.sides), one.assumed))
        return replace(state, split=tuple(split)), refused

    def _closure(self, state: _State, transformations: Sequence[Transformation]) -> _State:
        """These transformations until none of them finds a step."""
        while len(state.steps) < MOST_STEPS:
            facts = self.facts(state.tree)
            for transformation in transformations:
                if transformation.name not in self.passes:
                    continue
                step = next((f for f in transformation.check(facts) if isinstance(f, Step)), None)
                if step is not None:
                    state = self._applied(state, facts, transformation, step)
                    break
            else:
                return state
        return state

    def _divided(self, state: _State, dividing: Transformation) -> _State:
        """Waits or nests split wherever the window of a transfer gains by it."""
        tried: set[tuple[str, ...]] = set()
        while dividing.name in self.passes and len(state.steps) < MOST_STEPS:
            facts = self.facts(state.tree)
            steps = (f for f in dividing.check(facts) if isinstance(f, Trial))
            step = next((s for s in steps if s.text not in tried), None)
            if step is None:
                break
            tried.add(step.text)
            before = work_in_windows(facts)
            more = self._closure(self._applied(state, facts, dividing, step), WIDENING)
            after = work_in_windows(self.facts(more.tree))
            filled = any(count > before.get(request, 0) for request, count in after.items())
            if filled and not self.price(more.tree).loses(self.price(state.tree)):
                state = more
        return state

    def _applied(
        self, state: _State, facts: UnitFacts, transformation: Transformation, step: Step
    ) -> _State:
        unit = transformation.apply(facts, step)
        file = replace_unit(state.tree.file(self.path), facts.unit, unit)
        if isinstance(step, inline.Inline):
            file = with_shown(file, step.plan.needed.shown)
        content = unparse(file).encode("latin-1")
        done = Done(transformation.name, step.does, step.evidence)
        tree = self.known.tree(content)
        return replace(state, tree=tree, steps=(*state.steps, done), trees=(*state.trees, tree))

    def _idle(self, begin: _State, state: _State) -> frozenset[int]:
        """The lines of the split transfers whose windows have no work in them."""
        busy = motion.busy_requests(self.facts(state.tree))
        number = next_number(self.facts(begin.tree), nonblocking.REQUEST)
        idle: set[int] = set()
        for transfer in state.split:
            names = {f"{nonblocking.REQUEST}{number + n}" for n in range(transfer.messages)}
            number += transfer.messages
            if not names & busy:
                idle.add(transfer.line)
        return frozenset(idle)

    def _beside(self, begin: _State, state: _State) -> tuple[Transfer, ...]:
        """The split transfers, each with the work in its window."""
        work = work_beside(self.facts(state.tree))
        number = next_number(self.facts(begin.tree), nonblocking.REQUEST)
        found: list[Transfer] = []
        for transfer in state.split:
            names = [f"{nonblocking.REQUEST}{number + n}" for n in range(transfer.messages)]
            number += transfer.messages
            texts = dict.fromkeys(text for name in names for text in work.get(name, ()))
            found.append(replace(transfer, beside=tuple(texts)))
        return tuple(found)

    def _own(self, state: _State) -> Iterator[Transfer]:
        """The operations that the program itself starts, and that have more work beside them."""
        after = started(self.facts(state.tree))
        for request, before in started(self.facts(self.tree)).items():
            now = after.get(request)
            if now is not None and len(now.beside) > len(before.beside):
                yield Transfer(before.line, before.operation, 1, beside=now.beside)

    def _result(self, begin: _State, state: _State, refused: tuple[Refused, ...]) -> Optimised:
        content = state.tree.content(self.path)
        gained = any(step.transformation in _GAINING for step in state.steps)
        changed = gained and content != self.tree.content(self.path)
        ended = FIXPOINT
        if len(state.steps) >= MOST_STEPS:
            ended = f"the limit of {MOST_STEPS} steps"
            changed = False
        elif changed and self.price(state.tree).loses(self.price(begin.tree)):
            ended = LOSING
            changed = False
        found = (*state.split, *state.ahead, *(self._own(state) if changed else ()))
        transfers = tuple(sorted(found, key=lambda t: t.line))
        return Optimised(
            self.path,
            self.chain[-1],
            content if changed else None,
            self._priced(state) if changed else (),
            transfers if changed else (),
            refused,
            ended,
        )

    def _priced(self, state: _State) -> tuple[Done, ...]:
        """The steps, each with what it gains."""
        prices = [self.price(tree) for tree in (self.tree, *state.trees)]
        names = [network.name for network in self.model.networks]
        return tuple(
            step
            if step.transformation in _PREPARING
            else replace(step, gained=dict(zip(names, after.saved(before), strict=True)))
            for step, (before, after) in zip(state.steps, pairwise(prices), strict=True)
        )


def _blocking_sends(facts: UnitFacts) -> list[nonblocking.Split]:
    """The blocking sends of a unit that can be taken apart, in source order."""
    found = (f for f in facts.once(nonblocking.check) if isinstance(f, nonblocking.Split))
    return [step for step in found if step.is_send]
