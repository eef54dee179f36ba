"""Loads a built version, and calls its procedures with NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.verify.procedures.interface import Dummy, Interface
from asphalt.verify.procedures.wrapper import entry_names, slots

Array = np.ndarray[Any, Any]
Type = np.dtype[Any]
_INTEGERS: dict[int, Type] = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}  # by bytes
_REALS: dict[int, Type] = {4: np.dtype("f4"), 8: np.dtype("f8"), 10: np.dtype(np.longdouble)}
_COMPLEX: dict[int, Type] = {4: np.dtype("c8"), 8: np.dtype("c16"), 10: np.dtype(np.clongdouble)}


@record
class Bound:
    """Lower and upper bound of a dimension; ``upper`` None: that of the actual argument."""

    lower: int
    upper: int | None

    @property
    def extent(self) -> int | None:
        """The number of elements; None: that of the actual argument."""
        return None if self.upper is None else max(0, self.upper - self.lower + 1)


class LoadedProcedure:
    """A procedure of a loaded library.

    Raises ``UsageError`` for kinds without a type in NumPy.
    """

    def __init__(self, library: ctypes.CDLL, interface: Interface, number: int) -> None:
        self.interface = interface
        call, bounds, kinds = (getattr(library, name) for name in entry_names(number))
        for function in (call, bounds, kinds):
            function.restype = None
        self._call, self._bounds = call, bounds
        self.slots, self._count = slots(interface)
        self.dtypes = self._types(kinds)

    def _types(self, kinds: Any) -> dict[str, np.dtype[Any] | None]:
        """The type of each argument; None: characters, with the length of the argument."""
        found = np.zeros(2 * len(self.interface.arguments) + 1, np.int64)
        kinds(ctypes.c_void_p(found.ctypes.data))
        types: dict[str, np.dtype[Any] | None] = {}
        for place, dummy in enumerate(self.interface.arguments):
            kind, size = (int(value) for value in found[2 * place : 2 * place + 2])
            match dummy.base:
                case "handle":
                    dtype: np.dtype[Any] | None = np.dtype(np.intc)
                case "integer" | "logical":
                    dtype = _INTEGERS.get(size)
                case "real":
                    dtype = _REALS.get(kind)
                case "complex":
                    dtype = _COMPLEX.get(kind)
                case _:
                    types[dummy.name] = None
                    continue
            if dtype is None:
                raise UsageError(
                    f"argument {dummy.name} of {self.interface} is {dummy.base} of kind {kind}, "
                    "for which NumPy has no type"
                )
            types[dummy.name] = dtype
        return types

    def bounds(
        self, scalars: Mapping[str, Array], extents: Mapping[str, Sequence[int]] | None = None
    ) -> dict[str, tuple[Bound, ...]]:
        """The declared bounds, for the values that they depend on.

        ``extents``: those of arrays that assume the shape of the actual argument.
        """
        known = self._extents(extents or {}, {})
        found = np.zeros(2 * self._count + 2, np.int64)
        pointers = [
            ctypes.c_void_p(scalars[dummy.name].ctypes.data if dummy.name in scalars else None)
            for dummy in self.interface.arguments
        ]
        for _ in range(3):  # bounds may depend on the extents of another array
            self._bounds(*pointers, _address(known), _address(found))
            known = self._extents({**self._stated(found), **(extents or {})}, {})
        return self._read(found)

    def lengths(self, scalars: Mapping[str, Array]) -> dict[str, int]:
        """The declared lengths of characters, except assumed ones."""
        found = np.zeros(2 * self._count + 2, np.int64)
        pointers = [
            ctypes.c_void_p(scalars[dummy.name].ctypes.data if dummy.name in scalars else None)
            for dummy in self.interface.arguments
        ]
        self._bounds(*pointers, _address(np.zeros(self._count + 1, np.int64)), _address(found))
        return {
            dummy.name: max(0, int(found[2 * slot.length]))
            for dummy, slot in zip(self.interface.arguments, self.slots, strict=True)
            if slot.length is not None and dummy.length != "*"
        }

    def _read(self, found: Array) -> dict[str, tuple[Bound, ...]]:
        read: dict[str, tuple[Bound, ...]] = {}
        for dummy, slot in zip(self.interface.arguments, self.slots, strict=True):
            bounds = []
            for d in range(dummy.rank):
                lower, upper = (int(v) for v in found[2 * (slot.dims + d) :][:2])
                open_end = dummy.form == "assumed_size" and d == dummy.rank - 1
                bounds.append(
                    Bound(lower, None if open_end or dummy.form == "assumed_shape" else upper)
                )
            read[dummy.name] = tuple(bounds)
        return read

    def _stated(self, found: Array) -> dict[str, tuple[int, ...]]:
        return {
            name: tuple(bound.extent or 0 for bound in bounds)
            for name, bounds in self._read(found).items()
        }

    def _extents(
        self, extents: Mapping[str, Sequence[int]], lengths: Mapping[str, int]
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        values = np.zeros(self._count + 1, np.int64)
        for dummy, slot in zip(self.interface.arguments, self.slots, strict=True):
            for d, extent in enumerate(extents.get(dummy.name, ())):
                values[slot.dims + d] = extent
            if slot.length is not None:
                values[slot.length] = lengths.get(dummy.name, 0)
        return values

    def call(self, values: Mapping[str, Array]) -> None:
        """Call with one array for each argument (0-d for scalars; optional ones may be absent).

        The caller is responsible for types, shapes and order in memory; see ``arguments``.
        """
        extents = {name: value.shape for name, value in values.items()}
        lengths = {
            name: value.dtype.itemsize for name, value in values.items() if value.dtype.kind == "S"
        }
        pointers = [
            ctypes.c_void_p(values[dummy.name].ctypes.data if dummy.name in values else None)
            for dummy in self.interface.arguments
        ]
        self._call(*pointers, _address(self._extents(extents, lengths)))


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def open_library(path: Path, bindings: Path) -> ctypes.CDLL:
    """Load a version; ``bindings``: the library of ``build.bindings``.

    Raises ``UsageError`` if it cannot be loaded.
    """
    try:
        ctypes.CDLL(str(bindings), mode=ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise UsageError(f"{path} cannot be loaded: {error}") from None


def dummy_named(interface: Interface, name: str) -> Dummy | None:
    """The argument with a name; None: there is none."""
    return next((dummy for dummy in interface.arguments if dummy.name == name), None)
