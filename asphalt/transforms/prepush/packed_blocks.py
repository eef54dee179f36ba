"""The beginning of an exchange of blocks to which an iteration adds different numbers of elements.

A tile is K iterations, the same K on all ranks; its piece of the block for a rank is what they add
to it (``schedule.check_packed``; ``fortran_runtime/asphalt_packed.f90`` executes it).  For an
open-coded exchange, this module emits the lists of counts and displacements; the pieces have the
tag and the communicator of its messages, which no other messages can match.
"""

from __future__ import annotations

from asphalt.analysis.exchange.open_coded_blocks import says_some
from asphalt.analysis.exchange.per_rank import PEER
from asphalt.analysis.messages.loops import replaced
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import Arg, Component, Expr, Op, Ref, Section, names_in, walk
from asphalt.ir.stmt import Allocation, Assign, DoHead, Guarded
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.beginning import keywords
from asphalt.transforms.prepush.uneven_blocks import UnevenBlocks
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    array,
    both,
    compare,
    fn,
    implied_do,
    mul,
    num,
    quotient,
    simplified,
    sub,
    var,
)


class PackedBlocks(UnevenBlocks):
    """Each tile is the piece of every block that its iterations fill."""

    variable = var("asphalt_p")

    def __init__(self, plan: Plan, backends: tuple[str, ...], left_at_end: bool) -> None:
        super().__init__(plan, backends, left_at_end)
        assert self.layout.packed is not None
        self.packed = self.layout.packed
        self.coded = plan.exchange.open_coded

    def begin(self, make: Maker, site: str) -> Leaf:
        blocks = self.uneven
        counted = self.packed.counter is not None
        spread = None if counted or blocks.spread is None else self.size(blocks.spread)
        coded = None if self.coded is None else self.coded.blocks
        own = None if coded is None else coded.own
        return self.call(
            make,
            "begin_packed",
            self.handle("comm"),
            *self.blocks(),
            *self.elements(),
            *keywords((("units", self._units()),)),
            *self.loop(site),
            *keywords((("spread", spread), ("send_counts", self._send_counts()))),
            *self.guards(),
            *keywords((("tag", None if coded is None else self.written(coded.tag)),)),
            self.name(site),
            *keywords(
                (
                    ("ranks", self._ranks() if self.coded or counted else None),
                    ("rank", None if own is None else self.written(own)),
                )
            ),
            *self.backend(site),
            *self.entered(),
        )

    def _units(self) -> Expr:
        """What one iteration adds to the block of each rank."""
        unit = self.written(self.packed.unit)
        if self._width > 1:
            unit = mul(num(self._width), unit)
        return self._list(unit)

    def _list(self, value: Expr) -> Expr:
        """A value for each rank as an array constructor.

        Its variable, which exists in it alone (F2018 19.4), has the name of that of the loop over
        the ranks, if nothing else in it has.
        """
        highest, variable = self._highest(), PEER
        counter = self.packed.counter
        head = None if counter is None else counter.blocks.head.what
        own = head.var if isinstance(head, DoHead) else None
        if isinstance(own, Ref) and own.name not in names_in(value) | names_in(highest):
            variable = own
        named: Expr = replaced(value, PEER, variable)  # type: ignore[assignment]
        return array(implied_do(self.integer(named), variable, num(0), highest))

    @property
    def _width(self) -> int:
        """The bytes of an element, where the messages are counted in bytes; else 1."""
        return 1 if self.packed.counter is None else self.packed.counter.bytes

    def elements(self) -> tuple[Arg, ...]:
        if self._width == 1:
            return super().elements()
        return (self.datatype(), num(1))

    def _highest(self) -> Expr:
        return simplified(sub(self._ranks(), num(1)))

    def guards(self) -> tuple[Arg, ...]:
        """The run-time guards; messages with a tag of the program's are alone with it."""
        legal = self.legal()
        return keywords((("tiled", legal),)) if self.coded is not None else super().guards()

    def blocks(self) -> tuple[Arg, ...]:
        """Both buffers, each with its displacements, and the counts of what is received: lists, or
        what they would be."""
        written = self._written_lists()
        if written is None:
            send, _, begin, receive, received, landing = super().blocks()
            return (send, begin, receive, received, landing)
        _, begin, received, landing = written
        send, receive = self.array(self.layout.send), self.array(self.layout.receive)
        return (send, begin, receive, received, landing)

    def _send_counts(self) -> Expr | None:
        """The counts of what is sent; None: those that follow from the units."""
        if self._counts_follow():
            return None
        written = self._written_lists()
        return self.whole_list(self.uneven.send_counts) if written is None else written[0]

    def _counts_follow(self) -> bool:
        """Whether what is sent to a rank is what the iterations add to its block, none of whose
        factors is negative, and the conditions of its message only say that there is something."""
        blocks = None if self.coded is None else self.coded.blocks
        if blocks is None:
            return False
        filled = _not_clipped(poly(self.packed.unit)) * poly(self.trips())
        guards = (
            *((guard, blocks.send_count) for guard in blocks.send_guards),
            *((guard, blocks.receive_count) for guard in blocks.receive_guards),
        )
        return filled == poly(blocks.send_count) and all(_says_some(*one) for one in guards)

    def _written_lists(self) -> tuple[Expr, Expr, Expr, Expr] | None:
        """The counts and displacements of an open-coded exchange as array constructors; None: what
        the program evaluates under a condition may have no value without it.

        A condition that only says that the length is positive is left out: the runtime does not
        tile where one is negative.  So is one that says it of a factor, if the runtime computes the
        counts of what is sent: it does not tile where a block is longer for its receiver, since
        two of its factors are negative.
        """
        follow = self._counts_follow()
        blocks = None if self.coded is None else self.coded.blocks
        if blocks is None:
            return None
        found: list[Expr] = []
        for count, displacement, guards in (
            (blocks.send_count, blocks.send_displacement, blocks.send_guards),
            (blocks.receive_count, blocks.receive_displacement, blocks.receive_guards),
        ):
            if guards and any(map(_may_fail, (count, displacement, *guards[1:]))):
                return None
            value = self.integer(self.written(count))
            left = (
                () if follow else tuple(g for g in guards if not _says_some(g, count, exact=True))
            )
            if left:
                first, *others = (self.written(guard) for guard in left)
                for other in others:
                    first = both(first, other)
                value = fn("merge", value, num(0), first)
            found += [value, self.integer(self.written(displacement))]
        sent, begin, received, landing = map(self._list, found)
        return sent, begin, received, landing

    def prepare(self, make: Maker) -> list[Node]:
        blocks = None if self.coded is None else self.coded.blocks
        if blocks is None or self._written_lists() is not None:
            return []
        inner, highest = make.inner(), self._highest()
        sent, begin, received, landing = (numbers.of(PEER) for numbers in self.uneven.lists)
        send = (sent, blocks.send_count, begin, blocks.send_displacement)
        receive = (received, blocks.receive_count, landing, blocks.receive_displacement)
        body = [
            *self._block(inner, *send, blocks.send_guards),
            *self._block(inner, *receive, blocks.receive_guards),
        ]
        shaped = tuple(fn(name.name, Section(num(0), highest, None)) for name in self.made())
        comment = "how long the blocks are, and where they begin"
        return [
            make.leaf(Allocation("allocate", shaped), comment),
            make.do(PEER.name, num(0), highest, tuple(body)),
        ]

    def _block(
        self,
        make: Maker,
        count: Expr,
        length: Expr,
        place: Expr,
        begin: Expr,
        guards: tuple[Expr, ...],
    ) -> list[Node]:
        """Set the count and the displacement of the block of ``asphalt_peer``.

        Expressions that the program evaluates under a condition are evaluated under it.
        """
        counted = Assign(count, self.written(length))
        placed = Assign(place, self.written(begin))
        if not guards:
            return [make.leaf(counted), make.leaf(placed)]
        safe = not _may_fail(begin)
        before = [Assign(count, num(0)), placed if safe else Assign(place, num(0))]
        inside = [counted] if safe else [counted, placed]
        first: list[Node] = [make.leaf(what) for what in before]
        *outer, last = (self.written(guard) for guard in guards)
        if not outer and len(inside) == 1:
            return [*first, make.leaf(Guarded(last, inside[0]))]
        depth = [make]
        for _ in guards:
            depth.append(depth[-1].inner())
        nested: tuple[Node, ...] = tuple(depth[-1].leaf(what) for what in inside)
        for maker, guard in zip(reversed(depth[:-1]), reversed((*outer, last)), strict=True):
            nested = (maker.branch(guard, nested),)
        return [*first, *nested]

    def _ranks(self) -> Expr:
        """The ranks that the program visits."""
        if self.coded is not None and self.coded.blocks is not None:
            return self.written(self.coded.blocks.ranks)
        counter = self.packed.counter
        if counter is None:
            return self.ranks()
        return self.written(simplified(add(sub(counter.last, counter.first), num(1))))

    def extra_guards(self) -> list[Expr]:
        guards: list[Expr] = []
        counter = self.packed.counter
        if self._width > 1:
            begin = self.written(self.uneven.send_displacements.of(PEER))
            whole = compare(fn("mod", self._list(begin), num(self._width)), "==", num(0))
            guards.append(fn("all", whole))
        if self.coded is not None and self.coded.blocks is not None and counter is not None:
            trips = simplified(add(sub(counter.last, counter.first), num(1)))
            if trips != simplified(self.coded.blocks.ranks):
                guards.append(compare(self.written(trips), "==", self.ranks()))
        return guards

    def counted(self, make: Maker) -> tuple[Node, ...]:
        counter = self.packed.counter
        if counter is None or counter.variable is None:
            return ()
        head = counter.blocks.head.what
        assert isinstance(head, DoHead)
        assert head.var is not None
        rank = self.written(simplified(sub(head.var, counter.first)))
        place: Expr = self.bound("place", rank, self.lo)
        if self._width > 1:
            place = quotient(place, num(self._width))
        begins = counter.begins.value
        total = place if not begins else add(place, num(begins))
        return (make.leaf(Guarded(self.tiled, Assign(self.written(counter.variable), total))),)

    def made(self) -> tuple[Ref, ...]:
        filled = self.coded is not None and self._written_lists() is None
        lists = (numbers.actual for numbers in self.uneven.lists) if filled else ()
        return tuple(actual for actual in lists if isinstance(actual, Ref))


