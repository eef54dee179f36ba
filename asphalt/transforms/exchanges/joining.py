"""Started to blocking exchanges: a send and a receive that are started together become one call.

Before::

    call MPI_Irecv(u(1,0), nx, MPI_REAL, south, 1, comm, requests(1), ierr)
    call MPI_Isend(u(1,ny), nx, MPI_REAL, north, 1, comm, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)

After::

    call MPI_Sendrecv(u(1,ny), nx, MPI_REAL, north, 1, u(1,0), nx, MPI_REAL, south, 1, comm, &
                      MPI_STATUS_IGNORE, ierr)

This gains nothing by itself, and is kept where exchanges are combined or left out then;
``nonblocking`` makes starts and waits of the calls again.  Only such exchanges are joined as have
the same partners as another one of their list.  Conditions:

- The wait completes all of what is started, and nothing else, and stores no statuses.  One send and
  one receive have each tag, and no other message with it is started in between.
- Each pair is a *whole* exchange (see ``removal``): all ranks do the same ones in the same order,
  so that each call only waits for ranks that come to it.
- Between the starts and the wait nothing is called that may wait for other ranks, nothing is seen
  from outside, and no argument changes.  What MPI forbids there (changes of what is sent, use of
  what is received) is not looked at, but for stores to what is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.repetition.combined_exchanges import CombinedExchanges
from asphalt.analysis.repetition.message_sections import BOTH_WAYS
from asphalt.analysis.repetition.started_exchanges import (
    StartedExchanges,
    StartedGroup,
    StartedPair,
    reads_statuses,
)
from asphalt.analysis.repetition.whole_exchanges import WholeExchanges
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, Unit
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list, why_not_removable
from asphalt.transforms.rewriting.make import var
from asphalt.transforms.rewriting.replacement import statements_for
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_CALLED = "MPI_Sendrecv"
_IGNORED = "MPI_STATUS_IGNORE"


@record
class Join(Step):
    """Groups of starts to join; ``path``: to their list."""

    path: tuple[int, ...]
    groups: tuple[StartedGroup, ...]


def check(facts: UnitFacts) -> Iterator[Found]:
    """The exchanges of a unit that are started and completed in one list, and have the same
    partners as another one."""
    known, started = facts.once(WholeExchanges), facts.once(StartedExchanges)
    for path, siblings in lists_in(facts.unit.body):
        groups: list[StartedGroup] = []
        assumed: set[str] = set()
        for group in started.in_list(siblings):
            if any(_why_not(position, siblings) for position in group.starts):
                continue
            wait = facts.once(Messages).call(group.pairs[0].wait)
            if wait is None or not _is_visible(group, facts):
                continue
            if reads_statuses(wait, facts) or _reads_codes(group, wait, facts):
                continue
            whole = [known.of_pair(pair) for pair in group.pairs]
            if any(isinstance(one, str) for one in whole):
                continue
            assumed |= {name for one in whole if not isinstance(one, str) for name in one.assumed}
            groups.append(group)
        if groups and _some_alike(groups, siblings, facts):
            lines = (facts.at(group.pairs[0].wait) for group in groups)
            number = sum(len(group.pairs) for group in groups)
            yield Join(
                line_of(groups[0].pairs[0].wait),
                f"{number} exchanges that are complete in {', '.join(lines)} become one call each",
                (
                    "all that is sent with a tag is received with it, on all ranks",
                    "nothing waits for other ranks between the starts and the wait",
                ),
                path,
                tuple(groups),
                assumed=tuple(sorted(assumed)),
            )


def _is_visible(group: StartedGroup, facts: UnitFacts) -> bool:
    """Whether MPI_SENDRECV and what it needs have their names in the unit."""
    if mpi_constant(var(_IGNORED), facts.scope) is None:
        return False
    for pair in group.pairs:
        made = mpi_call(_joined(pair, facts), facts.scope)
        if made is None or made.binding != pair.sent.binding:
            return False
    return True


def _why_not(position: int, siblings: tuple[Node, ...]) -> str | None:
    return why_not_removable(siblings[position], siblings[position + 1])


def _reads_codes(group: StartedGroup, wait: MpiCall, facts: UnitFacts) -> bool:
    """Whether the error code of a start or of the wait may be read."""
    known = facts.once(CombinedExchanges)
    calls = [(group.pairs[0].wait, wait)]
    for pair in group.pairs:
        calls += [(pair.send, pair.sent), (pair.receive, pair.received)]
    return any(call.error is not None and known.is_read(call.error, leaf) for leaf, call in calls)


def _some_alike(groups: list[StartedGroup], siblings: tuple[Node, ...], facts: UnitFacts) -> bool:
    """Whether two exchanges of a list have the same partners."""
    ways = [pair.way for group in groups for pair in group.pairs]
    for node in siblings:
        call = facts.once(Messages).call(node) if isinstance(node, Leaf) else None
        if call is not None and call.procedure.name == BOTH_WAYS:
            ways.append((call.args["dest"], call.args["source"], call.args["comm"]))
    return len(set(ways)) < len(ways)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with the exchanges of some groups in the places of their waits."""
    assert isinstance(step, Join)
    starts = frozenset[int]().union(*(group.starts for group in step.groups))
    waits = {group.wait: group for group in step.groups}

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        lead: tuple[Node, ...] = ()
        for position, node in enumerate(nodes):
            if position in starts:
                lead = (*lead, node)
                continue
            for start in reversed(lead):
                assert isinstance(start, Leaf)
                node = in_front(node, start.lead)
            lead = ()
            if position in waits:
                assert isinstance(node, Leaf)
                calls = [_joined(pair, facts) for pair in waits[position].pairs]
                found += statements_for(calls, (), facts)(node)
            else:
                found.append(node)
        return tuple(found)

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _joined(pair: StartedPair, facts: UnitFacts) -> Call:
    """The call that does what a pair does."""
    send, receive = pair.sent.args, pair.received.args
    wait = facts.once(Messages).call(pair.wait)
    assert wait is not None
    given: list[Expr] = [send[name] for name in ("buf", "count", "datatype", "dest", "tag")]
    given += [receive[name] for name in ("buf", "count", "datatype", "source", "tag", "comm")]
    given.append(var(_IGNORED))
    if wait.error is not None:
        given.append(wait.error)
    return Call(Ref(BOTH_WAYS, _CALLED), tuple(given))


TRANSFORMATION = Transformation(
    "started to blocking exchanges",
    Pass.COMBINATION,
    Phase.EXCHANGES,
    "A send and a receive that are started together become one call of MPI_SENDRECV.",
    check,
    apply,
)
