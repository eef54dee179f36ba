"""Random procedures that exchange the halos of fields and call procedures that compute on them.

``procedure(seed, number)`` is the text of one, with what it calls.  The called procedures are too
long to be inlined in parts.  Their nests have bounds, distances and orders of any kind; in front of
them, between and behind them stand statements that may be repeated, and others that may not: of
whole arrays, of elements of the halo, of sums, of what is counted.  They see arrays of explicit or
assumed shape, pass other elements under the same name, and stand in a module, or are internal or
external procedures.
"""

from __future__ import annotations

from random import Random

from fuzz.text import free_form

Lines = list[str]
_DECLARED = [
    "use mpi", "implicit none",
    "real(8) :: u(0:n+1,0:m+1), v(0:n+1,0:m+1), w(0:n+1,0:m+1), wide(0:n+1,0:2*m+3), s",
    "integer :: me, np, left, right, i, j, k, it, ierr, r(4)",
]  # fmt: skip
_BEGIN = [
    "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)", "call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)",
    "left = merge(MPI_PROC_NULL, me - 1, me == 0)",
    "right = merge(MPI_PROC_NULL, me + 1, me == np - 1)", "s = me", "k = 2", "wide = 1",
    "do j = 0, m + 1", "do i = 0, n + 1", "u(i,j) = mod(7*i + 3*j + me, 11)*0.125d0",
    "v(i,j) = mod(i + 5*j + 2*me, 13)*0.25d0", "w(i,j) = mod(3*i + j + me, 7)*0.5d0", "end do",
    "end do",
]  # fmt: skip
_END = [
    "call fz_real8('u', u, size(u))", "call fz_real8('v', v, size(v))",
    "call fz_real8('w', w, size(w))", "call fz_real8('wide', wide, size(wide))",
    "call fz_real8('s', [s, dble(k)], 2)",
]  # fmt: skip
_ROWS = ("1, m", "1, m", "1, m", "2, m - 1", "0, m + 1", "1, m - 1", "k, m", "m, 1, -1")
_COLUMNS = ("1, n", "1, n", "1, n", "2, n - 1", "0, n + 1", "k, n")
_FILLING = ("p = {x}*0.5d0", "q = p - {x}", "if (p > q) p = q + 0.25d0", "q = 0.5d0*(p + q)")


