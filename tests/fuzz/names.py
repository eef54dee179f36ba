"""Names, shapes and subscripts of one exchange, as text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fuzz.program import MOST_RANKS, Exchange

DECLARED = {"real8": "real(8)", "integer": "integer", "complex": "complex(8)", "real4": "real(4)"}
MPI_TYPE = {
    "real8": "MPI_DOUBLE_PRECISION",
    "integer": "MPI_INTEGER",
    "complex": "MPI_DOUBLE_COMPLEX",
    "real4": "MPI_REAL",
}
BYTES = {"real8": 8, "integer": 4, "complex": 16, "real4": 4}
FIXED_SIZE = ("fixed", "common")
DEFERRED = ("allocatable", "module", "component", "pointer", "target")
DUMMIES = ("explicit", "assumed")


def plus(text: str, number: int) -> str:
    """``nz``, ``nz+2``, ``nz-1``."""
    return text if number == 0 else f"{text}{number:+d}"


@dataclass(frozen=True)
class Names:
    """The names of the exchange ``q`` of the program ``tag``; ``storage``: where it really is."""

    tag: str
    q: int
    exchange: Exchange
    storage: str
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def slab(self) -> bool:
        """Whether the planes are dealt to the ranks one block after the other."""
        return self.exchange.shape in ("slab", "line")

    @property
    def prefix(self) -> str:
        """In front of the buffers: components of a structure."""
        return f"d{self.q}%" if self.storage == "component" else ""

    @property
    def s(self) -> str:
        """The send buffer."""
        return f"{self.prefix}s{self.q}"

    @property
    def r(self) -> str:
        """The receive buffer."""
        return f"{self.prefix}r{self.q}"

    @property
    def rank_count(self) -> str:
        """The extent of the dimension of ranks."""
        return str(MOST_RANKS) if self.storage in FIXED_SIZE else "np"

    @property
    def plane_count(self) -> str:
        """The number of planes that the loop goes over."""
        return "nz*np" if self.slab else "nz"

    def dims(self, received: bool = False, ranks: str = "") -> str:
        """The bounds of a buffer."""
        ranks = ranks or self.rank_count
        e = self.exchange
        planes = "nz" if not self.slab else f"nz*{ranks}"
        if self.slab and received and e.uneven:
            planes += f"*{ranks}"
        upper = plus(planes, e.lower - 1)
        planes = upper if e.lower == 1 else f"{e.lower}:{upper}"
        last = ranks if e.base == 1 else f"{e.base}:{plus(ranks, e.base - 1)}"
        return {
            "block": f"n, {planes}, {last}",
            "planes": f"n, 2, {planes}, {last}",
            "strided": f"{planes}, n, {last}",
            "slab": f"n, {planes}",
            "line": planes,
        }[e.shape]

    @property
    def rank(self) -> int:
        """Dimensions of the buffers."""
        return {"block": 3, "planes": 4, "strided": 3, "slab": 2, "line": 1}[self.exchange.shape]

    @property
    def deferred(self) -> str:
        """``:,:,:``."""
        return ", ".join(":" * self.rank)

    @property
    def assumed(self) -> str:
        """Assumed shape with the lower bounds of the buffers."""
        e = self.exchange
        lower, base = ("" if b == 1 else str(b) for b in (e.lower, e.base))
        return {
            "block": f":, {lower}:, {base}:",
            "planes": f":, :, {lower}:, {base}:",
            "strided": f"{lower}:, :, {base}:",
            "slab": f":, {lower}:",
            "line": f"{lower}:",
        }[e.shape]

    @property
    def count(self) -> str:
        """Elements of a block."""
        return {"line": "nz", "planes": "2*n*nz"}.get(self.exchange.shape, "n*nz")

    def subscripts(self, i: str, plane: str, p: str, c: str = "c") -> str:
        """The subscripts of an element, in brackets; ``plane`` and ``p`` as the array has them."""
        return {
            "block": f"({i},{plane},{p})",
            "planes": f"({i},{c},{plane},{p})",
            "strided": f"({plane},{i},{p})",
            "slab": f"({i},{plane})",
            "line": f"({plane})",
        }[self.exchange.shape]

    @cached_property
    def layout(self) -> str:
        """How the array that is copied from lies: a value of ``work``, where the shape has it."""
        shape, work = self.exchange.shape, self.exchange.work
        if self.exchange.inner == "section" and work in ("stepped", "spread"):
            return "dropped"
        if shape == "slab" and work in ("transposed", "planes first"):
            return "planes first"
        return work if shape == "block" else "dropped"

    def source(self, i: str) -> str:
        """The subscripts, in the array that is copied from, of what becomes an element."""
        e, plane = self.exchange, self.plane
        mirrored = f"{plus(self.plane_count, 2 * e.lower - 1)}-({plane})"
        if self.layout == "planes first" and e.shape == "slab":
            return f"({plane},{i})"
        return {
            "transposed": f"({i},p,{plane})",
            "planes first": f"({plane},{i},p)",
            "stepped": f"(2*{i},{plane},p)",
            "mirrored": f"({i},{mirrored},p)",
            "spread": f"({i}+n*(p-({e.base})),{plane})",
        }.get(self.layout, self.subscripts(i, plane, "p"))

    @property
    def source_dims(self) -> str:
        """The bounds of the array that is copied from."""
        if self.layout == "dropped":
            return self.dims()
        n, planes, ranks = (*self.dims().split(", "), "")[:3]
        return {
            "transposed": f"{n}, {ranks}, {planes}",
            "planes first": f"{planes}, {n}, {ranks}".removesuffix(", "),
            "stepped": f"2*{n}, {planes}, {ranks}",
            "spread": f"{n}*{self.rank_count}, {planes}",
        }.get(self.layout, self.dims())

    @cached_property
    def corner(self) -> str:
        """The subscripts of the first element."""
        return self.subscripts("1", str(self.exchange.lower), str(self.exchange.base), "1")

    @property
    def plane(self) -> str:
        """The plane of the iteration z."""
        return plus("z", -self.exchange.shift)

    @property
    def first(self) -> str:
        """The smallest z."""
        e = self.exchange
        return str(e.lower + e.skipped[0] + e.shift)

    @property
    def last(self) -> str:
        """The largest z."""
        e = self.exchange
        return plus(self.plane_count, e.lower - 1 - e.skipped[1] + e.shift)

    @property
    def ranks(self) -> str:
        """The bounds of the loop over ranks."""
        return f"{self.exchange.base}, {plus('np', self.exchange.base - 1)}"

    def known(self) -> dict[str, str]:
        """What templates of statements may name."""
        e = self.exchange
        second = self.subscripts("1", str(e.lower), str(e.base), "2")
        return {
            "tag": self.tag, "q": str(self.q), "s": self.s, "r": self.r, "w": f"w{self.q}",
            "s0": self.s + self.corner, "r0": self.r + self.corner, "corner": self.corner,
            "c0": second, "t": f"t{self.q}", "z": "z", "first": self.first, "last": self.last,
            "count": self.count, "type": DECLARED[e.type], "mpi": MPI_TYPE[e.type],
            "bytes": str(BYTES[e.type]), "dims": self.dims(), "deferred": self.deferred,
            "label": str(900 + self.q), "received": self.dims(True),
            "first_of_z": self.subscripts("1", self.plane, str(e.base), "1"),
            "below": self.subscripts("i-n", self.plane, "p"),
            **dict(self.extra),
        }  # fmt: skip
