"""The call that begins an exchange in tiles: what the runtime is told of it.

There is one subclass for each type of exchanges that the runtime has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.exchange.buffers import Buffer, buffer_of, is_static
from asphalt.analysis.names.designators import spelled_designator
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.tiling.implied_guards import with_upper_bounds, written_guards
from asphalt.analysis.tiling.layout import Address, Contiguous, Divides, Guard
from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
    walk,
)
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    array,
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

TRUE = Lit("logical", ".true.")


class Beginning(ABC):
    """What is common to all types of exchanges.

    ``variable``: the variable that holds the exchange.  ``left_at_end``: the loop over the tiles is
    left at its end, so that the beginning hands out the first tile.
    """

    variable: Ref

    def __init__(self, plan: Plan, backends: tuple[str, ...], left_at_end: bool) -> None:
        self.plan = plan
        self.backends = backends
        self.left_at_end = left_at_end
        self.layout = plan.layout
        self.scope = plan.exchange.scope
        self._own = {  # declarations may stand in a file of another letter case
            ref.name: ref.spelled
            for actual in (
                *plan.exchange.call.args.values(),
                plan.producer.first,
                plan.producer.last,
            )
            for ref in walk(actual)
            if isinstance(ref, Ref)
        }

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def begin(self, make: Maker, site: str) -> Leaf:
        """The call."""

    def prepare(self, make: Maker) -> list[Node]:
        """Statements in front of the call."""
        return []

    def made(self) -> tuple[Ref, ...]:
        """The arrays that ``prepare`` allocates, to be freed at the end."""
        return ()

    def counted(self, make: Maker) -> tuple[Node, ...]:
        """Statements in front of the tiled loop of a packing nest, inside of the loop around it."""
        return ()

    # -- what is shared ----------------------------------------------------------------------

    def bound(self, name: str, *args: Arg) -> Component:
        """A reference to what the runtime binds to the type of the exchange."""
        return Component(self.variable, name, name, args)

    def call(self, make: Maker, name: str, *args: Arg) -> Leaf:
        """A call of what the runtime binds to the type."""
        return make.leaf(Call(Component(self.variable, name, name), args))

    @property
    def lo(self) -> Expr:
        """The first iteration of a tile; behind the tiles, the value of the loop variable."""
        return Component(self.variable, "lo", "lo")

    @property
    def hi(self) -> Expr:
        """The last iteration of a tile."""
        return Component(self.variable, "hi", "hi")

    @property
    def tiled(self) -> Expr:
        """Whether the exchange is made in tiles."""
        return Component(self.variable, "tiled", "tiled")

    def loop(self, site: str) -> tuple[Arg, ...]:
        """The loop, and how it is to be tiled, as arguments."""
        producer = self.plan.producer
        first = self.integer(producer.first)
        return (
            *(() if first == num(1) else (_keyword("first", first),)),
            _keyword("last", self.integer(producer.last)),
            _keyword("k", var(f"asphalt_k_{site}")),
            _keyword("d", var(f"asphalt_d_{site}")),
            *(() if self.plan.grain == 1 else (_keyword("grain", num(self.plan.grain)),)),
        )

    def elements(self) -> tuple[Arg, ...]:
        """What the buffers consist of, as arguments."""
        storage = quotient(fn("storage_size", self.array(self.layout.send)), num(8))
        return (self.datatype(), storage)

    def guards(self) -> tuple[Arg, ...]:
        """The run-time guards, and whether the messages need no private communicator."""
        legal = self.legal()
        return (
            *(() if legal is None else (_keyword("tiled", legal),)),
            *((_keyword("alone", TRUE),) if self.plan.alone else ()),
        )

    def name(self, site: str) -> Keyword:
        """The name of the site, as an argument."""
        return _keyword("site", Lit("character", f"'{site}'"))

    def backend(self, site: str) -> tuple[Keyword, ...]:
        """What carries the pieces, as an argument; none where there is no choice."""
        if len(self.backends) == 1:
            return ()
        return (
            _keyword("backend", var(f"asphalt_backend_{site}")),
            *(() if self.passing() else (_keyword("lasting", TRUE),)),
        )

    def entered(self) -> tuple[Keyword, ...]:
        """Whether the loop over the tiles is left at its end, as an argument."""
        return (_keyword("entered", TRUE),) if self.left_at_end else ()

    def passing(self) -> list[str]:
        """The buffers that are not proved to last, of whose messages nothing may be kept."""
        arrays = (self.array(self.layout.send), self.array(self.layout.receive))
        return [spelled_designator(one) for one in arrays if not is_static(one, self.scope)]

    def trips(self) -> Expr:
        """The trip count of the tiled loop."""
        first, last = self.plan.producer.first, self.plan.producer.last
        low, high = (first, last) if self.plan.producer.direction > 0 else (last, first)
        return self.written(simplified(add(sub(high, low), num(1))))

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

    def array(self, address: Address) -> Ref | Component:
        """The array of a buffer as the user spells it."""
        passed = self._passed(address)
        if passed is None:
            copy = self.plan.producer.copy
            assert copy is not None, "an address is that of one of the two buffers"
            passed = copy.view.buffer
        named = respelled(passed.array, self.scope, self._own)
        assert isinstance(named, Ref | Component)
        return named

    def buffer(self, address: Address) -> Ref | Component:
        """The first element of a buffer, if that is not the first of its array; else the array."""
        passed = self._passed(address)
        if passed is None or passed.origin is None:
            return self.array(address)
        subscripts = tuple(size(poly, self.scope, self._own) for poly in passed.origin)
        return replace(self.array(address), args=subscripts)

    def _passed(self, address: Address) -> Buffer | None:
        """The buffer of the call that an address is in; None: what is packed into one."""
        arguments = self.plan.exchange.call.procedure.exchange
        assert arguments is not None
        passed = (buffer_of(self.plan.exchange, a) for a in (arguments.send, arguments.receive))
        return next((one for one in passed if one and one.name == address.buffer), None)

    def legal(self) -> Expr | None:
        """The run-time guards as one logical expression; None: there are none.

        A function of the runtime is no operand of `.and.`, where it need not be evaluated.
        """
        parts = [compare(name, "==", num(value)) for name, value in self.plan.sizes]
        known = [poly(name) - Poly.constant(value) for name, value in self.plan.sizes]
        guards = written_guards(self.layout.guards, known, self.checked(), self.divided())
        parts += [self._guard(guard) for guard in guards] + self.extra_guards()
        room = self.layout.send.room
        if room is not None:
            blocks = mul(self.ranks(), self.size(self.layout.send.block_factor))
            parts.append(compare(blocks, "<=", self.size(room)))
        if len(parts) > 1 and any(map(_asks_runtime, parts)):
            return fn("all", array(*parts))
        total: Expr | None = None
        for part in parts:
            total = part if total is None else both(total, part)
        return total

    def extra_guards(self) -> list[Expr]:
        """Guards in addition to those of the layout."""
        return []

    def checked(self) -> list[Poly]:
        """What the runtime finds to be 0, where it tiles."""
        return []

    def divided(self) -> tuple[Poly, Poly] | None:
        """The numbers of which it finds that the second divides the first, both positive."""
        return None

    def size(self, number: Poly) -> Expr:
        """A size, as the source writes it if it does."""
        for known, expr in self.layout.stated:
            if number == known:
                return self.written(expr)
        inquiry = self.scope.lookup("ubound")
        if inquiry is None or inquiry.origin is Origin.INTRINSIC:
            number = with_upper_bounds(number)
        return size(number, self.scope, self._own)

    def written(self, expr: Expr) -> Expr:
        """An expression with the names that the user's text may write."""
        named = respelled(expr, self.scope, self._own)
        assert not isinstance(named, Section | Keyword | AltReturn)
        return named

    def integer(self, expr: Expr) -> Expr:
        """An expression of default integer type, as the arguments of the runtime are."""
        return expr if self._is_default(expr) else fn("int", expr)

    def _is_default(self, expr: Arg) -> bool:
        match expr:
            case Ref(name=name) if name.startswith("asphalt_"):
                return True
            case Op(operands=operands):
                return all(map(self._is_default, operands))
        return is_default_integer(expr, self.scope)

    def _guard(self, guard: Guard | Divides | Contiguous) -> Expr:
        match guard:
            case Contiguous(array=array):
                named = respelled(array, self.scope, self._own)
                assert isinstance(named, Ref | Component)
                return fn("is_contiguous", named)
            case Guard(left=left, relation=relation, right=right):
                return compare(self.size(left), relation, self.size(right))
            case Divides(count=count, unit=unit):
                divisor = fn("max", num(1), self.size(unit))
                return compare(fn("mod", self.size(count), divisor), "==", num(0))

    def ranks(self) -> Expr:
        """The number of ranks, where guards need it."""
        return self.bound("ranks", self.handle("comm"))


def _asks_runtime(guard: Expr) -> bool:
    return any(isinstance(part, Component) and part.name == "ranks" for part in walk(guard))


def _keyword(name: str, value: Expr) -> Keyword:
    return Keyword(name, name, value)


def keywords(arguments: Iterable[tuple[str, Expr | None]]) -> tuple[Keyword, ...]:
    """Keyword arguments, without those that have no value."""
    return tuple(_keyword(name, value) for name, value in arguments if value is not None)
