"""Procedures close to what keeps a nest in one piece, or the work of an iteration in its place."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Lines, Words

_ALONE = ("local",)


# Nests in the windows of several messages


def _windows(w: Words, nest: Lines, between: str, behind: Lines) -> Lines:
    """A nest that can be computed while one message comes, and another one behind it."""
    first, second = (w.ring(w.x, into, tag) for into, tag in (("q(1)", 31), ("q(31)", 32)))
    return ["q = 0", first, *nest, "s = s + q(2)", between, second, "s = s + q(32)", *behind]


_QUEUE = ["real(8) :: q(60), p(40), g(0:40)"]
_SHOWN = ["call fz_real8('p', [p, q, g], 141)"]
_FILLED = ["p = 0", "do i = 0, 40", "g(i) = 0.37d0*i + 0.1d0*me", "end do"]


def _shared(
    w: Words, nest: Lines, between: str = "t = t + 1", behind: Lines | None = None
) -> Close:
    body = [*_FILLED, *w.in_time(_windows(w, nest, between, behind or []))]
    return Close(body, declared=_QUEUE, shown=_SHOWN, storages=_ALONE)


def changed_between(w: Words) -> Close:
    """A nest needs what changes between two messages."""
    nest = ["do j = 1, 40", "p(j) = p(j) + 0.5d0*g(j) + t", "end do"]
    return _shared(w, nest, w.one("t = 2*t + 1", "g(33) = g(33) + 5"))


def turn_read_behind(w: Words) -> Close:
    """The variable of a nest is read behind it."""
    nest = ["do j = 4, cnt", "do i = 1, 3", "p(j) = p(j) + 0.5d0*g(i) + i", "end do", "end do"]
    made = _shared(w, nest, behind=["t = t + j"])
    return Close([f"cnt = {w.one('0', '-1', '1')} + 0*me", *made.body], declared=made.declared,
                 shown=made.shown, storages=_ALONE)  # fmt: skip


def rounded_in_parts(w: Words) -> Close:
    """The last digits of a value depend on where a loop begins and ends."""
    value = w.one("sin(g(j))", "exp(-g(j))", "sin(g(j)) + cos(g(j-1))")
    return _shared(w, [f"do j = 1, {w.one('22', '26', '30')}", f"p(j) = {value}", "end do"])


# Work before messages that are taken from a queue


def result_needed(w: Words) -> Close:
    """What begins an iteration needs what the one before has made of its messages."""
    declared = ["real(8) :: fields(40,4), row(40), total(4)"]
    term = w.one("total(max(1,it-1))", "total(1)", "row(1)")
    work = ["do i = 1, 40", f"fields(i,it) = 0.5d0*fields(i,it) + {term}", "end do"]
    pack = ["do i = 1, 40", "row(i) = fields(i,it)", "end do"]
    take = f"call MPI_Recv(row, 40, {KIND}, r, {w.tag}, {WORLD}, MPI_STATUS_IGNORE, ierr)"
    send = f"call MPI_Send(row, 40, {KIND}, 0, {w.tag}, {WORLD}, ierr)"
    use = ["do i = 1, 40", "total(it) = total(it) + row(i)", "end do"]
    body = [
        "fields = me", "total = 1", "row = 2", "do it = 1, 4", *work, *pack, "if (me == 0) then",
        "do r = 1, np - 1", take, *use, "end do", "else", send, "end if", "end do",
    ]  # fmt: skip
    shown = ["call fz_real8('fields', fields, 160)", "call fz_real8('total', total, 4)"]
    return Close(body, declared=declared, shown=shown, storages=_ALONE)


MAKERS = {
    maker.__name__: maker
    for maker in (
        changed_between, turn_read_behind, rounded_in_parts, result_needed,
    )
}  # fmt: skip