def _says_some(guard: Expr, count: Expr, exact: bool = False) -> bool:
    """Whether a condition of a message only says that its length, or a factor of it, is positive,
    or that the rank is this one, whose own block is copied whatever its length.  ``exact``: it says
    so of the length."""
    if isinstance(guard, Op) and guard.op == ".or.":
        own, guard = guard.operands
        if not (isinstance(own, Op) and own.op == "==" and own.operands[0] == PEER):
            return False
    return says_some(guard, folded_expr(count), exact)


def _not_clipped(size: Poly) -> Poly:
    """A size with x in place of max(0, x)."""
    for atom in size.atoms:
        if isinstance(atom, Ref) and atom.name == "max" and atom.args and len(atom.args) == 2:
            zero, value = atom.args
            if zero == num(0) and isinstance(value, Ref | Op | Component):
                powers = size.coefficients(atom)
                if powers.keys() <= {0, 1}:
                    size = powers.get(0, Poly()) + powers[1] * poly(value)
    return size


def _may_fail(expr: Expr) -> bool:
    """Whether an expression may have no value for a rank that the program leaves out: a quotient,
    or an element with another subscript than the rank."""
    for part in walk(expr):
        if isinstance(part, Op) and part.op in ("/", "**") and PEER.name in names_in(part):
            return True
        if isinstance(part, Ref | Component) and any(
            arg != PEER and PEER.name in names_in(arg) for arg in part.args or ()
        ):
            return True
    return False