class _Kernels:
    """The statements of one procedure, and the procedures that it calls."""

    def __init__(self, random: Random, tag: str) -> None:
        self.random = random
        self.tag = tag
        self.messages = 3
        self.home = random.choice(["module", "module", "internal", "external"])
        self.shaped = self.home != "external" and random.random() < 0.3

    def chance(self, probability: float) -> bool:
        """Whether something rare happens."""
        return self.random.random() < probability

    def terms(self, field: str, rows: str, columns: str) -> str:
        """What an iteration reads of a field, inside of it."""
        near = ["{f}(i,j)"]
        if columns != "0, n + 1":
            near += ["{f}(i-1,j)", "{f}(i+1,j)"]
        if rows != "0, m + 1":
            near += ["{f}(i,j-1)", "{f}(i,j+1)"] * 2
        chosen = self.random.sample(near, self.random.randint(1, len(near)))
        return "0.2d0*(" + " + ".join(one.format(f=field) for one in chosen) + ")"

    def nest(self) -> Lines:
        """Two loops, long enough."""
        rows, columns = self.random.choice(_ROWS), self.random.choice(_COLUMNS)
        source = self.random.choice(["b", "b", "b", "a"])
        value = self.terms(source, rows, columns)
        body = [f"x = {value}"]
        fillers = self.random.choice([1, 6, 12])
        body += [self.random.choice(_FILLING).format(x="x") for _ in range(fillers)]
        first = ["p = x", "q = x + 1"]
        last = [f"a(i,j) = x*c + 0.125d0*{self.random.choice(['p', 'q', 'x', 'b(i,j)'])}"]
        match self.random.randrange(10):
            case 0:
                last.append("s = 0.5d0*s + x")
            case 1:
                last = ["a(i,j) = 0.5d0*a(i,j) + c*x"]
            case 2 if rows != "0, m + 1":
                last = ["a(i,j) = 0.5d0*a(i,j-1) + c*x"]
            case 3:
                last.append("row(i) = x")
                last.append("a(i,j) = a(i,j) + 0.5d0*row(i)")
            case 4:
                last.append("t = x")
        return [f"do j = {rows}", f"do i = {columns}", body[0], *first, *body[1:], *last,
                "end do", "end do"]  # fmt: skip

    def once(self) -> Lines:
        """A statement outside of the nests."""
        return self.random.choice(
            [
                ["c = 0.5d0"],
                ["if (k > 1) then", "c = 0.25d0", "else", "c = 0.75d0", "end if"],
                ["c = b(1,1)*0.1d0"],
                ["c = b(1,0)*0.1d0"],
                ["c = a(1,1)*0.1d0"],
                ["c = c + 0.125d0"],
                ["a = 0"],
                ["a = 0.5d0*a"],
                ["a = b"],
                ["a(1:n,1:m) = 0.25d0*b(1:n,0:m-1)"],
                ["a(1,0:m+1) = b(1,0:m+1)"],
                ["k = 3 - k + 1"],
                ["s = s + a(1,1)"],
                ["s = s + c"],
                ["s = s + t"],
                ["if (m < 2) return"],
                ["if (b(1,1) > 100) return"],
                ["do i = 1, n", "a(i,1) = a(i,1) + 0.5d0*b(i,0)", "end do"],
                ["row = 0.5d0"],
                ["row(1:n) = b(1:n,1)", "a(1:n,m) = row(1:n)"],
            ]
        )

    def kernel(self, number: int) -> Lines:
        """A procedure that computes ``a`` of ``b``."""
        name = f"{self.tag}_k{number}"
        some = lambda most: [x for _ in range(self.random.randint(0, most)) for x in self.once()]  # noqa: E731
        nests = [x for _ in range(self.random.choice([1, 1, 2])) for x in (*self.nest(), *some(1))]
        bounds = "(0:,0:)" if self.shaped else "(0:n+1,0:m+1)"
        inside = self.random.choice(["in", "inout"])
        return [
            f"subroutine {name}(a, b, n, m, k, s)", "implicit none",
            "integer, intent(in) :: n, m", "integer, intent(inout) :: k",
            f"real(8), intent(inout) :: a{bounds}, s", f"real(8), intent({inside}) :: b{bounds}",
            "real(8) :: c, p, q, t, x, row(0:n+1)", "integer :: i, j", "c = 0.5d0", "t = 0",
            *(["row = 0"] if self.chance(0.5) else []),
            *some(2), *nests, *some(2), f"end subroutine {name}",
        ]  # fmt: skip

    def call(self, number: int) -> Lines:
        """A call of a procedure."""
        a, b = self.random.sample(["u", "v", "w"], 2)
        if self.chance(0.1):
            b = "wide(:,0:m+1)"
        elif self.chance(0.1):
            b = "wide(:,::2)"
        k = "k" if self.chance(0.9) else "j"
        return ["j = 2", f"call {self.tag}_k{number}({a}, {b}, n, m, {k}, s)"]

    def exchange(self) -> Lines:
        """Rows of the halo of a field are exchanged."""
        self.messages += 2
        f = self.random.choice(["u", "v", "w", "wide"])
        last = "m" if f != "wide" else self.random.choice(["m", "2*m+2"])
        up = [f"{f}(0,{last})", f"{f}(0,0)"], f"{self.messages}, MPI_COMM_WORLD"
        down = [f"{f}(0,1)", f"{f}(0,{last}+1)"], f"{self.messages + 1}, MPI_COMM_WORLD"
        kind = "n + 2, MPI_DOUBLE_PRECISION"
        if self.chance(0.4):
            return [
                f"call MPI_Sendrecv({x[0]}, {kind}, {to}, {end.split(',')[0]}, {x[1]}, {kind}, "
                f"{source}, {end}, MPI_STATUS_IGNORE, ierr)"
                for (x, end), to, source in ((up, "right", "left"), (down, "left", "right"))
            ]
        (x, a), (y, b) = up, down
        lines = [
            f"call MPI_Irecv({x[1]}, {kind}, left, {a}, r(1), ierr)",
            f"call MPI_Irecv({y[1]}, {kind}, right, {b}, r(2), ierr)",
            f"call MPI_Isend({x[0]}, {kind}, right, {a}, r(3), ierr)",
            f"call MPI_Isend({y[0]}, {kind}, left, {b}, r(4), ierr)",
        ]
        if self.chance(0.7):
            return [*lines, "call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ierr)"]
        return [*lines, *(f"call MPI_Wait(r({n}), MPI_STATUS_IGNORE, ierr)" for n in (2, 1, 4, 3))]

    def other(self) -> Lines:
        """Work of the procedure itself."""
        a, b = self.random.sample(["u", "v", "w"], 2)
        return ["do j = 1, m", "do i = 1, n", f"{a}(i,j) = 0.5d0*{a}(i,j) + 0.25d0*{b}(i,j)",
                "end do", "end do"]  # fmt: skip

    def text(self) -> str:
        """The whole text."""
        kernels = [self.kernel(number) for number in range(self.random.choice([1, 2]))]
        body: Lines = []
        for _ in range(self.random.randint(1, 3)):
            calls = [self.call(self.random.randrange(len(kernels))) for _ in range(2)]
            parts = [self.exchange(), *calls[: self.random.choice([1, 1, 2])]]
            if self.chance(0.3):
                self.random.shuffle(parts)
            body += [line for part in parts for line in part]
            body += self.other() if self.chance(0.4) else []
        if self.chance(0.7):
            body = ["do it = 1, 2", *body, "end do"]
        n, m = self.random.choice([(9, 8), (5, 4), (40, 3), (3, 2), (7, 1)])
        sizes = [f"integer, parameter :: n = {n}, m = {m}"]
        all_ = [line for kernel in kernels for line in kernel]
        before = after = inside = list[str]()
        used: Lines = []
        match self.home:
            case "module":
                hidden = self.chance(0.4)
                names = ", ".join(f"{self.tag}_k{k}" for k in range(len(kernels)))
                listed = ["private", f"public :: {names}"] if hidden else []
                before = [f"module {self.tag}_m", "implicit none", *listed, "contains", *all_,
                          f"end module {self.tag}_m"]  # fmt: skip
                used = [f"use {self.tag}_m" + (f", only: {names}" if self.chance(0.5) else "")]
            case "internal":
                inside = ["contains", *all_]
            case _:
                after = all_
        head = [f"subroutine {self.tag}", _DECLARED[0], *used, _DECLARED[1], *sizes]
        lines = [*before, *head, *_DECLARED[2:], *_BEGIN, *body, *_END, *inside,
                 f"end subroutine {self.tag}", *after]  # fmt: skip
        return free_form(lines)


def procedure(seed: int, number: int) -> tuple[str, str]:
    """File and text of a procedure that exchanges halos and calls procedures."""
    tag = f"k{number}"
    random = Random(f"{seed}/{number}/kernels")
    return f"{tag}.f90", _Kernels(random, tag).text()
