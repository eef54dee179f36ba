"""The messages of a tile, for each pattern: which stretch it is, who gets it, where it lands.

The schedule is that of ``analysis.schedule``: receives are posted up to D tiles ahead, the slots of
a tile are those of the tile D before it, which is waited for when the tile has been computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from asphalt.analysis.algebra import Poly
from asphalt.analysis.geometry import Address, Divides, Guard
from asphalt.analysis.plan import Plan
from asphalt.analysis.schedule import Shape as Pattern
from asphalt.ir.expr import AltReturn, Component, Expr, Keyword, Lit, Ref, Section
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.make import (
    Maker,
    add,
    both,
    compare,
    fn,
    mul,
    num,
    quotient,
    respelled,
    simplified,
    size,
    sub,
    var,
)

TAG = 0  # nobody else sends on the private communicator, and a pair's messages keep their order

FIRST, LAST, LO, HI = (var(f"asphalt_{n}") for n in ("first", "last", "lo", "hi"))
K, D, NP, ME = (var(f"asphalt_{n}") for n in ("k", "d", "np", "me"))
TILE, TILES, AHEAD, PEER = (var(f"asphalt_{n}") for n in ("tile", "tiles", "ahead", "peer"))
SLOT, EACH, BLOCK, PLANES = (var(f"asphalt_{n}") for n in ("slot", "each", "block", "planes"))
REQUESTS, ERROR = var("asphalt_req"), var("asphalt_err")


def _some(tiles: Expr) -> Expr:
    """A number of tiles that compilers see to be positive, so that they do not warn of variables
    which the loop over the tiles sets and later statements read."""
    return fn("max", num(1), tiles)


class Pieces(ABC):
    """What the two patterns have in common."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layout = plan.layout
        self.scope = plan.exchange.scope

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, make: Maker) -> list[Node]:
        """Statements before the decision whether to tile."""

    @abstractmethod
    def stream(self) -> Expr:
        """Iterations over which one stream of messages runs."""

    @abstractmethod
    def decided(self, make: Maker) -> list[Node]:
        """Statements once it is decided to tile; they set ``asphalt_tiles``."""

    def whole(self, make: Maker) -> list[Node]:
        """Statements once it is decided not to tile: one tile with everything."""
        return [make.assign(K, fn("max", num(1), self.trips())), make.assign(TILES, num(1))]

    @abstractmethod
    def messages_a_tile(self) -> Expr:
        """Messages that a rank sends (and receives) in one tile."""

    @abstractmethod
    def this_tile(self, make: Maker) -> list[Node]:
        """Set ``asphalt_lo`` and ``asphalt_hi`` to the stretch of this tile."""

    @abstractmethod
    def receive_ahead(self, make: Maker) -> list[Node]:
        """Post the receives of tile ``asphalt_ahead``."""

    @abstractmethod
    def send(self, make: Maker) -> list[Node]:
        """Wait for the tile D before, and send this one."""

    @abstractmethod
    def extra_guards(self) -> list[Expr]:
        """Guards beside those of the layout."""

    @abstractmethod
    def afterwards(self, make: Maker) -> list[Node]:
        """Statements behind the tile loop, where tiles were sent."""

    # -- what is shared ----------------------------------------------------------------------

    def trips(self) -> Expr:
        """The trip count of the tiled loop."""
        low, high = (FIRST, LAST) if self.plan.producer.direction > 0 else (LAST, FIRST)
        return add(sub(high, low), num(1))

    def handle(self, argument: str) -> Expr:
        """An MPI handle of the call as an integer."""
        actual = self.plan.exchange.call.args[argument]
        if self.plan.exchange.call.binding == "mpi_f08":
            return Component(actual, "mpi_val", "MPI_VAL")
        return actual

    def datatype(self) -> Expr:
        """The data type of the pieces."""
        arguments = self.plan.exchange.call.procedure.exchange
        assert arguments is not None
        assert arguments.send_type is not None
        return self.handle(arguments.send_type)

    def buffer(self, address: Address) -> Ref:
        """A buffer as the user spells it."""
        named = respelled(var(address.buffer), self.scope)
        assert isinstance(named, Ref)
        return named

    def legal(self) -> Expr:
        """The run-time guards as one logical expression."""
        parts = [self._guard(guard) for guard in self.layout.guards] + self.extra_guards()
        if not parts:
            return Lit("logical", ".true.")
        total = parts[0]
        for part in parts[1:]:
            total = both(total, part)
        return total

    def size(self, poly: Poly) -> Expr:
        """A size, as the source writes it where it does."""
        for known, expr in self.layout.stated:
            if poly == known:
                named = respelled(expr, self.scope)
                assert not isinstance(named, Section | Keyword | AltReturn)
                return named
        return size(poly, self.scope)

    def _guard(self, guard: Guard | Divides) -> Expr:
        match guard:
            case Guard(left=left, relation=relation, right=right):
                return compare(self.size(left), relation, self.size(right))
            case Divides(count=count, unit=unit):
                divisor = fn("max", num(1), self.size(unit))
                return compare(fn("mod", self.size(count), divisor), "==", num(0))

    def element(self, address: Address, inside: Poly, rank: Poly) -> Ref:
        """The first element of a piece: ``inside`` steps into the block of ``rank``."""
        block = address.block_factor
        if self.layout.pattern is Pattern.SLAB and block == self.layout.block:
            block = Poly.atom(BLOCK)
        subscripts = list(address.fixed)
        subscripts[address.tile_dimension] += inside * address.tile_factor
        subscripts[address.block_dimension] += rank * block
        return replace(self.buffer(address), args=tuple(size(s, self.scope) for s in subscripts))

    def elements(self, planes: Expr) -> Expr:
        """The number of elements of so many planes."""
        return mul(self.layout.plane, planes)

    def message(
        self, make: Maker, procedure: str, element: Ref, planes: Expr, request: Expr
    ) -> Leaf:
        """Start one message to or from ``asphalt_peer``."""
        return make.call(
            procedure,
            element,
            self.elements(planes),
            self.datatype(),
            PEER,
            num(TAG),
            var("asphalt_comm"),
            fn("asphalt_req", request),
            ERROR,
        )

    def wait(self, make: Maker, first: Expr, count: Expr, *comments: str) -> Leaf:
        """Wait for ``count`` requests from ``first`` on."""
        last = simplified(sub(add(first, count), num(1)))
        slots = fn("asphalt_req", Section(simplified(first), last, None))
        return make.call("asphalt_waitall", count, slots, ERROR, comments=comments)


