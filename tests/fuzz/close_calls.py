"""Procedures close to what forbids to make a call non-blocking, and to what keeps the order of
messages."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Words

_TICK = [
    "integer function tick()", "cnt = cnt + 1", "tick = cnt", "end function tick",
]  # fmt: skip


def error_code(w: Words) -> Close:
    """The error code of a transfer is read."""
    read = w.one("s = s + ierr", "if (ierr /= 0) s = s + 1", "cnt = cnt + ierr")
    body = ["ierr = 7", w.ring(w.x, w.y), *w.loop(w.z), read, *w.nothing(w.adds(w.z, w.y))]
    return Close(w.in_time(body))


def status(w: Words) -> Close:
    """The status of a receive is read."""
    read = w.one(
        "cnt = cnt + status(MPI_TAG)",
        f"call MPI_Get_count(status, {KIND}, cnt, ierr)",
        "s = s + status(MPI_SOURCE)",
    )
    begin = ["status = 0", "if (left == MPI_PROC_NULL) status(MPI_TAG) = 1"]
    return Close([*begin, w.ring(w.x, w.y), *w.loop(w.z), read], rings=True)


def gaps(w: Words) -> Close:
    """A buffer is a section with gaps, or an expression."""
    sent, into, count = w.random.choice(
        [
            ("u(2,0:3)", "u(3,0:3)", "4"),
            (f"{w.x}(1:5:2)", f"{w.y}(1:5:2)", "3"),
            (f"({w.x})", f"{w.y}(5:1:-1)", "5"),
            (f"{w.x} + 1", "u(1,0:4:2)", "3"),
        ]
    )
    tail = w.nothing(w.loop(w.w))
    call = (
        f"call MPI_Sendrecv({sent}, {count}, {KIND}, right, 4, {into}, {count}, {KIND}, left, 4, "
        f"{WORLD}, status, ierr)"
    )
    return Close(w.in_time([*tail, call, *w.loop(w.z)]))


def condition_again(w: Words) -> Close:
    """The condition of a call is not the same when it is evaluated again."""
    other = w.one("0", "1")
    call = w.ring(w.x, w.y)
    body = [*w.nothing(w.loop(w.z)), f"if (mod(tick(), 2) == {other}) {call}", *w.loop(w.z)]
    return Close(["cnt = me - me", *body, *body], inside=_TICK, free=True)


def function_argument(w: Words) -> Close:
    """An argument is what a function returns that changes a variable."""
    inside = [
        "integer function own()", "cnt = cnt + 1", f"own = {WORLD}", "end function own",
    ]  # fmt: skip
    call = w.ring(w.x, w.y, comm="own()")
    return Close([*w.nothing(w.loop(w.w)), call, *w.loop(w.z)], inside=inside)


def array_for_scalar(w: Words) -> Close:
    """An array is passed where MPI has a scalar."""
    argument, given = w.random.choice([("n", "one"), ("right", "to"), (f"{w.tag}", "tags")])
    call = w.send(w.x).replace(f", {argument},", f", {given},", 1)
    body = ["one = n", "to = right", f"tags = {w.tag}", *w.loop(w.z)]
    body += w.pairs([call, *w.loop(w.z)], [w.receive(w.y)])
    return Close(body, declared=["integer :: one(1), to(1), tags(1)"], bindings=("mpif.h",))


def long_count(w: Words) -> Close:
    """A count or rank is no integer of the default kind."""
    argument, given = w.random.choice([("n", "long"), ("left", "far")])
    call = w.receive(w.y).replace(f", {argument},", f", {given},", 1)
    body = ["long = n", "far = left", *w.loop(w.z)]
    body += w.pairs([w.send(w.x)], [call, *w.loop(w.z)])
    return Close(body, declared=["integer(8) :: long, far"], bindings=("mpif.h",))


def skipped(w: Words) -> Close:
    """The author says that a call stays."""
    body = ["!$asphalt skip", w.ring(w.x, w.y), *w.loop(w.z)]
    return Close(w.in_time([*w.nothing(w.loop(w.w)), *body]), free=True, stays=True)


def elsewhere(w: Words) -> Close:
    """Ranks meet a collective operation in different calls, of which one cannot be changed."""
    first, count = w.random.choice([("0", "1"), ("np - 1", "2")])
    plain = f"call MPI_Bcast({w.x}, {count}, {KIND}, {first}, {WORLD}, ierr)"
    read = f"call MPI_Bcast({w.y}(1:5:2), {count}, {KIND}, {first}, {WORLD}, ierr)"
    condition = w.one("mod(me, 2) == 0", "me == 0", "me < np - 1")
    body = [f"if ({condition}) then", plain, *w.loop(w.z), "else", read, *w.loop(w.w), "end if"]
    return Close(w.in_time([*w.nothing(w.loop(w.z)), *body]))


def digits(w: Words) -> Close:
    """A sum of real numbers of all ranks."""
    fill = [f"{w.x}(i) = 0.1d0**(i + 3*me) + 0.3d0*{w.x}(i)"]
    name = w.one("Allreduce", "Allreduce", "Reduce")
    root = ", 0" if name == "Reduce" else ""
    call = f"call MPI_{name}({w.x}, {w.y}, n, {KIND}, MPI_SUM{root}, {WORLD}, ierr)"
    return Close(["do i = 1, n", *fill, "end do", call, *w.loop(w.z)])


# The order of messages


def one_envelope(w: Words) -> Close:
    """Two messages that only their order tells apart; the second could be started before work that
    keeps back the first."""
    sends = [*w.adds(w.x, w.x), w.send(w.x), *w.loop(w.z), w.send(w.y)]
    takes = [*w.adds(w.z, w.z), w.receive(w.z), *w.loop(w.x), w.receive(w.w)]
    if w.chance(0.5):
        sends = [w.send(w.x), *w.loop(w.z), w.send(w.y)]
    return Close(w.in_time(w.pairs(sends, takes)))


def any_tag(w: Words) -> Close:
    """Messages of different tags, which are received with any tag."""
    sends = [*w.adds(w.x, w.x), w.send(w.x, 1), *w.loop(w.z), w.send(w.y, 2)]
    takes = [w.receive(w.z, "MPI_ANY_TAG"), w.receive(w.w, "MPI_ANY_TAG")]
    return Close(w.in_time(w.pairs(sends, takes)))


def any_tag_by_number(w: Words) -> Close:
    """A tag is the number that stands for any."""
    sends = [w.send(w.x, 2), w.send(w.y, 2)]
    takes = [*w.adds(w.z, w.z), w.receive(w.z, "-1"), *w.loop(w.x), w.receive(w.w, "2")]
    return Close(w.in_time(w.pairs(sends, takes)))


def depends_on_time(w: Words) -> Close:
    """Which of two messages comes first depends on what a rank has done before it tells another."""
    slow = ["do i = 1, n", "do j = 1, 8000000", f"{w.z}(i) = {w.z}(i)*0.9999999d0", "end do"]
    slow += ["end do", f"{w.x}(1) = {w.x}(1) + {w.z}(2)*1d-9"]
    first = [*slow, f"call MPI_Ssend({w.x}, n, {KIND}, 0, 1, {WORLD}, ierr)"]
    tell = f"call MPI_Send({w.y}, n, {KIND}, 2, 3, {WORLD}, ierr)"
    take = f"call MPI_Recv({w.y}, n, {KIND}, MPI_ANY_SOURCE, 1, {WORLD}, status, ierr)"
    told = f"call MPI_Recv({w.w}, n, {KIND}, 1, 3, {WORLD}, MPI_STATUS_IGNORE, ierr)"
    send = f"call MPI_Send({w.z}, n, {KIND}, 0, 1, {WORLD}, ierr)"
    body = ["if (np > 2) then", "if (me == 0) then", take, f"s = s + {w.y}(2)", take]
    body += ["else if (me == 1) then", *first, tell]
    body += ["else if (me == 2) then", told, send, "end if", "end if"]
    return Close(body)


def probed(w: Words) -> Close:
    """A receive takes what has been asked for before."""
    ask = f"call MPI_Probe(left, {w.tag}, {WORLD}, status, ierr)"
    count = f"call MPI_Get_count(status, {KIND}, cnt, ierr)"
    takes = [*w.loop(w.w), ask, *w.nothing([count]), w.receive(w.y)]
    return Close(w.in_time(w.pairs([w.send(w.x), *w.loop(w.z)], takes)), rings=True)


MAKERS = {
    maker.__name__: maker
    for maker in (
        error_code, status, gaps, condition_again, function_argument, array_for_scalar, long_count,
        skipped, elsewhere, digits, one_envelope, any_tag, any_tag_by_number, depends_on_time,
        probed,
    )
}  # fmt: skip
