"""Random procedures in which some ranks receive in loops, into one buffer, what others send them.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  Messages may
be shorter than the count of their receive, so that the buffer keeps what an earlier message has
left behind their ends, which later statements read; receives may depend on conditions, on counts of
the sender, on CYCLE and EXIT, and statuses may be read.  What is done with the messages depends on
their order.  A part of the loops does something that forbids posting receives ahead: it changes
what the next receive needs, or reads it from the messages.
"""

from __future__ import annotations

from random import Random

from fuzz.text import free_form

_HEAD = """\
subroutine {tag}
  use mpi
  implicit none
  integer, parameter :: n = {n}
  real(8) :: a(n), b(n), c(n), u(n, 0:5), s
  integer :: me, np, i, r, q, it, cnt, total, first, ierr
  integer :: cnts(0:7), from(0:7), status(MPI_STATUS_SIZE)

  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  s = me
  total = 0
  first = 1
  status = 0
  do i = 0, 7
    cnts(i) = mod({mix}*i + {shift}, {modulus})
    from(i) = i
  end do
  do i = 1, n
    a(i) = i + 10*me
    b(i) = -i - 0.5d0*me
    c(i) = 0.125d0*i
  end do
  u = me
"""
_TAIL = """\
  call fz_real8('a', a, n)
  call fz_real8('b', b, n)
  call fz_real8('c', c, n)
  call fz_real8('u', u, size(u))
  call fz_real8('s', [s, dble(total)], 2)
end subroutine {tag}
"""
Lines = list[str]


class _Gather:
    """One loop that receives, and what the other ranks do."""

    def __init__(self, random: Random, n: int) -> None:
        self.random = random
        self.n = n
        self.tag = str(random.choice([1, 1, 2, 3]))

    def lines(self) -> Lines:
        """The ranks that receive and those that send."""
        chance = self.random.random
        buffer = self.random.choice(["a", "a", "a(1)", "b", "u(1,2)", "a(2)", "u(:,1)"])
        count = self.random.choice(["n", "n - 1", "cnts(r) + 1", "min(n - 1, 5)"])
        if buffer == "a(2)" and count == "n":
            count = "n - 1"
        condition = self.random.choice([None, None, "cnts(r) > 0", "mod(r, 2) == 1"])
        status = "status" if chance() < 0.3 else "MPI_STATUS_IGNORE"
        source = self.random.choice(["r", "r", "from(r)"])
        tag = self.random.choice([self.tag, self.tag, f"{self.tag} + r"])
        receive = (
            f"call MPI_Recv({buffer}, {count}, MPI_DOUBLE_PRECISION, {source}, {tag}, "
            f"MPI_COMM_WORLD, {status}, ierr)"
        )
        twice = chance() < 0.2
        body = [receive]
        if status == "status":
            body += ["call MPI_Get_count(status, MPI_DOUBLE_PRECISION, cnt, ierr)",
                     "total = 3*total + cnt"]  # fmt: skip
        body += self.use(buffer)
        if twice:
            body += [receive, *self.use(buffer)]
        body += self.hazard()
        body = self.guarded(body, condition)
        send = self.sends(tag, twice, condition)
        low, high = self.random.choice([("1", "np - 1"), ("np - 1", "1, -1")])
        gather = [f"do r = {low}, {high}", *body, "end do"]
        return [
            *self.beside(),
            "if (me == 0) then", *self.beside(), *gather, *self.beside(), "else", *send, "end if",
            *self.beside(),
        ]  # fmt: skip

    def guarded(self, body: Lines, condition: str | None) -> Lines:
        """The body of a loop under a condition."""
        if condition is None:
            return body
        opposite = {"cnts(r) > 0": "cnts(r) <= 0", "mod(r, 2) == 1": "mod(r, 2) /= 1"}[condition]
        kind = self.random.choice(["block", "cycle", "one line", "else"])
        match kind:
            case "cycle":
                return [f"if ({opposite}) cycle", *body]
            case "one line":
                return [f"if ({condition}) {line}" if "MPI_Recv" in line else line for line in body]
            case "else":
                return [f"if ({opposite}) then", "s = s + r", "else", *body, "end if"]
        return [f"if ({condition}) then", *body, "end if"]

    def use(self, buffer: str) -> Lines:
        """What is done with a message: all of the buffer is read, whatever has arrived."""
        x = (
            "u(i,2)"
            if buffer == "u(1,2)"
            else "u(i,1)"
            if buffer == "u(:,1)"
            else f"{buffer[0]}(i)"
        )
        return self.random.choice(
            [
                ["do i = 1, n", f"s = 0.75d0*s + {x}", "end do"],
                ["do i = 1, n", f"c(i) = 0.5d0*c(i) + {x}", "end do"],
                ["do i = 1, n", f"u(i,4) = u(i,4)*0.5d0 + {x}", f"{x} = {x} + 0.25d0", "end do"],
                ["do i = 1, n", f"u(i,mod(r,2)+4) = {x}", "end do", "s = s + u(n,5)"],
            ]
        )

    def hazard(self) -> Lines:
        """Something in the loop that may decide about later messages, or nothing."""
        if self.random.random() < 0.75:
            return []
        return self.random.choice(
            [
                ["cnts(mod(r + 1, 8)) = cnts(mod(r + 1, 8)) + 0*cnts(r)"],
                ["from(mod(r + 1, 8)) = mod(r + 1, 8)"],
                ["if (s > 1d30) exit"],
                ["if (total > 1000000) cycle"],
                ["call MPI_Sendrecv(b, 1, MPI_DOUBLE_PRECISION, 0, 77, s, 1, "
                 "MPI_DOUBLE_PRECISION, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)"],
                ["first = first + 1"],
            ]
        )  # fmt: skip

    def sends(self, tag: str, twice: bool, condition: str | None) -> Lines:
        """What one rank sends to the first: perhaps less than is asked for."""
        mine = tag.replace("r", "me")
        short = self.random.choice(["1", "max(0, cnts(me) - 1)", "cnts(me) + 1", "0"])
        if self.random.random() < 0.5:
            short = "min(cnts(me) + 1, n - 1)"
        short = f"min({short}, cnts(me) + 1, n - 1, 5)"
        call = f"call MPI_Send(b, {short}, MPI_DOUBLE_PRECISION, 0, {mine}, MPI_COMM_WORLD, ierr)"
        pack = ["do i = 1, n", "b(i) = b(i)*0.5d0 + i*me", "end do"]
        lines = [*pack, call]
        if twice:
            lines += [*pack, call]
        if condition is not None:
            own = {"cnts(r) > 0": "cnts(me) > 0", "mod(r, 2) == 1": "mod(me, 2) == 1"}[condition]
            lines = [f"if ({own}) then", *lines, "end if"]
        return lines

    def beside(self) -> Lines:
        """Work in front of the exchange or behind it, or nothing."""
        if self.random.random() < 0.5:
            return []
        x = self.random.choice(["c(i)", "u(i,0)", "a(i)", "b(i)"])
        y = self.random.choice(["c(i)", "u(i,3)", "a(i)"])
        return ["do i = 1, n", f"{x} = {x}*0.5d0 + 0.125d0*{y}", "end do"]