class EveryBlock(Pieces):
    """Each tile is the same stretch of every rank's block: one message to each rank."""

    def prepare(self, make: Maker) -> list[Node]:
        return []

    def stream(self) -> Expr:
        return self.trips()

    def decided(self, make: Maker) -> list[Node]:
        tiles = quotient(simplified(sub(add(self.trips(), K), num(1))), K)
        return [make.assign(TILES, _some(tiles))]

    def messages_a_tile(self) -> Expr:
        return NP

    def this_tile(self, make: Maker) -> list[Node]:
        return self._stretch(make, TILE)

    def _stretch(self, make: Maker, tile: Expr) -> list[Node]:
        steps = mul(tile, K)
        if self.plan.producer.direction > 0:
            end = fn("min", sub(add(LO, K), num(1)), LAST)
            return [make.assign(LO, add(FIRST, steps)), make.assign(HI, end)]
        end = fn("max", add(sub(LO, K), num(1)), LAST)
        return [make.assign(LO, sub(FIRST, steps)), make.assign(HI, end)]

    def _planes(self) -> Expr:
        low, high = (LO, HI) if self.plan.producer.direction > 0 else (HI, LO)
        return add(sub(high, low), num(1))

    def _inside(self) -> Poly:
        """How many planes of a block lie before the tile."""
        send = self.layout.send
        lowest = LO if self.plan.producer.direction > 0 else HI
        return Poly.atom(lowest) + self.layout.offset - send.fixed[send.tile_dimension]

    def receive_ahead(self, make: Maker) -> list[Node]:
        inner = make.inner()
        ring = add(D, fn("mod", AHEAD, mul(num(2), D)))
        index = var("asphalt_i")
        source = self.element(self.layout.receive, self._inside(), Poly.atom(PEER))
        return [
            *self._stretch(make, AHEAD),
            make.assign(SLOT, mul(NP, ring)),
            make.do(
                "asphalt_i",
                num(1),
                NP,
                (
                    inner.assign(PEER, fn("modulo", sub(ME, index), NP)),
                    self.message(inner, "asphalt_irecv", source, self._planes(), add(SLOT, index)),
                ),
            ),
        ]

    def send(self, make: Maker) -> list[Node]:
        inner = make.inner()
        ring = add(D, fn("mod", add(TILE, D), mul(num(2), D)))
        index = var("asphalt_i")
        piece = self.element(self.layout.send, self._inside(), Poly.atom(PEER))
        return [
            make.assign(SLOT, mul(NP, ring), "tile - D must be through before its slots are used"),
            self.wait(make, add(SLOT, num(1)), NP),
            make.assign(SLOT, mul(NP, fn("mod", TILE, D))),
            self.wait(make, add(SLOT, num(1)), NP),
            make.do(
                "asphalt_i",
                num(1),
                NP,
                (
                    inner.assign(PEER, fn("modulo", add(ME, index), NP)),
                    self.message(inner, "asphalt_isend", piece, self._planes(), add(SLOT, index)),
                ),
            ),
        ]

    def extra_guards(self) -> list[Expr]:
        return []

    def afterwards(self, make: Maker) -> list[Node]:
        return []


