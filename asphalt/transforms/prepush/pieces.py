"""The messages of a tile, for each pattern: what is sent, to whom, and where it lands.

``Pieces`` has a method for each place of the emitted code; there is one subclass per pattern.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Address, Contiguous, Divides, Guard
from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import AltReturn, Component, Expr, Keyword, Lit, Ref, Section
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    both,
    compare,
    fn,
    mul,
    num,
    respelled,
    simplified,
    size,
    sub,
    var,
)

FIRST, LAST, LO, HI = (var(f"asphalt_{n}") for n in ("first", "last", "lo", "hi"))
K, D, NP, ME = (var(f"asphalt_{n}") for n in ("k", "d", "np", "me"))
TILE, TILES, AHEAD, PEER = (var(f"asphalt_{n}") for n in ("tile", "tiles", "ahead", "peer"))
SLOT, EACH, BLOCK = (var(f"asphalt_{n}") for n in ("slot", "each", "block"))
FROM, PLANES = var("asphalt_from"), var("asphalt_planes")
TILED, POSTED = var("asphalt_tiled"), var("asphalt_posted")
FIRST_TILE = both(TILED, compare(TILE, "==", num(0)))
REQUESTS, ERROR = var("asphalt_req"), var("asphalt_err")


def some_tiles(tiles: Expr) -> Expr:
    """A number of tiles that is positive for the compiler, so that it does not warn of variables
    that the loop over the tiles defines and later statements read."""
    return fn("max", num(1), tiles)


class Pieces(ABC):
    """The common part of all patterns."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layout = plan.layout
        self.scope = plan.exchange.scope

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, make: Maker) -> list[Node]:
        """Statements before the decision whether to tile."""

    @abstractmethod
    def enter(self, make: Maker, site: str) -> Leaf:
        """Decide whether to tile; sets ``asphalt_k``, 0 if the exchange is not tiled."""

    @abstractmethod
    def decided(self, make: Maker) -> list[Node]:
        """Statements behind the decision to tile; they set ``asphalt_tiles``."""

    def whole(self, make: Maker) -> list[Node]:
        """Statements behind the decision not to tile: one tile with all iterations."""
        return [make.assign(K, fn("max", num(1), self.trips())), make.assign(TILES, num(1))]

    @abstractmethod
    def requests(self) -> Expr:
        """The size of the array of requests, as it is allocated."""

    def all_requests(self) -> Expr:
        """Its size at the end."""
        return self.requests()

    @abstractmethod
    def posted_before(self, make: Maker) -> list[Node]:
        """Statements before the loop over the tiles that set up or post receives."""

    @abstractmethod
    def posted_in_tile(self, make: Maker) -> list[Node]:
        """Statements at the beginning of a tile that post receives, where tiles are sent."""

    @abstractmethod
    def this_tile(self, make: Maker) -> list[Node]:
        """Set ``asphalt_lo`` and ``asphalt_hi`` to the bounds of this tile."""

    def sends(self) -> Expr:
        """Whether a tile is sent."""
        return TILED

    def heard(self, make: Maker, when: Expr) -> list[Node]:
        """Statements that post receives ``when`` something is known that comes from other ranks,
        without waiting for it; they are executed again and again."""
        return []

    def computed(self, make: Maker) -> list[Node]:
        """Statements between the iterations of a tile and its messages."""
        return []

    @abstractmethod
    def send(self, make: Maker) -> list[Node]:
        """Wait for the tile D before, and send this one."""

    @abstractmethod
    def afterwards(self, make: Maker) -> list[Node]:
        """Statements behind the tile loop, if ``reordered``."""

    def reordered(self) -> Expr:
        """Whether the tiles may be executed in another order than that of the program."""
        return TILED

    def clone(self, make: Maker) -> list[Node]:
        """Allocate the clone of the receive buffer, if the plan has one."""
        assert self.plan.clone is None
        return []

    def release(self, make: Maker) -> list[Node]:
        """Statements behind the last wait."""
        return []

    def counted(self, make: Maker) -> tuple[Node, ...]:
        """Statements in front of the tiled loop of a packing nest, inside of the loop around it."""
        return ()

    def made(self) -> tuple[Ref, ...]:
        """The arrays that ``prepare`` allocates, to be freed at the end."""
        return ()

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
        """The datatype of the pieces."""
        arguments = self.plan.exchange.call.procedure.exchange
        assert arguments is not None
        assert arguments.send_type is not None
        return self.handle(arguments.send_type)

    def name(self, site: str) -> Keyword:
        """The name of the site, as an argument of the procedure that decides whether to tile."""
        return Keyword("site", "site", Lit("character", f"'{site}'"))

    def alone(self) -> tuple[Keyword, ...]:
        """Whether the messages need no private communicator, as an argument of that procedure."""
        return (Keyword("alone", "alone", Lit("logical", ".true.")),) if self.plan.alone else ()

    def buffer(self, address: Address) -> Ref | Component:
        """The array of a buffer as the user spells it."""
        arguments = self.plan.exchange.call.procedure.exchange
        assert arguments is not None
        for argument in (arguments.send, arguments.receive):
            passed = buffer_of(self.plan.exchange, argument)
            if passed is not None and passed.name == address.buffer:
                named = respelled(passed.array, self.scope)
                assert isinstance(named, Ref | Component)
                return named
        copy = self.plan.producer.copy
        assert copy is not None, "an address is that of one of the two buffers"
        named = respelled(copy.view.buffer.array, self.scope)
        assert isinstance(named, Ref)
        return named

    def first_element(self, address: Address) -> Ref | Component:
        """The first element of a buffer, if that is not the first of its array; else the array."""
        arguments = self.plan.exchange.call.procedure.exchange
        assert arguments is not None
        for argument in (arguments.send, arguments.receive):
            passed = buffer_of(self.plan.exchange, argument)
            if passed is not None and passed.name == address.buffer and passed.origin is not None:
                subscripts = tuple(size(poly, self.scope) for poly in passed.origin)
                return replace(self.buffer(address), args=subscripts)
        return self.buffer(address)

    def legal(self) -> Expr:
        """The run-time guards as one logical expression."""
        parts = [compare(name, "==", num(value)) for name, value in self.plan.sizes]
        parts += [self._guard(guard) for guard in self.layout.guards] + self.extra_guards()
        for address in (self.layout.send, self.layout.receive):
            if address.room is not None:
                blocks = mul(self.ranks(), self.size(address.block_factor))
                fits = compare(blocks, "<=", self.size(address.room))
                parts += [fits] if fits not in parts else []
        if not parts:
            return Lit("logical", ".true.")
        total = parts[0]
        for part in parts[1:]:
            total = both(total, part)
        return total

    def extra_guards(self) -> list[Expr]:
        """Guards in addition to those of the layout."""
        return []

    def size(self, poly: Poly) -> Expr:
        """A size, as the source writes it if it does."""
        for known, expr in self.layout.stated:
            if poly == known:
                return self.written(expr)
        return size(poly, self.scope)

    def written(self, expr: Expr) -> Expr:
        """An expression with the names that the user's text may write."""
        named = respelled(expr, self.scope)
        assert not isinstance(named, Section | Keyword | AltReturn)
        return named

    def _guard(self, guard: Guard | Divides | Contiguous) -> Expr:
        match guard:
            case Contiguous(array=array):
                named = respelled(array, self.scope)
                assert isinstance(named, Ref | Component)
                return fn("is_contiguous", named)
            case Guard(left=left, relation=relation, right=right):
                return compare(self.size(left), relation, self.size(right))
            case Divides(count=count, unit=unit):
                divisor = fn("max", num(1), self.size(unit))
                return compare(fn("mod", self.size(count), divisor), "==", num(0))

    def ranks(self) -> Expr:
        """The number of ranks, before it is known to be needed otherwise."""
        return fn("asphalt_ranks", self.handle("comm"))

    def wait(self, make: Maker, first: Expr, count: Expr, *comments: str) -> Leaf:
        """Wait for ``count`` requests from ``first`` on."""
        last = simplified(sub(add(first, count), num(1)))
        slots = fn("asphalt_req", Section(simplified(first), last, None))
        return make.call("asphalt_waitall", count, slots, ERROR, comments=comments)
