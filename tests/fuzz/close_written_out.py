"""Procedures close to what forbids to take messages for an exchange of all ranks with all."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Lines, Words

_DECLARED = [
    "integer, parameter :: m = 6", "integer :: turn, k, pending, many",
    "integer :: requests(16), statuses(MPI_STATUS_SIZE,16)",
    "real(8) :: f(3,m,0:7), g(3,m,0:7), h(18)",
]  # fmt: skip
_FILL = [
    "h = 0", "g = -1", "f = -2", "statuses = 0", "many = 0", "requests = MPI_REQUEST_NULL",
]  # fmt: skip
_WORK = [
    "do k = 1, m", "do r = 0, np - 1", "do i = 1, 3", "f(i,k,r) = i*k + r*me + 0.5d0*it",
    "end do", "end do", "end do",
]  # fmt: skip
_SHOW = [
    "call fz_real8('f', f(:,:,0:np-1), 18*np)", "call fz_real8('g', g(:,:,0:np-1), 18*np)",
    "call fz_real8('h', h, 18)", "call fz_real8('t', [t, dble(many)], 2)",
]  # fmt: skip


class _Messages:
    """The pieces of an exchange."""

    def __init__(self, w: Words) -> None:
        self.w = w
        self.own: Lines = ["g(:,:,me) = f(:,:,me)"]
        self.wait = "call MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE, ierr)"

    def loop(self, kind: str, last: str = "np - 1", tag: int = 0, length: str = "3*m") -> Lines:
        """The loop that starts the sends, or the receives."""
        sign, buffer = ("+", "f") if kind == "Isend" else ("-", "g")
        return [
            f"do turn = 1, {last}", f"r = modulo(me {sign} turn, np)", "pending = pending + 1",
            f"call MPI_{kind}({buffer}(1,1,r), {length}, {KIND}, r, {tag or self.w.tag}, {WORLD}, "
            "requests(pending), ierr)", "end do",
        ]  # fmt: skip

    def lines(self, amid: Lines = (), last: str = "np - 1") -> Lines:  # type: ignore[assignment]
        """All of it, with statements between the messages and their wait."""
        loops = [self.loop("Irecv", last), self.loop("Isend", last)]
        if self.w.chance(0.3):
            loops.reverse()
        return ["pending = 0", *loops[0], *loops[1], *self.own, *amid, self.wait]


def _close(w: Words, body: Lines, front: Lines = (), behind: Lines = ()) -> Close:  # type: ignore[assignment]
    last = w.one("1", "2")
    turns = [f"do it = 1, {last}", *front, *_WORK, *body, *behind, "end do"]
    return Close([*_FILL, *turns], declared=_DECLARED, shown=_SHOW, rings=True, free=True,
                 storages=("local",), bindings=("mpi",))  # fmt: skip


def same_tag_elsewhere(w: Words) -> Close:
    """A message with the tag of the exchange is on its way before it, so that the exchange takes
    it; the block that it is in the place of is received behind."""
    tag = w.one(str(w.tag), "MPI_ANY_TAG")
    count = w.one("2", "3", "7")
    front = [
        "if (me == 0 .and. np > 1) then",
        f"call MPI_Isend({w.x}, {count}, {KIND}, 1, {w.tag}, {WORLD}, req(1), ierr)", "end if",
    ]  # fmt: skip
    behind = [
        "if (me == 0 .and. np > 1) then", "call MPI_Wait(req(1), MPI_STATUS_IGNORE, ierr)",
        "else if (me == 1) then", w.receive("h", tag, "3*m", source="0"), "end if",
    ]  # fmt: skip
    return _close(w, _Messages(w).lines(), front, behind)


def work_amid(w: Words) -> Close:
    """A statement between messages and wait does something else."""
    amid = w.one("g(2,2,me) = it", "g(3,m,me) = 2*g(1,1,me)", "g(:,1,me) = 0.5d0*f(:,2,me)")
    return _close(w, _Messages(w).lines([amid]), behind=["t = t + g(1,1,me)"])


def something_left(w: Words) -> Close:
    """What the messages leave is used behind the exchange."""
    messages, behind = _Messages(w), ["many = many + pending"]
    match w.one("statuses", "number", "turn", "some"):
        case "statuses":
            messages.wait = messages.wait.replace("MPI_STATUSES_IGNORE", "statuses")
            behind = ["if (np > 1) many = many + statuses(MPI_SOURCE,1)"]
        case "turn":
            behind = ["many = many + turn"]
        case "some":
            messages.wait = messages.wait.replace("(pending,", "(pending - 1,")
            behind = ["call MPI_Wait(requests(pending), MPI_STATUS_IGNORE, ierr)"]
    return _close(w, messages.lines(), behind=behind)


def other_block(w: Words) -> Close:
    """What is copied is not the block of the rank itself."""
    messages = _Messages(w)
    messages.own = [
        w.one("g(:,:,me) = f(:,:,0)", "g(:,2:m,me) = f(:,2:m,me)", "g(:,:,0) = f(:,:,me)")
    ]
    return _close(w, messages.lines())


def rank_less(w: Words) -> Close:
    """One rank gets nothing of each other one."""
    return _close(w, _Messages(w).lines(last="np - 2"))


def two_tags(w: Words) -> Close:
    """The tag of a message depends on its ranks."""
    messages = _Messages(w)
    tag = w.one("5 + mod(me + r, 2)", "5 + modulo(me + r, np)")
    lines = [line.replace(f" r, {w.tag},", f" r, {tag},") for line in messages.lines()]
    return _close(w, lines)


MAKERS = {
    maker.__name__: maker
    for maker in (
        same_tag_elsewhere, work_amid, something_left, other_block, rank_less, two_tags,
    )
}  # fmt: skip
