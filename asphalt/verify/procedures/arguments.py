"""Converts Python values to the arguments of a procedure, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from asphalt.config.errors import UsageError
from asphalt.verify.procedures.interface import Dummy, Interface
from asphalt.verify.procedures.library import Array, Bound, LoadedProcedure, dummy_named


class CallArguments:
    """The arguments of one call: values for the procedure, and results for the caller.

    Raises ``UsageError`` for values that do not fit the interface.
    """

    def __init__(
        self, entry: LoadedProcedure, args: Sequence[object], named: Mapping[str, object]
    ) -> None:
        self.entry = entry
        self.interface = entry.interface
        given = _bound(self.interface, args, named)
        self.values: dict[str, Array] = {}
        self._back: list[tuple[Array, Array]] = []  # (the caller's, what the procedure gets)
        for dummy in self.interface.dummies:
            if dummy.name in given and not dummy.rank and dummy.base != "character":
                self.values[dummy.name] = self._scalar(dummy, given[dummy.name])
        self._complete(given)

    def call(self) -> dict[str, object]:
        """Call; returns the scalars that the procedure may have changed, and its result."""
        self.entry.call(self.values)
        for own, passed in self._back:
            own[...] = passed if own.dtype != np.bool_ else passed != 0
        changed: dict[str, object] = {}
        for dummy in self.interface.arguments:
            if dummy.name not in self.values or not dummy.changes or dummy.base == "handle":
                continue
            if not dummy.rank:
                changed[dummy.name] = _python(dummy, self.values[dummy.name])
            elif dummy is self.interface.result:
                changed[dummy.name] = self.values[dummy.name]
        return changed

    def _complete(self, given: Mapping[str, object]) -> None:
        """Add all values that depend on scalars: omitted ones, arrays, characters, the result."""
        for dummy in self.interface.dummies:
            if dummy.name in given or dummy.optional:
                continue
            if dummy.intent != "out" or dummy.rank or dummy.length == "*":
                raise UsageError(f"{self._what(dummy)} is missing; {self._usage()}")
            if dummy.base != "character":
                self.values[dummy.name] = np.zeros((), self._dtype(dummy))
        arrays = {
            name: value.shape for name, value in given.items() if isinstance(value, np.ndarray)
        }
        self._check_sizes()
        stated = self.entry.bounds(self.values, arrays)
        lengths = self.entry.lengths(self.values)
        for dummy in self.interface.arguments:
            value = given.get(dummy.name)
            if dummy is self.interface.result or (value is None and not dummy.optional):
                shape = tuple(bound.extent or 0 for bound in stated[dummy.name])
                if dummy.base == "character":
                    self.values[dummy.name] = np.full(shape, b"", f"S{lengths[dummy.name]}")
                elif dummy.name not in self.values:
                    self.values[dummy.name] = np.zeros(shape, self._dtype(dummy), order="F")
            elif value is None:
                continue
            elif dummy.rank:
                self._array(dummy, value, stated[dummy.name], lengths.get(dummy.name))
            elif dummy.base == "character":
                self._character(dummy, value, lengths.get(dummy.name))

    def _check_sizes(self) -> None:
        for name in sorted(self.interface.sizes):
            dummy = dummy_named(self.interface, name)
            if dummy is not None and not dummy.rank and name not in self.values:
                if dummy.base == "character":
                    continue
                raise UsageError(f"{self._what(dummy)} is missing; {self._usage()}")

    def _scalar(self, dummy: Dummy, value: object) -> Array:
        dtype = self._dtype(dummy)
        handle = getattr(value, "py2f", None)
        if handle is not None:
            if dummy.base not in ("integer", "handle"):
                raise UsageError(f"{self._what(dummy)} is not an MPI handle, but {dummy.base}")
            return np.array(handle(), dtype)
        if dummy.base == "handle" and not isinstance(value, int | np.integer | np.ndarray):
            raise UsageError(f"{self._what(dummy)} is an MPI handle; pass mpi4py's object")
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype == dtype:
            return value if dummy.changes else value.copy()
        found = np.asarray(value)
        if found.ndim:
            raise UsageError(f"{self._what(dummy)} is a scalar, not an array of {found.shape}")
        wanted = np.dtype(np.bool_) if dummy.base == "logical" else dtype
        if not np.can_cast(found.dtype, wanted, "same_kind") and not _fits(found, wanted):
            raise UsageError(f"{self._what(dummy)} is {dummy.base}; {value!r} does not fit")
        cast = found.astype(wanted)
        if wanted.kind == "i" and cast != found:
            bits = 8 * dtype.itemsize
            raise UsageError(f"{self._what(dummy)} has {bits} bits: {value} is too large")
        passed = np.array(cast.astype(dtype))
        if isinstance(value, np.ndarray) and dummy.changes:
            self._back.append((value, passed))
        return passed

    def _array(
        self, dummy: Dummy, value: object, bounds: tuple[Bound, ...], length: int | None
    ) -> None:
        if not isinstance(value, np.ndarray):
            if dummy.changes:
                raise UsageError(f"{self._what(dummy)} is changed in place: pass a NumPy array")
            value = np.asarray(value)
        if value.ndim != dummy.rank:
            raise UsageError(f"{self._what(dummy)} has rank {dummy.rank}, not {value.ndim}")
        for number, (bound, extent) in enumerate(zip(bounds, value.shape, strict=True), 1):
            if bound.extent is not None and bound.extent != extent:
                wanted = tuple("*" if b.extent is None else b.extent for b in bounds)
                raise UsageError(
                    f"{self._what(dummy)} has extent {bound.extent} in dimension {number} here, "
                    f"not {extent}; its shape is ({', '.join(map(str, wanted))})"
                )
        self.values[dummy.name] = self._passed(dummy, value, length)

    def _passed(self, dummy: Dummy, value: Array, length: int | None) -> Array:
        """The array itself, or a copy to be copied back."""
        if dummy.base == "character":
            if value.dtype.kind != "S" or (length is not None and value.dtype.itemsize != length):
                wanted = "S*" if length is None else f"S{length}"
                raise UsageError(f"{self._what(dummy)} is of type {wanted}, not {value.dtype}")
            dtype = value.dtype
        else:
            dtype = self._dtype(dummy)
        logical = dummy.base == "logical" and value.dtype == np.bool_
        if value.dtype != dtype and not logical:
            hint = f"np.array(..., {dtype.str!r}, order='F')"
            raise UsageError(f"{self._what(dummy)} is {dtype}, not {value.dtype}; pass {hint}")
        if not dummy.changes:
            return np.asfortranarray(value.astype(dtype, copy=False))
        if not value.flags.writeable:
            raise UsageError(f"{self._what(dummy)} is changed, and the array is read-only")
        if logical:
            passed = np.asfortranarray(value.astype(dtype))
            self._back.append((value, passed))
            return passed
        if not value.flags.f_contiguous:
            raise UsageError(
                f"{self._what(dummy)} is changed in place: pass an array in Fortran's order "
                "(order='F')"
            )
        return value

    def _character(self, dummy: Dummy, value: object, length: int | None) -> None:
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind == "S":
            text: bytes = value.item()
            length = value.dtype.itemsize if length is None else length
        elif isinstance(value, str):
            text = value.encode("latin-1")
        elif isinstance(value, bytes):
            text = value
        else:
            raise UsageError(f"{self._what(dummy)} is character; {value!r} does not fit")
        length = len(text) if length is None else length
        if len(text) > length:
            raise UsageError(f"{self._what(dummy)} has {length} characters, not {len(text)}")
        self.values[dummy.name] = np.array(text.ljust(max(1, length)), f"S{max(1, length)}")

    def _dtype(self, dummy: Dummy) -> np.dtype[Any]:
        dtype = self.entry.dtypes[dummy.name]
        assert dtype is not None
        return dtype

    def _what(self, dummy: Dummy) -> str:
        return f"argument {dummy} of {self.interface}"

    def _usage(self) -> str:
        return f"call it as {self.interface.name}({', '.join(map(str, self.interface.dummies))})"


def _bound(
    interface: Interface, args: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    """The values by the names of dummy arguments; None counts as omitted."""
    names = [dummy.name for dummy in interface.dummies]
    if len(args) > len(names):
        raise UsageError(f"{interface} takes {len(names)} arguments, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name.lower() not in names:
            raise UsageError(f"{interface} has no argument {name}; it has {', '.join(names)}")
        if name.lower() in given:
            raise UsageError(f"argument {name} of {interface} is given twice")
        given[name.lower()] = value
    return {name: value for name, value in given.items() if value is not None}


def _fits(found: Array, wanted: np.dtype[Any]) -> bool:
    """Whether a Python number is exact in a type to which NumPy does not cast safely."""
    return found.dtype.kind in "iu" and wanted.kind in "iu"


def _python(dummy: Dummy, value: Array) -> object:
    if dummy.base == "logical":
        return bool(value)
    if dummy.base == "character":
        return bytes(value.tobytes()).decode("latin-1")
    return value.item()
