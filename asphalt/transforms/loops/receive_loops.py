"""Receives first: a loop that starts receives and sends becomes one for each.

Before::

    do i = 0, np - 1
      to = modulo(me + i, np)
      from = modulo(me - i, np)
      call MPI_Irecv(r(1,from), n, MPI_REAL, from, 1, comm, incoming(from), ierr)
      call MPI_Isend(s(1,to), n, MPI_REAL, to, 1, comm, outgoing(to), ierr)
    end do

After::

    do i = 0, np - 1
      from = modulo(me - i, np)
      call MPI_Irecv(r(1,from), n, MPI_REAL, from, 1, comm, incoming(from), ierr)
    end do
    do i = 0, np - 1
      to = modulo(me + i, np)
      call MPI_Isend(s(1,to), n, MPI_REAL, to, 1, comm, outgoing(to), ierr)
    end do

Receives are started in their order, and so are sends; no start waits for anything.  By itself this
gains nothing; code motion can then move the receives above what computes the sent data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.procedures import Direction
from asphalt.config.passes import Pass
from asphalt.ir.expr import Component, Ref, children, names_in
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves
from asphalt.transforms.loops.parts_of_nest import marked, why_not_repeated
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

_MARK = "asphalt: the receives of the loop start first"
_PLAIN = (TriviaKind.BLANK, TriviaKind.COMMENT)


@record
class ReceivesFirst(Trial):
    """The loop at ``position`` of a list becomes two loops; ``receiving``, ``sending``: the numbers
    of the statements of an iteration in each of them."""

    starts_receives: ClassVar[bool] = True

    path: tuple[int, ...]
    position: int
    receiving: tuple[int, ...]
    sending: tuple[int, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops of a unit that start receives and sends, and do nothing else."""
    return tuple(_steps(facts))


