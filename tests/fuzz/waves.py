"""Random procedures in which waves go over the ranks: each receives an edge, computes nests that
need it, and sends its own edge on.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  What makes a
wave a pipeline is varied, and what forbids to make it one: nests that need later parts of what is
received, statements between nests and messages, buffers that are read or sent too early, equal
tags, one or two waves in one direction or both, in a time loop or not.  Sizes are such that tiles
are worth their messages.
"""

from __future__ import annotations

from random import Random

from fuzz.text import free_form

_HEAD = """\
subroutine {tag}
  use mpi
  implicit none
  integer, parameter :: n = {n}, m = {m}, c = {c}
  real(8) :: u(0:m+1, -1:n+3), v(0:m+1, -1:n+3)
  real(8) :: a(c, {low}:n+3), b(c, {low}:n+3), d(c, {low}:n+3), e(c, {low}:n+3), row(0:m+1), s, t
  integer :: me, np, left, right, i, j, k, it, ierr
  integer :: status(MPI_STATUS_SIZE)

  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
  s = me
  t = 0
  k = 1
  row = 0
  do j = -1, n + 3
    do i = 0, m + 1
      u(i,j) = mod(7*i + 3*j + me + 20, 11)*0.125d0
      v(i,j) = mod(i + 5*j + 2*me + 20, 13)*0.25d0
    end do
  end do
  do j = {low}, n + 3
    do k = 1, c
      a(k,j) = k + me
      b(k,j) = 0.5d0*j
      d(k,j) = me - j
      e(k,j) = 1
    end do
  end do
  k = 1
"""
_TAIL = """\
  call fz_real8('u', u, size(u))
  call fz_real8('v', v, size(v))
  call fz_real8('a', a, size(a))
  call fz_real8('b', b, size(b))
  call fz_real8('d', d, size(d))
  call fz_real8('e', e, size(e))
  call fz_real8('r', row, size(row))
  call fz_real8('s', [s, t, dble(k), dble(i), dble(j)], 5)
end subroutine {tag}
"""
_WORK = 70000
"""Points of a nest: about a third of the operations that are worth tiles."""
Lines = list[str]


