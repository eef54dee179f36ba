"""Procedures close to what forbids to divide branches and loops, and to give buffers copies."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Lines, Words

_ALONE = ("local",)  # where buffers may have copies


# Branches and waits


def condition_set(w: Words) -> Close:
    """What a branch does before its message changes its condition."""
    branch = ["if (cnt == 0) then", "cnt = 5", w.ring(w.x, w.y, "cnt"), *w.adds(w.w, w.y), "end if"]
    return Close(["do it = 1, 2", "cnt = 0", *branch, *w.loop(w.z), "end do"])


def condition_received(w: Words) -> Close:
    """A condition depends on what is received."""
    condition = w.one(f"{w.y}(1) > 2", f"{w.y}(3) + {w.y}(2) > s", f"{w.y}(2) < 4")
    arms = [f"if ({condition}) then", *w.loop(w.z), "else", *w.loop(w.w), "end if"]
    return Close(w.in_time([w.ring(w.x, w.y), *arms]))


def no_else(w: Words) -> Close:
    """A path through a branch has no statements."""
    condition = w.one("mod(me, 2) == 0", "s > 1", "it == 1")
    branch = [f"if ({condition}) then", *w.loop(w.z), *w.adds(w.w, w.y), "end if"]
    return Close(["do it = 1, 2", w.ring(w.x, w.y), *branch, *w.adds(w.w, w.y), "end do"])


def statuses(w: Words) -> Close:
    """The statuses of a wait for several operations are read."""
    wait = "call MPI_Waitall(2, req, stats, ierr)"
    body = [*w.started(w.x, w.y), wait, *w.adds(w.z, w.y), *w.loop(w.x)]
    read = w.one("stats(MPI_TAG,1)", "stats(MPI_SOURCE,1)")
    body = ["stats = 0", *body, f"cnt = {read}"]
    return Close(body, declared=["integer :: stats(MPI_STATUS_SIZE,2)"], full=True)


def first_of_several(w: Words) -> Close:
    """A wait tells which of several operations is complete."""
    wait = "call MPI_Waitany(2, req, r, MPI_STATUS_IGNORE, ierr)"
    last = "call MPI_Wait(req(3-r), MPI_STATUS_IGNORE, ierr)"
    begin = ["r = 0", "req(3) = MPI_REQUEST_NULL", *w.started(w.x, w.y), *w.loop(w.z)]
    return Close([*begin, wait, *w.loop(w.w), "s = s + min(r, 1)", last, *w.adds(w.z, w.y)])


# Copies of buffers


def shorter(w: Words) -> Close:
    """A message is shorter than its receive, and what an earlier one has left is read."""
    last = w.one("n - 2", "2", "3")
    first = [w.ring(w.x, w.y, 1), *w.adds(w.z, w.y)]
    second = [w.ring(w.x, w.y, 2, counts=(last, "n")), *w.adds(w.w, w.y)]
    return Close(w.in_time([*first, *second]), storages=_ALONE, full=True)


def from_nobody(w: Words) -> Close:
    """A rank receives from MPI_PROC_NULL, and what an earlier message has left is read."""
    first = [w.ring(w.x, w.y, 1).replace("left", "modulo(me - 1, np)"), *w.adds(w.z, w.y)]
    first[0] = first[0].replace("right", "modulo(me + 1, np)")
    return Close(w.in_time([*first, w.ring(w.x, w.y, 2), *w.adds(w.w, w.y)]), storages=_ALONE)


def part_received(w: Words) -> Close:
    """A message is for a part of a buffer whose other part keeps what came before."""
    count = w.one("n - 2", "2", "3")
    first = [w.ring(w.x, w.y, 1), *w.adds(w.z, w.y)]
    second = [w.ring(w.x, w.y, 2, counts=(count, count)), *w.adds(w.w, w.y)]
    return Close(w.in_time([*first, *second]), storages=_ALONE, full=True)


def read_inside(w: Words) -> Close:
    """A procedure inside reads a buffer."""
    inside = ["real(8) function part(k)", "integer, intent(in) :: k", f"part = {w.y}(k)",
              "end function part"]  # fmt: skip
    use = ["do i = 1, n", f"{w.w}(i) = {w.w}(i) + part(i)", "end do"]
    first, second = w.random.choice([(use, w.adds(w.z, w.y)), (use, use), (w.adds(w.z, w.y), use)])
    body = [w.ring(w.x, w.y, 1), *first, w.ring(w.x, w.y, 2), *second]
    return Close(w.in_time(body), inside=inside, storages=_ALONE, full=True)


def stored_and_read(w: Words) -> Close:
    """What is stored before a receive is read."""
    store = ["do i = 1, n", f"{w.y}(i) = 2", "end do"]
    return Close([*store, *w.adds(w.z, w.y), w.ring(w.x, w.y), *w.adds(w.w, w.y)], full=True,
                 storages=_ALONE)  # fmt: skip


def stored_and_left(w: Words) -> Close:
    """What is stored before a receive is left by a shorter message."""
    store = w.random.choice([["do i = 1, n", f"{w.y}(i) = 2", "end do"], [f"{w.y} = 3"]])
    call = w.ring(w.x, w.y, counts=(w.one("n - 1", "2"), "n"))
    return Close([*store, call, *w.adds(w.w, w.y)], full=True, storages=_ALONE)


def stored_with_effect(w: Words) -> Close:
    """Somebody notices that something is stored before a receive."""
    inside = ["real(8) function told(k)", "integer, intent(in) :: k", "s = s + k", "told = s",
              "end function told"]  # fmt: skip
    store = ["do i = 1, n", f"{w.y}(i) = told(i)", "end do"]
    if w.chance(0.5):
        store = ["do i = 1, n", f"{w.y}(i) = 2", "end do", "s = s + i"]
    return Close([*store, w.ring(w.x, w.y), *w.adds(w.w, w.y)], inside=inside, full=True,
                 storages=_ALONE)  # fmt: skip


def stored_for_call(w: Words) -> Close:
    """A procedure inside reads what is stored before a receive."""
    inside = ["real(8) function part(k)", "integer, intent(in) :: k", f"part = {w.y}(k)",
              "end function part"]  # fmt: skip
    store = ["do i = 1, n", f"{w.y}(i) = 2", "end do"]
    body = [*store, f"{w.z}(1) = part(2)", w.ring(w.x, w.y), *w.adds(w.w, w.y)]
    return Close(body, inside=inside, full=True, storages=_ALONE)


# Loops


WORK = ["do k = 1, 4000", "p(k) = p(k)*0.5d0 + k", "end do"]
MUCH = ["integer :: k", "real(8) :: p(4000)"]


def _gather(w: Words, receives: Lines, sends: Lines, low: str = "1, np - 1") -> Lines:
    """The first rank receives in a loop, in the order of the others, and has much to do."""
    receives = [*receives, "do k = 1, 4000", f"p(k) = p(k)*0.5d0 + {w.y}(1)", "end do"]
    return [
        "if (me == 0) then", f"do r = {low}", *receives, "end do", "else", *sends, "end if",
    ]  # fmt: skip


def source_changes(w: Words) -> Close:
    """A loop changes the rank that it receives from."""
    take = [w.receive(w.y, 5, source="cnt"), *w.adds(w.z, w.y), "cnt = cnt - 1"]
    body = ["cnt = np - 1", *_gather(w, take, [w.send(w.x, 5, to="0")]), "cnt = 0"]
    return Close(["p = 0", *w.in_time(body)], declared=MUCH)


def message_before(w: Words) -> Close:
    """A loop receives two messages that only their order tells apart, one into a section."""
    gap = f"call MPI_Recv(u(2,0:3), 4, {KIND}, r, 5, {WORLD}, MPI_STATUS_IGNORE, ierr)"
    take = [gap, w.receive(w.y, 5, source="r"), *w.adds(w.z, w.y)]
    sends = [w.send(w.x, 5, "4", "0"), w.send(w.w, 5, to="0")]
    return Close(["p = 0", *w.in_time(_gather(w, take, sends))], declared=MUCH)


def bounds_again(w: Words) -> Close:
    """The bounds of a loop are not the same when they are evaluated again."""
    inside = ["integer function last()", "cnt = cnt + 1", "last = np - cnt", "end function last"]
    take = [w.receive(w.y, 5, source="r"), *w.adds(w.z, w.y)]
    body = ["p = 0", "cnt = 0", *_gather(w, take, [w.send(w.x, 5, to="0")], "1, last()")]
    return Close(body, inside=inside, declared=MUCH)


def _chain(w: Words, into: str, use: Lines) -> Lines:
    """Each iteration receives from the rank before, works, and sends to the next one."""
    take = [f"if (me > 0) {w.receive(into, 5, source='me - 1')}"]
    sends = [f"if (me < np - 1) {w.send(w.x, 5, to='me + 1')}"]
    return ["do j = 1, 3", *sends, *w.loop(w.w), *take, *use, "end do"]


def buffer_behind(w: Words) -> Close:
    """A buffer is read behind the loop whose iterations could have one each."""
    body = _chain(w, w.y, w.adds(w.z, w.y))
    return Close([*body, f"s = s + {w.y}(2)"], storages=_ALONE, full=True)


def buffer_carried(w: Words) -> Close:
    """A buffer takes a value from one iteration to the next."""
    carried = [f"if (j > 1) {w.w}(1) = {w.w}(1) + q(2)"]
    first = ["if (j == 1) q = 1"]
    body = _chain(w, "q", w.adds(w.z, "q"))
    body = [body[0], *first, *carried, *body[1:]]
    return Close(body, declared=["real(8) :: q(n)"], storages=_ALONE, full=True)


def bounds_asked(w: Words) -> Close:
    """The bounds of a buffer are asked for."""
    asked = w.one("s = s + lbound(q, 1)", "s = s + size(q)")
    use = ["do i = 1, n", f"{w.z}(i) = {w.z}(i) + q(i-1)", "end do", asked]
    sends = [f"if (me < np - 1) {w.send(w.x, 5, to='me + 1')}"]
    take = ["if (me > 0) then", w.receive("q", 5, source="me - 1"), *use, "end if"]
    body = ["do j = 1, 3", *sends, *w.loop(w.w), *take, "end do"]
    return Close(body, declared=["real(8) :: q(0:n-1)"], storages=_ALONE, full=True)


def next_iteration(w: Words) -> Close:
    """The next iteration needs what a wait is for."""
    use = ["do i = 1, n", f"{w.x}(i) = {w.x}(i) + u(i,j)", "end do"]
    return Close(["do j = 1, 3", w.ring(w.x, "u(:,j)"), *w.loop(w.w), *use, "end do"])


def condition_of_wait(w: Words) -> Close:
    """What a message of an iteration depends on changes in the iteration."""
    use = ["do i = 1, n", f"{w.z}(i) = {w.z}(i) + u(i,j)", "end do"]
    call = [f"if (cnt < 2) {w.ring(w.x, 'u(:,j)')}", *w.loop(w.w), "cnt = cnt + 1"]
    return Close(["cnt = 0", "do j = 1, 3", *call, *use, "end do"])


def ordered(w: Words) -> Close:
    """An iteration of a nest needs what another one computes."""
    term = w.one("u(i,j-1)", "u(i,j-1) + s")
    nest = ["do j = 1, 4", "do i = 1, n", f"u(i,j) = 0.5d0*u(i,j) + 0.25d0*({term})"]
    return Close(w.in_time([w.ring(w.x, "u(1,0)"), *nest, "end do", "end do"]))


def wide_halo(w: Words) -> Close:
    """The second iteration of a nest needs a message, too."""
    declared = ["real(8) :: v(5,-1:8), p(5,8)"]
    body = ["do j = 1, 8", "do i = 1, 5", "p(i,j) = v(i,j) + 0.5d0*v(i,j-2)", "end do", "end do"]
    place = w.one("v(1,0)", "v(1,-1)")
    fill = ["do j = -1, 8", "do i = 1, 5", "v(i,j) = 0.125d0*i + j + me", "end do", "end do"]
    call = w.ring("v(1,8)", place, counts=("5", "5"))
    shown = ["call fz_real8('p', p, size(p))", "call fz_real8('v', v, size(v))"]
    return Close(["p = 0", *fill, *w.in_time([call, *body])], declared=declared, shown=shown)


def rounding(w: Words) -> Close:
    """The last digits of a value depend on the bounds of the innermost loop."""
    declared = ["real(8) :: q(0:21), p(21)"]
    value = w.one("sin(q(i)) + q(i-1)", "exp(-q(i))*q(i-1)", "sin(q(i-1)) + cos(q(i))")
    loop = ["do i = 1, 21", f"p(i) = {value}", "end do"]
    call = w.ring(f"{w.x}(2)", w.one("q(0)", "q(1)"), counts=("1", "1"))
    fill = ["do i = 0, 21", "q(i) = 0.37d0*i + 0.1d0*me", "end do"]
    shown = ["call fz_real8('p', p, 21)"]
    return Close([*fill, call, *loop], declared=declared, shown=shown)


def labelled_nest(w: Words) -> Close:
    """A statement of a nest has a label, or the loop around it a name."""
    work = "u(i,j) = 0.5d0*u(i,j) + 1"
    head, label, end = ("rows: ", "", " rows") if w.chance(0.5) else ("", "40 ", "")
    nest = ["do j = 1, 4", f"{head}do i = 1, n", label + work, "end do" + end, "end do"]
    return Close(w.in_time([*nest, w.ring("u(1,4)", w.y)]), free=True)


# Blocks of collective operations

_BLOCKS = ["real(8) :: p(3,0:7), q(3,0:7)"]
_FILL = ["do r = 0, 7", "do i = 1, 3", "p(i,r) = i + 10*me + 0.5d0*r", "q(i,r) = 0", "end do",
         "end do"]  # fmt: skip
_SHOW = ["call fz_real8('p', p, 3*np)", "call fz_real8('q', q, 3*np)"]
_TWO_ARRAYS = [*_BLOCKS, "real(8) :: g(3,0:7)"]
_EXCHANGE = f"call MPI_Alltoall(p, 3, {KIND}, q, 3, {KIND}, {WORLD}, ierr)"


def blocks_in_order(w: Words) -> Close:
    """The loop over the blocks of a collective operation depends on its order."""
    add = w.one("s = 0.5d0*s + q(i,r)", "if (q(i,r) > s) t = r")
    use = ["do r = 0, np - 1", "do i = 1, 3", add, f"{w.x}(i) = {w.x}(i) + q(i,r)*0", "end do"]
    body = w.in_time([_EXCHANGE, *use, "end do"])
    return Close([*_FILL, *body], declared=_BLOCKS, shown=_SHOW)


def beside_blocks(w: Words) -> Close:
    """A statement beside the loop over blocks reads or changes what is on its way."""
    touch = w.one("p(1,0) = 7", f"{w.x}(1) = q(1,np-1)", "p(2,np-1) = -1")
    use = ["do r = 0, np - 1", "do i = 1, 3", "u(i,mod(r,5)) = q(i,r)", "end do", "end do"]
    return Close([*_FILL, *w.in_time([_EXCHANGE, touch, *use])], declared=_BLOCKS, shown=_SHOW)


def block_bounds(w: Words) -> Close:
    """What counts the iterations of the loop over the blocks is no integer of the default kind."""
    declared = [*_TWO_ARRAYS, "integer(8) :: far, last"]
    work = ["do i = 1, 3", "g(i,far) = 2*q(i,far)", "end do"]
    use = [w.one("do far = 0, np - 1", "do far = 0, last"), *work, "end do"]
    body = ["g = 0", "last = np - 1", *w.in_time([_EXCHANGE, *use])]
    return Close([*_FILL, *body], declared=declared, shown=[*_SHOW, "call fz_real8('g', g, 24)"])


MAKERS = {
    maker.__name__: maker
    for maker in (
        condition_set, condition_received, no_else, statuses, first_of_several, shorter,
        from_nobody, part_received, read_inside, stored_and_read, stored_and_left,
        stored_with_effect, stored_for_call, source_changes, message_before, bounds_again,
        buffer_behind, buffer_carried, bounds_asked, next_iteration, condition_of_wait, ordered,
        wide_halo, rounding, labelled_nest, blocks_in_order, beside_blocks,
        block_bounds,
    )
}  # fmt: skip
