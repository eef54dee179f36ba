"""The cost of a piece of a program, as counts of operations by class.

The counts extend the tuple of the PGAS paper (equation 2: references, integer and floating-point
operations, divisions) by operations with another cost on present processors: square roots,
elementary functions by family, references by stride, loop iterations and branches.  A machine file
gives the time of each class; this module has no times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from asphalt.ir.records import record

ARITHMETIC = ("add", "multiply", "divide", "sqrt")
ELEMENTARY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "exp": ("exp", "dexp", "cexp", "cdexp", "zexp"),
        "log": ("log", "log10", "alog", "alog10", "dlog", "dlog10", "clog", "cdlog", "zlog"),
        "sin": ("sin", "cos", "dsin", "dcos", "csin", "ccos", "cdsin", "cdcos", "zsin", "zcos"),
        "tan": ("tan", "dtan"),
        "atan": (
            *("atan", "atan2", "asin", "acos", "datan", "datan2", "dasin", "dacos"),
            *("asinh", "acosh", "atanh"),
        ),
        "sinh": ("sinh", "cosh", "tanh", "dsinh", "dcosh", "dtanh"),
        "special": (
            *("erf", "erfc", "erfc_scaled", "gamma", "log_gamma"),
            *("bessel_j0", "bessel_j1", "bessel_jn", "bessel_y0", "bessel_y1", "bessel_yn"),
        ),
    }
)
"""Families of elementary functions that cost about the same."""
FAMILY: Mapping[str, str] = MappingProxyType(
    {name: family for family, names in ELEMENTARY.items() for name in names}
)
INTEGER = ("integer", "integer_divide", "convert")
REFERENCES = (
    *("load", "load_far", "load_indexed", "store", "store_far", "store_indexed"),
    *("line", "conflict", "page"),
)
CONTROL = ("loop", "loop_entry", "branch", "branch_on_data", "call")
UNITS = (("divide", "sqrt"), ("integer_divide",))
"""Classes of operations that a core executes one at a time, but along with others: its dividers."""
CLASSES = (*ARITHMETIC, "power", *ELEMENTARY, *INTEGER, *REFERENCES, *CONTROL)
"""All classes.

``power``: a real to a real power.  ``integer``: addition, multiplication, comparison of integers
and logical operations.  ``convert``: integer to real or back.  ``load``, ``store``: a reference
next to that of the iteration before; ``_far``: with a larger stride; ``_indexed``: with an unknown
one.  ``line``: a line that is not in the core's own caches any more (``cache_lines``).
``conflict``: one that the first cache has evicted because all lines of a loop are in few sets
(``cache_lines``).  ``page``: the first access to 4096 bytes of memory.  ``loop``: an iteration;
``loop_entry``: start and end of a loop.  ``branch``: a branch; ``branch_on_data``: one that depends
on the values of arrays.  ``call``: of a procedure.
"""


LINE = 64
"""Bytes of a line of a cache: those of x86 and most ARM processors."""


@record
class CoreCache:
    """The capacity of a core's caches; 0 for an unknown one, which evicts nothing.

    ``size``: bytes of the core's own caches.  ``ways``: lines of a set of the first cache.
    ``way``: bytes between two lines of the same set.
    """

    size: int = 0
    ways: int = 0
    way: int = 0


UNKNOWN = CoreCache()
"""A cache that evicts nothing."""


@record
class Counts:
    """The number of operations of each class; equal counts compare equal."""

    entries: frozenset[tuple[str, float]] = frozenset()

    @staticmethod
    def of(**counts: float) -> Counts:
        """Counts by class; zeros are dropped."""
        return Counts.from_mapping(counts)

    @staticmethod
    def from_mapping(counts: Mapping[str, float]) -> Counts:
        """Counts by class; zeros are dropped."""
        return Counts(frozenset((name, number) for name, number in counts.items() if number))

    def __add__(self, other: Counts) -> Counts:
        return total((self, other))

    def __mul__(self, factor: float) -> Counts:
        return Counts(frozenset((name, number * factor) for name, number in self.entries))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __getitem__(self, name: str) -> float:
        return dict(self.entries).get(name, 0)

    def seconds(self, weights: Mapping[str, float]) -> float:
        """The time of all operations if none waits for another; ``weights``: seconds of each class.

        Divisions overlap with the other operations, so that the longer of both counts.
        """
        return max(part.time(weights) for part in self.parts())

    def time(self, weights: Mapping[str, float]) -> float:
        """The time of all operations, one after the other."""
        return sum(number * weights.get(name, 0.0) for name, number in sorted(self.entries))

    def parts(self) -> tuple[Counts, ...]:
        """The counts of each divider, and of everything else."""
        alone = [frozenset(e for e in self.entries if e[0] in unit) for unit in UNITS]
        rest = self.entries.difference(*alone)
        return tuple(Counts(entries) for entries in (rest, *alone))


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of some counts."""
    found: dict[str, float] = {}
    for one in counts:
        for name, number in one.entries:
            found[name] = found.get(name, 0) + number
    return Counts.from_mapping(found)
