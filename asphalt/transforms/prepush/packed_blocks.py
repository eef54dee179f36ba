"""The messages of blocks to which an iteration adds different numbers of elements.

A tile is K iterations, the same K on all ranks; its piece of the block for a rank is what they add
to it (``schedule.check_packed``).  ``asphalt_units`` are the elements that one iteration adds,
``asphalt_cuts`` those of the pieces from each rank.  For an open-coded exchange, this module emits
the lists of counts and displacements; the pieces have the tag and the communicator of its messages,
which no other messages can match.
"""

from __future__ import annotations

from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, Section, names_in, walk
from asphalt.ir.stmt import Allocation, Assign, DoHead, Guarded
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.pieces import (
    ERROR,
    FIRST,
    FROM,
    HI,
    LAST,
    LO,
    ME,
    NP,
    PEER,
    POSTED,
    SLOT,
    TILE,
    TILED,
    TILES,
    D,
    K,
    some_tiles,
)
from asphalt.transforms.prepush.uneven_blocks import COMM, COUNT, INDEX, UnevenPieces
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    compare,
    fn,
    mul,
    num,
    quotient,
    simplified,
    sub,
    var,
)

UNITS, CUTS = var("asphalt_units"), var("asphalt_cuts")


class PackedBlocks(UnevenPieces):
    """Each tile is the piece of every block that its iterations fill."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        assert self.layout.packed is not None
        self.packed = self.layout.packed
        self.coded = plan.exchange.open_coded

    # -- the entry ---------------------------------------------------------------------------

    def prepare(self, make: Maker) -> list[Node]:
        inner = make.inner()
        ranks = self._ranks()
        highest = simplified(sub(ranks, num(1)))
        body: list[Node] = [inner.assign(fn(UNITS.name, PEER), self.written(self.packed.unit))]
        blocks = None if self.coded is None else self.coded.blocks
        if blocks is not None:
            sent, begin, received, landing = (numbers.of(PEER) for numbers in self.uneven.lists)
            send = (sent, blocks.send_count, begin, blocks.send_displacement)
            receive = (received, blocks.receive_count, landing, blocks.receive_displacement)
            body += self._block(inner, *send, blocks.send_guards)
            body += self._block(inner, *receive, blocks.receive_guards)
        shaped = tuple(fn(name.name, Section(num(0), highest, None)) for name in self.made())
        comment = "how long the blocks are, and where they begin" if blocks else ""
        return [
            make.leaf(Allocation("allocate", shaped), *((comment,) if comment else ())),
            make.do("asphalt_peer", num(0), highest, tuple(body)),
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
        guards = [compare(self._ranks(), "==", self.ranks())]
        counter = self.packed.counter
        if self.coded is not None and self.coded.blocks is not None:
            own = self.coded.blocks.own
            if own is not None:
                rank = fn("asphalt_rank", self.handle("comm"))
                guards.append(compare(self.written(own), "==", rank))
            if counter is not None:
                trips = simplified(add(sub(counter.last, counter.first), num(1)))
                if trips != simplified(self.coded.blocks.ranks):
                    guards.append(compare(self.written(trips), "==", self.ranks()))
        return guards

    def enter(self, make: Maker, site: str) -> Leaf:
        blocks = self.uneven
        counted = self.packed.counter is not None
        spread = num(0) if counted or blocks.spread is None else self.size(blocks.spread)
        return make.call(
            "asphalt_enter_packed",
            self.handle("comm"),
            self.datatype(),
            quotient(fn("storage_size", self.buffer(self.layout.send)), num(8)),
            UNITS,
            self.trips(),
            num(self.plan.grain),
            var(f"asphalt_k_{site}"),
            var(f"asphalt_d_{site}"),
            self.legal(),
            *(
                self.whole_list(numbers)
                for numbers in (
                    blocks.send_counts,
                    blocks.send_displacements,
                    blocks.receive_counts,
                    blocks.receive_displacements,
                )
            ),
            spread,
            Lit("logical", ".false." if self.plan.alone else ".true."),
            COMM,
            ME,
            NP,
            K,
            CUTS,
            D,
            ERROR,
            self.name(site),
        )

    def decided(self, make: Maker) -> list[Node]:
        received = self.whole_list(self.uneven.receive_counts)
        tiles = quotient(sub(add(self.trips(), K), num(1)), K)
        return [
            make.assign(TILES, some_tiles(tiles)),
            make.assign(POSTED, fn("asphalt_posts_of", received, NP, CUTS)),
        ]

    def whole(self, make: Maker) -> list[Node]:
        return [
            make.assign(K, fn("max", num(1), self.trips())),
            make.assign(TILES, num(1)),
            make.assign(POSTED, num(0)),
        ]

    def tag(self) -> Expr:
        blocks = None if self.coded is None else self.coded.blocks
        return super().tag() if blocks is None else self.written(blocks.tag)

    def sends_a_tile(self) -> Expr:
        return NP

    def tiles(self) -> Expr:
        return TILES

    def requests(self) -> Expr:
        return add(mul(NP, D), POSTED)

    def all_requests(self) -> Expr:
        return self.requests()

    def posted_before(self, make: Maker) -> list[Node]:
        inner = make.inner()
        first = inner.assign(SLOT, mul(NP, D))
        return [make.branch(TILED, (first, self._posts(inner)))]

    def computed(self, make: Maker) -> list[Node]:
        return []

    def _posts(self, make: Maker) -> Node:
        """Post the receives of all pieces, from the slot behind ``asphalt_slot`` on."""
        loop, body = make.inner(), make.inner().inner()
        length = self.of_peer(self.uneven.receive_counts)
        landing = self.of_peer(self.uneven.receive_displacements)
        theirs = fn("asphalt_cuts", PEER)
        pieces = loop.do(
            "asphalt_from",
            num(0),
            sub(length, num(1)),
            (
                body.assign(COUNT, fn("min", theirs, sub(length, FROM))),
                body.assign(SLOT, add(SLOT, num(1))),
                self.piece(body, "asphalt_irecv_at", self.layout.receive, landing, SLOT),
            ),
            step=theirs,
        )
        return make.do(
            "asphalt_i",
            num(1),
            NP,
            (loop.assign(PEER, fn("modulo", sub(ME, INDEX), NP)), pieces),
            "both know the length of a block, and how the sender cuts it",
        )

    # -- a tile ------------------------------------------------------------------------------

    def this_tile(self, make: Maker) -> list[Node]:
        return [
            make.assign(LO, add(FIRST, mul(TILE, K))),
            make.assign(HI, fn("min", sub(add(LO, K), num(1)), LAST)),
        ]

    def counted(self, make: Maker) -> tuple[Node, ...]:
        counter = self.packed.counter
        if counter is None or counter.variable is None:
            return ()
        head = counter.blocks.head.what
        assert isinstance(head, DoHead)
        assert head.var is not None
        rank = self.written(simplified(sub(head.var, counter.first)))
        block = self.written(self.uneven.send_displacements.of(rank))
        start = add(block, mul(fn("asphalt_units", rank), sub(LO, FIRST)))
        begins = counter.begins.value
        total = start if not begins else add(start, num(begins))
        variable = self.written(counter.variable)
        return (make.leaf(Guarded(TILED, Assign(variable, total))),)

    def send(self, make: Maker) -> list[Node]:
        inner = make.inner()
        deeper = inner.inner()
        unit = fn("asphalt_units", PEER)
        left = sub(self.of_peer(self.uneven.send_counts), FROM)
        return [
            make.assign(SLOT, mul(NP, fn("mod", TILE, D))),
            self.wait(make, add(SLOT, num(1)), NP),
            make.do(
                "asphalt_i",
                num(1),
                NP,
                (
                    inner.assign(PEER, fn("modulo", add(ME, INDEX), NP)),
                    inner.assign(FROM, mul(mul(TILE, K), unit)),
                    inner.assign(COUNT, fn("min", mul(K, unit), left)),
                    inner.branch(
                        compare(COUNT, ">", num(0)),
                        (self.send_piece(deeper, simplified(add(SLOT, INDEX))),),
                    ),
                ),
            ),
        ]

    def afterwards(self, make: Maker) -> list[Node]:
        return []

    def made(self) -> tuple[Ref, ...]:
        lists = () if self.coded is None else (numbers.actual for numbers in self.uneven.lists)
        return (UNITS, *(actual for actual in lists if isinstance(actual, Ref)))


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