class _Waves:
    """The statements of one procedure; planes from ``first`` to ``first + n - 1``."""

    def __init__(self, random: Random, low: int, parts: int) -> None:
        self.random = random
        self.low = low
        self.parts = parts
        self.first = random.choice([1, 1, 1, 2, 0])
        self.tag = 3

    @property
    def planes(self) -> str:
        """The bounds of the loops over planes."""
        return {1: "1, n", 2: "2, n + 1", 0: "0, n - 1"}[self.first]

    def chance(self, probability: float) -> bool:
        """Whether something rare happens."""
        return self.random.random() < probability

    def wave(self) -> Lines:
        """Receive, nests, send."""
        self.tag += 0 if self.chance(0.04) else 1
        source, target = self.random.choice(
            [("left", "right"), ("left", "right"), ("right", "left")]
        )
        got, sent = self.random.choice([("a", "b"), ("d", "e"), ("a", "e")])
        if self.chance(0.05):
            sent = got
        field = self.random.choice(["u", "v"])
        near, far = ("0", "m") if source == "left" else ("m+1", "1")
        nests = [
            line for _ in range(self.random.choice([1, 1, 2])) for line in self.nest(field, got)
        ]
        lines = self.received(field, got, source, near)
        if self.chance(0.2):
            lines += self.between(field, got, sent)
        lines += nests
        if self.chance(0.2):
            lines += self.between(field, got, sent)
        lines += self.sent(field, sent, target, far)
        return lines

    def received(self, field: str, got: str, source: str, halo: str) -> Lines:
        """What is received, and unpacked or not."""
        begin = self.start(got)
        lines = [
            f"call MPI_Recv({begin}, c*n, MPI_DOUBLE_PRECISION, {source}, {self.tag}, "
            "MPI_COMM_WORLD, status, ierr)"
        ]
        if self.chance(0.85):
            lines += [f"do j = {self.planes}", f"{field}({halo},j) = {self.part(got)}", "end do"]
            if self.chance(0.2):
                lines += [f"do j = {self.planes}", f"v(2,j) = v(2,j) + {self.part(got)}", "end do"]
        if self.chance(0.75):
            lines = [f"if ({source} /= MPI_PROC_NULL) then", *lines, "end if"]
        return lines

    def sent(self, field: str, sent: str, target: str, edge: str) -> Lines:
        """What is packed, or not, and sent."""
        lines: Lines = []
        if self.chance(0.9):
            inner = [f"{self.part(sent, 'k')} = {field}({edge},j) + k", "end do"]
            lines += [f"do j = {self.planes}", "do k = 1, c", *inner, "end do"]
        kind = self.random.choice(["Send", "Send", "Send", "Ssend"])
        lines.append(
            f"call MPI_{kind}({self.start(sent)}, c*n, MPI_DOUBLE_PRECISION, {target}, {self.tag}, "
            "MPI_COMM_WORLD, ierr)"
        )
        if self.chance(0.75):
            lines = [f"if ({target} /= MPI_PROC_NULL) then", *lines, "end if"]
        return lines

    def start(self, buffer: str) -> str:
        """The first element of a message."""
        if self.low == self.first and self.chance(0.5):
            return buffer
        return f"{buffer}(1,{self.first})"

    def part(self, buffer: str, index: str = "") -> str:
        """An element of the part of a plane; rarely of another one."""
        index = index or str(self.random.randint(1, self.parts))
        shift = self.random.choice(["+1", "-1"]) if self.chance(0.05) else ""
        return (
            f"{buffer}({index},j{shift})"
            if self.low < 0 or shift != "-1"
            else f"{buffer}({index},j)"
        )

    def nest(self, field: str, got: str) -> Lines:
        """Two loops over a field."""
        near = [f"{field}(i-1,j)", f"{field}(i+1,j)", f"{field}(i,j-1)", "v(i,j)", "row(i)"]
        rare = [f"{field}(i,j+1)", f"{field}(i-1,j+1)", self.part(got), f"{got}(1,{self.first})"]
        terms = self.random.sample(near, self.random.randint(1, 3))
        terms += [self.random.choice(rare)] if self.chance(0.3) else []
        value = "0.25d0*(" + " + ".join(terms) + ")"
        body = [f"{field}(i,j) = 0.5d0*{field}(i,j) + {value}"]
        match self.random.randrange(12):
            case 0:
                body = [f"t = {value}", f"{field}(i,j) = t*0.5d0 + 1"]
            case 1:
                body = [f"row(i) = {value}", f"{field}(i,j) = row(i)*0.5d0"]
            case 2:
                body = [*body, f"s = s*0.5d0 + {field}(i,j)"]
            case 3:
                body = [f"if ({field}(i,j) > 1) cycle", *body]
            case 4:
                body = [*body, f"{field}(i,j+1) = {field}(i,j)*0.5d0"]
            case 5:
                body = [f"{field}(i,j-1) = {value}", *body]
        rows = "1, m"
        if self.chance(0.1):
            rows = self.random.choice(["2, m", "1, m - 1", "1, m - j"])
        planes = self.planes
        if self.chance(0.06):
            planes = self.random.choice(["1, n - 1", "n, 1, -1", "1, n, 2", f"{self.first}, n + 2"])
        return [f"do j = {planes}", f"do i = {rows}", *body, "end do", "end do"]

    def between(self, field: str, got: str, sent: str) -> Lines:
        """A statement that moves in front of the tiles, or behind them, or forbids them."""
        return self.random.choice(
            [
                ["s = s + 1"],
                [f"t = {field}(1,1)"],
                [f"{field}(1,-1) = s"],
                [f"{got}(1,{self.first}) = 2"],
                [f"s = s + {got}(1,n)"],
                [f"{sent}(1,n) = 4"],
                ["row(1) = row(1) + 1"],
                ["if (t > 1d9) return"],
                ["do i = 1, m", f"row(i) = row(i) + {field}(i,n)", "end do"],
                ["left = left", "right = right"],
            ]
        )

    def body(self) -> Lines:
        """One or two waves, perhaps in a time loop."""
        lines: Lines = []
        for _ in range(self.random.choice([1, 1, 2])):
            lines += self.wave()
            if self.chance(0.2):
                lines += ["do i = 1, m", "row(i) = row(i)*0.5d0 + u(i,1)", "end do"]
            if self.chance(0.1):
                lines += ["call MPI_Bcast(s, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)"]
        if self.chance(0.5):
            lines = [f"do it = 1, {self.random.randint(0, 3)}", *lines, "end do"]
        return lines


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"waves/{seed}/{number}")
    tag = f"w{number}"
    n = random.randint(1, 9)
    parts = random.choice([1, 1, 2, 5])
    low = random.choice([1, 1, 0, -1])
    waves = _Waves(random, low, parts)
    if low > waves.first:
        waves.first = 1
    head = _HEAD.format(tag=tag, n=n, m=-(-_WORK // n), c=parts, low=low)
    text = [*head.splitlines(), *waves.body(), *_TAIL.format(tag=tag).splitlines()]
    return f"{tag}.f90", free_form(line.strip() for line in text)
