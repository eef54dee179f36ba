"""Reads machine files: the time of each class of operations on one core."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from asphalt.analysis.cost.classes import CLASSES, UNKNOWN, CoreCache
from asphalt.config.errors import InputError
from asphalt.ir.records import record

BUILT_IN = Path(__file__).resolve().parent.parent / "data" / "machine.toml"
SPEED = 1e9
"""The speed of a simulated host, in flop/s, at which a charged second takes a second."""
_TEXTS = ("name", "compiler")
_TABLES = ("seconds", "latency")
_CACHE = ("cache", "ways", "way")
LATENCIES = tuple(
    name
    for name in CLASSES
    if not name.startswith(("store_", "load_", "loop", "branch"))
    and name not in ("line", "conflict", "page", "call")
)
"""The classes whose results others wait for; ``store``: until the value can be loaded."""


@record
class Machine:
    """A core of a machine, with a compiler and its flags.

    ``seconds``: the cost of an operation of each class among others that do not wait for it.
    ``latency``: the time until an operation that needs its result can begin.  ``window``: seconds
    of the operations that the core overlaps with one that waits; 0: unknown.  ``cache``: the
    capacity of the core's own caches.
    """

    name: str
    compiler: str
    flags: tuple[str, ...]
    seconds: Mapping[str, float]
    latency: Mapping[str, float] = field(default_factory=dict)
    window: float = 0.0
    cache: CoreCache = UNKNOWN

    @property
    def speed(self) -> float:
        """The speed of a simulated host in flop/s: charged seconds times this are the flops that
        SMPI executes.  A host that is twice as fast computes twice as fast as this machine."""
        return SPEED


def load_machine(path: Path | None = None) -> Machine:
    """The machine that a file describes; None: the one in asphalt's data.

    Raises ``InputError`` with file and key for an invalid file.
    """
    file = BUILT_IN if path is None else path
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            str(file),
            None,
            f"this machine file cannot be read: {reason}; 'asphalt calibrate -o FILE' writes one",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(file), None, f"is not TOML: {error}") from None
    return _machine(file, table)


def _machine(file: Path, table: Mapping[str, object]) -> Machine:
    known = (*_TEXTS, "flags", "window", *_CACHE, *_TABLES)
    for key in table:
        if key not in known:
            raise InputError(str(file), None, f"{key}: is not a key (known: {', '.join(known)})")
    for key in (*_TEXTS, "flags", "seconds"):
        if key not in table:
            raise InputError(str(file), None, f"{key}: is missing")
    for key in _TEXTS:
        if not isinstance(table[key], str):
            raise InputError(str(file), None, f"{key}: must be a text, not {table[key]!r}")
    flags = table["flags"]
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise InputError(str(file), None, f"flags: must be a list of texts, not {flags!r}")
    seconds = _times(file, "seconds", table["seconds"], CLASSES)
    for later in ("line", "conflict", "page"):  # files written before there were these classes
        seconds.setdefault(later, 0.0)
    missing = [name for name in CLASSES if name not in seconds]
    if missing:
        raise InputError(str(file), None, f"seconds.{missing[0]}: is missing")
    latency = _times(file, "latency", table.get("latency", {}), LATENCIES)
    if "load" in latency:
        latency.setdefault("store", latency["load"])
    window = _time(file, "window", table.get("window", 0.0))
    cache = CoreCache(*(_number(file, key, table.get(key, 0)) for key in _CACHE))
    if cache.way & (cache.way - 1):
        raise InputError(str(file), None, f"way: must be a power of two, not {cache.way}")
    name, compiler = str(table["name"]), str(table["compiler"])
    return Machine(name, compiler, tuple(flags), seconds, latency, window, cache)


def _number(file: Path, key: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    what = "lines" if key == "ways" else "bytes"
    raise InputError(str(file), None, f"{key}: must be a number of {what}, not {value!r}")


def _times(file: Path, key: str, table: object, known: tuple[str, ...]) -> dict[str, float]:
    if not isinstance(table, dict):
        raise InputError(str(file), None, f"{key}: must be a table, not {table!r}")
    for name in table:
        if name not in known:
            raise InputError(
                str(file), None, f"{key}.{name}: is not a class (known: {', '.join(known)})"
            )
    return {name: _time(file, f"{key}.{name}", value) for name, value in table.items()}


def _time(file: Path, key: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise InputError(str(file), None, f"{key}: must be a time in seconds, not {value!r}")
