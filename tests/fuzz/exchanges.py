"""Random procedures that exchange messages between two ranks, and compute in between.

``procedure(seed, number)`` is the text of one: a subroutine that every rank calls, with a random
sequence of patterns (rings, pairs that send and receive in turn, chains, gathers, non-blocking
exchanges, two messages of one tag) and of statements that read and change the same arrays, all
inside of a time loop or not.  Every pattern by itself is free of deadlock without any buffering.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzz.codes import Code
from fuzz.frames import STORAGES, Frame, inner_procedures

ARRAYS = ("a", "b", "c", "d")
_EDGES = (
    ("modulo(me - 1, np)", "modulo(me + 1, np)"),
    ("merge(MPI_PROC_NULL, me - 1, me == 0)", "merge(MPI_PROC_NULL, me + 1, me == np - 1)"),
)
Lines = list[str]


class _Case:
    """One procedure that is being written."""

    def __init__(self, random: Random, name: str, inner: bool) -> None:
        self.random = random
        self.name = name
        self.inner = inner  # there are touch and peek
        self.tags = 0

    def pick(self, *but: str) -> str:
        """One of the arrays, not one of these."""
        return self.random.choice([name for name in ARRAYS if name not in but])

    def tag(self) -> str:
        """A tag: new, or one that another message has."""
        self.tags += 1
        return str(self.random.choice([1, 1, 2, self.tags + 2]))

    def buffer(self, name: str) -> tuple[str, str]:
        """A part of an array that a message takes, and the count."""
        return self.random.choice(
            [
                (name, "n"),
                (name, "n"),
                (f"{name}(1)", "n"),
                (f"{name}(2)", "2"),
                (f"{name}(2:4)", "3"),
            ]
        )

    # What computes

    def loop(self) -> Lines:
        """A loop over one array."""
        x, y = self.pick(), self.pick()
        value = self.random.choice(
            [f"{x}(i) + 0.5d0", f"{x}(i) + 0.125d0*{y}(i)", f"{y}(i)", f"{y}(n + 1 - i)", "s + i",
             f"{x}(i)*0.5d0 + u(i,{self.random.randrange(5)})"]
        )  # fmt: skip
        if self.inner and self.random.random() < 0.25:
            value = f"{x}(i) + peek(i)"
        low, high = self.random.choice([("1", "n"), ("1", "n"), ("2", "n - 1"), ("5", "n")])
        body = [f"{x}(i) = {value}"]
        if self.inner and self.random.random() < 0.15:
            body = ["call touch(i)"]
        if self.random.random() < 0.15:
            body = [f"if ({y}(i) > 3) cycle", *body]
        if self.random.random() < 0.15:
            body = [f"t = 0.5d0*{y}(i)", f"{x}(i) = {x}(i) + t"]
        return [f"do i = {low}, {high}", *body, "end do"]

    def plane(self) -> Lines:
        """A loop over planes, some of which messages take."""
        low, high = self.random.choice([("1", "3"), ("0", "4"), ("2", "2")])
        x = self.pick()
        value = self.random.choice(["u(i,j)*0.5d0 + j", f"{x}(i) + j", "0.25d0*(u(i,j) + u(i,2))"])
        lines = [f"do j = {low}, {high}", "do i = 1, n", f"u(i,j) = {value}", "end do", "end do"]
        return lines

    def statement(self) -> Lines:
        """A statement that is no loop."""
        x, y = self.pick(), self.pick()
        y = self.pick(x)
        if self.inner and self.random.random() < 0.3:
            return [self.random.choice(["call touch(2)", "call touch(5)", f"{x}(1) = peek(3)"])]
        return [
            self.random.choice(
                [f"s = s + sum({x})", f"{x} = {y}", f"call blend_{self.name}({x}, {y}, n)",
                 f"{x}(1) = s",
                 "u(:,2) = u(:,1)", f"if (s > 10) {x}(2) = 0", "t = MPI_Wtime()*0",
                 f"if (me == 0 .and. {x}(1) > 1d9) print *, 'never'", "s = s*0.5d0",
                 "call MPI_Barrier(MPI_COMM_WORLD, ierr)", f"t = {x}(3)"]
            )
        ]  # fmt: skip

    def branch(self) -> Lines:
        """Different loops on different ranks, or for different values."""
        x = self.pick()
        condition = self.random.choice(["mod(me, 2) == 0", "s > 1", f"{x}(2) > 1"])
        arms = [[*self.loop(), *self.loop()] for _ in range(self.random.choice([1, 2, 3]))]
        heads = [f"if ({condition}) then", "else if (me == 1) then", "else"]
        if len(arms) == 2:
            heads = [heads[0], heads[2]]
        lines = [line for head, arm in zip(heads, arms, strict=False) for line in (head, *arm)]
        return [*lines, "end if"]

    # What communicates

    def send(self, buffer: tuple[str, str], to: str, tag: str, mode: str = "") -> str:
        """A blocking send."""
        name = mode or self.random.choice(["Send", "Send", "Ssend"])
        return (
            f"call MPI_{name}({buffer[0]}, {buffer[1]}, MPI_DOUBLE_PRECISION, {to}, {tag}, "
            "MPI_COMM_WORLD, ierr)"
        )

    def receive(self, buffer: tuple[str, str], source: str, tag: str) -> str:
        """A blocking receive."""
        status = self.random.choice(["status", "status", "MPI_STATUS_IGNORE"])
        return (
            f"call MPI_Recv({buffer[0]}, {buffer[1]}, MPI_DOUBLE_PRECISION, {source}, {tag}, "
            f"MPI_COMM_WORLD, {status}, ierr)"
        )

    def message(self) -> tuple[tuple[str, str], tuple[str, str], str]:
        """What is sent, what is received into, and the tag."""
        x = self.pick()
        sent = self.buffer(x)
        into = self.buffer(self.pick(x))
        if self.random.random() < 0.25:
            sent = (f"u(1,{self.random.choice([1, 3])})", "n")
        if self.random.random() < 0.25:
            into = (f"u(1,{self.random.choice([0, 4])})", "n")
        count = min(sent[1], into[1], key=lambda c: 99 if c == "n" else int(c))
        return (sent[0], count), into if into[1] == "n" else (into[0], count), self.tag()

    def ring(self) -> Lines:
        """Everybody sends to the right; from a buffer that is received into only where everybody
        receives, since SMPI writes to it where nobody sends something."""
        sent, into, tag = self.message()
        if self.random.random() < 0.2:
            return [
                f"call MPI_Sendrecv_replace({sent[0]}, {sent[1]}, MPI_DOUBLE_PRECISION, "
                f"modulo(me + 1, np), {tag}, modulo(me - 1, np), {tag}, "
                "MPI_COMM_WORLD, status, ierr)",
                *self.after(),
            ]
        return [
            f"call MPI_Sendrecv({sent[0]}, {sent[1]}, MPI_DOUBLE_PRECISION, right, {tag}, "
            f"{into[0]}, {into[1]}, MPI_DOUBLE_PRECISION, left, {tag}, "
            "MPI_COMM_WORLD, status, ierr)",
            *self.after(),
        ]

    def after(self) -> Lines:
        """What may be asked of a status."""
        if self.random.random() < 0.2:
            return ["call MPI_Get_count(status, MPI_DOUBLE_PRECISION, cnt, ierr)"]
        return []

    def pairs(self) -> Lines:
        """Even ranks send first."""
        sent, into, tag = self.message()
        first, second = self.send(sent, "right", tag), self.receive(into, "left", tag)
        inside = self.loop() if self.random.random() < 0.3 else []
        return [
            "if (mod(me, 2) == 0) then", first, *inside, second, "else", second, first, "end if",
        ]  # fmt: skip

    def chain(self) -> Lines:
        """From the first rank to the last, with something computed on the way."""
        sent, into, tag = self.message()
        work = [line for _ in range(self.random.randrange(3)) for line in self.loop()]
        inside = self.loop() if self.random.random() < 0.5 else []
        receive = self.receive(into, "me - 1", tag)
        return [
            *(["if (me > 0) then", receive, *inside, "end if"] if inside else
              [f"if (me > 0) {receive}"]),
            *work,
            f"if (me < np - 1) {self.send(sent, 'me + 1', tag)}",
        ]  # fmt: skip

    def gather(self) -> Lines:
        """The first rank adds what the others have, in their order or as it comes."""
        sent, into, tag = self.message()
        if self.random.random() < 0.2:
            into = (into[0].split("(")[0] if not into[0].startswith("u") else into[0], "n")
            tell = "call MPI_Get_count(status, MPI_DOUBLE_PRECISION, cnt, ierr)"
            source = "MPI_ANY_SOURCE"
            take = [self.receive(into, source, tag).replace("MPI_STATUS_IGNORE", "status"), tell]
            return [
                "call MPI_Barrier(MPI_COMM_WORLD, ierr)",
                "if (me == 0) then", "do r = 1, np - 1", *take, "end do",
                f"{into[0].split('(')[0]} = 1", "else", self.send(sent, "0", tag), "end if",
                "call MPI_Barrier(MPI_COMM_WORLD, ierr)",
            ]  # fmt: skip
        x = self.pick(into[0].split("(")[0])
        add = ["do i = 1, n", f"{x}(i) = {x}(i) + {into[0].split('(')[0]}(i)", "end do"]
        if into[0].startswith("u"):
            add = ["s = s + " + into[0]]
        take = [self.receive(into, "r", tag), *add]
        return ["if (me == 0) then", "do r = 1, np - 1", *take, "end do", "else",
                self.send(sent, "0", tag), "end if"]  # fmt: skip

    def pending(self) -> Lines:
        """A non-blocking exchange with something between."""
        sent, into, tag = self.message()
        busy = {sent[0].split("(")[0], into[0].split("(")[0]}
        one, two = self.random.choice([("req(1)", "req(2)"), ("req(2)", "req(1)")])
        lines = [
            f"call MPI_Irecv({into[0]}, {into[1]}, MPI_DOUBLE_PRECISION, left, {tag}, "
            f"MPI_COMM_WORLD, {one}, ierr)",
            f"call MPI_Isend({sent[0]}, {sent[1]}, MPI_DOUBLE_PRECISION, right, {tag}, "
            f"MPI_COMM_WORLD, {two}, ierr)",
        ]
        x = self.pick(*busy) if len(busy) < 4 else "t"
        lines += [f"{x}(1) = {x}(1) + 1"]
        waits = ["call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)"]
        if self.random.random() < 0.5:
            waits = [f"call MPI_Wait({r}, MPI_STATUS_IGNORE, ierr)" for r in (one, two)]
        return [*lines, *waits]

    def twice(self) -> Lines:
        """Two messages that only their order tells apart."""
        x, y = self.pick(), self.pick()
        v = self.pick(x, y)
        w = self.pick(x, y, v) if len({x, y, v}) < 4 else v
        tag = self.tag()
        sends = [self.send((x, "n"), "right", tag), self.send((y, "n"), "right", tag)]
        between = self.loop() if self.random.random() < 0.5 else []
        takes = [
            self.receive((v, "n"), "left", tag),
            self.receive((w, "n"), "left", self.random.choice([tag, tag, "MPI_ANY_TAG"])),
        ]
        return ["if (mod(me, 2) == 0) then", sends[0], *between, sends[1], takes[0], takes[1],
                "else", takes[0], *between, takes[1], *sends, "end if"]  # fmt: skip

    def body(self) -> Lines:
        """Some of all of it."""
        compute: list[Callable[[], Lines]] = [
            self.loop, self.loop, self.plane, self.statement, self.branch,
        ]  # fmt: skip
        talk: list[Callable[[], Lines]] = [
            self.ring, self.ring, self.pairs, self.chain, self.gather, self.pending, self.twice,
        ]  # fmt: skip
        lines: Lines = []
        for _ in range(self.random.randint(1, 3)):
            for _ in range(self.random.randrange(3)):
                lines += self.random.choice(compute)()
            lines += self.random.choice(talk)()
            for _ in range(self.random.randrange(3)):
                lines += self.random.choice(compute)()
        if self.random.random() < 0.3:
            leave = ["if (it > 1) exit"] if self.random.random() < 0.3 else []
            lines = ["do it = 1, 2", *lines, *leave, "end do"]
        return lines


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The file and the text of one random procedure; it is called as the file, without its
    suffix."""
    random = Random(f"{seed}/{number}")
    tag = f"x{number}"
    left, right = random.choice(_EDGES)
    inside = inner_procedures(random, ARRAYS) if random.random() < 0.35 else ()
    coding = Random(f"{seed}/{number}/code")
    code = Code.chosen(coding, tag)
    frame = Frame(
        tag,
        random.randint(5, 9),
        left,
        right,
        random.choice(STORAGES),
        random.choice(["mpi", "mpi", "mpif.h"]),
        random.random() < 0.3,
        inside,
        code=code,
    )
    name = f"{tag}.f" if frame.fixed else f"{tag}.f90"
    body = _Case(random, tag, bool(inside)).body()
    return name, frame.text(code.body(body, coding))
