"""Random procedures in which all ranks exchange blocks with messages that are written out.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  Blocks are of
one length or of lengths that tables give, some of them empty; they are packed plane by plane, or
one block after the other with a counter.  Messages go in a ring or in the order of ranks, receives
first or sends first, with one of the rank to itself or a copy, blocking or not.  A part of the
procedures does something that an exchange of all with all does not: a rank is left out, tags
differ, statuses are read, buffers are changed between packing and messages, or between messages and
wait, other messages have the tag, or the own block is left as it was.  All of them are legal, and
end under any buffering.
"""

from __future__ import annotations

from random import Random

from fuzz.text import fixed_form, free_form

_SHARED = """\
integer, parameter :: room = 8
integer :: yc(0:room-1), zc(0:room-1), yo(0:room), zo(0:room), me, np
"""
_TABLES = """\
call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
do p = 0, room - 1
{tables}
end do
yo(0) = 0
zo(0) = 0
do p = 0, room - 1
yo(p+1) = yo(p) + yc(p)
zo(p+1) = zo(p) + zc(p)
end do
"""
_DECLARED = """\
integer, parameter :: n = {n}
real(8), allocatable :: s{rank}, r{rank}, w(:,:,:)
real(8) :: t, own
integer, allocatable :: requests(:), more(:), statuses(:,:)
integer :: i, j, k, p, q, at, turn, pending, many, it, ierr
"""
_BEGIN = """\
t = 0
own = me
many = 0
at = 0
allocate(w(n,max(1,yo(np)),max(1,zc(me))))
allocate({sizes})
allocate(requests(2*np), more(2*np), statuses(MPI_STATUS_SIZE,2*np))
requests = MPI_REQUEST_NULL
statuses = 0
s = -1
r = -2
w = me
"""
_ALONE = """\
subroutine {tag}
use mpi
implicit none
{shared}{declared}{tables}{begin}"""
_APART = """\
module hold_{tag}
implicit none
{shared}end module hold_{tag}
subroutine {tag}
use mpi
use hold_{tag}
implicit none
integer :: p, ierr
{tables}call work_{tag}
end subroutine {tag}
subroutine work_{tag}
use mpi
use hold_{tag}
implicit none
{declared}{begin}"""
_TAIL = """\
call fz_real8('r', r, size(r))
call fz_real8('s', s, size(s))
call fz_real8('w', w, size(w))
call fz_real8('t', [t, own], 2)
end subroutine {name}
"""
Lines = list[str]


