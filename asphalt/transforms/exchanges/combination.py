"""Communication combination: exchanges with the same partners become one.

Before::

    call MPI_Sendrecv(u(1,ny), nx, MPI_REAL, north, 1, u(1,0), nx, MPI_REAL, south, 1, comm, ...)
    call MPI_Sendrecv(v(1,ny), nx, MPI_REAL, north, 1, v(1,0), nx, MPI_REAL, south, 1, comm, ...)

After::

    asphalt_out_1(1:nx) = u(1:nx,ny)
    asphalt_out_1(1+nx:2*nx) = v(1:nx,ny)
    call MPI_Sendrecv(asphalt_out_1, 2*nx, MPI_REAL, north, 1, asphalt_in_1, 2*nx, &
                      MPI_REAL, south, 1, comm, ...)
    if (south /= MPI_PROC_NULL) then
      u(1:nx,0) = asphalt_in_1(1:nx)
    end if
    if (south /= MPI_PROC_NULL) then
      v(1:nx,0) = asphalt_in_1(1+nx:2*nx)
    end if

Messages that are short cost a latency each, not their length (Choi and Snyder, ICPP 1997, section
2).  The setting ``combining`` chooses the groups: ``auto``, each one by which the procedure takes
less time, so that long messages stay apart where the copies cost more than a latency; ``most``, as
many exchanges as can, and ``hidden``, only exchanges with equal overlap windows, which are the
paper's two heuristics.  Exchanges of a list that have other partners are done at the same time.
Conditions:

- Each is a call of MPI_SENDRECV that is a *whole* exchange (see ``removal``), in one list, with the
  same partners, tags, communicator and predefined datatype.  So all ranks combine the same ones.
- Both ends have equal lengths: a rank sends as much as it receives, and all ranks the same.
- What the first ones send is copied where they stand.  What they receive is stored behind the
  message, which stands where the last one stood; with it go the statements between that need it, or
  store to it.  None of those is needed by what a later one sends: phases of an exchange whose
  corners travel in two steps stay apart.
- Between them there are no effects that are seen from outside, and no calls of MPI but other whole
  exchanges.  Those may change places, on all ranks alike: each of them waits for nothing but ranks
  that come to it.  Nor is there input or output both before and behind them (see ``removal``).
- Exchanges that are done at the same time have other tags each, and no message stays between them:
  a receive that is posted early could get it.
- From MPI_PROC_NULL nothing arrives, and nothing is stored.
- Nothing reads the statuses or the error codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.names.constants import is_open
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.repetition.combined_exchanges import IN, OUT, Group, Member
from asphalt.analysis.repetition.combined_reductions import groups_of
from asphalt.analysis.repetition.packed_parts import PackedPart
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Ref, Section, TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Assign, Call, Decl, Dim, Entity, What
from asphalt.ir.tree import Leaf, Node, Unit
from asphalt.transforms.nonblocking.sides import sides_of
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.checked_sizes import can_check, with_checked_sizes
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import compare, fn, maker_at, num, size, var
from asphalt.transforms.rewriting.new_names import REQUEST, next_number
from asphalt.transforms.rewriting.replacement import statements_for
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_ONE = Poly.constant(1)
_WAIT = "asphalt_wait"
_RUNTIME = ("asphalt_irecv", "asphalt_isend", _WAIT)


@record
class Combine(Step):
    """Exchanges to combine; ``path``: to their list."""

    path: tuple[int, ...]
    group: Group


def check(facts: UnitFacts, *, hidden: bool = False) -> Iterator[Found]:
    """The exchanges of a unit that can be combined, the first ones of each list; ``hidden``: only
    such as have equal overlap windows."""
    for path, siblings in lists_in(facts.unit.body):
        for search in groups_of(facts):
            for all_ways in (True, False):
                group = search.in_list(siblings, all_ways=all_ways, hidden=hidden)
                if group is None or (group.sizes and not can_check(facts)):
                    continue
                if not group.is_reduction or not all_ways:
                    yield _step(path, group, facts)


def _step(path: tuple[int, ...], group: Group, facts: UnitFacts) -> Combine:
    places = tuple(dict.fromkeys(facts.at(member.leaf) for member in group.members))
    told = places[0] if len(places) == 1 else f"{', '.join(places[:-1])} and {places[-1]}"
    number = len(group.ways)
    become = "one" if number == 1 else f"{number} at the same time"
    return Combine(
        line_of(group.members[0].leaf),
        f"{len(group.members)} exchanges of {told} become {become}",
        (
            "those that become one have the same partners and lengths on all ranks",
            "nothing that the later ones send needs what the first ones receive",
        ),
        path,
        group,
        assumed=group.assumed,
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with some exchanges combined."""
    assert isinstance(step, Combine)
    packing = _Packing(facts, step.group)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        members = {member.position: member for member in step.group.members}
        first, last = min(members), max(members)
        behind = set(step.group.behind)
        found: list[Node] = list(nodes[:first])
        for position in range(first, last + 1):
            if position in members:
                found += packing.sent(members[position])
            elif position not in behind:
                found.append(nodes[position])
        for position in step.group.behind:
            if position in members:
                found += packing.stored(members[position])
            elif position < last:
                found.append(nodes[position])
        found += packing.freed()
        return (*found, *nodes[last + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    unit = added(
        replace(facts.unit, body=body),
        facts.located.form,
        facts.eol,
        packing.runtime,
        packing.declarations,
    )
    return with_checked_sizes(unit, step.group.sizes, facts)


class _Way:
    """One message each way: what is packed into it, and the names of its arrays and requests."""

    def __init__(self, facts: UnitFacts, members: tuple[Member, ...], number: int) -> None:
        self.facts = facts
        self.members = members
        self.out, self.in_ = f"{OUT}{number}", f"{IN}{number}"
        self.requests: tuple[str, ...] = ()
        self.offsets: dict[int, Poly] = {}
        total = Poly.constant(0)
        for member in members:
            self.offsets[member.position] = total
            total = total + member.count
        self.total = total

    @property
    def is_constant(self) -> bool:
        """Whether the length of the arrays is a constant expression."""
        return all(self._is_constant(atom) for atom in self.total.atoms)

    def _is_constant(self, atom: Expr) -> bool:
        symbol = self.facts.scope.lookup(atom.name) if isinstance(atom, Ref) else None
        named = symbol is not None and symbol.origin is Origin.PARAMETER
        plain = isinstance(atom, Ref) and atom.args is None
        return plain and (named or is_open(atom, self.facts.scope))

    @property
    def length(self) -> Expr:
        """The number of elements of the message."""
        return self.size(self.total)

    @property
    def declaration(self) -> Decl:
        """The declaration of the arrays."""
        length = Dim("explicit", None, self.length)
        if not self.is_constant:
            length = Dim("assumed_shape")
        kept = () if self.is_constant else ("allocatable",)
        entities = tuple(Entity(name, name, (length,)) for name in (self.out, self.in_))
        return Decl("type", self.members[0].sent.type, kept, None, entities)

    @property
    def message(self) -> Call:
        """The call that exchanges the message."""
        last = self.members[-1]
        what = last.leaf.what
        assert isinstance(what, Call)
        new: dict[str, Expr] = {
            "sendbuf": var(self.out),
            "recvbuf": var(self.in_),
            "sendcount": self.length,
            "recvcount": self.length,
            "count": self.length,
        }
        given = [new.get(p.name, actual) for p, actual in last.call.bound()]
        return Call(what.procedure, tuple(given))

    def started(self, which: int) -> Call:
        """The call that starts the receive (0) or the send (1)."""
        side = sides_of(self.members[-1].call, self.facts.scope)[which]
        buffer = (self.in_, self.out)[which]
        request = var(self.requests[which])
        return Call(var(side.start), (var(buffer), self.length, *side.arguments[2:], request))

    def waits(self) -> tuple[Call, ...]:
        """The calls that complete both."""
        arrays = (self.in_, self.out)
        pairs = zip(self.requests, arrays, strict=True)
        return tuple(Call(var(_WAIT), (var(request), var(array))) for request, array in pairs)

    def part(self, name: str, member: Member, part: PackedPart) -> Ref:
        """The elements of an array that are a member's."""
        start = self.offsets[member.position] + _ONE
        if part.is_scalar:
            return fn(name, self.size(start))
        end = self.offsets[member.position] + member.count
        return fn(name, Section(self.size(start), self.size(end), None))

    def size(self, value: Poly) -> Expr:
        """A number as an expression."""
        known = value.value
        return num(known) if known is not None else size(value, self.facts.scope)


class _Packing:
    """The statements of one group."""

    def __init__(self, facts: UnitFacts, group: Group) -> None:
        self.facts = facts
        self.group = group
        first = next_number(facts, OUT, IN)
        self.ways = tuple(_Way(facts, one, n) for n, one in enumerate(group.ways, first))
        self.together = len(self.ways) > 1
        if self.together:
            number = next_number(facts, REQUEST)
            for way in self.ways:
                way.requests = f"{REQUEST}{number}", f"{REQUEST}{number + 1}"
                number += 2

    @property
    def runtime(self) -> tuple[str, ...]:
        """The procedures of the runtime that are called."""
        return _RUNTIME if self.together else ()

    @property
    def declarations(self) -> tuple[Decl, ...]:
        """The declarations of all arrays and requests."""
        found = [way.declaration for way in self.ways]
        for way in self.ways if self.together else ():
            entities = tuple(Entity(name, name, None) for name in way.requests)
            found.append(Decl("type", TypeSpec("integer"), (), None, entities))
        return tuple(found)

    def sent(self, member: Member) -> tuple[Node, ...]:
        """What stands in the place of an exchange: its part is packed; the last one with its
        partners is the message."""
        way = self._way_of(member)
        is_last = member is way.members[-1]
        whats: list[What] = []
        if member is self.group.members[0]:
            whats += [one for way in self.ways for one in _allocated(way)]
            whats += [way.started(0) for way in self.ways if self.together]
        whats.append(Assign(way.part(way.out, member, member.sent), member.sent.elements))
        if is_last:
            whats.append(way.started(1) if self.together else way.message)
        if self.together and member is self.group.members[-1]:
            whats += [call for way in self.ways for call in way.waits()]
        marks = ("asphalt: several exchanges in one",) if is_last and len(way.members) > 1 else ()
        return statements_for(whats, marks, self.facts)(member.leaf)

    def stored(self, member: Member) -> tuple[Node, ...]:
        """What stands behind the message: what a member receives is stored where it came to."""
        make = maker_at(member.leaf, self.facts.located.form, self.facts.eol)
        way = self._way_of(member)
        part = way.part(way.in_, member, member.received)
        source = member.call.args.get("source")
        if source is None:
            return (make.assign(member.received.elements, part),)
        arrives = compare(source, "/=", var("MPI_PROC_NULL"))
        return (make.branch(arrives, (make.inner().assign(member.received.elements, part),)),)

    def freed(self) -> tuple[Leaf, ...]:
        """Arrays are given back."""
        make = maker_at(self.group.members[-1].leaf, self.facts.located.form, self.facts.eol)
        arrays = [var(name) for way in self.ways for name in _names(way)]
        return (make.leaf(Allocation("deallocate", tuple(arrays))),) if arrays else ()

    def _way_of(self, member: Member) -> _Way:
        return next(way for way in self.ways if any(one is member for one in way.members))


def _names(way: _Way) -> tuple[str, ...]:
    """The arrays that are allocated."""
    return () if way.is_constant else (way.out, way.in_)


def _allocated(way: _Way) -> tuple[Allocation, ...]:
    arrays = tuple(fn(name, way.length) for name in _names(way))
    return (Allocation("allocate", arrays),) if arrays else ()


TRANSFORMATION = Transformation(
    "communication combination",
    Pass.COMBINATION,
    Phase.EXCHANGES,
    "Exchanges with the same partners become one message each way.",
    check,
    apply,
)