class Slab(Pieces):
    """Each tile is a stretch of one rank's block: one message to one rank.

    Every rank's block of ``asphalt_block`` planes is cut into ``asphalt_each`` tiles.  Rank r
    begins with the block of rank r+1 and wraps around.
    """

    def prepare(self, make: Maker) -> list[Node]:
        return [
            make.assign(BLOCK, self.size(self.layout.block)),
            make.assign(NP, fn("asphalt_ranks", self.handle("comm"))),
        ]

    def stream(self) -> Expr:
        return BLOCK

    def decided(self, make: Maker) -> list[Node]:
        return [
            make.assign(EACH, quotient(sub(add(BLOCK, K), num(1)), K)),
            make.assign(TILES, _some(mul(NP, EACH))),
        ]

    def whole(self, make: Maker) -> list[Node]:
        return [*super().whole(make), make.assign(EACH, num(1))]

    def messages_a_tile(self) -> Expr:
        return num(1)

    def _within(self, make: Maker, tile: Expr) -> list[Node]:
        """Set how far into its block a tile begins, and how many planes it has."""
        start = var("asphalt_from")
        return [
            make.assign(start, mul(fn("mod", tile, EACH), K)),
            make.assign(PLANES, fn("min", K, sub(BLOCK, start))),
        ]

    def this_tile(self, make: Maker) -> list[Node]:
        inner = make.inner()
        target = fn("modulo", add(add(ME, num(1)), quotient(TILE, EACH)), NP)
        begin = add(add(FIRST, mul(PEER, BLOCK)), var("asphalt_from"))
        comment = "rank r begins with the block of rank r+1, so that not all send to one rank"
        tiled = (
            inner.assign(PEER, target, comment),
            *self._within(inner, TILE),
            inner.assign(LO, begin),
            inner.assign(HI, sub(add(LO, PLANES), num(1))),
        )
        whole = (inner.assign(LO, FIRST), inner.assign(HI, LAST))
        return [make.branch(var("asphalt_tiled"), tiled, whole)]

    def receive_ahead(self, make: Maker) -> list[Node]:
        source = fn("modulo", sub(sub(ME, num(1)), quotient(AHEAD, EACH)), NP)
        ring = add(D, fn("mod", AHEAD, mul(num(2), D)))
        start = Poly.atom(var("asphalt_from"))
        piece = self.element(self.layout.receive, start, Poly.atom(PEER))
        return [
            make.assign(PEER, source),
            *self._within(make, AHEAD),
            make.assign(SLOT, add(ring, num(1))),
            self.message(make, "asphalt_irecv", piece, PLANES, SLOT),
        ]

    def send(self, make: Maker) -> list[Node]:
        ring = add(D, fn("mod", add(TILE, D), mul(num(2), D)))
        send = self.layout.send
        inside = Poly.atom(LO) + self.layout.offset - send.fixed[send.tile_dimension]
        piece = self.element(send, inside, Poly())
        planes = add(sub(HI, LO), num(1))
        target = fn("modulo", add(add(ME, num(1)), quotient(TILE, EACH)), NP)
        comment = "tile - D must be through before its slots are used"
        return [
            make.assign(SLOT, add(ring, num(1)), comment),
            self.wait(make, SLOT, num(1)),
            make.assign(SLOT, add(fn("mod", TILE, D), num(1))),
            self.wait(make, SLOT, num(1)),
            make.assign(PEER, target),
            self.message(make, "asphalt_isend", piece, planes, SLOT),
        ]

    def extra_guards(self) -> list[Expr]:
        return [compare(self.trips(), "==", mul(NP, BLOCK))]

    def afterwards(self, make: Maker) -> list[Node]:
        """The loop variables as the original order leaves them."""
        restored: dict[str, Node] = {}
        for phase in self.plan.producer.phases:
            head = phase.tiled.head.what
            assert isinstance(head, DoHead)
            assert isinstance(head.var, Ref)
            restored[head.var.name] = make.assign(head.var, add(LAST, num(1)))
        return list(restored.values())


def pieces_of(plan: Plan) -> Pieces:
    """The messages of a plan."""
    return Slab(plan) if plan.layout.pattern is Pattern.SLAB else EveryBlock(plan)
