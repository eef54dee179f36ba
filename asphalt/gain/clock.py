"""The time that a unit takes: its statements one after the other, on a clock for each role.

Ranks that take the same arms of all branches have the same *role*; all of them are taken to be at
the same statement at the same time (Culler et al., LogP, PPoPP 1993, section 3, count in the same
way).  A branch whose condition is the same in all iterations of loops splits a role into two, which
go on separately and wait for each other where all communicate together.  Behind other branches, the
ranks have one role again.  The message that a rank receives was sent when the slowest of the roles
that send it sent theirs.  If the send of a message has not been reached yet, or is not seen, the
message leaves when its receive is posted; a message whose receive is not seen is needed at the end
of the unit.

A message of n bytes takes latency + n/bandwidth, one after the other into a rank; from
``Network.eager`` bytes on it leaves when its receive is posted, with two more latencies for the
rendezvous.  Either end pays the overhead that the network has for a message.  A copy of a buffer
takes the time of its bytes in memory, and a queue of messages has its bookkeeping (``LogGP``,
Alexandrov et al., SPAA 1995, and the costs that it leaves to the processor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asphalt.analysis.control_flow.loop_continuation import continuation_condition, if_condition
from asphalt.analysis.cost.trip_counts import TripCount, loop_trips
from asphalt.analysis.cost.types import Surroundings
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Way
from asphalt.gain.amounts import PEERS, known
from asphalt.gain.blocks import BlockCall, BlockStep
from asphalt.gain.conditions import AtomicCondition, Conditions, Open
from asphalt.gain.post import PostedMessages
from asphalt.gain.priced_transfers import PricedTransfer
from asphalt.gain.roles import RankRole, join
from asphalt.gain.transfers import Transfers, bytes_of
from asphalt.gain.work import Work
from asphalt.ir.expr import Arg
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves
from asphalt.machine.platforms import Network

_TURNS = 3  # of a loop that are looked at one by one; the others take as long as the last one
_LEVELS = 4  # of calls
_ROLES = 4  # that ranks are parted into by their conditions; by further ones they are not


@record
class _Computation:
    """Statements without messages: the seconds of each."""

    seconds: tuple[float, ...]


class Clock:
    """Runs a unit on a network.  ``facts``: of a procedure that it calls."""

    def __init__(
        self,
        network: Network,
        work: Work,
        facts_of: Callable[[Located], UnitFacts],
        facts: UnitFacts,
        transfers: Transfers | None = None,
    ) -> None:
        self.post = PostedMessages(network, [RankRole()])
        self.work = work
        self.facts_of = facts_of
        self.facts = facts
        self.transfers = transfers or Transfers()
        self.active = [*self.post.roles]
        self._goes_on: dict[Arg, bool] = {}
        self._depth = 0
        self._exploring = False
        self._talking = self.transfers.talking
        self._called = self.transfers.called
        self._parting: set[AtomicCondition] = set()
        self._lists: dict[
            tuple[int, bool], tuple[tuple[Node, ...], tuple[_Computation | Node, ...]]
        ] = {}

    def run(self) -> float:
        """The seconds that the unit takes."""
        self._note_conditions(self.facts.unit.body)
        self._list(self.facts.unit.body)
        return self.post.end(last=self.facts.unit.kind == "program")

    def _note_conditions(self, nodes: tuple[Node, ...]) -> None:
        """The conditions that split roles: those of branches with messages in them.

        A one-line IF is mostly a test for an error, and splits none by itself.
        """
        for node in nodes:
            if not self._talks(node):
                continue
            match node:
                case Leaf():
                    callee = self._callee(node)
                    if callee is not None and self._depth < _LEVELS:
                        with self._inside(callee):
                            self._note_conditions(callee.unit.body)
                case Branch(arms=arms):
                    own = self.conditions
                    self._parting |= {c for c in own.within(node) if own.tells_ranks_apart(c)}
                    for arm in arms:
                        self._note_conditions(arm.body)
                case Do(body=body) | Block(body=body):
                    self._note_conditions(body)

    @property
    def conditions(self) -> Conditions:
        """The conditions of the unit that is run."""
        return self.facts.once(Conditions)

    def _list(self, nodes: tuple[Node, ...]) -> None:
        for one in self._pieces(nodes):
            if isinstance(one, _Computation):
                self._work(*one.seconds)
                continue
            goes_on = self._is_true(one) if self._goes_on else None
            if goes_on is False:
                continue
            if goes_on and isinstance(one, Branch):
                self._list(one.arms[0].body)
                continue
            if self._goes_on and not self._is_followed(one):
                self._work(self.work.seconds((one,), self.facts.scope))
                continue
            match one:
                case Leaf():
                    self._statement(one)
                case Do():
                    self._loop(one)
                case Branch():
                    self._branch(one)
                case Block(body=body):
                    self._list(body)

    def _pieces(self, nodes: tuple[Node, ...]) -> tuple[_Computation | Node, ...]:
        """The statements of a list that are followed, or depend on whether a loop goes on, and the
        time of those between them."""
        key = id(nodes), bool(self._goes_on)
        if key not in self._lists:
            self._lists[key] = nodes, tuple(self._parted_list(nodes))
        return self._lists[key][1]

    def _parted_list(self, nodes: tuple[Node, ...]) -> Iterator[_Computation | Node]:
        seconds: list[float] = []
        for node in nodes:
            depends = bool(self._goes_on) and if_condition(node) is not None
            if not depends and not self._is_followed(node):
                seconds.append(self.work.seconds((node,), self.facts.scope))
                continue
            if seconds:
                yield _Computation(tuple(seconds))
            seconds = []
            yield node
        if seconds:
            yield _Computation(tuple(seconds))

    def _is_followed(self, node: Node) -> bool:
        """Whether messages start or end in a statement, or it splits roles."""
        splits = self._parting and isinstance(node, Branch) and self._parts_ranks(node)
        return splits or self._talks(node)

    def _work(self, *seconds: float) -> None:
        for role in self.active:
            for each in seconds:  # one by one: sums in another order would be rounded otherwise
                role.now += each

    def _parts_ranks(self, branch: Branch) -> bool:
        """Whether messages depend on one of its conditions."""
        own = self.conditions.within(branch)
        return bool(own) and own <= self._parting

    def _is_true(self, node: Node) -> bool | None:
        """Whether the condition of a statement holds in this iteration, if that is known."""
        condition = if_condition(node)
        return None if condition is None else self._goes_on.get(condition)

    def _talks(self, node: Node) -> bool:
        """Whether messages start or end in it, or in what it calls."""
        found = self._talking.get(id(node))
        if found is None:
            self._talking[id(node)] = node, False  # of a procedure that calls itself
            talks = any(self._leaf_talks(leaf) for leaf in leaves(node))
            found = self._talking[id(node)] = node, talks
        return found[1]

    def _leaf_talks(self, leaf: Leaf) -> bool:
        if self._transfer(leaf) is not None or self.transfers.block(leaf) is not None:
            return True
        callee = self._callee(leaf)
        if callee is None or self._depth >= _LEVELS:
            return False
        with self._inside(callee):
            return any(self._talks(node) for node in callee.unit.body)

    def _transfer(self, leaf: Leaf) -> PricedTransfer | None:
        return self.transfers.of(leaf, self.facts)

    def _callee(self, leaf: Leaf) -> UnitFacts | None:
        known = self._called.get(id(leaf))
        if known is None:
            known = self._called[id(leaf)] = leaf, self._found_callee(leaf)
        return known[1]

    def _found_callee(self, leaf: Leaf) -> UnitFacts | None:
        scope, units = self.facts.scope, self.transfers.units

        def find() -> UnitFacts | None:
            found = None if leaf.call is None else self.work.procedures(leaf.call, scope)
            return None if found is None else self.facts_of(found[0])

        return units.called.of(leaf, find) if units.has(self.facts) else find()

    @contextmanager
    def _inside(self, callee: UnitFacts) -> Iterator[None]:
        facts, self.facts = self.facts, callee
        self._depth += 1
        yield
        self.facts = facts
        self._depth -= 1

    def _loop(self, loop: Do) -> None:
        head = loop.head.what
        around = Surroundings(self.facts.scope)
        trips = loop_trips(head, around) if isinstance(head, DoHead) else None
        trips = self.work.sizes.trips(trips, self.facts.scope)
        number = known(trips, self.facts.scope)
        number = PEERS if number is None else number
        blocks = number > PEERS and any(self.transfers.block(leaf) for leaf in leaves(loop))
        if blocks and trips is not None:
            self._parts(loop, trips)
            return
        again, outer = self.post.again, self._goes_on
        only_receives = not any(self._sends(leaf) for leaf in leaves(loop))
        goes_on = continuation_condition(loop)
        for role in self.active:
            role.turns = (*role.turns, (role.now, 0.0))
        looked_at = min(number, max(_TURNS, PEERS))
        for count in range(looked_at):
            is_last = count == looked_at - 1
            for role in self.active:
                role.turns = (*role.turns[:-1], (role.now, role.turns[-1][1]))
            self.post.again = again or (count > 0 and only_receives)
            if goes_on is not None:
                self._goes_on = {**outer, goes_on: not is_last}
            self._list(loop.body)
            for role in self.active:
                began, before = role.turns[-1]
                turn = before if is_last and goes_on is not None else role.now - began
                role.turns = (*role.turns[:-1], (began, turn))
        self.post.again, self._goes_on = again, outer
        for role in self.active:
            role.now += role.turns[-1][1] * (number - looked_at)
            role.turns = role.turns[:-1]

    def _parts(self, loop: Do, trips: TripCount) -> None:
        """A loop over more blocks of an operation than are simulated: each iteration stands for
        several."""
        for _ in range(PEERS):
            for node in loop.body:
                if self._talks(node):
                    self._list((node,))
                else:
                    self._work(self.work.repeated(node, trips, self.facts.scope) / PEERS)

    def _sends(self, leaf: Leaf) -> bool:
        transfer = self._transfer(leaf)
        if transfer is None:
            return self._callee(leaf) is not None
        return bool(transfer.going(Way.OUT))

    def _branch(self, branch: Branch) -> None:
        """Roles take their arms.  If it is not known which, their ranks take all of them, and have
        one role again behind the branch."""
        groups: dict[int, list[RankRole]] = {number: [] for number in range(len(branch.arms))}
        done: list[RankRole] = []
        torn: list[RankRole] = []
        waiting = [*self.active]
        while waiting:
            role = waiting.pop(0)
            arm = self.conditions.arm_of(branch, role.decided)
            if isinstance(arm, int):
                groups[arm].append(role)
            elif arm is None:
                done.append(role)
            elif self._may_part(role, arm):
                waiting[:0] = self._parted(role, arm)
            else:
                torn.append(role)
        if torn and not self._talks(branch):
            for role in torn:
                role.now += self.work.seconds((branch,), self.facts.scope)
            done += torn
            torn = []
        copies: list[tuple[RankRole, list[RankRole]]] = []
        for role in torn:
            ends = [role.parted((id(branch), number)) for number in groups]
            for number, end in enumerate(ends):
                end.whole = False
                groups[number].append(end)
            self._replace(role, ends)
            copies.append((role, ends))
        self._arms(branch, groups, done)
        for role, ends in copies:
            join(role, ends)
            self._replace(ends[0], [role])
            for end in ends[1:]:
                self._replace(end, [])

    def _may_part(self, role: RankRole, found: Open) -> bool:
        return role.whole and found.condition in self._parting and len(self.post.roles) < _ROLES

    def _parted(self, role: RankRole, found: Open) -> list[RankRole]:
        assert found.condition is not None
        parts = [role.deciding(found.condition, value) for value in (True, False)]
        self._replace(role, parts)
        return parts

    def _replace(self, role: RankRole, others: list[RankRole]) -> None:
        """Put these in place of one role."""
        for roles in (self.post.roles, self.active):
            places = [n for n, one in enumerate(roles) if one is role]
            for place in places:
                roles[place : place + 1] = others

    def _arms(
        self, branch: Branch, groups: dict[int, list[RankRole]], done: list[RankRole]
    ) -> None:
        """All roles in their arms; the others wait."""
        exploring, before = self._exploring, self.post.known
        taken = [number for number, roles in groups.items() if roles]
        if len(taken) > 1 and not exploring and self._talks(branch):
            # what is sent in other arms is asked once on each level, not in both turns
            kept = self.post.roles, self.active
            copies = {id(role): role.copy() for role in self.post.roles}
            self.post.roles = list(copies.values())
            self._exploring = True
            for number in taken:
                self.active = [copies[id(role)] for role in groups[number]]
                self._list(branch.arms[number].body)
            self._exploring = False
            self.post.known = [*before, *self.post.roles]
            self.post.roles, self.active = kept
        after = [*done]
        for number in taken:
            self.active = [*groups[number]]
            self._list(branch.arms[number].body)
            after += self.active
        self.post.known = before
        self.active = self._in_order(after)

    def _statement(self, leaf: Leaf) -> None:
        if not isinstance(leaf.what, Guarded):
            self._call(leaf)
            return
        condition, own = leaf.what.condition, self.conditions
        passing: list[RankRole] = []
        taking: list[RankRole] = []
        waiting = [*self.active]
        while waiting:
            role = waiting.pop(0)
            value = own.truth(condition, role.decided)
            if isinstance(value, Open) and self._may_part(role, value):
                waiting[:0] = self._parted(role, value)
            else:
                (passing if value is False else taking).append(role)
        self.active = taking
        self._call(leaf)
        self.active = self._in_order([*self.active, *passing])

    def _call(self, leaf: Leaf) -> None:
        transfer, block = self._transfer(leaf), self.transfers.block(leaf)
        if block is not None:
            self.post.execute_block(block, self._block_size(leaf, block), self.active)
        elif transfer is not None:
            self.post.execute(transfer, self.active)
        else:
            callee = self._callee(leaf)
            if callee is not None and self._depth < _LEVELS:
                with self._inside(callee):
                    self._list(callee.unit.body)

    def _block_size(self, leaf: Leaf, call: BlockCall) -> float:
        if call.step is not BlockStep.START:
            return 0.0
        return bytes_of(call.count, call.datatype, leaf, self.facts, self.work.sizes)

    def _in_order(self, roles: list[RankRole]) -> list[RankRole]:
        present = {id(role) for role in roles}
        return [role for role in self.post.roles if id(role) in present]
