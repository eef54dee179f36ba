"""Runs small procedures in Python and records which elements of arrays they touch.

Arrays are runs of addresses, so that a dummy of another shape is what sequence association makes of
it.  Only what the generators of the tests write is understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

from asphalt.ir.expr import Arg, Expr, Keyword, Lit, Op, Ref, Section
from asphalt.ir.stmt import (
    ArmHead,
    Assign,
    Call,
    Decl,
    Dim,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    UnitHead,
)
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit
from support.fortran_values import iterations, truncated


class NotConformingError(Exception):
    """The program does what no Fortran program may do."""


class _JumpError(Exception):
    def __init__(self, kind: JumpKind) -> None:
        super().__init__(kind.value)
        self.kind = kind


@dataclass(frozen=True)
class View:
    """An array as a procedure sees it: the addresses of its elements, by index.

    ``run``: all addresses from the first element on, in array element order.
    """

    lower: tuple[int, ...]
    extent: tuple[int | None, ...]
    run: tuple[int, ...]

    def address(self, index: tuple[int, ...]) -> int:
        offset, stride = 0, 1
        for position, lower, extent in zip(index, self.lower, self.extent, strict=True):
            offset += (position - lower) * stride
            stride *= extent if extent is not None else 1
        if not 0 <= offset < len(self.run):
            raise NotConformingError
        return self.run[offset]

    def has(self, index: tuple[int, ...]) -> bool:
        """Whether each subscript is within its bounds (F2018 9.5.3.1)."""
        return all(
            lower <= position and (extent is None or position < lower + extent)
            for position, lower, extent in zip(index, self.lower, self.extent, strict=True)
        )

    def indices(self, subscripts: list[int | range]) -> list[tuple[int, ...]]:
        return list(product(*(s if isinstance(s, range) else (s,) for s in subscripts)))


@dataclass
class Record:
    """The addresses that were read before they were written, and those that were written.

    ``beyond``: an element had a subscript beyond its bounds, and so more than one name.
    """

    exposed: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    beyond: bool = False

    def read(self, address: int) -> None:
        if address not in self.written:
            self.exposed.add(address)


@dataclass
class Frame:
    """One activation of a procedure."""

    units: Mapping[str, Unit]
    scalars: dict[str, int]
    arrays: dict[str, View]
    record: Record

    def value(self, expr: Arg) -> int:
        match expr:
            case Lit():
                assert expr.integer is not None
                return expr.integer
            case Ref(name=name, args=None):
                return self.scalars[name]
            case Ref(name="mod", args=(a, b)):
                left, right = self.value(a), self.value(b)
                return left - truncated(left, right) * right
            case Ref(name="size", args=(Ref(name=name), dim)):
                extent = self.arrays[name].extent[self.value(dim) - 1]
                assert extent is not None
                return extent
            case Ref(name=name, args=tuple(args)):
                for address in self.addresses(name, args):
                    self.record.read(address)
                return 0
            case Op(op="()" | "+", operands=(inner,)):
                return self.value(inner)
            case Op(op="-", operands=(inner,)):
                return -self.value(inner)
            case Op(op=op, operands=(a, b)):
                left, right = self.value(a), self.value(b)
                return int(_OPERATIONS[op](left, right))
        raise AssertionError(expr)

    def addresses(self, name: str, args: tuple[Arg, ...]) -> list[int]:
        view = self.arrays[name]
        indices = view.indices(self._subscripts(view, args))
        self.record.beyond |= not all(map(view.has, indices))
        return [view.address(index) for index in indices]

    def _subscripts(self, view: View, args: tuple[Arg, ...]) -> list[int | range]:
        found: list[int | range] = []
        for arg, lower, extent in zip(args, view.lower, view.extent, strict=True):
            if not isinstance(arg, Section):
                found.append(self.value(arg))
                continue
            step = 1 if arg.stride is None else self.value(arg.stride)
            if extent is None and (arg.upper if step > 0 else arg.lower) is None:
                raise NotConformingError  # the end of an assumed-size array (F2018 9.5.3.3.2)
            ends = [lower, lower + (extent or 0) - 1][:: 1 if step > 0 else -1]
            first = ends[0] if arg.lower is None else self.value(arg.lower)
            last = ends[1] if arg.upper is None else self.value(arg.upper)
            found.append(iterations(first, last, step))
        return found

    def run(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        match node:
            case Leaf(what=what):
                self.statement(what)
            case Do(head=Leaf(what=DoHead() as head), body=body):
                self.loop(head, body)
            case Branch(arms=arms):
                for arm in arms:
                    what = arm.head.what
                    assert isinstance(what, ArmHead)
                    if not what.exprs or self.value(what.exprs[0]):
                        self.run(arm.body)
                        return
            case _:
                raise AssertionError(node)

    def loop(self, head: DoHead, body: tuple[Node, ...]) -> None:
        assert isinstance(head.var, Ref)
        assert head.first is not None
        assert head.last is not None
        step = 1 if head.step is None else self.value(head.step)
        for number in iterations(self.value(head.first), self.value(head.last), step):
            self.scalars[head.var.name] = number
            try:
                self.run(body)
            except _JumpError as jump:
                if jump.kind is JumpKind.EXIT:
                    return
                if jump.kind is not JumpKind.CYCLE:
                    raise

    def statement(self, what: object) -> None:
        match what:
            case Assign(target=Ref(name=name, args=None), value=value) if name in self.scalars:
                self.scalars[name] = self.value(value)
            case Assign(target=Ref(name=name, args=args), value=value):
                self.value(value)
                colon = Section(None, None, None)
                whole = (colon,) * len(self.arrays[name].lower)
                for address in self.addresses(name, args or whole):
                    self.record.written.add(address)
            case Guarded(condition=condition, action=action):
                if self.value(condition):
                    self.statement(action)
            case Jump(kind=kind):
                raise _JumpError(kind)
            case Call(procedure=Ref(name=name), args=args):
                self.call(self.units[name], args)
            case _:
                raise AssertionError(what)

    def call(self, unit: Unit, args: tuple[Arg, ...]) -> None:
        assert unit.head is not None
        assert isinstance(unit.head.what, UnitHead)
        inner = Frame(self.units, {}, {}, self.record)
        dims = declared(unit)
        passed: dict[str, tuple[tuple[int | None, ...], tuple[int, ...]]] = {}
        for dummy, arg in zip(unit.head.what.args, args, strict=True):
            assert not isinstance(arg, Keyword)
            if dims.get(dummy) is None:
                inner.scalars[dummy] = self.value(arg)
            else:
                assert isinstance(arg, Ref)
                passed[dummy] = self.passed(arg)
        for dummy, (extents, run) in passed.items():
            inner.arrays[dummy] = inner.view(dims[dummy] or (), extents, run)
        for name, shape in dims.items():
            if shape is None:
                inner.scalars.setdefault(name, 0)
        try:
            inner.run(unit.body)
        except _JumpError as jump:
            if jump.kind is not JumpKind.RETURN:
                raise

    def passed(self, arg: Ref) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """The extents of what is passed, and its addresses in array element order."""
        view = self.arrays[arg.name]
        if arg.args is None:
            return view.extent, view.run
        if not any(isinstance(a, Section) for a in arg.args):
            (address,) = self.addresses(arg.name, arg.args)
            return (), view.run[view.run.index(address) :]
        subscripts = self._subscripts(view, arg.args)
        ordered = [s if isinstance(s, range) else range(s, s + 1) for s in reversed(subscripts)]
        run = tuple(view.address(tuple(reversed(index))) for index in product(*ordered))
        return tuple(len(s) for s in subscripts if isinstance(s, range)), run

    def view(
        self, dims: tuple[Dim, ...], extents: tuple[int | None, ...], run: tuple[int, ...]
    ) -> View:
        lower = tuple(1 if dim.lower is None else self.value(dim.lower) for dim in dims)
        if any(dim.kind == "assumed_shape" for dim in dims):
            return View(lower, extents, run)
        own: list[int | None] = []
        size = 1
        for dim, low in zip(dims, lower, strict=True):
            own.append(None if dim.upper is None else max(0, self.value(dim.upper) - low + 1))
            size = size * (own[-1] if own[-1] is not None else len(run) + 1)
        if own[-1] is not None and size > len(run):
            raise NotConformingError
        return View(lower, tuple(own), run[:size])


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": truncated,
    "==": lambda a, b: a == b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def declared(unit: Unit) -> dict[str, tuple[Dim, ...] | None]:
    """The dimensions of what a procedure declares; None: a scalar."""
    found: dict[str, tuple[Dim, ...] | None] = {}
    for leaf in unit.spec:
        if isinstance(leaf, Leaf) and isinstance(leaf.what, Decl):
            for entity in leaf.what.entities:
                found[entity.name] = entity.dims
    return found


def executed(
    units: Mapping[str, Unit], name: str, scalars: Mapping[str, int]
) -> tuple[View, Record]:
    """What the first array argument of a procedure was, and what happened to its addresses."""
    unit = units[name]
    dims = declared(unit)
    array = next(n for n, shape in dims.items() if shape is not None)
    frame = Frame(units, {**{n: 0 for n, s in dims.items() if s is None}, **scalars}, {}, Record())
    shape = dims[array] or ()
    sizes = [
        frame.value(_upper(d)) - (1 if d.lower is None else frame.value(d.lower)) + 1 for d in shape
    ]
    size = 1
    for extent in sizes:
        size *= extent
    view = frame.view(shape, tuple(sizes), tuple(range(size)))
    frame.arrays[array] = view
    try:
        frame.run(unit.body)
    except _JumpError as jump:
        if jump.kind is not JumpKind.RETURN:
            raise
    return view, frame.record


def _upper(dim: Dim) -> Expr:
    assert dim.upper is not None
    return dim.upper
