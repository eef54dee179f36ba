"""What the procedures are made of that come close to what one condition of the passes for transfers
rules out.

A condition has a function that makes the statements of such a procedure from random choices; what
stands around them (``frames``) is drawn, too.  Each is free of deadlock without any buffering, and
all of its values are defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from fuzz.frames import STORAGES, Frame

Lines = list[str]
_EDGES = (
    ("modulo(me - 1, np)", "modulo(me + 1, np)"),
    ("merge(MPI_PROC_NULL, me - 1, me == 0)", "merge(MPI_PROC_NULL, me + 1, me == np - 1)"),
)
KIND = "MPI_DOUBLE_PRECISION"
WORLD = "MPI_COMM_WORLD"


@dataclass(frozen=True)
class Close:
    """A procedure: its statements, and what else it needs (see ``Frame``).

    ``storages``: where its arrays may be; ``rings``: ranks have neighbours on both sides;
    ``full``: nobody receives from MPI_PROC_NULL; ``stays``: nothing of it may change, since its
    author says so.
    """

    body: Lines
    inside: Lines | None = None
    uses: Lines | None = None
    declared: Lines | None = None
    before: Lines | None = None
    shown: Lines | None = None
    storages: tuple[str, ...] = STORAGES
    bindings: tuple[str, ...] = ("mpi", "mpi", "mpif.h")
    free: bool = False
    rings: bool = False
    full: bool = False
    stays: bool = False


class Words:
    """Random choices for one procedure, and statements that many of them have."""

    def __init__(self, random: Random, tag: str) -> None:
        self.random = random
        self.name = tag
        self.x, self.y, self.z, self.w = random.sample("abcd", 4)
        self.tag = random.randint(1, 9)

    def one(self, *choices: str) -> str:
        """One of these."""
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self.random.random() < probability

    def loop(self, x: str, term: str = "") -> Lines:
        """Work on one array, in a loop of its own."""
        factor = self.one("0.5d0", "0.25d0", "0.75d0")
        term = term or self.one("i", "0.125d0*i", "1")
        return ["do i = 1, n", f"{x}(i) = {factor}*{x}(i) + {term}", "end do"]

    def adds(self, x: str, y: str) -> Lines:
        """Work on one array that needs another one."""
        return self.loop(x, self.one(f"{y}(i)", f"0.5d0*{y}(n+1-i)", f"{y}(1) + {y}(i)"))

    def ring(
        self, sent: str, into: str, tag: int | str = 0, status: str = "status", comm: str = WORLD,
        counts: tuple[str, str] = ("n", "n"),
    ) -> str:  # fmt: skip
        """Everybody sends to the right, at once."""
        tag = tag or self.tag
        return (
            f"call MPI_Sendrecv({sent}, {counts[0]}, {KIND}, right, {tag}, "
            f"{into}, {counts[1]}, {KIND}, left, {tag}, {comm}, {status}, ierr)"
        )

    def started(self, sent: str, into: str, tag: int | str = 0) -> Lines:
        """The same with requests: ``req(1)`` of the receive, ``req(2)`` of the send."""
        end = f"{tag or self.tag}, {WORLD}"
        return [
            f"call MPI_Irecv({into}, n, {KIND}, left, {end}, req(1), ierr)",
            f"call MPI_Isend({sent}, n, {KIND}, right, {end}, req(2), ierr)",
        ]

    def send(self, sent: str, tag: int = 0, count: str = "n", to: str = "right") -> str:
        """A send to the right."""
        name = self.one("Send", "Send", "Ssend")
        return f"call MPI_{name}({sent}, {count}, {KIND}, {to}, {tag or self.tag}, {WORLD}, ierr)"

    def receive(
        self, into: str, tag: int | str = 0, count: str = "n", status: str = "MPI_STATUS_IGNORE",
        source: str = "left",
    ) -> str:  # fmt: skip
        """A receive from the left."""
        end = f"{tag or self.tag}, {WORLD}, {status}, ierr)"
        return f"call MPI_Recv({into}, {count}, {KIND}, {source}, {end}"

    def pairs(self, sends: Lines, takes: Lines) -> Lines:
        """Even ranks do one before the other."""
        return ["if (mod(me, 2) == 0) then", *sends, *takes, "else", *takes, *sends, "end if"]

    def nothing(self, *lines: Lines) -> Lines:
        """One of these, or nothing."""
        return self.random.choice([[], *lines])

    def in_time(self, lines: Lines) -> Lines:
        """In a time loop or not."""
        return ["do it = 1, 2", *lines, "end do"] if self.chance(0.3) else lines


Maker = Callable[[Words], Close]


def close_to(makers: Mapping[str, Maker], name: str, seed: int, number: int) -> tuple[str, str]:
    """The file and the text of one random procedure that comes close to a condition."""
    return drawn(makers, name, seed, number)[:2]


def drawn(makers: Mapping[str, Maker], name: str, seed: int, number: int) -> tuple[str, str, Close]:
    """The same with what it is made of."""
    random = Random(f"close/{name}/{seed}/{number}")
    tag = f"k{number}"
    made = makers[name](Words(random, tag))
    left, right = _EDGES[0] if made.rings or made.full else random.choice(_EDGES)
    frame = Frame(
        tag,
        random.randint(5, 9),
        left,
        right,
        random.choice(made.storages),
        random.choice(made.bindings),
        not made.free and random.random() < 0.3,
        tuple(made.inside or ()),
        tuple(made.uses or ()),
        tuple(made.declared or ()),
        tuple(made.before or ()),
        tuple(made.shown or ()),
        nobody=not made.full,
    )
    return (f"{tag}.f" if frame.fixed else f"{tag}.f90"), frame.text(made.body), made
