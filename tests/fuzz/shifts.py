"""Random procedures in which each rank fills a message, sends it to a neighbour, and uses what it
gets from another one.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  What lets a
message leave and come in segments is varied, and what forbids that: nests that fill or need other
parts than their own, in another order, in several nests or in none, statements between nests and
messages, equal tags, one or several messages, in rings and chains, under conditions, in a time loop
or not, blocking or started and waited for by the procedure itself.  Sizes are such that segments
are worth their messages.
"""

from __future__ import annotations

import re
from random import Random

from fuzz.text import free_form

_HEAD = """\
subroutine {tag}
  use mpi
  implicit none
  integer, parameter :: n = {n}, m = {m}
  real(8) :: u(m, -1:n+2), v(m, -1:n+2), a(m, {low}:n+2), b(m, {low}:n+2)
  real(8) :: d(m, {low}:n+2), e(m, {low}:n+2), row(m), s, t
  integer :: me, np, left, right, before, behind, i, j, it, ierr
  integer :: status(MPI_STATUS_SIZE), sreq, rreq, req(2)
  logical :: flag

  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  before = modulo(me - 1, np)
  behind = modulo(me + 1, np)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
  s = me
  t = 0
  row = 1
  a = 1
  b = me
  d = 2
  e = 3 + me
  do j = -1, n + 2
    do i = 1, m
      u(i,j) = mod(7*i + 3*j + me + 20, 11)*0.125d0
      v(i,j) = mod(i + 5*j + 2*me + 20, 13)*0.25d0
    end do
  end do
"""
_TAIL = """\
  call fz_real8('u', u, size(u))
  call fz_real8('v', v, size(v))
  call fz_real8('a', a, size(a))
  call fz_real8('b', b, size(b))
  call fz_real8('d', d, size(d))
  call fz_real8('e', e, size(e))
  call fz_real8('r', row, size(row))
  call fz_real8('s', [s, t, dble(i), dble(j)], 4)
end subroutine {tag}
"""
_POINTS = 70000
"""Of a nest: enough for two tiles."""
Lines = list[str]