def _steps(facts: UnitFacts) -> Iterator[ReceivesFirst]:
    messages = facts.once(Messages)
    place = facts.once(Independence.of).place
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Do) or not messages.only_starts(node, computing=True):
                continue
            if place.repeated(node) is not None or why_not_repeated(node, facts) is not None:
                continue
            parts = _Parts.of(node, messages)
            if parts is not None and parts.are_independent():
                yield ReceivesFirst(
                    line_of(node.head),
                    f"the receives of the loop of {facts.at(node.head)} start first",
                    ("no receive needs what a send of the loop does, nor the other way round",),
                    tuple(leaf.body or "" for leaf in leaves(node)),
                    path,
                    position,
                    parts.receiving,
                    parts.sending,
                )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one loop in two."""
    assert isinstance(step, ReceivesFirst)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = nodes[step.position]
        assert isinstance(loop, Do)
        return (*nodes[: step.position], *_loops(loop, step, facts), *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _loops(loop: Do, step: ReceivesFirst, facts: UnitFacts) -> tuple[Do, Do]:
    """The two loops; comments of statements that both have stand in the second one."""
    first: list[Leaf] = []
    for number in step.receiving:
        leaf = loop.body[number]
        assert isinstance(leaf, Leaf)
        alone = number not in step.sending
        first.append(leaf if alone else replace(leaf, lead=(), trail=facts.eol))
    head = replace(loop.head, lead=(), trail=facts.eol)
    end = None if loop.end is None else replace(loop.end, lead=(), trail=facts.eol)
    receiving = marked(Do(head, tuple(first), end), (_MARK,), facts)
    return receiving, replace(loop, body=tuple(loop.body[n] for n in step.sending))


@record
class _Parts:
    """The statements of an iteration; ``receiving``, ``sending``: the numbers of those that
    receives and sends need, with these; ``starts``: the calls of both."""

    loop: Do
    messages: Messages
    receiving: tuple[int, ...]
    sending: tuple[int, ...]
    starts: tuple[tuple[tuple[Leaf, MpiCall], ...], tuple[tuple[Leaf, MpiCall], ...]]

    @staticmethod
    def of(loop: Do, messages: Messages) -> _Parts | None:
        """The parts of a loop; None: it has other statements than starts of receives and of sends,
        and assignments that each set another variable before it is used."""
        facts = messages.facts
        variable = loop_variable(loop)
        body = [node for node in loop.body if isinstance(node, Leaf)]
        lines = [entry for leaf in leaves(loop) for entry in leaf.lead]
        if variable is None or loop.end is None or len(body) != len(loop.body):
            return None
        if any(entry.kind not in _PLAIN for entry in lines):
            return None
        starts: tuple[list[int], list[int]] = ([], [])
        set_by: dict[str, int] = {}
        needs: list[set[int]] = []
        for number, leaf in enumerate(body):
            reads, writes = _storages(leaf, messages)
            needs.append({set_by[s] for s in reads if s in set_by})
            call = messages.call(leaf)
            if call is None:
                target = _assigned(leaf)
                if target is None or len(writes) != 1 or writes & (reads | set_by.keys()):
                    return None
                set_by[next(iter(writes))] = number
                continue
            exchange = call.procedure.exchange
            if exchange is None or (exchange.send is None) == (exchange.receive is None):
                return None
            starts[exchange.receive is None].append(number)
        if not all(starts) or ALIASED in set_by:
            return None
        early = [s for number, leaf in enumerate(body) for s in _storages(leaf, messages)[0]
                 if set_by.get(s, -1) >= number]  # fmt: skip
        if early:
            return None  # the value of the iteration before
        receiving = _with_needed(starts[0], needs)
        rest = set(range(len(body))) - set(receiving)
        sending = _with_needed([*starts[1], *(rest - set(starts[1]))], needs)
        calls = tuple(
            tuple((body[n], call) for n in part if (call := messages.call(body[n])) is not None)
            for part in starts
        )
        if facts.names.storage(variable) in set_by:
            return None
        return _Parts(loop, messages, receiving, sending, (calls[0], calls[1]))

    def are_independent(self) -> bool:
        """Whether no receive reads what a send or assignment changes, other than what its own
        iteration has set, and the other way round; and whether the last error code is the same."""
        facts = self.messages.facts
        body = self.loop.body
        calls = {id(leaf): call for part in self.starts for leaf, call in part}
        if any(not self.messages.completion(leaf) for part in self.starts for leaf, _ in part):
            return False
        last = next(n for n in reversed(range(len(body))) if id(body[n]) in calls)
        if last not in self.sending or last in self.receiving:
            return False
        read, written = set[str](), set[str]()
        for node in body:
            assert isinstance(node, Leaf)
            reads, writes = _storages(node, self.messages)
            call = calls.get(id(node))
            if call is None:
                read |= reads
                continue
            buffers = self.messages.touched(node, call)
            if buffers is None or any(a.storage == ALIASED for a in buffers):
                return False
            read |= _read_by(call, facts)
            written |= writes | {a.storage for a in buffers}
        set_here = {facts.names.storage(name) for node in body if (name := _assigned(node))}
        return not written & (read | set_here) and ALIASED not in read | written


def _read_by(call: MpiCall, facts: UnitFacts) -> set[str]:
    """The storages that the arguments of a call read, the buffer itself excluded."""
    names: set[str] = set()
    for parameter, actual in call.bound():
        if parameter.direction is Direction.IN and parameter.kind != "BUFFER":
            names |= names_in(actual)
        else:
            own = () if not isinstance(actual, Ref | Component) else children(actual)
            names.update(*(names_in(part) for part in own))
    return {facts.names.storage(name) for name in names}


def _assigned(leaf: object) -> str | None:
    """The scalar that an assignment sets."""
    match leaf:
        case Leaf(what=Assign(target=Ref(name=name, args=None), pointer=False)):
            return name
    return None


def _storages(leaf: Leaf, messages: Messages) -> tuple[set[str], set[str]]:
    """The storages that a statement reads and writes."""
    accesses = messages.facts.footprint(leaf).accesses
    return (
        {a.storage for a in accesses if not a.writes},
        {a.storage for a in accesses if a.writes},
    )


def _with_needed(wanted: Sequence[int], needs: Sequence[set[int]]) -> tuple[int, ...]:
    """Statements of an iteration with the assignments that they need, in their order."""
    found = set(wanted)
    work = list(wanted)
    while work:
        more = needs[work.pop()] - found
        found |= more
        work += more
    return tuple(sorted(found))


TRANSFORMATION = Transformation(
    "loop distribution",
    Pass.MOTION,
    Phase.DIVISION,
    "A loop that starts receives and sends becomes one for the receives and one for the sends.",
    check,
    apply,
)
