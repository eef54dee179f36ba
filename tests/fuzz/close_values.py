"""Procedures close to what keeps statements in order: values, names, effects, and requests."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Words

_WAIT = "call MPI_Wait(req({}), MPI_STATUS_IGNORE, ierr)"


def needs_message(w: Words) -> Close:
    """Work needs what a receive brings, or changes what a send takes."""
    body = [w.ring(w.x, w.y), *w.random.choice([w.adds(w.z, w.y), w.loop(w.x)]), *w.loop(w.w)]
    return Close(w.in_time([*w.nothing(w.adds(w.x, w.y)), *body]))


def own_wait(w: Words) -> Close:
    """Work needs what a wait of the program's own completes."""
    lines = [*w.started(w.x, w.y), *w.nothing(w.loop(w.z)), _WAIT.format(1), *w.adds(w.w, w.y)]
    return Close(w.in_time([*lines, _WAIT.format(2), *w.loop(w.z)]))


def beyond(w: Words) -> Close:
    """A message reaches over the next array of a common block."""
    sent = "u(1,1)"
    call = w.ring(sent, "a", counts=("2*n", "2*n"))
    return Close(
        w.in_time([call, *w.adds(w.one("c", "d"), "b"), *w.loop("d")]), storages=("common",)
    )


def columns(w: Words) -> Close:
    """A message has more than one column of an array."""
    call = w.ring("u(1,0)", "u(1,2)", counts=("2*n", "2*n"))
    use = ["do i = 1, n", f"{w.x}(i) = {w.x}(i) + u(i,3)", "end do"]
    return Close(w.in_time([*w.nothing(w.loop(w.z)), call, *w.nothing(w.loop(w.z)), *use]))


def carried_scalar(w: Words) -> Close:
    """A scalar takes a value from one loop to the other."""
    first = ["do i = 1, n", f"t = t*0.5d0 + {w.y}(i)", "end do"]
    second = ["do i = 1, n", f"{w.z}(i) = {w.z}(i) + t", "end do"]
    return Close(w.in_time([w.ring(w.x, w.y), *first, *second]))


def read_before(w: Words) -> Close:
    """A scalar is read before the loop that is the next one to set it."""
    first = ["do i = 1, n", f"{w.w}(i) = {w.w}(i) + {w.y}(i) + h", "end do"]
    second = ["do i = 1, n", f"h = 0.5d0*{w.z}(i)", f"{w.z}(i) = {w.z}(i) + h", "end do"]
    body = ["h = 3", w.ring(w.x, w.y), *first, *second]
    return Close(w.in_time(body), declared=["real(8) :: h"])


def read_behind(w: Words) -> Close:
    """A scalar is read behind the loop that is the last to set it."""
    first = ["do i = 1, n", f"t = {w.y}(i)", f"{w.w}(i) = {w.w}(i) + t", "end do"]
    second = ["do i = 1, n", f"t = 0.5d0*{w.z}(i)", f"{w.z}(i) = {w.z}(i) + t", "end do"]
    return Close(w.in_time([w.ring(w.x, w.y), *first, *second, "s = s + t"]))


def seen_inside(w: Words) -> Close:
    """The same, where a procedure inside reads the scalar."""
    inside = ["real(8) function half()", "half = 0.5d0*t", "end function half"]
    first = ["do i = 1, n", f"t = {w.y}(i)", f"{w.w}(i) = {w.w}(i) + t", "end do"]
    second = ["do i = 1, n", f"t = 0.5d0*{w.z}(i)", f"{w.z}(i) = {w.z}(i) + t", "end do"]
    return Close(w.in_time([w.ring(w.x, w.y), *first, *second, "s = s + half()"]), inside=inside)


def second_name(w: Words) -> Close:
    """What is received has another name, too."""
    read = ["do i = 1, 5", f"{w.z}(i) = 0.5d0*{w.z}(i) + p(i)", "end do"]
    kinds = {
        "pointer": (["real(8), target :: q(9)", "real(8), pointer :: p(:)"], ["p => q"]),
        "equivalence": (["real(8) :: q(9), p(9)", "equivalence (q, p)"], []),
    }
    declared, begin = kinds[w.one(*kinds)]
    body = w.in_time([w.ring(w.x, "q", counts=("n", "n")), *w.nothing(w.loop(w.w)), *read])
    return Close(["q = 1", *begin, *body], declared=declared)


def leaves(w: Words) -> Close:
    """A statement between leaves the loop, or goes on with it."""
    jump = f"if ({w.y}(1) > 1d9 .or. it > 1) {w.one('exit', 'cycle')}"
    body = [*w.started(w.x, w.y), *map(_WAIT.format, (1, 2)), jump, *w.loop(w.z)]
    return Close(["do it = 1, 3", *body, "end do", *w.nothing(w.adds(w.w, w.y))])


