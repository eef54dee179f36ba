"""Procedures close to what forbids to execute a nest in tiles, together with the messages before
and behind it.

A wave goes over the ranks: each receives an edge, works, and sends its own edge on.  There is as
much to do as is worth tiles.
"""

from __future__ import annotations

from dataclasses import replace

from fuzz.closeness import Close, Lines, Words

_DECLARED = [
    "integer, parameter :: m = 16000, two = 2*n", "integer :: to",
    "real(8) :: v(0:m,0:n+2), p(n+2), q(n+2), h(n+2)",
]  # fmt: skip
_FILL = [
    "left = merge(MPI_PROC_NULL, me - 1, me == 0)",
    "right = merge(MPI_PROC_NULL, me + 1, me == np - 1)",
    "to = right",
    "do j = 0, n + 2", "do i = 0, m", "v(i,j) = mod(7*i + 3*j + me, 11)*0.125d0", "end do",
    "end do", "do j = 1, n + 2", "p(j) = 0.5d0*j", "q(j) = 0.25d0*j + me", "h(j) = j", "end do",
]  # fmt: skip
_SHOW = ["call fz_real8('v', v, size(v))", "call fz_real8('p', [p, q, h], 3*size(p))"]


class _Wave:
    """The pieces of a wave."""

    def __init__(self, w: Words) -> None:
        self.w = w
        self.take = w.receive("p", status="status")
        self.unpack: Lines = ["do j = 1, n", "v(0,j) = p(j)", "end do"]
        self.send = w.send("q")
        self.pack: Lines = ["do j = 1, n", "q(j) = 0.5d0*v(m,j)", "end do"]
        self.first: Lines = []  # in front of the nest
        self.last: Lines = []  # behind it

    def nest(self, *more: str, bounds: str = "1, n", value: str = "v(i,j-1)") -> Lines:
        """Work that goes from the one edge to the other."""
        work = ["do i = 1, m", f"v(i,j) = 0.5d0*v(i-1,j) + 0.25d0*{value} + 1", "end do"]
        return [f"do j = {bounds}", *work, *more, "end do"]

    def lines(self, nest: Lines) -> Lines:
        """All of it, around a nest."""
        take = ["if (left /= MPI_PROC_NULL) then", self.take, *self.unpack, "end if"]
        return [*take, *self.first, *nest, *self.last, *self.pack, self.send]


def _close(w: Words, body: Lines, inside: Lines | None = None) -> Close:
    return Close(
        [*_FILL, *w.in_time(body)], inside=inside, declared=_DECLARED, shown=_SHOW,
        storages=("local",),
    )  # fmt: skip


def other_part(w: Words) -> Close:
    """Another call sends what the receive of the wave takes, or receives what it sends."""
    wave = _Wave(w)
    alone: Lines = []
    if w.chance(0.5):
        start = ["if (me == 0) then", *wave.nest(), *wave.pack, wave.send, "else"]
        alone = ["end if"]
    else:
        tag = w.one(str(w.tag), "MPI_ANY_TAG")
        take = w.receive("p", tag)
        start = ["if (me == np - 1) then", take, *wave.unpack, *wave.nest(), "else"]
        alone = ["end if"]
    return _close(w, [*start, *wave.lines(wave.nest()), *alone])


def other_count(w: Words) -> Close:
    """The receive has room for more than what is sent, in each iteration."""
    wave = _Wave(w)
    wave.take = w.receive("p2", count="2*n")
    wave.unpack = ["do j = 1, n", "v(0,j) = p2(1,j) + p2(2,j)", "end do"]
    made = _close(w, ["p2 = 1", *wave.lines(wave.nest())])
    return replace(made, declared=[*_DECLARED, "real(8) :: p2(2,n)"])


def gaps_in_parts(w: Words) -> Close:
    """A buffer is every second element of an array, which a procedure has got without a copy."""
    wave = _Wave(w)
    if w.chance(0.5):
        wave.take = w.receive("x")
        wave.unpack = ["do j = 1, n", "v(0,j) = x(j)", "end do"]
    else:
        wave.pack = ["do j = 1, n", "x(j) = 0.5d0*v(m,j)", "end do"]
        wave.send = w.send("x")
    inside = [
        "subroutine sweep(x)", "real(8), intent(inout) :: x(:)", "integer :: i, j",
        *wave.lines(wave.nest()), "end subroutine sweep",
    ]  # fmt: skip
    made = _close(w, ["cnt = cnt + 1; call sweep(h2(1:2*n:2))"], inside)
    return replace(
        made, body=["h2 = 1", *made.body], declared=[*_DECLARED, "real(8) :: h2(2*n)"],
        shown=[*_SHOW, "call fz_real8('h2', h2, 2*n)"], free=True,
    )  # fmt: skip


