"""Random procedures whose nests have several statements, with some of which a message has to do.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  Statements of
a nest hand each other values in elements of the same, an earlier or a later iteration, in scalars
that belong to an iteration or live on, or in sums; loops stand beside them; bounds may leave
iterations out, and be changed in between.
"""

from __future__ import annotations

from random import Random

from fuzz.codes import Code
from fuzz.halos import NEIGHBOURS, Lines, framed

_LINES = ("w", "x", "y", "e%low", "e%high", "f%low", "f%high")
_SIZES = (1, 2, 3, 40, 150, 400)


class Fissions:
    """The statements of one procedure."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def element(self, name: str, wide: bool) -> str:
        """An element that an iteration may have: of a line, or of a column of a field."""
        index = self.random.choice(["i"] * 5 + (["i-1", "i+1"] if wide else []) + ["n+1-i"])
        if name in ("u", "v"):
            return f"{name}({index},{self.random.choice(['1', 'm', 'k-1'])})"
        return f"{name}({index})"

    def value(self, wide: bool, names: list[str]) -> str:
        """Something to compute."""
        terms = [self.element(self.random.choice(names), wide) for _ in range(2)]
        if self.random.random() < 0.25:
            terms.append(self.random.choice(["s", "t", "dble(i)"]))
        text = " + ".join(terms)
        return f"0.25d0*({text})" if self.random.random() < 0.7 else f"sqrt(abs({text}))"

    def statement(self, wide: bool, names: list[str]) -> Lines:
        """One statement of an iteration, or two, or a loop."""
        value = self.value(wide, names)
        target = self.element(self.random.choice(names), wide)
        match self.random.choice(["plain"] * 6 + ["private", "private", "sum", "maybe", "loop"]):
            case "private":
                name = self.random.choice("st")
                return [f"{name} = {value}", f"{target} = {name}*0.5d0"]
            case "sum":
                return [f"t = t + {value}"]
            case "maybe":
                what = self.random.choice([target, "s"])
                return [f"if ({self.element(names[0], wide)} > 1) {what} = {value}"]
            case "loop":
                field = self.random.choice("uv")
                return ["do j = 1, m", f"{field}(i,j) = {field}(i,j) + {value}", "end do"]
        return [f"{target} = {value}"]

    def nest(self, own: str) -> Lines:
        """A loop in which something has to do with a buffer."""
        wide = self.random.random() < 0.4
        names = [*self.random.sample(_LINES, self.random.randint(2, 4)), "u", "v"]
        lines: Lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(wide, names)
        mine = self.statement(wide, [own, own, *names[:1]])
        place = self.random.randint(0, 1)
        lines = [*mine, *lines] if place else [*lines, *mine]
        bounds = "2, n - 1" if wide else self.random.choice(["1, n", "1, n", "1, min(n, 3*k)"])
        head = f"do i = {bounds}"
        if self.random.random() < 0.15:
            return ["if (k > 1) then", head, *lines, "end do", "end if"]
        return [head, *lines, "end do"]

    def exchange(self, sent: str, got: str) -> Lines:
        """A message to the right, and one from the left."""
        kind = "MPI_DOUBLE_PRECISION"
        if self.random.random() < 0.5:
            return [
                f"call MPI_Sendrecv({sent}, n, {kind}, right, 1, {got}, n, {kind}, left, 1, "
                "MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"
            ]
        waits = [f"call MPI_Wait(r({n}), MPI_STATUS_IGNORE, ierr)" for n in (1, 2)]
        self.random.shuffle(waits)
        return [
            f"call MPI_Irecv({got}, n, {kind}, left, 1, MPI_COMM_WORLD, r(1), ierr)",
            f"call MPI_Isend({sent}, n, {kind}, right, 1, MPI_COMM_WORLD, r(2), ierr)",
            *waits,
        ]

    def body(self) -> Lines:
        """Nests before and behind one or two exchanges."""
        lines: Lines = []
        for _ in range(self.random.randint(1, 2)):
            sent, got = self.random.sample(_LINES, 2)
            lines += self.nest(sent) if self.random.random() < 0.8 else []
            lines += self.exchange(sent, got)
            lines += ["k = 3"] if self.random.random() < 0.15 else []
            lines += self.nest(got)
            lines += self.nest(got) if self.random.random() < 0.3 else []
        if self.random.random() < 0.5:
            lines = ["do it = 1, 2", *lines, "end do"]
        return lines


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"fissions/{seed}/{number}")
    tag = f"n{number}"
    left, right = random.choice(NEIGHBOURS)
    n, m = random.choice(_SIZES), random.randint(1, 3)
    coding = Random(f"fissions/{seed}/{number}/code")
    code = Code.chosen(coding, tag)
    body = code.body(Fissions(random).body(), coding)
    return f"{tag}.f90", framed(code, body, n=str(n), m=str(m), left=left, right=right)
