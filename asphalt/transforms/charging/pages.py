"""Charges for the pages of memory that a program touches for the first time.

    allocate(a(n))               allocate(a(n))
    ...                          if (allocated(a)) call asphalt_allocated(a, 8.0_8*size(a), 1234)
                                 ...
    do i = 1, n             ->   if (allocated(a)) call asphalt_touched(a, 8.0_8*size(a), 1.2e-6_8)
      a(i) = 0                   do i = 1, n
    end do                         a(i) = 0

The operating system allocates memory page by page, at the first store into a page.  Which statement
that is depends on the callers: a procedure stores into its dummy arrays, which were allocated
elsewhere and perhaps used before.  So the run-time procedures record the addresses of allocated,
untouched memory, and each loop, array statement and MPI call reports where it stores.  The first
loop that stores into an array counts as touching all of it.

Arrays with static storage (COMMON, modules, SAVE) are recorded at the first statement that stores
into them by name.  Not charged: arrays on the stack, pointers, components of structures, arrays of
structures, and associate names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeGuard
from zlib import crc32

from asphalt.analysis.cost.trip_counts import usable
from asphalt.analysis.cost.types import is_valued_as_array, symbol_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.ir.expr import Component, Expr, Keyword, Lit, Op, Ref
from asphalt.ir.insertion import last_declaration, takes_declarations
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Allocation, ArmHead, Assign, Call, Guarded, Opaque, Plain, Raw, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.charging.edit import (
    ALLOCATED,
    CHARGE,
    FLUSH,
    TOUCHED,
    TOUCHED_STATIC,
    CannotInsertError,
    literal,
)
from asphalt.transforms.charging.insert import put_before
from asphalt.transforms.charging.state import ChargerState
from asphalt.transforms.rewriting.declare import insert_behind
from asphalt.transforms.rewriting.make import Maker, fn, maker_at

_NEEDED = ("size", "allocated", "present", "real")
_NOT_PASSED = frozenset({"pointer", "volatile", "asynchronous", "parameter", "codimension"})
_SHADOWING = ("associate", "block")
_INTERFACES = {
    ALLOCATED: ("bytes", "site"),
    TOUCHED: ("bytes", "seconds"),
    TOUCHED_STATIC: ("bytes", "seconds"),
}
"""The dummies behind the array."""


def with_pages_charged(unit: Unit, state: ChargerState, seconds: float) -> Unit:
    """A charged unit whose first touches of pages are charged, too, for so many seconds each."""
    if seconds <= 0 or not usable(state.around, _NEEDED) or not takes_declarations(unit):
        return unit
    if any(_is_entry(leaf.what) for node in unit.body for leaf in leaves(node)):
        return unit  # its dummy arrays are not always there
    pages = _Pages(state, literal(seconds), ":".join(u.name for u in state.scope.located.chain))
    body = pages.block(unit.body)
    if not pages.called:
        return unit
    changed = replace(unit, body=body)
    make = maker_at((*unit.spec, *unit.body)[0], state.form, state.eol)
    names = tuple(name for name in _INTERFACES if name in pages.called)
    return insert_behind(changed, last_declaration(changed), tuple(_interface(names, make)))


def _interface(names: tuple[str, ...], make: Maker) -> Iterator[Leaf]:
    """Interfaces of procedures that take arrays of any type: a directive of gfortran, since
    compilers take TYPE(*) for an error where an older standard is asked for."""
    directive = Trivia(TriviaKind.DIRECTIVE, f"!gcc$ attributes no_arg_check :: x{make.eol}")
    inner = make.inner()
    yield make.leaf(Raw("interface"))
    for name in names:
        number, value = _INTERFACES[name]
        yield inner.leaf(Raw(f"subroutine {name}(x, {number}, {value})"))
        yield replace(inner.leaf(Raw("integer(1), intent(in) :: x(*)")), lead=(directive,))
        reals = number if value == "site" else f"{number}, {value}"
        yield inner.leaf(Raw(f"real(8), intent(in) :: {reals}"))
        if value == "site":
            yield inner.leaf(Raw("integer(4), intent(in) :: site"))
        yield inner.leaf(Raw("end subroutine"))
    yield make.leaf(Raw("end interface"))


@dataclass
class _Pages:
    """``unit``: the names of the unit and of those around it; ``called``: what was inserted;
    ``hidden``: names that stand for something else here."""

    state: ChargerState
    seconds: str
    unit: str
    called: set[str] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()
    objects: int = 0

    def block(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """A list of statements with their touches."""
        out: list[Node] = []
        for node in nodes:
            match node:
                case Leaf(what=Guarded(action=what, kind="if")):
                    before, after = self._around(node, what)
                case Leaf(what=what) if not isinstance(what, Guarded):
                    before, after = self._around(node, what)
                case Do() if not _is_atomic(node):
                    node = replace(node, body=self.block(node.body))
                    before = after = ()
                case Branch(kind="if" | "select"):
                    arms = tuple(replace(arm, body=self.block(arm.body)) for arm in node.arms)
                    node = replace(node, arms=arms)
                    before = after = ()
                case Block(kind="associate" | "critical"):
                    node = self._grouped(node)
                    before = after = ()
                case Leaf() | Do() | Branch() | Block(kind="forall"):
                    stored = {ref.name: ref for ref in _stored(node)}
                    before, after = self._touches(node, tuple(stored.values())), ()
                case _:
                    before = after = ()
            flushes = out.pop() if before and out and _calls(out[-1], FLUSH) else None
            first = node if flushes is None else flushes
            self._put(out, first, before)
            if flushes is not None:
                out.append(node)
            out += after
        return tuple(out)

    def _grouped(self, construct: Block) -> Block:
        """A construct that only groups statements; ASSOCIATE may give names another meaning."""
        kept, head = self.hidden, construct.head.what
        if isinstance(head, ArmHead):
            self.hidden |= {one.name for one in head.exprs if isinstance(one, Keyword)}
        body = self.block(construct.body)
        self.hidden = kept
        return replace(construct, body=body)

    def _put(self, out: list[Node], node: Node, new: tuple[Leaf, ...]) -> None:
        """``new`` before a node, at the end of a list."""
        for call in new:
            try:
                first, node = put_before(self.state, node, call)
            except CannotInsertError as error:
                self.state.refuse(node, f"first touches of pages: {error}")
                out.append(node)
                return
            out.append(first)
        out.append(node)

    def _around(self, leaf: Leaf, what: What) -> tuple[tuple[Leaf, ...], tuple[Leaf, ...]]:
        """The statements to insert before and behind a statement."""
        match what:
            case Allocation(kind="allocate"):
                return (), tuple(self._allocated(leaf, what))
            case Assign(target=Ref() as target, pointer=False):
                return self._touches(leaf, (target,)), ()
            case Call():
                found = mpi_call(what, self.state.scope)
                buffers = (
                    ()
                    if found is None
                    else tuple(
                        Ref(actual.name, actual.spelled)
                        for parameter, actual in found.bound()
                        if parameter.defined
                        and parameter.kind == "BUFFER"
                        and isinstance(actual, Ref)
                    )
                )
                return self._touches(leaf, buffers), ()
        return (), ()

    def _allocated(self, leaf: Leaf, what: Allocation) -> Iterator[Leaf]:
        """The statement for an allocated array; a copy (SOURCE=) touches it at once."""
        if leaf.label is not None and leaf.label in self.state.ends_of_loops:
            return
        make = maker_at(leaf, self.state.form, self.state.eol)
        options = {option.name for option in what.options}
        for one in what.objects:
            self.objects += 1
            symbol = symbol_of(one, self.state.around)
            unit = None if symbol is None else element_bytes(symbol, self.state.scope)
            if symbol is None or symbol.dims is None or not unit:
                continue
            if not isinstance(one, Ref | Component) or "codimension" in symbol.attrs:
                continue
            array = replace(one, args=None)
            if "allocatable" not in symbol.attrs and (isinstance(leaf.what, Guarded) or options):
                continue
            site = 1 + crc32(f"{self.unit}:{self.objects}".encode()) % (2**31 - 2)
            number: Expr = Lit("integer", f"{site}_4")
            if isinstance(leaf.what, Guarded):
                number = Op("-", (number,))  # perhaps it was allocated before
            new = [self._call(make, ALLOCATED, array, _bytes(array, unit), number)]
            if "source" in options:
                new.append(self._call(make, TOUCHED, array, _bytes(array, unit), self._price()))
            for call in new:
                if "allocatable" in symbol.attrs:
                    yield replace(call, what=Guarded(fn("allocated", array), call.what))
                else:
                    yield call

    def _touches(self, node: Node, stored: tuple[Ref, ...]) -> tuple[Leaf, ...]:
        """Statements that report where a node stores."""
        make = maker_at(node, self.state.form, self.state.eol)
        found = (self._touch(make, ref, node) for ref in stored)
        return tuple(leaf for leaf in found if leaf is not None)

    def _touch(self, make: Maker, ref: Ref, node: Node) -> Leaf | None:
        around = self.state.around
        symbol = None if ref.name in self.hidden else around.symbol(ref.name)
        if symbol is None or symbol.dims is None or symbol.attrs & _NOT_PASSED:
            return None
        unit = element_bytes(symbol, self.state.scope)
        kind = _storage(symbol)
        if not unit or kind is None:
            return None
        array = Ref(ref.name, ref.spelled)
        size = _bytes(array, unit)
        is_element = ref.args is not None and not is_valued_as_array(ref, around)
        if symbol.dims[-1].kind == "assumed_size":
            size = Op("-", (_real(1),))  # to the end of what was allocated
        if is_element and kind == TOUCHED and _is_alone(node):
            if self.state.calls_out(node.what):
                return None
            call = self._call(make, kind, ref, _real(unit), self._price())
            if isinstance(node.what, Guarded):
                return replace(call, what=Guarded(node.what.condition, call.what))
            return call
        call = self._call(make, kind, array, size, self._price())
        for inquiry in ("allocated", "present"):
            if {"allocated": "allocatable", "present": "optional"}[inquiry] in symbol.attrs:
                return replace(call, what=Guarded(fn(inquiry, array), call.what))
        return call

    def _price(self) -> Expr:
        return Lit("real", self.seconds)

    def _call(self, make: Maker, name: str, *args: Expr) -> Leaf:
        self.called.add(name)
        return make.call(name, *args)


def _storage(symbol: Symbol) -> str | None:
    """The procedure that reports a touch of an array; None: it is on the stack."""
    if "allocatable" in symbol.attrs:
        return None if "optional" in symbol.attrs else TOUCHED
    if symbol.origin is Origin.DUMMY or "dummy" in symbol.attrs:
        known = {dim.kind for dim in symbol.dims or ()} <= {
            "explicit",
            "assumed_shape",
            "assumed_size",
        }
        return TOUCHED if known else None
    if symbol.origin in (Origin.COMMON, Origin.MODULE) or "save" in symbol.attrs:
        return TOUCHED_STATIC
    return None


def _stored(node: Node) -> Iterator[Ref]:
    """The arrays that a nest stores into."""
    if isinstance(node, Block) and node.kind in _SHADOWING:
        return
    if isinstance(node, Leaf):
        what = node.what
        while isinstance(what, Guarded):
            what = what.action
        if isinstance(what, Assign) and isinstance(what.target, Ref) and not what.pointer:
            yield what.target
        return
    for inner in getattr(node, "body", ()):
        yield from _stored(inner)
    for arm in getattr(node, "arms", ()):
        for inner in arm.body:
            yield from _stored(inner)


def _is_entry(what: What) -> bool:
    return isinstance(what, Plain) and what.keyword == "entry"


def _is_alone(node: Node) -> TypeGuard[Leaf]:
    """Whether a statement stores into one element only, whatever the loops around it."""
    return isinstance(node, Leaf) and not (
        isinstance(node.what, Guarded) and node.what.kind == "forall"
    )


def _is_atomic(node: Do) -> bool:
    """Whether a loop can be treated as a whole: it calls and allocates nothing."""
    return not any(_interrupts(leaf.what) for leaf in leaves(node))


def _interrupts(what: What) -> bool:
    match what:
        case Guarded(action=action):
            return _interrupts(action)
        case Call(procedure=Ref(name=name)):
            return name != CHARGE
        case Call() | Allocation() | Opaque():
            return True
    return False


def _calls(node: Node, name: str) -> bool:
    return (
        isinstance(node, Leaf)
        and isinstance(node.what, Call)
        and isinstance(node.what.procedure, Ref)
        and node.what.procedure.name == name
    )


def _bytes(array: Expr, unit: int) -> Expr:
    return Op("*", (_real(unit), fn("size", array)))


def _real(value: int) -> Expr:
    return Lit("real", f"{value}.0_8")