def _scatter(random: Random) -> Lines:
    """The first rank fills one buffer for each of the others, and sends it."""
    count = random.choice(["n", "n - 2", "cnts(r) + 1"])
    fill = ["do i = 1, n", "a(i) = a(i)*0.5d0 + c(i)*r", "end do"]
    send = f"call MPI_Send(a, {count}, MPI_DOUBLE_PRECISION, r, 5, MPI_COMM_WORLD, ierr)"
    return [
        "if (me == 0) then", "do r = 1, np - 1", *fill, send, "end do", "a(1) = a(1) + 1", "else",
        "call MPI_Recv(c, n, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)",
        "end if",
    ]  # fmt: skip


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"gathers/{seed}/{number}")
    tag, n = f"g{number}", random.randint(6, 9)
    head = _HEAD.format(
        tag=tag, n=n, mix=random.randint(1, 3), shift=random.randrange(3), modulus=n - 1
    )
    lines: Lines = []
    for _ in range(random.randint(1, 2)):
        lines += _Gather(random, n).lines()
        if random.random() < 0.25:
            lines += _scatter(random)
    if random.random() < 0.4:
        lines = ["do it = 1, 2", *lines, "end do"]
    text = [*head.splitlines(), *lines, *_TAIL.format(tag=tag).splitlines()]
    return f"{tag}.f90", free_form(line.strip() for line in text)


def fields(seed: int, number: int) -> tuple[str, str]:
    """The same in a loop over fields, each of which begins with work of its own."""
    random = Random(f"fields/{seed}/{number}")
    tag, n = f"f{number}", random.randint(6, 9)
    head = _HEAD.format(
        tag=tag, n=n, mix=random.randint(1, 3), shift=random.randrange(3), modulus=n - 1
    )
    head = head.replace("u(n, 0:5), s", "u(n, 0:5), v(n), s") + "  v = 0.25d0*me\n"
    own = random.choice([*["v(i)"] * 6, "u(i,it)", "u(i,it+1)", "a(i)", "c(i)", "b(i)"])
    read = random.choice([own, own, own, "u(i,0)", "c(i)", "dble(it)", "s"])
    lines = ["do i = 1, n", f"{own} = 0.5d0*{own} + {read} + it", "end do"]
    if random.random() < 0.5:
        lines += ["do i = 1, n", "b(i) = b(i) + v(i)", "end do"]
    lines += _Gather(random, n).lines()
    if random.random() < 0.3:
        lines += [f"if (me == {random.choice('01')}) s = s + u(1,0)"]
    tail = f"  call fz_real8('v', v, n)\n{_TAIL.format(tag=tag)}"
    bounds = random.choice(["1, 3", "1, 2", "2, np", "1, mod(np, 3)", "1, total - total + 2"])
    lines = [f"do it = {bounds}", *lines, "end do"]
    text = [*head.splitlines(), *lines, *tail.splitlines()]
    return f"{tag}.f90", free_form(line.strip() for line in text)
