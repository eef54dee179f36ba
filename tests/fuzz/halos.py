"""Random procedures that compute nests on a field with a halo, exchange its edges, and do
collective operations in between.

``procedure(seed, number)`` is the text of one, as ``exchanges.procedure`` gives it.  Nests stand
before and behind the exchanges, with bounds that leave edges out or not, in orders that matter or
do not; edges are packed into buffers, which may be components, or sent in place, as elements or as
one of a derived datatype; several operations are waited for at once or one by one, and what is
received is unpacked or lands in place.  Sizes are constants, or variables that the procedure sets,
some of which change on the way.
"""

from __future__ import annotations

import re
from random import Random

from fuzz.codes import Code
from fuzz.structures import structured
from fuzz.text import free_form

HEAD = """\
subroutine {name}
  use mpi
{uses}  implicit none
  integer, parameter :: n = {n}, m = {m}
  type :: edges
    integer :: length
    real(8) :: low(n), high(n)
    real(8), allocatable :: west(:), east(:)
  end type edges
  type :: neighbour
    integer :: rank, length
  end type neighbour
  type(edges) :: e, f
  type(neighbour) :: near(2)
  real(8), allocatable :: grown(:)
  real(8) :: u(0:n+1, 0:m+1), v(0:n+1, 0:m+1), w(n), x(n), y(n), s, t
  integer :: me, np, left, right, i, j, k, it
{declared}  integer :: r(4), row, column, rows

  call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Type_vector(m, 1, n + 2, MPI_DOUBLE_PRECISION, row, ierr)
  call MPI_Type_commit(row, ierr)
  call MPI_Type_vector(m, min(2, (n + 1)/2), n + 2, MPI_DOUBLE_PRECISION, rows, ierr)
  call MPI_Type_commit(rows, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = {left}
  right = {right}
  if (np == 1) left = MPI_PROC_NULL
  if (np == 1) right = MPI_PROC_NULL
  allocate(e%west(m), e%east(m), f%west(m), f%east(m))
  e%length = n
  f%length = m
  e%low = me
  e%high = -me
  e%west = 0.25d0*me
  e%east = 1
  f%low = 2
  f%high = me + 3
  f%west = -1
  f%east = 0.5d0
  near(1)%rank = left
  near(2)%rank = right
  near(1)%length = n
  near(2)%length = m
  s = me
  t = 0
  k = 2
  grown = [s, t]
  do j = 0, m + 1
    do i = 0, n + 1
      u(i,j) = mod(7*i + 3*j + me, 11)*0.125d0
      v(i,j) = mod(i + 5*j + 2*me, 13)*0.25d0
    end do
  end do
  do i = 1, n
    w(i) = i + me
    x(i) = 0.5d0*i
    y(i) = me - i
  end do
"""
TAIL = """\
  call MPI_Type_free(column, j)
  call MPI_Type_free(row, j)
  call MPI_Type_free(rows, j)
  call fz_real8('u', u, size(u))
  call fz_real8('v', v, size(v))
  call fz_real8('w', w, n)
  call fz_real8('x', x, n)
  call fz_real8('y', y, n)
  call fz_real8('e', [e%low, e%high, e%west, e%east], 2*n + 2*m)
  call fz_real8('f', [f%low, f%high, f%west, f%east], 2*n + 2*m)
  call fz_real8('grown', grown, size(grown))
  call fz_real8('s', [s, t, dble(k)], 3)
end subroutine {name}
"""
NEIGHBOURS = (
    ("modulo(me - 1, np)", "modulo(me + 1, np)"),
    ("merge(MPI_PROC_NULL, me - 1, me == 0)", "merge(MPI_PROC_NULL, me + 1, me == np - 1)"),
)
_ROWS = ("1, m", "1, m", "2, m - 1", "1, m - 1", "max(1, k - 1), m", "2, m", "m, 1, -1")
_COLUMNS = ("1, n", "1, n", "2, n - 1", "1, n - 1", "2, n")
Lines = list[str]
Side = tuple[Lines, str, str, str]
"""What is packed, sent, received into, and how much of what: the arguments of a call."""


