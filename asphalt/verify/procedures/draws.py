"""Random arguments: small sizes, equal on all ranks, and arrays that differ between ranks.

A draw depends on the seed, its number, and the values that the user fixes, and on nothing else, so
that ranks agree on it without a message.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.verify.procedures.interface import Dummy, Interface
from asphalt.verify.procedures.library import Array, LoadedProcedure
from asphalt.verify.procedures.roles import MpiRole

SMALL = 12
GUARD = 1 << 14  # bytes before and behind each array
_GUARD_BYTE = 0xA5
_MOST_BYTES = 1 << 26
_OPEN_END = 1 << 14  # elements of an assumed-size array
_LENGTH = 16


class DiscardedDrawError(Exception):
    """A draw with which the procedure cannot be called."""


@record
class Fixed:
    """A value that the user fixes with ``NAME=VALUE``.

    Fortran-like integer expressions over ``ranks``, ``rank`` and dummy arguments; of an array, one
    for each extent.
    """

    name: str
    values: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Fixed:
        """Parse ``NAME=VALUE``; raises ``UsageError`` for any other text."""
        name, equals, value = text.partition("=")
        values = tuple(part.strip() for part in _parts(value))
        if not equals or not name.strip().isidentifier() or not all(values):
            raise UsageError(
                f"--set {text}: write NAME=VALUE, e.g. --set n=12 or --set s=n,nz,ranks"
            )
        fixed = Fixed(name.strip().lower(), values)
        for part in values:
            names_of(part)
        return fixed


def _parts(text: str) -> Iterable[str]:
    """The text, split at commas outside parentheses."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip().lower(), mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"--set: '{text}' is not an integer expression") from None


def names_of(text: str) -> frozenset[str]:
    """The names in an expression; raises ``UsageError`` for any other text."""
    tree = _tree(text)
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return frozenset(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in functions
    )


def evaluate(text: str, values: Mapping[str, int]) -> int:
    """The value of an expression with ``+ - * / % max min mod``; ``/`` truncates.

    Raises ``UsageError`` for anything else, and for names without a value.
    """

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return number
            case ast.Name(id=name) if name in values:
                return values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _operation(op, value(left), value(right), text)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return int(_FUNCTIONS[name](*map(value, args)))
            case ast.Name(id=name):
                known = ", ".join(sorted(values))
                raise UsageError(f"--set: {name} has no value in '{text}'; known names are {known}")
        raise UsageError(f"--set: '{text}' is not an integer expression")

    return value(_tree(text))


_FUNCTIONS: Mapping[str, Any] = {
    "max": max,
    "min": min,
    "mod": lambda a, b: a - b * int(a / b) if b else 0,
}


def _operation(op: ast.operator, left: int, right: int, text: str) -> int:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.FloorDiv() if right:
            return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case ast.Mod() if right:
            return left % right
    raise UsageError(f"--set: '{text}' is not an integer expression")


@record
class Where:
    """The rank that draws, the number of ranks, and the communicator's Fortran handle."""

    rank: int
    ranks: int
    communicator: int


@record
class Drawn:
    """The arguments of one call; ``buffers`` hold each array with its guards."""

    values: dict[str, Array]
    buffers: dict[str, Array]
    said: str

    def copy(self) -> Drawn:
        """A copy of the arguments in other memory."""
        values, buffers = {}, {}
        for name, value in self.values.items():
            buffers[name], values[name] = _guarded(value.shape, value.dtype)
            values[name][...] = value
        return Drawn(values, buffers, self.said)

    def overrun(self) -> str | None:
        """The argument whose guards were overwritten; None: all are intact."""
        for name, buffer in self.buffers.items():
            if (buffer[:GUARD] != _GUARD_BYTE).any() or (buffer[-GUARD:] != _GUARD_BYTE).any():
                return name
        return None


