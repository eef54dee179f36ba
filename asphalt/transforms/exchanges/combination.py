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
2).  As many exchanges as can are combined (their heuristic of most combining), each group if the
procedure takes less time by it: long messages stay apart where the copies cost more than a latency.
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
- From MPI_PROC_NULL nothing arrives, and nothing is stored.
- Nothing reads the statuses or the error codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.names.constants import is_open
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.repetition.combined_exchanges import IN, OUT, CombinedExchanges, Group, Member
from asphalt.analysis.repetition.packed_parts import PackedPart
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Assign, Call, Decl, Dim, Entity, What
from asphalt.ir.tree import Leaf, Node, Unit
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.checked_sizes import can_check, with_checked_sizes
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import compare, fn, maker_at, num, size, var
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.replacement import statements_for
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_ONE = Poly.constant(1)


@record
class Combine(Step):
    """Exchanges to combine; ``path``: to their list."""

    path: tuple[int, ...]
    group: Group


def check(facts: UnitFacts) -> Iterator[Found]:
    """The exchanges of a unit that can be combined, the first ones of each list."""
    for path, siblings in lists_in(facts.unit.body):
        group = facts.once(CombinedExchanges).in_list(siblings)
        if group is None or (group.sizes and not can_check(facts)):
            continue
        places = tuple(dict.fromkeys(facts.at(member.leaf) for member in group.members))
        told = places[0] if len(places) == 1 else f"{', '.join(places[:-1])} and {places[-1]}"
        yield Combine(
            line_of(group.members[0].leaf),
            f"{len(group.members)} exchanges of {told} become one",
            (
                "they have the same partners, tags and lengths on all ranks",
                "nothing that the later ones send needs what the first ones receive",
            ),
            path,
            group,
            assumed=group.assumed,
        )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with some exchanges combined."""
    assert isinstance(step, Combine)
    number = next_number(facts, OUT, IN)
    packing = _Packing(facts, step.group, f"{OUT}{number}", f"{IN}{number}")

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
        if not packing.is_constant:
            found.append(packing.freed())
        return (*found, *nodes[last + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    unit = added(
        replace(facts.unit, body=body),
        facts.located.form,
        facts.eol,
        (),
        (packing.declaration,),
    )
    return with_checked_sizes(unit, step.group.sizes, facts)


class _Packing:
    """The statements of one group; ``out``, ``in_``: the names of its arrays."""

    def __init__(self, facts: UnitFacts, group: Group, out: str, in_: str) -> None:
        self.facts = facts
        self.group = group
        self.out = out
        self.in_ = in_
        self.offsets: dict[int, Poly] = {}
        total = Poly.constant(0)
        for member in group.members:
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
    def declaration(self) -> Decl:
        """The declaration of the arrays."""
        length = Dim("explicit", None, self._size(self.total))
        if not self.is_constant:
            length = Dim("assumed_shape")
        kept = () if self.is_constant else ("allocatable",)
        entities = tuple(Entity(name, name, (length,)) for name in (self.out, self.in_))
        return Decl("type", self.group.members[0].sent.type, kept, None, entities)

    def sent(self, member: Member) -> tuple[Node, ...]:
        """What stands in the place of an exchange: its part is packed; the last one is the
        message."""
        first, last = self.group.members[0], self.group.members[-1]
        whats: list[What] = []
        if member is first and not self.is_constant:
            arrays = tuple(fn(name, self._size(self.total)) for name in (self.out, self.in_))
            whats.append(Allocation("allocate", arrays))
        whats.append(Assign(self._part(self.out, member, member.sent), member.sent.elements))
        if member is last:
            whats.append(self._message(member))
        marks = () if member is not last else ("asphalt: several exchanges in one",)
        return statements_for(whats, marks, self.facts)(member.leaf)

    def stored(self, member: Member) -> tuple[Node, ...]:
        """What stands behind the message: what a member receives is stored where it came to."""
        make = maker_at(member.leaf, self.facts.located.form, self.facts.eol)
        arrives = compare(self._given(member, "source"), "/=", var("MPI_PROC_NULL"))
        part = self._part(self.in_, member, member.received)
        return (make.branch(arrives, (make.inner().assign(member.received.elements, part),)),)

    def freed(self) -> Leaf:
        """The arrays are given back."""
        make = maker_at(self.group.members[-1].leaf, self.facts.located.form, self.facts.eol)
        return make.leaf(Allocation("deallocate", (var(self.out), var(self.in_))))

    def _message(self, member: Member) -> Call:
        what = member.leaf.what
        assert isinstance(what, Call)
        length = self._size(self.total)
        new: dict[str, Expr] = {
            "sendbuf": var(self.out),
            "recvbuf": var(self.in_),
            "sendcount": length,
            "recvcount": length,
        }
        given = [new.get(p.name, actual) for p, actual in member.call.bound()]
        return Call(what.procedure, tuple(given))

    def _part(self, name: str, member: Member, part: PackedPart) -> Ref:
        start = self.offsets[member.position] + _ONE
        if part.is_scalar:
            return fn(name, self._size(start))
        end = self.offsets[member.position] + member.count
        return fn(name, Section(self._size(start), self._size(end), None))

    def _given(self, member: Member, name: str) -> Expr:
        return member.call.args[name]

    def _size(self, value: Poly) -> Expr:
        known = value.value
        return num(known) if known is not None else size(value, self.facts.scope)


TRANSFORMATION = Transformation(
    "communication combination",
    Pass.COMBINATION,
    Phase.EXCHANGES,
    "Exchanges with the same partners become one message each way.",
    check,
    apply,
)