class _Shifts:
    """The statements of one procedure."""

    def __init__(self, random: Random, low: int) -> None:
        self.random = random
        self.low = low
        self.tag = 3

    def chance(self, probability: float) -> bool:
        """Whether something rare happens."""
        return self.random.random() < probability

    def shift(self) -> Lines:
        """Fill, send, receive, use."""
        self.tag += 0 if self.chance(0.04) else 1
        out, come = self.random.choice([("a", "b"), ("a", "b"), ("d", "e"), ("d", "b")])
        fill, use = self.filled(out, come), self.used(come, out)
        if self.chance(0.4):
            return self.started(out, come, fill, use)
        match self.random.randrange(6):
            case 0 | 1:
                ring = self.random.choice([("behind", "before"), ("before", "behind")])
                target, source = self.random.choice([ring, ("right", "left"), ("left", "right")])
                both = (
                    f"call MPI_Sendrecv({self.message(out)}, {target}, {self.tag}, "
                    f"{self.message(come)}, {source}, {self.tag}, MPI_COMM_WORLD, status, ierr)"
                )
                return [*fill, *self.between(out, come), both, *self.between(out, come), *use]
            case 2 | 3:
                send, receive = self.send(out), self.receive(come)
                return [*fill, *self.between(out, come), *send, *receive, *use]
            case 4:
                send = ["if (right /= MPI_PROC_NULL) then", *fill, *self.send(out), "end if"]
                receive = ["if (left /= MPI_PROC_NULL) then", *self.receive(come), *use, "end if"]
                return [*send, *self.between(out, come, alone=True), *receive]
        send, receive = [*fill, *self.send(out)], [*self.receive(come), *use]
        odd = self.chance(0.5)
        first, second = (receive, send) if odd else (send, receive)
        condition = f"mod(me, 2) == {int(odd)}"
        return [f"if ({condition}) then", *first, "else", *second, "end if"]

    def started(self, out: str, come: str, fill: Lines, use: Lines) -> Lines:
        """The same with starts and waits; nothing touches a buffer that MPI has."""
        target, source = self.random.choice(
            [("behind", "before"), ("before", "behind"), ("right", "left"), ("right", "left")]
        )
        several = self.chance(0.35)
        sent, came = ("req(2)", "req(1)") if several else ("sreq", "rreq")
        kind = self.random.choice(["Isend", "Isend", "Isend", "Issend"])
        end = "MPI_COMM_WORLD"
        start = f"call MPI_{kind}({self.message(out)}, {target}, {self.tag}, {end}, {sent}, ierr)"
        post = f"call MPI_Irecv({self.message(come)}, {source}, {self.tag}, {end}, {came}, ierr)"
        ignored = self.random.choice(["status", "MPI_STATUS_IGNORE"])
        waits = [f"call MPI_Wait({one}, {ignored}, ierr)" for one in (sent, came)]
        conditions = [
            f"if ({rank} >= 0) " if self.chance(0.15) else "" for rank in (target, source)
        ]
        null = self.chance(0.5)
        lines: Lines = []
        for number, condition in enumerate(conditions):
            if condition and null:
                lines.append(f"{(sent, came)[number]} = MPI_REQUEST_NULL")
            elif condition:
                waits[number] = condition + waits[number]
        start, post = conditions[0] + start, conditions[1] + post
        free = not _touched(come, fill)
        if free and self.chance(0.75):
            lines += [post, *fill, start]
        else:
            lines += [*fill, *self.random.choice([[post, start], [start, post]])]
        beside = self.random.choice([[], [], [], ["s = s + 1"], self.nest("v(i,j) = v(i,j) + 1")])
        if self.chance(0.08):
            asked = self.random.choice([sent, came])
            beside = [*beside, f"call MPI_Test({asked}, flag, MPI_STATUS_IGNORE, ierr)"]
        if self.chance(0.05):
            beside = [*beside, f"if ({came} /= MPI_REQUEST_NULL) s = s + 1"]
        both = all(not wait.startswith("if") for wait in waits)
        if several and both and self.chance(0.7):
            return [*lines, *beside, "call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)", *use]
        if not _touched(out, use) and self.chance(0.4):
            return [*lines, *beside, waits[1], *use, waits[0]]
        if self.chance(0.5):
            waits.reverse()
        last = waits[-1].startswith("call") and came in waits[-1] and source in ("before", "behind")
        read = last and ignored == "status" and self.chance(0.2)  # one that is defined
        use = ["s = s + status(MPI_TAG)", *use] if read else use
        return [*lines, *beside, *waits, *use]

    def send(self, out: str) -> Lines:
        """A send along the chain."""
        kind = self.random.choice(["Send", "Send", "Ssend"])
        call = f"call MPI_{kind}({self.message(out)}, right, {self.tag}, MPI_COMM_WORLD, ierr)"
        return [f"if (right >= 0) {call}" if self.chance(0.2) else call]

    def receive(self, come: str) -> Lines:
        """A receive along the chain."""
        return [
            f"call MPI_Recv({self.message(come)}, left, {self.tag}, MPI_COMM_WORLD, status, ierr)"
        ]

    def message(self, buffer: str) -> str:
        """Buffer, count and datatype."""
        whole = self.low == 1 and self.chance(0.5)
        return f"{buffer if whole else f'{buffer}(1,1)'}, m*n, MPI_DOUBLE_PRECISION"

    def filled(self, out: str, come: str) -> Lines:
        """What is sent: from nests, or at once."""
        if self.chance(0.12):
            return [f"{out} = {self.random.choice(['u(1,1) + me', 's*2', 'me*0.5d0'])}"]
        index = (
            self.random.choice(["n+1-j", "j+1", "max(1,j-1)", "1"]) if self.chance(0.12) else "j"
        )
        value = self.random.choice(
            ["u(i,j)*0.5d0 + me", "u(i,j) - v(i,j)", f"{out}(i,j)*0.25d0 + u(i,j)", "row(i)*u(i,j)"]
        )
        if self.chance(0.08):
            value += f" + {self.random.choice([f'{out}(i,1)', f'{come}(i,j)', 'u(i,j+1)'])}"
        body = [f"{out}(i,{index}) = {value}"]
        body += self.oddity(out) if self.chance(0.2) else []
        lines = self.nest(*body)
        if self.chance(0.3):
            lines = [
                *self.nest(f"u(i,j) = u(i,j)*0.5d0 + {self.random.choice(['1', 's'])}"),
                *lines,
            ]
        return lines

    def used(self, come: str, out: str) -> Lines:
        """What is done with what came."""
        if self.chance(0.12):
            return [f"s = s*0.5d0 + sum({come}(:,1:n))/m"]
        index = (
            self.random.choice(["n+1-j", "j+1", "max(1,j-1)", "1"]) if self.chance(0.15) else "j"
        )
        field = self.random.choice(["u", "u", "v"])
        body = [f"{field}(i,j) = {field}(i,j)*0.5d0 + 0.25d0*{come}(i,{index})"]
        if self.chance(0.06):
            body.append(self.random.choice([f"{come}(i,n) = 0", f"{out}(i,j) = 1"]))
        body += self.oddity(come) if self.chance(0.2) else []
        lines = self.nest(*body)
        if self.chance(0.3):
            lines += self.nest(f"v(i,j) = v(i,j) + {self.random.choice(['u', come])}(i,j)")
        return lines

    def oddity(self, buffer: str) -> Lines:
        """What may keep the iterations of a nest in order, or not."""
        return self.random.choice(
            [
                ["row(i) = row(i)*0.5d0 + 1"],
                ["s = s*0.5d0 + u(i,j)"],
                ["if (u(i,j) > 1d3) cycle"],
                [f"t = {buffer}(i,j)", "v(i,j) = v(i,j) + t"],
                ["u(i,j+1) = u(i,j)"],
                ["if (u(i,j) > 1d6) s = 0"],
            ]
        )

    def nest(self, *body: str) -> Lines:
        """Two loops; rarely over other iterations than the message has parts."""
        planes = "1, n"
        if self.chance(0.06):
            planes = self.random.choice(["1, n - 1", "n, 1, -1", "1, n, 2", "2, n", "0, n + 1"])
            if self.low > 0:
                planes = planes.replace("0, n + 1", "1, n + 1")
        return [f"do j = {planes}", "do i = 1, m", *body, "end do", "end do"]

    def between(self, out: str, come: str, *, alone: bool = False) -> Lines:
        """A statement between a nest and a message, often none; ``alone``: without other ranks,
        which would wait for one that waits in its send."""
        if self.chance(0.7):
            return []
        together = ["call MPI_Bcast(s, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)"]
        return self.random.choice(
            [
                *([] if alone else [together]),
                ["s = s + 1"],
                [f"t = {out}(1,1)"],
                [f"{out}(1,n) = 4"],
                ["row(1) = row(1) + 1"],
                ["if (t > 1d9) return"],
                [f"s = s + {come}(1,n)"],
                ["right = right", "left = left"],
                ["do i = 1, m", "row(i) = row(i) + u(i,n)", "end do"],
            ]
        )

    def body(self) -> Lines:
        """One or several shifts, perhaps in a time loop."""
        lines: Lines = []
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            lines += self.shift()
        if self.chance(0.4):
            lines = [f"do it = 1, {self.random.randint(0, 3)}", *lines, "end do"]
        return lines


def _touched(buffer: str, lines: Lines) -> bool:
    """Whether a statement has a buffer in it."""
    return any(re.search(rf"\b{buffer}\b", line) for line in lines)


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"shifts/{seed}/{number}")
    tag = f"s{number}"
    n = random.randint(2, 12)
    low = random.choice([1, 1, 0])
    head = _HEAD.format(tag=tag, n=n, m=-(-_POINTS // n), low=low)
    lines = [*head.splitlines(), *_Shifts(random, low).body(), *_TAIL.format(tag=tag).splitlines()]
    return f"{tag}.f90", free_form(line.strip() for line in lines)
