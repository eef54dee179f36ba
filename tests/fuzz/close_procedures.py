"""Procedures close to what forbids to put a procedure in the place of its call."""

from __future__ import annotations

from fuzz.close_shapes import MUCH, WORK
from fuzz.closeness import WORLD, Close, Lines, Words


def _called(w: Words, body: Lines, arguments: str, declared: Lines) -> Lines:
    """A procedure that exchanges messages; it is in front of the one that calls it."""
    return [
        f"subroutine swap_{w.name}({arguments})", "use mpi", "implicit none", *declared,
        "integer :: me, np, left, right, ierr, status(MPI_STATUS_SIZE)",
        f"call MPI_Comm_rank({WORLD}, me, ierr)", f"call MPI_Comm_size({WORLD}, np, ierr)",
        "left = modulo(me - 1, np)", "right = modulo(me + 1, np)", *body,
        f"end subroutine swap_{w.name}",
    ]  # fmt: skip


_TWO = ["integer, intent(in) :: n", "real(8), intent(in) :: v(n)", "real(8), intent(inout) :: o(n)"]


def kept_variable(w: Words) -> Close:
    """A called procedure keeps a variable from call to call."""
    declared = [*_TWO, w.one("integer, save :: calls = 0", "integer :: calls = 0")]
    inner = [w.ring("v", "o"), "calls = calls + 1", "o(1) = o(1) + calls"]
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    body = [call, *WORK, call, *w.adds(w.z, w.y)]
    body = ["p = 0", *w.in_time(body), f"{w.z}(1) = sum(p)"]
    return Close(body, declared=MUCH, before=_called(w, inner, "v, o, n", declared), free=True,
                 full=True, bindings=("mpi",))  # fmt: skip


def argument_changes(w: Words) -> Close:
    """An argument is made of what the called procedure changes."""
    declared = [*_TWO, "integer :: f, g"]
    inner = ["g = g + 1", w.ring("v", "o"), "o(1) = o(1) + f", "g = g + f"]
    given = w.one("cnt + 1", "cnt - 2")
    call = f"call swap_{w.name}({w.x}, {w.y}, n, {given}, cnt)"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, free=True, full=True, bindings=("mpi",), declared=MUCH,
                 before=_called(w, inner, "v, o, n, f, g", declared))  # fmt: skip


def ways_out(w: Words) -> Close:
    """A called procedure returns in the middle of something."""
    leave = ["do me = 1, 3", "if (o(1) > me) return", "o(1) = o(1) + 1", "end do"]
    inner = [w.ring("v", "o"), *leave, "o(2) = 5"]
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, free=True, full=True, bindings=("mpi",), declared=MUCH,
                 before=_called(w, inner, "v, o, n", _TWO))  # fmt: skip


def loop_variable_seen(w: Words) -> Close:
    """A procedure inside reads the variable of a loop that only communicates."""
    inside = ["subroutine move(k)", "integer, intent(in) :: k", "integer :: ierr",
              w.ring(w.x, "u(1,k)", "k"), "cnt = cnt + 10*j", "end subroutine move"]  # fmt: skip
    return Close(["do j = 1, 2", "call move(j)", "end do", *w.loop(w.z), *w.loop(w.w)],
                 inside=inside, free=True, full=True)  # fmt: skip


def size_changes(w: Words) -> Close:
    """An array of a called procedure has another size in each iteration."""
    declared = [*_TWO, "integer, intent(in) :: m", "real(8) :: h(m)"]
    inner = ["h = 1", w.ring("v", "o"), "o(1) = o(1) + sum(h)"]
    call = f"call swap_{w.name}({w.x}, {w.y}, n, j)"
    body = ["p = 0", "do j = 1, 3", call, *WORK, "end do", f"{w.w}(1) = sum(p)"]
    return Close(body, before=_called(w, inner, "v, o, n, m", declared), free=True, full=True,
                 declared=MUCH, bindings=("mpi",))  # fmt: skip


def calls_itself(w: Words) -> Close:
    """A called procedure calls itself."""
    declared = [
        "integer, intent(in) :: n, m", "real(8), intent(inout) :: v(n), o(n)", "real(8) :: h(n)",
    ]  # fmt: skip
    inner = [
        "h = 2*v", w.ring("h", "o"), f"if (m > 1) call swap_{w.name}(o, v, n, m - 1)",
        "v = v + 0.5d0*h",
    ]  # fmt: skip
    call = f"call swap_{w.name}({w.x}, {w.y}, n, {w.one('1', '2', '3')})"
    before = _called(w, inner, "v, o, n, m", declared)
    before[0] = f"recursive {before[0]}"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, before=before, free=True, full=True, bindings=("mpi",), declared=MUCH)