def beyond_a_column(w: Words) -> Close:
    """A message goes on where a column of its buffer ends; each iteration needs the next one."""
    wave = _Wave(w)
    wave.take = w.receive("p2")
    value = w.one("p2(1,2)", "p2(2,2)", "p2(1,2) + 0.5d0*p2(2,2)")
    wave.unpack = ["do j = 1, n", f"v(0,j) = {value}", "end do"]
    made = _close(w, ["p2 = 1", *wave.lines(wave.nest())])
    return replace(made, declared=[*_DECLARED, "real(8) :: p2(3,4)"])


def fewer_iterations(w: Words) -> Close:
    """A nest has not the iterations of the messages."""
    wave = _Wave(w)
    bounds = w.one("1, n - 1", "2, n", "1, n + 1")
    nest = wave.nest(bounds=bounds)
    return _close(w, wave.lines(nest))


def later_part(w: Words) -> Close:
    """An iteration needs a later part of what is received, or changes what an earlier one sends."""
    wave = _Wave(w)
    nest = wave.nest()
    match w.one("read", "back", "written", "sent"):
        case "read":
            nest = wave.nest("h(j) = h(j) + p(min(j+1,n))")
        case "back":
            wave.unpack = ["do j = 1, n", "v(0,n+1-j) = p(j)", "end do"]
        case "written":
            wave.pack = ["do j = 1, n", "q(j) = v(m,j)", "q(max(1,j-1)) = 0.5d0*v(2,j)", "end do"]
        case _:
            wave.pack = ["do j = 1, n", "q(n+1-j) = 0.5d0*v(m,j)", "end do"]
    return _close(w, wave.lines(nest))


def carried_on(w: Words) -> Close:
    """A scalar has a value from a loop in the next one."""
    wave = _Wave(w)
    nest = wave.nest("t = v(m,j)")
    wave.pack = ["do j = 1, n", "q(j) = 0.5d0*v(m,j) + t", w.one("t = t + j", "t = 0.5d0*t"),
                 "end do"]  # fmt: skip
    return _close(w, wave.lines(nest))


def between_the_messages(w: Words) -> Close:
    """A statement between nest and messages needs one of them, and the other needs it."""
    wave = _Wave(w)
    match w.one("sum", "send", "scaled", "first"):
        case "sum":
            wave.first = ["s = sum(v(0,1:n))", "v(1,1) = s"]
        case "send":
            wave.last = ["q(n) = q(n) + 2", "t = sum(v(m,1:n))"]
            wave.pack = ["do j = 1, n", "q(j) = t + v(m,j)", "end do"]
        case "scaled":
            wave.last = ["v(m,:) = 0.5d0*v(m,:)"]
        case _:
            wave.first = ["v(0,2) = v(0,n) + v(0,1)"]
    return _close(w, wave.lines(wave.nest()))


def target_set(w: Words) -> Close:
    """The nest itself sets to whom its edge is sent."""
    wave = _Wave(w)
    wave.send = w.send("q", to="to")
    nest = wave.nest("if (j == n) to = right")
    return _close(w, ["to = MPI_PROC_NULL", *wave.lines(nest)])


def leaves_the_nest(w: Words) -> Close:
    """A loop of the wave is left, or prints."""
    wave = _Wave(w)
    nest = wave.nest(w.one("if (j == 2) exit", "if (me == 0) print *, 'at', j"))
    if "exit" not in nest[-2]:
        wave.pack = ["do j = 1, n", "q(j) = 0.5d0*v(m,j)", "if (me == 0) print *, 'out', j",
                     "end do"]  # fmt: skip
    return _close(w, wave.lines(nest))


def rounding_in_tiles(w: Words) -> Close:
    """The last digits of what goes on depend on the bounds of the innermost loop."""
    wave = _Wave(w)
    value = w.one("sin(0.37d0*j)", "exp(-0.11d0*j)", "cos(p(j)) + 0.5d0*sin(q(j))")
    wave.pack = ["do j = 1, n", f"q(j) = 0.5d0*v(m,j) + {value}", "end do"]
    return _close(w, wave.lines(wave.nest()))


MAKERS = {
    maker.__name__: maker
    for maker in (
        other_part, other_count, gaps_in_parts, beyond_a_column, fewer_iterations, later_part,
        carried_on, between_the_messages, target_set, leaves_the_nest, rounding_in_tiles,
    )
}  # fmt: skip