def prints(w: Words) -> Close:
    """Two statements print, each in its turn."""
    first = [f"if (me == 0) print *, 'received', {w.y}(1)"]
    loop = ["do i = 1, n", f"{w.z}(i) = {w.z}(i)*0.5d0", f"if (me == 0) print *, 'z', {w.z}(i)"]
    return Close(w.in_time([w.ring(w.x, w.y), *first, *loop, "end do"]))


def unseen_call(w: Words) -> Close:
    """A procedure that is not given changes what a common block holds."""
    declared = ["real(8) :: held(9)", "common /fz_held/ held"]
    work = w.random.choice([[], w.loop(w.z)])
    body = [w.ring(w.x, "held"), *work, "call fz_more()", *w.loop(w.w)]
    return Close(["held = 1", *w.in_time(body), "s = s + sum(held(1:n))"], declared=declared)


def kept_state(w: Words) -> Close:
    """Two statements draw numbers from a procedure that keeps its state, each in its turn."""
    name = f"next_{w.name}"
    before = [
        f"subroutine {name}(v)", "implicit none", "real(8), intent(out) :: v",
        "integer, save :: state = 5", "state = mod(31*state + 7, 1009)", "v = state",
        f"end subroutine {name}",
    ]  # fmt: skip
    first = [f"call {name}({w.y}(1))"]
    loop = ["do i = 1, n", f"call {name}(p)", f"{w.z}(i) = {w.z}(i) + p", "end do"]
    body = w.in_time([w.ring(w.x, w.y), *first, *loop])
    return Close(body, declared=["real(8) :: p"], before=before)


def target_of_jump(w: Words) -> Close:
    """A loop has a label, to which a statement in front of the message may go."""
    loop = ["30 do i = 1, n", f"{w.z}(i) = {w.z}(i)*0.5d0 + i", "end do"]
    condition = w.one("cnt == 1", "it > 1")
    body = [f"if ({condition}) goto 30", w.ring(w.x, w.y), f"s = s + {w.y}(1)", *loop]
    return Close(["do it = 1, 2", *body, "cnt = 1", "end do"], free=True)


def one_line(w: Words) -> Close:
    """Two statements stand on a line, one of which sends or receives."""
    call = w.ring(w.x, w.y)
    line = w.one(f"t = 2; {call}", f"{call}; t = 2", f"{w.z} = 2*{w.z}; {call}; t = 3")
    return Close(w.in_time([line, *w.loop(w.w), f"s = s + {w.y}(1)*t"]), free=True)


def started_elsewhere(w: Words) -> Close:
    """A wait is for what another procedure has started."""
    tag, mine = w.tag, f"pend_{w.name}"
    before = [
        f"module hold{mine}", f"integer :: {mine}", f"end module hold{mine}",
        f"subroutine begin{mine}(v, m, from)", "use mpi", f"use hold{mine}", "implicit none",
        "integer, intent(in) :: m, from", "real(8) :: v(m)", "integer :: ierr",
        "integer, save :: calls = 0", "calls = calls + 1",
        f"call MPI_Irecv(v, m, {KIND}, from, {tag}, {WORLD}, {mine}, ierr)",
        f"end subroutine begin{mine}",
    ]  # fmt: skip
    body = [
        f"call begin{mine}({w.y}, n, left)", w.send(w.x), w.ring(w.w, "u(1,1)", 11),
        f"call MPI_Wait({mine}, MPI_STATUS_IGNORE, ierr)", "s = s + u(1,1)", *w.adds(w.z, w.y),
    ]  # fmt: skip
    return Close(w.in_time(body), uses=[f"use hold{mine}"], before=before, bindings=("mpi",))


def other_subscript(w: Words) -> Close:
    """The subscript of a buffer changes before its wait."""
    use = ["do i = 1, n", f"{w.z}(i) = 0.5d0*{w.z}(i) + u(i,j-1)", "end do"]
    work = w.nothing(w.loop(w.w))
    lines = [*w.started(w.x, "u(1,j)"), "j = j + 1", *work, _WAIT.format(1), *use]
    return Close(["j = 0", *w.in_time([*lines, _WAIT.format(2)])])


MAKERS = {
    maker.__name__: maker
    for maker in (
        needs_message, own_wait, beyond, columns, carried_scalar, read_before,
        read_behind, seen_inside,
        second_name, leaves, prints, unseen_call, kept_state, target_of_jump, one_line,
        started_elsewhere, other_subscript,
    )
}  # fmt: skip