def passed_twice(w: Words) -> Close:
    """One variable is passed for two dummies, of which the procedure changes one."""
    declared = [*_TWO, "real(8), intent(inout) :: h(n)"]
    change = w.one("o(3) = v(2) + h(2)", "o(3) = h(2)")
    inner = [w.ring("v", "o"), "o(2) = h(2) + 1", change, "o(1) = o(2) - h(2)"]
    call = f"call swap_{w.name}({w.x}, {w.y}, n, {w.y})"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, before=_called(w, inner, "v, o, n, h", declared), free=True, full=True,
                 bindings=("mpi",), declared=MUCH)  # fmt: skip


def other_common(w: Words) -> Close:
    """A COMMON block has other names in the called procedure, or the same in another order."""
    block = f"hold_{w.name}"
    theirs = [*_TWO, "real(8) :: two(3), one(3)", f"common /{block}/ two, one"]
    names = w.one("one, two", "one, three")
    ours = [*MUCH, "real(8) :: one(3), two(3), three(3)", f"common /{block}/ {names}"]
    inner = [w.ring("v", "o"), "two(1) = two(1) + 1", "o(1) = o(1) + one(2)"]
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    fill = ["p = 0", "one = 1 + me", "two = 2", "three = 3"]
    body = [*fill, *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, before=_called(w, inner, "v, o, n", theirs), free=True, full=True,
                 bindings=("mpi",), declared=ours,
                 shown=["call fz_real8('one', [one, two, three], 9)"])  # fmt: skip


def other_meaning(w: Words) -> Close:
    """A function of Fortran is a variable of the caller."""
    inner = [w.ring("v", "o"), "o(1) = o(1) + minval(v)"]
    declared = [*MUCH, w.one("real(8) :: minval(3)", "integer :: minval")]
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    body = ["p = 0", "minval = 2", *w.in_time([call, *WORK, *w.adds(w.w, w.y)])]
    return Close([*body, f"{w.w}(1) = sum(p) + sum([minval])"], declared=declared, free=True,
                 full=True, bindings=("mpi",),
                 before=_called(w, inner, "v, o, n", _TWO))  # fmt: skip


def construct_name(w: Words) -> Close:
    """A construct of the called procedure has the name of a variable, or of a construct around the
    call."""
    inner = [w.ring("v", "o"), "rows: do me = 2, n", "if (v(me) < 0) cycle rows",
             "o(me) = o(me) + v(me)", "end do rows"]  # fmt: skip
    call = [f"call swap_{w.name}({w.x}, {w.y}, n)", *WORK, *w.adds(w.w, w.y)]
    named, declared, fill = ["rows: do it = 1, 2", *call, "end do rows"], MUCH, "p = 0"
    if w.chance(0.5):
        named, declared, fill = call, [*MUCH, "integer :: rows"], "rows = 1"
    return Close(["p = 0", fill, *named, f"{w.w}(1) = sum(p)"], free=True, full=True,
                 bindings=("mpi",), declared=declared,
                 before=_called(w, inner, "v, o, n", _TWO))  # fmt: skip


def names_of_its_own(w: Words) -> Close:
    """The called procedure has a construct in which names mean something else."""
    inner = [w.ring("v", "o"), *w.random.choice([
        ["block", "real(8) :: np", "np = 0.5d0", "o(1) = o(1) + np", "end block"],
        ["associate (np => o(2))", "np = np + 1", "end associate"],
    ])]  # fmt: skip
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p) + np"]
    return Close(body, before=_called(w, inner, "v, o, n", _TWO), free=True, full=True,
                 bindings=("mpi",), declared=MUCH)  # fmt: skip


def long_procedure(w: Words) -> Close:
    """A called procedure has many statements."""
    inner = [
        w.ring("v", "o"),
        *[f"o({1 + k % 5}) = 0.5d0*o({1 + k % 3}) + v(2)" for k in range(260)],
    ]
    call = f"call swap_{w.name}({w.x}, {w.y}, n)"
    body = ["p = 0", *w.in_time([call, *WORK, *w.adds(w.w, w.y)]), f"{w.w}(1) = sum(p)"]
    return Close(body, before=_called(w, inner, "v, o, n", _TWO), free=True, full=True,
                 bindings=("mpi",), declared=MUCH)  # fmt: skip


MAKERS = {
    maker.__name__: maker
    for maker in (
        kept_variable, argument_changes, ways_out, loop_variable_seen, size_changes, calls_itself,
        passed_twice, other_common, other_meaning, construct_name,
        names_of_its_own, long_procedure,
    )
}  # fmt: skip
