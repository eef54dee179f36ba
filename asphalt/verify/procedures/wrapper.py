"""Generates wrappers with C's calling convention around a procedure, for ctypes.

A procedure ``ex(comm, n, s)`` gets three, with the dummy arguments of ``ex`` by reference:

    asphalt_call_0(comm, n, s, asphalt_extents)     calls it; arrays have explicit shape here
    asphalt_bounds_0(..., asphalt_bounds)           gives the bounds and lengths that it declares
    asphalt_kinds_0(asphalt_kinds)                  gives the kind and the bytes of each dummy

``asphalt_extents`` holds the extents of all arrays in order, then the length of each character.  So
the compiler checks the call against the interface, and evaluates every bound and kind.  The
wrappers of a module procedure are in its module, where all its names are accessible, even private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Expr, Section, TypeSpec, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Decl, Dim, Entity, Include
from asphalt.unparse.expr_text import expr_text
from asphalt.unparse.statement_text import statement_text
from asphalt.verify.procedures.interface import Dummy, Interface, symbol_of

RESULT = "asphalt_result"
_LONG = "integer(kind=selected_int_kind(18))"
_ATTRIBUTES = ("asynchronous", "contiguous", "optional", "target", "value", "volatile")
_NEEDS_INTERFACE = frozenset(_ATTRIBUTES)


@record
class Slots:
    """The places of an argument in ``asphalt_extents`` and ``asphalt_bounds``.

    Counted from 0; ``dims``: of the first extent, ``length``: of a character length.
    """

    dims: int
    length: int | None


def slots(interface: Interface) -> tuple[tuple[Slots, ...], int]:
    """The slots of each argument (the result last), and their number."""
    dims: list[int] = []
    count = 0
    for dummy in interface.arguments:
        dims.append(count)
        count += dummy.rank
    found: list[Slots] = []
    for dummy, start in zip(interface.arguments, dims, strict=True):
        character = dummy.base == "character"
        found.append(Slots(start, count if character else None))
        count += character
    return tuple(found), count


def entry_names(number: int) -> tuple[str, str, str]:
    """The binding labels of the wrappers that call, give bounds, and give kinds."""
    return f"asphalt_call_{number}", f"asphalt_bounds_{number}", f"asphalt_kinds_{number}"


def wrapper(interface: Interface, scope: Scope, number: int) -> list[str]:
    """The three wrappers, one line for each statement; ``number`` makes their names unique."""
    return _Writer(interface, scope, number).lines()


class _Writer:
    def __init__(self, interface: Interface, scope: Scope, number: int) -> None:
        self.interface = interface
        self.scope = scope
        self.names = entry_names(number)
        self.slots = dict(zip(interface.arguments, slots(interface)[0], strict=True))
        self.symbols = {dummy: self._symbol(dummy) for dummy in interface.arguments}

    def _symbol(self, dummy: Dummy) -> Symbol:
        name = dummy.name
        if dummy is self.interface.result:
            head = self.scope.unit.head
            result = getattr(head.what, "result", None) if head is not None else None
            name = result or name
        symbol = symbol_of(name, self.scope)
        assert symbol is not None
        return symbol

    def lines(self) -> list[str]:
        return [*self._call(), *self._bounds(), *self._kinds()]

    # the call

    def _call(self) -> Iterator[str]:
        dummies = self.interface.dummies
        yield from self._head(self.names[0], ["asphalt_extents"])
        for dummy in self.interface.arguments:
            yield from self._local(dummy)
        yield from self._declaration_of_external()
        for dummy in self.interface.arguments:
            yield from self._enter(dummy)
        actuals = ", ".join(self._actual(dummy) for dummy in dummies)
        if self.interface.result is None:
            yield f"call {self.interface.name}({actuals})"
        else:
            target = self._actual(self.interface.result)
            yield f"{target} = {self.interface.name}({actuals})"
        for dummy in self.interface.arguments:
            yield from self._leave(dummy)
        yield f"end subroutine {self.names[0]}"

    def _head(self, name: str, last: list[str]) -> Iterator[str]:
        names = [self._name(dummy) for dummy in self.interface.arguments]
        yield f"subroutine {name}({', '.join((*names, *last))}) bind(c, name='{name}')"
        types = [symbol.type for symbol in self.symbols.values() if symbol.type is not None]
        dims = [dim for symbol in self.symbols.values() for dim in symbol.dims or ()]
        yield from context(self.scope, _names(types, dims))
        for array in last:
            intent = "out" if array == "asphalt_bounds" else "in"
            yield f"{_LONG}, intent({intent}) :: {array}(*)"
        for dummy in self.interface.arguments:
            yield self._dummy(dummy)

    def _name(self, dummy: Dummy) -> str:
        return RESULT if dummy is self.interface.result else dummy.name

    def _dummy(self, dummy: Dummy) -> str:
        """The declaration of the wrapper's own dummy argument."""
        optional = ", optional" if dummy.optional else ""
        name = self._name(dummy)
        if dummy.base == "character":
            return f"character(kind=kind('a')){optional} :: {name}(*)"
        if dummy.base == "handle":
            return f"integer{optional} :: {name}"
        extents = [f"asphalt_extents({self._slot(dummy) + d + 1})" for d in range(dummy.rank)]
        shape = f"({', '.join(extents)})" if extents else ""
        return f"{self._type(dummy)}{optional} :: {name}{shape}"

    def _slot(self, dummy: Dummy) -> int:
        return self.slots[dummy].dims

    def _type(self, dummy: Dummy) -> str:
        return type_text(self.symbols[dummy].type)

    def _local(self, dummy: Dummy) -> Iterator[str]:
        """The intermediate variables: characters of the right length, typed handles."""
        if dummy.base == "handle":
            # an optional dummy is absent where the actual argument is not allocated (F2018 15.5.2)
            yield f"{self._type(dummy)}, allocatable :: {self._between(dummy)}"
        elif dummy.base == "character":
            shape = f"({','.join(':' * dummy.rank)})" if dummy.rank else ""
            length = f"asphalt_extents({self._length(dummy)})"
            yield f"character(len={length}), allocatable :: {self._between(dummy)}{shape}"

    def _between(self, dummy: Dummy) -> str:
        return f"asphalt_x{self.interface.arguments.index(dummy)}"

    def _length(self, dummy: Dummy) -> int:
        length = self.slots[dummy].length
        assert length is not None
        return length + 1

    def _actual(self, dummy: Dummy) -> str:
        indirect = dummy.base in ("character", "handle")
        return self._between(dummy) if indirect else self._name(dummy)

    def _enter(self, dummy: Dummy) -> Iterator[str]:
        between, name = self._between(dummy), self._name(dummy)
        if dummy.base not in ("character", "handle"):
            return
        if dummy.optional:
            yield f"if (present({name})) then"
        first = self._slot(dummy) + 1
        extents = ", ".join(f"asphalt_extents({first + d})" for d in range(dummy.rank))
        yield f"allocate({between}{f'({extents})' if extents else ''})"
        if dummy.base == "handle":
            yield f"{between}%mpi_val = {name}"
        elif dummy is not self.interface.result:
            whole = f"transfer({name}(1:{self._characters(dummy)}), {between})"
            value = f"reshape({whole}, shape({between}))" if dummy.rank else whole
            yield f"if (len({between}) > 0) {between} = {value}"
        if dummy.optional:
            yield "end if"

    def _leave(self, dummy: Dummy) -> Iterator[str]:
        between, name = self._between(dummy), self._name(dummy)
        if dummy.base not in ("character", "handle") or not dummy.changes:
            return
        guard = f"if (present({name})) " if dummy.optional else ""
        if dummy.base == "handle":
            yield f"{guard}{name} = {between}%mpi_val"
        else:
            part = f"{name}(1:{self._characters(dummy)})"
            yield f"{guard}{part} = transfer({between}, {name}(1:1), {self._characters(dummy)})"

    def _characters(self, dummy: Dummy) -> str:
        """The number of characters of an argument."""
        first = self._slot(dummy) + 1
        factors = [f"asphalt_extents({n})" for n in range(first, first + dummy.rank)]
        return "*".join((f"asphalt_extents({self._length(dummy)})", *factors))

    def _declaration_of_external(self) -> Iterator[str]:
        """The interface of an external procedure, if a caller must have one."""
        interface, result = self.interface, self.interface.result
        if interface.module is not None:
            return
        plain = not any(self._is_modern(dummy) for dummy in interface.dummies)
        if plain and result is None:
            yield f"external {interface.name}"
        elif plain and result is not None and not result.rank:
            yield f"{self._type(result)}, external :: {interface.name}"
        else:
            yield "interface"
            yield from self._body()
            yield "end interface"

    def _is_modern(self, dummy: Dummy) -> bool:
        """Whether such a dummy argument requires an explicit interface (15.4.2.2)."""
        attrs = self.symbols[dummy].attrs
        return dummy.form == "assumed_shape" or bool(attrs & _NEEDS_INTERFACE)

    def _body(self) -> Iterator[str]:
        interface, result = self.interface, self.interface.result
        kind = "subroutine" if result is None else "function"
        names = ", ".join(dummy.name for dummy in interface.dummies)
        suffix = "" if result is None else f" result({RESULT})"
        yield f"{kind} {interface.name}({names}){suffix}"
        symbols = self.symbols.values()
        types = [symbol.type for symbol in symbols if symbol.type is not None]
        dims = [dim for symbol in symbols for dim in symbol.dims or ()]
        yield from context(self.scope, _names(types, dims))
        for dummy in interface.arguments:
            symbol = self.symbols[dummy]
            attrs = [name for name in _ATTRIBUTES if name in symbol.attrs]
            if symbol.intent and dummy is not result:
                attrs.append(f"intent({symbol.intent})")
            yield _declared(symbol.type, self._name(dummy), tuple(attrs), symbol.dims)
        yield f"end {kind} {interface.name}"

    # bounds and kinds

    def _bounds(self) -> Iterator[str]:
        yield from self._head(self.names[1], ["asphalt_extents", "asphalt_bounds"])
        for dummy in self.interface.arguments:
            symbol = self.symbols[dummy]
            for number, dim in enumerate(symbol.dims or (), self._slot(dummy)):
                lower = "1" if dim.lower is None else expr_text(dim.lower)
                yield f"asphalt_bounds({2 * number + 1}) = {lower}"
                if dim.kind == "explicit" and dim.upper is not None:
                    yield f"asphalt_bounds({2 * number + 2}) = {expr_text(dim.upper)}"
            if dummy.length is not None and dummy.length != "*":
                yield f"asphalt_bounds({2 * self._length(dummy) - 1}) = {dummy.length}"
        yield f"end subroutine {self.names[1]}"

    def _kinds(self) -> Iterator[str]:
        plain = [dummy for dummy in self.interface.arguments if dummy.base != "handle"]
        yield f"subroutine {self.names[2]}(asphalt_kinds) bind(c, name='{self.names[2]}')"
        types = {dummy: self.symbols[dummy].type for dummy in plain}
        known = [spec for spec in types.values() if spec is not None]
        yield from context(self.scope, _names([replace(s, length=None) for s in known], []))
        yield f"{_LONG}, intent(out) :: asphalt_kinds(*)"
        for dummy, spec in types.items():
            assert spec is not None
            one = replace(spec, length=None, star=spec.star and spec.base != "character")
            yield _declared(one, self._scalar(dummy), (), None)
        for dummy in plain:
            place = 2 * self.interface.arguments.index(dummy)
            name = self._scalar(dummy)
            yield f"asphalt_kinds({place + 1}) = kind({name})"
            yield f"asphalt_kinds({place + 2}) = storage_size({name})/8"
        yield f"end subroutine {self.names[2]}"

    def _scalar(self, dummy: Dummy) -> str:
        return f"asphalt_k{self.interface.arguments.index(dummy)}"