_DECLARED = "  real(8) :: u(0:n+1, 0:m+1), v(0:n+1, 0:m+1), "
_SET = "  allocate(e%west(m)"
_WORD = re.compile(r"\b[nm]\b")
_VARIABLES = {"n": "nu", "m": "mu"}
_BEGUN = ("{size}", "max(1, {size})", "{size}*np/np", "{size} + 0*me")
_CHANGED = (
    ["mu = max(1, mu - 1)"],
    ["nu = max(1, nu - 1)"],
    ["if (mu > 2) mu = mu - k + 1"],
    ["call MPI_Bcast(mu, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)"],
)


class Halos:
    """The statements of one procedure."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tags = 3

    def nest(self) -> Lines:
        """Two loops over a field."""
        a, b = self.random.sample(["u", "v"], 2)
        near = [f"{b}(i-1,j)", f"{b}(i+1,j)", f"{b}(i,j-1)", f"{b}(i,j+1)", f"{b}(i,j)"]
        terms = self.random.sample(near, self.random.randint(1, 4))
        value = "0.25d0*(" + " + ".join(terms) + ")"
        target = f"{a}(i,j)"
        body = [f"{target} = {value}"]
        match self.random.randrange(9):
            case 0:
                body = [f"{a}(i,j) = {a}(i,j)*0.5d0 + {value}"]
            case 1:
                body = [f"t = {value}", f"{a}(i,j) = t + {a}(i,j)"]
            case 2:
                body = [f"{a}(i,j) = {a}(i,j-1)*0.5d0 + {value}"]
            case 3:
                body = [f"{a}(i,j) = {value}", f"s = s*0.5d0 + {a}(i,j)"]
            case 4:
                body = [f"if ({b}(i,j) > 1) cycle", *body]
            case 5:
                body = [f"w(i) = {value}", f"{a}(i,j) = w(i)*0.5d0"]
        rows, columns = self.random.choice(_ROWS), self.random.choice(_COLUMNS)
        return [f"do j = {rows}", f"do i = {columns}", *body, "end do", "end do"]

    def loop(self) -> Lines:
        """One loop, or a statement."""
        a = self.random.choice(["w(i)", "x(i)", "y(i)", "e%low(i)", "f%high(i)", "u(i,2)"])
        b = self.random.choice(["w(i)", "x(i)", "y(n+1-i)", "e%high(i)", "f%low(i)", "v(i,1)"])
        if self.random.random() < 0.2:
            return [self.random.choice(["f = e", "k = 3 - k + 1", "s = s + sum(w)", "e%low = w"])]
        return ["do i = 1, n", f"{a} = 0.5d0*{a} + {b}", "end do"]

    def exchange(self) -> Lines:
        """Edges go to both neighbours."""
        self.tags += 2
        field = self.random.choice(["u", "v"])
        columns = self.random.random() < 0.5
        sides = [self.side(field, columns, n) for n in (0, 1)]
        both = self.random.sample(sides, self.random.choice([1, 2, 2]))
        style = self.random.choice(["sendrecv", "waitall", "waits", "pairs"])
        lines = [line for packed, _, _, _ in both for line in packed]
        pairs = [("right", "left"), ("left", "right")]
        if style == "sendrecv":
            for number, (_, sent, got, count) in enumerate(both):
                to, source = pairs[number]
                lines.append(
                    f"call MPI_Sendrecv({sent}, {count}, {to}, {self.tags + number}, "
                    f"{got}, {count}, {source}, {self.tags + number}, "
                    "MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"
                )
        elif style == "pairs":
            sends, takes = [], []
            for number, (_, sent, got, count) in enumerate(both):
                to, source = pairs[number]
                end = f"{self.tags + number}, MPI_COMM_WORLD"
                sends.append(f"call MPI_Send({sent}, {count}, {to}, {end}, ierr)")
                takes.append(
                    f"call MPI_Recv({got}, {count}, {source}, {end}, MPI_STATUS_IGNORE, ierr)"
                )
            # one message after the other, so that a ring has a rank that receives first
            lines += [
                line
                for send, take in zip(sends, takes, strict=True)
                for line in ("if (mod(me, 2) == 0) then", send, take, "else", take, send, "end if")
            ]
        else:
            lines += self.started(both, pairs, style)
        if self.random.random() < 0.4:
            lines += self.loop()
        return [*lines, *self.unpacked(both, field, columns)]

    def started(self, both: list[Side], pairs: list[tuple[str, str]], style: str) -> Lines:
        """Starts, something in between, and waits."""
        lines: Lines = []
        requests: list[str] = []
        for number, (_, sent, got, count) in enumerate(both):
            to, source = pairs[number]
            end = f"{self.tags + number}, MPI_COMM_WORLD"
            for call, buffer, peer in (("Irecv", got, source), ("Isend", sent, to)):
                requests.append(f"r({len(requests) + 1})")
                lines.append(
                    f"call MPI_{call}({buffer}, {count}, {peer}, {end}, {requests[-1]}, ierr)"
                )
        if self.random.random() < 0.5:
            lines += ["do i = 1, n", "y(i) = y(i) + 0.5d0", "end do"]
        if style == "waitall":
            return [*lines, f"call MPI_Waitall({len(requests)}, r, MPI_STATUSES_IGNORE, ierr)"]
        order = self.random.sample(requests, len(requests))
        return [*lines, *(f"call MPI_Wait({one}, MPI_STATUS_IGNORE, ierr)" for one in order)]

    def side(self, field: str, columns: bool, number: int) -> Side:
        """One of the edges of a field."""
        near, far = (("m", "0"), ("1", "m+1"))[number]
        plain = "MPI_DOUBLE_PRECISION"
        if not columns:
            if self.random.random() < 0.4:  # a column lies in one piece: as it is
                count = self.random.choice([f"n, {plain}", "1, column"])
                return [], f"{field}(1,{near})", f"{field}(1,{far})", count
            sent, got = self.random.choice(
                [("w", "x"), ("e%low", "e%high"), ("f%low", "e%high"), ("w", "e%low")]
            )
            if number:
                sent, got = {"w": "f%high", "e%low": "f%low", "f%low": "f%high"}[sent], "y"
            packed = ["do i = 1, n", f"{sent}(i) = {field}(i,{near})", "end do"]
            return packed, sent, got, f"n, {plain}"
        near, far = (("n", "0"), ("1", "n+1"))[number]
        if self.random.random() < 0.4:
            if self.random.random() < 0.2:  # two rows: the second is none of the halo, or the first
                near, far = (
                    ("n - min(2, (n + 1)/2) + 1", "0")
                    if number == 0
                    else ("1", "n+2 - min(2, (n + 1)/2)")
                )
                return [], f"{field}({near},1)", f"{field}({far},1)", "1, rows"
            return [], f"{field}({near},1)", f"{field}({far},1)", "1, row"
        sent, got = (("e%west", "e%east"), ("f%west", "f%east"))[number]
        return ["do j = 1, m", f"{sent}(j) = {field}({near},j)", "end do"], sent, got, f"m, {plain}"

    def unpacked(self, both: list[Side], field: str, columns: bool) -> Lines:
        """What came goes around the field."""
        lines: Lines = []
        for number, (packed, _, got, _) in enumerate(both):
            if packed and columns:
                halo = ("0", "n+1")[number]
                lines += ["do j = 1, m", f"{field}({halo},j) = {got}(j)", "end do"]
            elif packed:
                halo = ("0", "m+1")[number]
                lines += ["do i = 1, n", f"{field}(i,{halo}) = {got}(i)", "end do"]
        return lines

    def together(self) -> Lines:
        """A collective operation."""
        kind = "MPI_DOUBLE_PRECISION"
        return [
            self.random.choice(
                [
                    f"call MPI_Bcast(x, n, {kind}, 0, MPI_COMM_WORLD, ierr)",
                    f"call MPI_Bcast(e%west, m, {kind}, np - 1, MPI_COMM_WORLD, ierr)",
                    f"call MPI_Allreduce(w, y, n, {kind}, MPI_MAX, MPI_COMM_WORLD, ierr)",
                    f"call MPI_Reduce(x, w, n, {kind}, MPI_MIN, 0, MPI_COMM_WORLD, ierr)",
                    "call MPI_Barrier(MPI_COMM_WORLD, ierr)",
                ]
            )
        ]

    def body(self) -> Lines:
        """Some of all of it."""
        lines: Lines = []
        for _ in range(self.random.randint(1, 2)):
            for _ in range(self.random.randint(1, 2)):
                lines += self.nest() if self.random.random() < 0.7 else self.loop()
            lines += self.together() if self.random.random() < 0.25 else []
            lines += self.exchange()
            for _ in range(self.random.randint(1, 2)):
                lines += self.nest() if self.random.random() < 0.8 else self.loop()
        if self.random.random() < 0.4:
            lines = ["do it = 1, 2", *lines, "end do"]
        return lines


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"halos/{seed}/{number}")
    tag = f"h{number}"
    left, right = random.choice(NEIGHBOURS)
    n, m = random.randint(1, 6), random.randint(1, 6)
    coding = Random(f"halos/{seed}/{number}/code")
    code = Code.chosen(coding, tag)
    statements, head = Halos(random).body(), HEAD
    sizes = Random(f"halos/{seed}/{number}/sizes")
    if sizes.random() < 0.5:
        statements, head = in_variables(statements, sizes)
    else:
        statements = structured(statements, Random(f"halos/{seed}/{number}/structures"))
    body = code.body(statements, coding)
    return f"{tag}.f90", framed(code, body, head, n=str(n), m=str(m), left=left, right=right)


def in_variables(statements: Lines, random: Random) -> tuple[Lines, str]:
    """The same statements and declarations with sizes that are variables, set before all of them;
    some become smaller on the way."""
    head = HEAD
    begun = [
        f"  {name} = {random.choice(_BEGUN).format(size=size)}\n"
        for size, name in _VARIABLES.items()
    ]
    if random.random() < 0.5:
        allocatable = "  real(8), allocatable :: u(:,:), v(:,:)\n  real(8) :: "
        head = head.replace(_DECLARED, allocatable)
        begun.append("  allocate(u(0:nu+1, 0:mu+1), v(0:nu+1, 0:mu+1))\n")
    head = head.replace("integer :: me,", "integer :: nu, mu, me,")
    head = head.replace(_SET, "".join(begun) + _SET)
    changing = random.choice([0.0, 0.0, 0.1, 0.2])
    lines: Lines = []
    depth = 0  # of loops that work, and of branches that only some ranks take
    for line in statements:
        if depth == 0 and random.random() < changing and not line.startswith("end"):
            lines += random.choice(_CHANGED)
        if line != "do it = 1, 2":
            depth += line.startswith("do ") or (line.startswith("if ") and line.endswith("then"))
            depth -= line.startswith("end ") and depth > 0
        lines.append(_WORD.sub(lambda found: _VARIABLES[found[0]], line))
    return lines, head


def framed(code: Code, body: Lines, beginning: str = HEAD, **values: str) -> str:
    """The text of a procedure with these statements."""
    uses, declared = ("".join(f"{line}\n" for line in part) for part in (code.uses, code.declared))
    name = f"{code.name}{code.arguments()}"
    head = beginning.format(name=name, uses=uses, declared=declared, **values).splitlines()
    lines = [*code.before, *code.around, *head, *body, *TAIL.format(name=code.name).splitlines()]
    return free_form(line.strip() for line in lines)
