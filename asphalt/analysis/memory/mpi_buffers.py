"""The elements of variables that an MPI call with message buffers may access."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import eq

from asphalt.analysis.call_graph.datatype_variables import datatypes_of
from asphalt.analysis.memory.accesses import ALIASED, Access, Mode, Subscript
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.memory.derived_datatypes import TypeMap, type_map
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.storage import (
    evaluated_designators,
    evaluated_storages,
    is_behind_pointer,
    part_storage,
    storage_of,
    storage_with_target,
)
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import BufferEffect, library_row
from asphalt.analysis.mpi.procedures import Parameter
from asphalt.analysis.mpi.standard.row import COUNTS_BLOCK
from asphalt.analysis.names.constants import constant, element_bytes, is_open
from asphalt.analysis.names.designators import (
    declarations_on_the_way,
    designator_name,
    object_named,
    symbol_named,
)
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
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
    names_in,
    walk,
)
from asphalt.ir.tree import Leaf


def in_given_sizes(value: Poly, scope: Scope) -> Poly:
    """A value with the constants that the unit computes replaced by their expressions."""
    if not any(is_open(atom, scope) for atom in value.atoms):
        return value
    return poly(value.expression(), lambda part: _computed(part, scope))


def _computed(part: Expr, scope: Scope) -> Expr | None:
    value = constant(part, scope)
    if value is not None:
        return Lit("integer", str(value))
    symbol = scope.lookup(part.name) if isinstance(part, Ref) and is_open(part, scope) else None
    if symbol is None or symbol.home is not scope or symbol.initial is None:
        return None
    where = symbol.initial_span or symbol.span
    included = where is None or where.file != scope.located.path
    return symbol.initial if not included and _is_computed(symbol.initial, scope) else None


def _is_computed(initial: Expr, scope: Scope) -> bool:
    """Whether an expression is integer arithmetic with named constants of the program."""
    if not names_in(initial):
        return False
    for part in walk(initial):
        match part:
            case Lit(kind="integer") | Op(op="+" | "-" | "*" | "()"):
                continue
            case Ref(args=None) if is_open(part, scope) or constant(part, scope) is not None:
                continue
        return False
    return True


_ONE = Poly.constant(1)


def transfer_buffers(
    leaf: Leaf, call: MpiCall, scope: Scope, values: Values
) -> tuple[Access, ...] | None:
    """The accesses of a call to its buffers, with the elements that the count allows.

    None: a buffer is not a variable.
    """
    return _Buffers(scope, values).of(leaf, call)


def touched_buffers(
    leaf: Leaf, call: MpiCall, scope: Scope, values: Values
) -> tuple[Access, ...] | None:
    """The accesses of ``transfer_buffers``; where the count is unknown, to all elements from the
    first one."""
    return _Buffers(scope, values, to_the_end=True).of(leaf, call)


class _Buffers:
    """The buffers of the calls of one unit; ``to_the_end``: an unknown count extends to the end of
    the array."""

    def __init__(self, scope: Scope, values: Values, *, to_the_end: bool = False) -> None:
        self.scope = scope
        self.values = values
        self.to_the_end = to_the_end

    def of(self, leaf: Leaf, call: MpiCall) -> tuple[Access, ...] | None:
        """The accesses of a call to its buffers; None: a buffer is not a variable."""
        found: list[Access] = []
        in_place = call.in_place(self.scope)
        for transfer in library_row(call.procedure).transfers:
            actual = call.args.get(transfer.argument)
            if in_place and actual is not None:
                if mpi_constant(actual, self.scope) == "mpi_in_place":
                    continue
                transfer = replace(transfer, reads=True)
            name = None if actual is None else designator_name(actual)
            part = None if name is not None else self._of_elements(actual, call)
            if part is not None:
                found += _accesses(transfer, part, None, leaf)
                continue
            if name is not None and is_behind_pointer(actual, self.scope):
                if self._is_twice(name, call):
                    return None
                found += _accesses(transfer, ALIASED, None, leaf)
                continue
            if (
                not isinstance(actual, Ref | Component)
                or name is None
                or object_named(name, self.scope) is None
                or self._is_twice(name, call)
                or mpi_constant(actual, self.scope) is not None
            ):
                return None
            storage = storage_with_target(name, self.scope)
            section = None
            if storage != ALIASED:
                section = self._section(actual, call, leaf)
            if section is None and not self._within(actual, call, leaf):
                for other in self._beside(name):
                    beside = storage_with_target(other, self.scope)
                    found += _accesses(transfer, beside, None, leaf)
            if section is None and self.to_the_end and not storage.startswith(ALIASED):
                section = self._from(actual, call, leaf)
            named = name if storage.startswith(ALIASED) else None
            found += _accesses(transfer, storage, section, leaf, named)
        return (*found, *self._read_later(leaf, call))

    def _of_elements(self, actual: Expr | None, call: MpiCall) -> str | None:
        """The storage of a component of some element, or of all of it that may follow in memory, as
        far as only one argument has to do with the variable; None: it is none."""
        part = part_storage(actual, self.scope) if isinstance(actual, Component) else None
        if part is None:
            return None
        assert isinstance(actual, Component)
        alone = "allocatable" in (declarations_on_the_way(actual, self.scope) or ())[-1].decl.attrs
        storage = part if alone else part.split("%")[0]
        mine = storage.split("%")
        named = [o for _, given in call.bound() for o in evaluated_storages(given, self.scope)]
        met = [o for o in named if o is None or all(map(eq, mine, o.split("%")))]
        return storage if len(met) == 1 else None

    def _read_later(self, leaf: Leaf, call: MpiCall) -> Iterator[Access]:
        """The arrays of counts, displacements and types that an operation may read until it is
        complete (MPI-4.0 section 6.12)."""
        for parameter, actual in call.bound():
            if parameter.asynchronous and parameter.kind != "BUFFER":
                for name in sorted(names_in(actual)):
                    yield Access(storage_of(name, self.scope), Mode.READ, None, leaf)

    def _within(self, actual: Ref | Component, call: MpiCall, leaf: Leaf) -> bool:
        """Whether a call certainly accesses nothing beyond the end of a variable."""
        scope, values = self.scope, self.values
        name = designator_name(actual) or ""
        symbol = symbol_named(name, scope)
        counts = _counts(call)
        types = _scalars(call, lambda p: p.kind == "DATATYPE")
        if symbol is None or len(counts) != 1 or len(types) != 1:
            return False
        if not self._is_within_elements(types[0], element_bytes(symbol, scope)):
            return False
        count = values.polynomial(counts[0], leaf)
        if symbol.dims is None:
            return count == _ONE
        shape = shape_of(name, scope, values, leaf)
        if shape is None or actual.args is not None:
            return False
        size = _ONE
        for extent in shape.extent:
            if extent is None:
                return False
            size = size * extent
        room = (size - count).value
        return room is not None and room >= 0

    def _beside(self, name: str) -> frozenset[str]:
        """The variables that may follow one in memory: the others of its common block, since
        programs pass the first of several with a count that covers all of them; of a component, the
        structure."""
        symbol = symbol_named(name, self.scope)
        if "%" in name:
            alone = symbol is not None and symbol.attrs & {"allocatable", "pointer"}
            return frozenset() if alone else frozenset({name.split("%")[0]})
        if symbol is None or symbol.common_block is None:
            return frozenset()
        home = symbol.home if isinstance(symbol.home, Scope) else self.scope  # may be a module
        return frozenset(home.declared.commons.get(symbol.common_block, ())) - {symbol.name}

    def _is_twice(self, name: str, call: MpiCall) -> bool:
        """Whether more than one argument of a call is an object, or a part of it."""
        mine = name.split("%")
        times = 0
        for _, actual in call.bound():
            others = [other.split("%") for other in evaluated_designators(actual, self.scope)]
            times += any(all(map(eq, mine, other)) for other in others)
        return times > 1

    def _section(
        self, actual: Ref | Component, call: MpiCall, leaf: Leaf
    ) -> tuple[Subscript, ...] | None:
        """A section of an array that contains a buffer; None: all of it, or unknown.

        From an element on, MPI accesses ``count`` elements of the datatype, which are elements of
        the array if both have the same length.  A subscript triplet is passed as it is, but a count
        may reach beyond it.
        """
        scope, values = self.scope, self.values
        counts = _counts(call)
        types = _scalars(call, lambda p: p.kind == "DATATYPE")
        name = designator_name(actual)
        symbol = None if name is None else symbol_named(name, scope)
        if actual.args is None or len(counts) != 1 or len(types) != 1 or symbol is None:
            return None
        if not reference_contiguity(actual, scope).yes:
            return None
        made = type_map(types[0], leaf, scope, values)
        size = element_bytes(symbol, scope)
        if made is None and self._is_within_elements(types[0], size):
            made = TypeMap(next(iter(datatypes_of(types[0], scope))), _ONE, _ONE, _ONE)
        elif made is None or made.element.bytes is None or made.element.bytes != size:
            return None
        shape = shape_of(name or "", scope, values, leaf)
        if shape is None or shape.rank != len(actual.args):
            return None
        first: list[Poly] = []
        for argument, lower in zip(actual.args, shape.lower, strict=True):
            match argument:
                case Section(lower=start, stride=None):
                    first.append(lower if start is None else values.polynomial(start, leaf))
                case Section() | Keyword() | AltReturn():
                    return None
                case _:
                    first.append(values.polynomial(argument, leaf))
        count = in_given_sizes(values.polynomial(counts[0], leaf), scope)
        shape = replace(shape, extent=tuple(self._in_given_sizes(e) for e in shape.extent))
        alone = not self._beside(name or "")
        if made.is_dense:
            elements = count * made.elements
            covered = _covered(tuple(first), elements, shape, alone=alone)
            return covered or self._range(actual.args, tuple(first), elements, leaf)
        if count != _ONE:
            return None
        return _covered_in_blocks(tuple(first), made, shape, alone=alone)

    def _range(
        self, args: tuple[Arg, ...], first: tuple[Poly, ...], count: Poly, leaf: Leaf
    ) -> tuple[Subscript, ...] | None:
        """The section ``a(m:n, j)`` if MPI accesses as many elements as it has; None: another
        section, or number.

        Its subscripts are within the bounds of the array, whatever these are (F2018 9.5.3.3.1).
        """
        match args:
            case (Section(upper=upper, stride=None), *others) if upper is not None and not any(
                isinstance(other, Section) for other in others
            ):
                last = self.values.polynomial(upper, leaf)
                if last - first[0] + _ONE == count:
                    along = Section(first[0].expression(), last.expression(), None)
                    return (along, *(f.expression() for f in first[1:]))
        return None

    def _is_within_elements(self, handle: Expr, size: int | None) -> bool:
        """Whether a datatype is at most as long as an element of so many bytes: some of them are as
        many elements of the array, or fewer."""
        found = datatypes_of(handle, self.scope)
        lengths = [one.bytes for one in found if one.bytes is not None and not one.gaps]
        return size is not None and 0 < len(found) == len(lengths) and max(lengths) <= size

    def _in_given_sizes(self, extent: Poly | None) -> Poly | None:
        return None if extent is None else in_given_sizes(extent, self.scope)

    def _from(
        self, actual: Ref | Component, call: MpiCall, leaf: Leaf
    ) -> tuple[Subscript, ...] | None:
        """The section of an array with all elements from the first of a buffer; None: unknown.

        MPI accesses elements of predefined types from there in array element order (F2018 9.5.3.2),
        so that no last subscript is below the first one.
        """
        types = _scalars(call, lambda p: p.kind == "DATATYPE")
        known = datatypes_of(types[0], self.scope) if len(types) == 1 else None
        last = actual.args[-1] if actual.args else None
        if not known or isinstance(last, Section | Keyword | AltReturn | None):
            return None
        shape = shape_of(designator_name(actual) or "", self.scope, self.values, leaf)
        if shape is None or shape.rank != len(actual.args or ()):
            return None
        start = self.values.polynomial(last, leaf).expression()
        colon = Section(None, None, None)
        return (*(colon,) * (shape.rank - 1), Section(start, None, None))


def _counts(call: MpiCall) -> list[Expr]:
    """The numbers of elements in the buffers of a call; []: scalars alone do not give them."""
    if COUNTS_BLOCK in call.procedure.facts:
        return []
    return _scalars(call, lambda p: p.is_count)


def _scalars(call: MpiCall, wanted: Callable[[Parameter], bool]) -> list[Expr]:
    """The arguments of a kind; [] if one of them is an array, one element for each rank."""
    found = [(p, a) for p, a in call.bound() if wanted(p)]
    return [] if any(p.array for p, _ in found) else [a for _, a in found]


def _accesses(
    transfer: BufferEffect,
    storage: str,
    section: tuple[Subscript, ...] | None,
    leaf: Leaf,
    named: str | None = None,
) -> list[Access]:
    """The accesses to a buffer; of what may have other names, with its designator ``named``."""
    root, *path = storage.split("%")
    modes = [Mode.READ] * transfer.reads + [Mode.MAYBE_WRITE] * transfer.writes
    own, inside = (section, None) if named is None else (None, section)
    return [
        Access(root, mode, own, leaf, path=tuple(path), named=named, inside=inside)
        for mode in modes
    ]


def _covered(
    first: tuple[Poly, ...], count: Poly, shape: Shape, *, alone: bool
) -> tuple[Subscript, ...] | None:
    """The section of ``count`` elements from the element ``first`` on; None: unknown.

    ``alone``: nothing follows the array in memory, so that no element is beyond its end.
    """
    rest = count
    colon = Section(None, None, None)
    for number, start in enumerate(first):
        extent, lower = shape.extent[number], shape.lower[number]
        single = tuple(f.expression() for f in first[number:])
        if rest == _ONE:
            return (*(colon,) * number, *single)
        if extent is not None and start == lower and rest == extent:
            return (*(colon,) * (number + 1), *single[1:])
        ends = alone and number == shape.rank - 1
        if ends or (extent is not None and _fits(start, rest, lower, extent)):
            last = (start + rest - _ONE).expression()
            return (*(colon,) * number, Section(single[0], last, None), *single[1:])
        if extent is None or start != lower:
            return None
        quotient = rest.divided_by(extent)
        if quotient is None:
            return None
        rest = quotient
    return None


def _covered_in_blocks(
    first: tuple[Poly, ...], made: TypeMap, shape: Shape, *, alone: bool
) -> tuple[Subscript, ...] | None:
    """The section of a datatype whose blocks are as far apart as the elements of a dimension.

    It has, of each of these elements, what the first block has.  None: unknown.  ``alone``: nothing
    follows the array in memory, so that no element is beyond its end.
    """
    distance = _ONE
    for number, extent in enumerate(shape.extent[:-1]):
        if extent is None:
            return None
        distance = distance * extent
        if distance != made.stride:
            continue
        here = number + 1
        block = _covered(first[:here], made.length, shape.leading(here), alone=False)
        start, lower, room = first[here], shape.lower[here], shape.extent[here]
        stays = room is not None and _fits(start, made.blocks, lower, room)
        if block is None or not (stays or (alone and here == shape.rank - 1)):
            return None
        last = start + made.blocks - _ONE
        along = Section(start.expression(), last.expression(), None)
        return (*block, along, *(f.expression() for f in first[here + 1 :]))
    return None


def _fits(first: Poly, count: Poly, lower: Poly, extent: Poly) -> bool:
    """Whether that many elements from the first one certainly remain within a dimension."""
    room = (lower + extent - first - count).value
    begins = (first - lower).value
    return room is not None and room >= 0 and begins is not None and begins >= 0