def context(scope: Scope, needed: frozenset[str]) -> Iterator[str]:
    """The unit's USE statements and named constants that its types and bounds need."""
    constants: dict[str, Symbol] = {}
    needed = frozenset(_constants(needed, scope, constants))
    for use in scope.declared.uses:
        items = tuple(i for i in use.items if i.local in needed and i.local.isidentifier())
        if not use.only and needed - constants.keys():
            listed = tuple(i for i in use.items if i.local.isidentifier())
            renamed = tuple(i for i in listed if i.local != i.name)
            yield statement_text(replace(use, items=renamed))
            kept = tuple(i for i in listed if i.local == i.name)
            if kept:
                yield statement_text(replace(use, only=True, items=kept))
        elif use.only and items:
            yield statement_text(replace(use, items=items))
    yield "implicit none"
    if scope.declared.mpif and any(name.startswith(("mpi_", "pmpi_")) for name in needed):
        yield statement_text(Include("mpif.h"))
    for symbol in constants.values():
        yield _declared(symbol.type, symbol.name, ("parameter",), symbol.dims, symbol.initial)


def _constants(names: Iterable[str], scope: Scope, found: dict[str, Symbol]) -> Iterator[str]:
    """The names and, transitively, the unit's constants among them in order of definition."""
    for name in names:
        yield name
        symbol = scope.declared.symbols.get(name)
        if symbol is None or symbol.origin is not Origin.PARAMETER or name in found:
            continue
        meant = symbol_of(name, scope) or symbol
        types = [] if meant.type is None else [meant.type]
        inner = _names(types, meant.dims or ())
        inner |= names_in(meant.initial) if meant.initial is not None else frozenset()
        yield from _constants(sorted(inner), scope, found)
        found[name] = meant


def _names(types: Iterable[TypeSpec], dims: Iterable[Dim]) -> frozenset[str]:
    """All names in types and dimensions."""
    found: set[str] = set()
    for spec in types:
        found |= {spec.name.lower()} if spec.name else set()
        for part in (spec.kind, spec.length):
            if part is not None and not isinstance(part, Section):
                found |= names_in(part)
    for dim in dims:
        for bound in (dim.lower, dim.upper):
            found |= names_in(bound) if bound is not None else set()
    return frozenset(found)


def type_text(spec: TypeSpec | None) -> str:
    """A type as a declaration names it, e.g. ``real(dp)``."""
    return _declared(spec, "x", (), None).partition(" ::")[0]


def _declared(
    spec: TypeSpec | None,
    name: str,
    attrs: tuple[str, ...],
    dims: tuple[Dim, ...] | None,
    initial: Expr | None = None,
) -> str:
    entity = Entity(name, name, dims, initial=initial)
    return statement_text(Decl("type", type=spec, attrs=attrs, entities=(entity,)))