class Draws:
    """All draws for one procedure."""

    def __init__(
        self,
        entry: LoadedProcedure,
        roles: Mapping[str, MpiRole],
        sizes: frozenset[str],
        fixed: Iterable[Fixed],
        seed: int,
        where: Where,
    ) -> None:
        self.entry = entry
        self.interface: Interface = entry.interface
        self.roles = roles
        self.sizes = sizes | entry.interface.sizes
        self.fixed = {one.name: one.values for one in fixed}
        self.seed = seed
        self.where = where

    def draw(self, number: int) -> Drawn:
        """The arguments of draw ``number`` on this rank.

        Raises ``DiscardedDrawError`` for impossible sizes.
        """
        same = np.random.default_rng([self.seed, number])
        own = np.random.default_rng([self.seed, number, self.where.rank + 1])
        absent = {
            dummy.name
            for dummy in self.interface.dummies
            if dummy.optional and same.random() < 0.25 and dummy.name not in self.fixed
        }
        scalars = self._scalars(same, absent)
        shapes = self._shapes(same, scalars)
        lengths = self.entry.lengths(scalars)
        values, buffers = {}, {}
        for dummy in self.interface.arguments:
            if dummy.name in absent:
                continue
            dtype = self.entry.dtypes[dummy.name]
            if dtype is None:
                dtype = np.dtype(f"S{max(1, lengths.get(dummy.name, _LENGTH))}")
            shape = shapes.get(dummy.name, ())
            if dtype.itemsize * int(np.prod(shape, dtype=np.float64)) > _MOST_BYTES:
                raise DiscardedDrawError(f"{dummy} would have shape {shape}")
            buffers[dummy.name], values[dummy.name] = _guarded(shape, dtype)
            if dummy.name in scalars:
                values[dummy.name][...] = scalars[dummy.name]
            else:
                values[dummy.name][...] = _random(own if shape else same, dummy, shape, dtype)
        return Drawn(values, buffers, self._said(values, shapes))

    def _scalars(self, rng: np.random.Generator, absent: set[str]) -> dict[str, Array]:
        """Integers: communicators, ranks, sizes, fixed values."""
        where = self.where
        integers: dict[str, int] = {}
        for dummy in self.interface.dummies:
            if dummy.rank or dummy.base not in ("integer", "handle"):
                continue
            role = self.roles.get(dummy.name)
            if dummy.name in self.sizes:
                drawn = _size(rng, where.ranks)
            else:
                drawn = int(rng.integers(0, 10))
            if role is MpiRole.COMMUNICATOR or dummy.base == "handle":
                drawn = where.communicator
            elif role is MpiRole.RANKS:
                drawn = where.ranks
            elif role is MpiRole.RANK:
                drawn = where.rank
            integers[dummy.name] = drawn
        self._fix(integers)
        scalars: dict[str, Array] = {}
        for name, value in integers.items():
            dtype = self.entry.dtypes[name]
            if dtype is not None and name not in absent:
                scalars[name] = np.array(value, dtype)
        return scalars

    def _fix(self, integers: dict[str, int]) -> None:
        """Evaluate the fixed values, each after those that it depends on."""
        pending = {
            name: values[0]
            for name, values in self.fixed.items()
            if name in integers and len(values) == 1
        }
        while pending:
            ready = [name for name, text in pending.items() if not names_of(text) & pending.keys()]
            if not ready:
                raise UsageError(f"--set: {', '.join(sorted(pending))} depend on each other")
            for name in ready:
                integers[name] = evaluate(pending.pop(name), self._names(integers))

    def _names(self, integers: Mapping[str, int]) -> dict[str, int]:
        return {"ranks": self.where.ranks, "rank": self.where.rank, **integers}

    def _shapes(
        self, rng: np.random.Generator, scalars: Mapping[str, Array]
    ) -> dict[str, tuple[int, ...]]:
        integers = self._names({name: int(value) for name, value in scalars.items()})
        # arrays of assumed shape usually have the same extents
        alike = rng.random() < 0.8
        common = [_size(rng, self.where.ranks) for _ in range(15)]
        shapes: dict[str, tuple[int, ...]] = {}
        for dummy in self.interface.arguments:
            if dummy.name in self.fixed and dummy.rank:
                extents = tuple(evaluate(text, integers) for text in self.fixed[dummy.name])
                if len(extents) != dummy.rank:
                    raise UsageError(f"--set {dummy.name}: {dummy} has {dummy.rank} dimensions")
                shapes[dummy.name] = extents
            elif dummy.form == "assumed_shape":
                other = [_size(rng, self.where.ranks) for _ in range(dummy.rank)]
                shapes[dummy.name] = tuple(common[: dummy.rank] if alike else other)
        stated = self.entry.bounds(scalars, shapes)
        for dummy in self.interface.arguments:
            bounds = stated[dummy.name]
            if not dummy.rank or dummy.name in shapes:
                continue
            known = [bound.extent for bound in bounds if bound.extent is not None]
            if len(known) < dummy.rank:
                known.append(max(1, _OPEN_END // max(1, int(np.prod(known, dtype=np.float64)))))
            shapes[dummy.name] = tuple(known)
        for name, extents in shapes.items():
            if min(extents) < 0:
                raise DiscardedDrawError(f"{name} would have a negative extent")
        return shapes

    def _said(self, values: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> str:
        """The sizes of a draw, for messages."""
        parts = [
            f"{dummy.name}={int(values[dummy.name])}"
            for dummy in self.interface.dummies
            if dummy.base == "integer"
            and not dummy.rank
            and dummy.name in values
            and self.roles.get(dummy.name) is not MpiRole.COMMUNICATOR
        ]
        for dummy in self.interface.dummies:
            if dummy.form == "assumed_shape" and dummy.name in values:
                parts.append(f"{dummy.name}({','.join(map(str, shapes[dummy.name]))})")
        return ", ".join(parts)


def _size(rng: np.random.Generator, ranks: int) -> int:
    """A small size; half of the time a multiple of the number of ranks, as exchanges need."""
    if rng.random() < 0.5:
        return ranks * int(rng.integers(1, max(1, SMALL // ranks) + 1))
    return int(rng.integers(1, SMALL + 1))


def _guarded(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """A buffer, and the array in its middle."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    buffer = np.full(size + 2 * GUARD, _GUARD_BYTE, np.uint8)
    array = buffer[GUARD : GUARD + size].view(dtype).reshape(shape, order="F")
    return buffer, array


def _random(
    rng: np.random.Generator, dummy: Dummy, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    match dummy.base:
        case "integer":
            return rng.integers(0, 10, shape)
        case "logical":
            return rng.integers(0, 2, shape)
        case "complex":
            return rng.random(shape) + 1j * rng.random(shape)
        case "character":
            letters = rng.integers(97, 123, (*shape, dtype.itemsize)).astype(np.uint8)
            return letters.view(dtype).reshape(shape)
    return rng.random(shape)
