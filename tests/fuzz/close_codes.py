"""Procedures close to what forbids to take error codes for MPI_SUCCESS."""

from __future__ import annotations

from fuzz.closeness import KIND, WORLD, Close, Lines, Words

_COUNTS = ("if (ierr /= 0) s = s + 1", "if (ierr /= MPI_SUCCESS) cnt = cnt + 1")


def errors_returned(w: Words) -> Close:
    """A call fails, and returns that."""
    handler = f"call MPI_Comm_set_errhandler({WORLD}, {{}}, ierr)"
    fails = f"call MPI_Send({w.x}, n, {KIND}, np + 7, {w.tag}, {WORLD}, ierr)"
    body = [*w.nothing([w.ring(w.x, w.y)]), fails, *w.loop(w.z), w.one(*_COUNTS)]
    begin, end = (handler.format(f"MPI_ERRORS_{how}") for how in ("RETURN", "ARE_FATAL"))
    return Close([begin, *w.in_time(body), end], bindings=("mpi",))


def _waiting(w: Words, other: Lines) -> Lines:
    """A wait in front of what gives the code another value, which is read behind work."""
    waits = [f"call MPI_Wait(req({n}), MPI_STATUS_IGNORE, ierr)" for n in (1, 2)]
    body = [*w.started(w.x, w.y), waits[0], *other, *w.loop(w.z), *w.adds(w.w, w.y)]
    return w.in_time([*body, w.one(*_COUNTS), waits[1]])


def code_assigned(w: Words) -> Close:
    """A variable for error codes gets another value."""
    return Close(_waiting(w, [w.one("ierr = 7", "ierr = n")]))


def code_given(w: Words) -> Close:
    """A procedure gives a variable for error codes another value."""
    give = [
        f"subroutine give_{w.name}(n, code)", "implicit none", "integer :: n, code",
        "code = 0", w.one("if (n > 3) code = 3", "code = n"), f"end subroutine give_{w.name}",
    ]  # fmt: skip
    return Close(_waiting(w, [f"call give_{w.name}(n, ierr)"]), before=give, free=True)


def code_looked_at(w: Words) -> Close:
    """A procedure that looks at a code does more than that."""
    look = [
        f"subroutine look_{w.name}(code, v)", "implicit none", "integer :: code", "real(8) :: v",
        w.one("v = v + 1", "if (v > 0) v = 0.5d0*v - 1"), "if (code /= 0) stop 3",
        f"end subroutine look_{w.name}",
    ]  # fmt: skip
    call = f"call look_{w.name}(ierr, {w.x}(1))"
    body = [w.ring(w.w, w.y), call, *w.loop(w.z), w.ring(w.x, w.w, 1 + w.tag)]
    return Close(w.in_time(body), before=look, free=True)


def other_reason(w: Words) -> Close:
    """Something is done in case of an error, and for another reason."""
    condition = w.one("ierr /= 0 .or. me >= 0", "n > 3 .or. ierr /= MPI_SUCCESS")
    done = f"if ({condition}) s = s + {w.y}(1)"
    return Close(w.in_time([w.ring(w.x, w.y), done, *w.loop(w.z), *w.adds(w.w, w.y)]), rings=True)


MAKERS = {
    maker.__name__: maker
    for maker in (errors_returned, code_assigned, code_given, code_looked_at, other_reason)
}