class _Exchange:
    """One exchange, with what is packed before it; the ``number``-th of its procedure.  ``equal``:
    all blocks are as long."""

    def __init__(self, random: Random, equal: bool, number: int) -> None:
        self.random = random
        self.equal = equal
        self.tag = "5" if random.random() < 0.1 else str(5 + number)
        self.requests = "more" if number and random.random() < 0.9 else "requests"
        self.counted = not equal and random.random() < 0.9
        self.odd = random.choice(_ODDITIES) if random.random() < 0.35 else ""
        self.guard = random.choice(["", "cycle", "then", "zero"])

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self.random.random() < probability

    # Blocks

    def block(self, ways: str, peer: str) -> tuple[str, str]:
        """The first element of a block that goes to, or comes from, a rank, and its length."""
        if self.equal:
            first = self.random.choice([f"{ways}(1,1,{peer})", f"{ways}(:,:,{peer})"])
            return first, "n*zc(0)"
        if ways == "s":
            return f"s(1 + n*zc(me)*yo({peer}))", f"n*yc({peer})*zc(me)"
        return f"r(1 + n*yc(me)*zo({peer}))", f"n*yc(me)*zc({peer})"

    def packed(self) -> Lines:
        """The work, and its results in the send buffer."""
        if self.equal:
            value = self.random.choice(["i*k + p*me + it", "w(i,1,k) + p", "0.5d0*s(i,k,p) + it"])
            loops = ["do k = 1, zc(0)", "do p = 0, np - 1", "do i = 1, n"]
            if self.chance(0.3):
                loops = [loops[1], loops[0], loops[2]]
            return [*loops, f"s(i,k,p) = {value}", *["end do"] * 3]
        work = ["do k = 1, zc(me)", "do j = 1, yo(np)", "do i = 1, n",
                "w(i,j,k) = 0.5d0*w(i,j,k) + i + j*k + it", *["end do"]*3]  # fmt: skip
        pack = ["do p = 0, np - 1", "do k = 1, zc(me)", "do j = 1, yc(p)", "do i = 1, n"]
        if self.counted:
            inner = ["at = at + 1", "s(at) = w(i,yo(p)+j,k)"]
            return [*work, "at = 0", *pack, *inner, *["end do"] * 4]
        place = "n*(j - 1 + yc(p)*(k - 1)) + n*zc(me)*yo(p)"
        return [*work, *pack, f"s(i + {place}) = w(i,yo(p)+j,k)", *["end do"] * 4]

    def copied(self) -> Lines:
        """The rank's own block."""
        if self.equal:
            return self.random.choice(
                [
                    ["r(:,:,me) = s(:,:,me)"],
                    ["do k = 1, zc(0)", "do i = 1, n", "r(i,k,me) = s(i,k,me)", *["end do"] * 2],
                ]
            )
        return ["do i = 1, n*yc(me)*zc(me)", "r(n*yc(me)*zo(me) + i) = s(n*zc(me)*yo(me) + i)",
                "end do"]  # fmt: skip

    # Messages

    def started(self, kind: str, peer: str, turns: str, place: str = "") -> Lines:
        """A loop that starts the sends or the receives; ``peer``: the rank of a turn."""
        sends = kind == "MPI_Isend"
        first, length = self.block("s" if sends else "r", "p")
        tag = self.tag
        if self.odd == "tags":
            tag = f"{self.tag} + mod(p + me, 2)"
        request = place or f"{self.requests}(pending)"
        call = (
            f"call {kind}({first}, {length}, MPI_DOUBLE_PRECISION, p, {tag}, MPI_COMM_WORLD, "
            f"{request}, ierr)"
        )
        counted = [] if place else ["pending = pending + 1"]
        body = [*counted, call]
        match self.guard:
            case "cycle":
                body = [f"many = {length}", "if (many == 0) cycle", *body]
            case "then":
                body = [f"if ({length} > 0) then", *body, "end if"]
            case "zero" if not place:
                body = [f"many = {length}", "if (many > 0) then", *body, "end if"]
        head = [] if peer == "p" else [f"p = {peer}"]
        variable = "p" if peer == "p" else "turn"
        return [f"do {variable} = {turns}", *head, *body, "end do"]

    def messages(self) -> Lines:
        """All of them, to the wait."""
        form = self.random.choice(["ring", "ring", "sends first", "ranks", "itself", "blocking"])
        last = "np - 2" if self.odd == "a rank less" else "np - 1"
        receives = self.started("MPI_Irecv", "modulo(me - turn, np)", f"1, {last}")
        sends = self.started("MPI_Isend", "modulo(me + turn, np)", f"1, {last}")
        wait = f"call MPI_Waitall(pending, {self.requests}, MPI_STATUSES_IGNORE, ierr)"
        own = [] if self.odd == "no copy" else self.copied()
        if self.odd == "statuses":
            wait = wait.replace("MPI_STATUSES_IGNORE", "statuses")
        match form:
            case "ranks":
                guard = self.guard
                self.guard = ""
                loops = [
                    self.started(kind, "p", "0, np - 1", f"{self.requests}({place})")
                    for kind, place in (("MPI_Irecv", "p+1"), ("MPI_Isend", "np+p+1"))
                ]
                loops = [[loop[0], "if (p == me) cycle", *loop[1:]] for loop in loops]
                self.guard = guard
                wait = wait.replace("(pending,", "(2*np,")
                nothing = f"{self.requests} = MPI_REQUEST_NULL"
                return [nothing, *loops[0], *loops[1], *self.amid(own), wait]
            case "itself":
                self.guard = ""
                loops = [
                    self.started(kind, "p", "0, np - 1", f"{self.requests}({place})")
                    for kind, place in (("MPI_Irecv", "p+1"), ("MPI_Isend", "np+p+1"))
                ]
                wait = wait.replace("(pending,", "(2*np,")
                return [*loops[0], *loops[1], *self.amid([]), wait]
            case "blocking":
                return self.ring_of_pairs()
            case "sends first":
                receives, sends = sends, receives
        behind = self.chance(0.3)
        first, second = ([], own) if behind else (own, [])
        return ["pending = 0", *receives, *sends, *self.amid(first), wait, *second]

    def ring_of_pairs(self) -> Lines:
        """Blocking exchanges with one rank after the other, the first of them this one itself."""
        one, length = self.block("s", "p")
        other, size = self.block("r", "q")
        first, status = "0" if self.odd != "no copy" else "1", "MPI_STATUS_IGNORE"
        return [
            f"do turn = {first}, np - 1", "p = mod(me + turn, np)", "q = mod(me - turn + np, np)",
            f"call MPI_Sendrecv({one}, {length}, MPI_DOUBLE_PRECISION, p, {self.tag}, {other}, "
            f"{size}, MPI_DOUBLE_PRECISION, q, {self.tag}, MPI_COMM_WORLD, {status}, ierr)",
            "end do",
        ]  # fmt: skip

    def amid(self, own: Lines) -> Lines:
        """What stands between the messages and their wait."""
        if self.odd == "work between":
            return [*own, "t = t + 0.5d0*own", "w(1,1,1) = w(1,1,1) + 1"]
        if self.odd == "read between":
            return [*own, "t = t + sum(s)"]
        return own

    def before(self) -> Lines:
        """What stands between packing and messages."""
        match self.odd:
            case "changed":
                return ["if (size(s) > 1 .and. me == 1) s = 0.5d0*s"]
            case "set":
                return ["r = it"]
            case "same tag":
                return [self.to_itself(self.tag)]
        return []

    def behind(self) -> Lines:
        """What stands behind the wait."""
        match self.odd:
            case "any tag":
                return [self.to_itself("7").replace("0, 7, MPI_COMM", "0, MPI_ANY_TAG, MPI_COMM")]
            case "statuses":
                return ["if (np > 1) t = t + statuses(MPI_SOURCE,1)"]
            case "sent again":
                return ["s = s + 1", "t = t + sum(r)"]
            case "print":
                return ["if (t > 1d30) print *, t"]
        return []

    def to_itself(self, tag: str) -> str:
        """A message of a rank to itself."""
        return (
            f"call MPI_Sendrecv(own, 1, MPI_DOUBLE_PRECISION, 0, {tag}, t, 1, "
            f"MPI_DOUBLE_PRECISION, 0, {tag}, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)"
        )

    def lines(self) -> Lines:
        """All of it."""
        return [*self.packed(), *self.before(), *self.messages(), *self.behind()]


_ODDITIES = (
    "tags", "a rank less", "no copy", "statuses", "work between", "read between", "changed", "set",
    "same tag", "any tag", "sent again", "print",
)  # fmt: skip


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"alltoalls/{seed}/{number}")
    tag, equal = f"o{number}", random.random() < 0.45
    if equal:
        planes = random.randint(1, 5)
        tables = ["yc(p) = 1", f"zc(p) = {planes}"]
        sizes, rank = "s(n,zc(0),0:np-1), r(n,zc(0),0:np-1)", "(:,:,:)"
    else:
        mixes = [(random.randint(0, 3), random.randrange(4), random.randint(2, 4)) for _ in "yz"]
        tables = [f"{c}c(p) = mod({a}*p + {b}, {m})" for c, (a, b, m) in zip("yz", mixes,
                                                                          strict=True)]  # fmt: skip
        sizes, rank = "s(n*zc(me)*yo(np)+1), r(n*yc(me)*zo(np)+1)", "(:)"
    apart = random.random() < 0.75
    head = (_APART if apart else _ALONE).format(
        tag=tag,
        shared=_SHARED,
        declared=_DECLARED.format(n=random.randint(1, 4), rank=rank),
        tables=_TABLES.format(tables="\n".join(tables)),
        begin=_BEGIN.format(sizes=sizes),
    )
    lines = [line for which in range(random.choice([1, 1, 2]))
             for line in _Exchange(random, equal, which).lines()]  # fmt: skip
    last = random.choice([1, 2, 3])
    lines = [f"do it = 1, {last}", *lines, "end do"] if last > 1 else ["it = 1", *lines]
    name = f"work_{tag}" if apart else tag
    text = [*head.splitlines(), *lines, *_TAIL.format(name=name).splitlines()]
    if random.random() < 0.2:
        return f"{tag}.f", fixed_form(text)
    return f"{tag}.f90", free_form(text)
