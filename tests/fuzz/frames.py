"""What stands around the statements of a random procedure: where its arrays are, which form and
binding it has, and procedures inside of it that see its arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from fuzz.codes import Code

STORAGES = ("local", "local", "allocatable", "common", "module", "dummy")
_SIZES = "integer, parameter :: n = {n}"
_PLAIN = "real(8) :: a(n), b(n), c(n), d(n), u(n, 0:4)"
_DECLARATIONS = {
    "local": (_SIZES, _PLAIN),
    "allocatable": (
        _SIZES,
        "real(8), allocatable :: a(:), b(:), c(:), d(:), u(:,:)",
    ),
    "common": (_SIZES, _PLAIN, "common /blk_{tag}/ a, b, c, d, u"),
    "module": (),
    "dummy": (
        "integer, intent(in) :: n",
        "real(8), intent(inout) :: a(n), b(n), c(n), d(n), u(n, 0:4)",
    ),
}
_SCALARS = (
    "real(8) :: s, t",
    "integer :: me, np, left, right, i, j, it, r, cnt",
    "integer :: status(MPI_STATUS_SIZE), req(4)",
)
_BEGIN = """\
call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
left = {left}
right = {right}
if (np == 1) left = MPI_PROC_NULL
if (np == 1) right = MPI_PROC_NULL
s = me
t = 1
cnt = 0
do i = 1, n
a(i) = i + me
b(i) = 2*i - me
c(i) = 0.5d0*i
d(i) = me - 0.25d0*i
end do
u = me
"""
_END = """\
call fz_real8('a', a, n)
call fz_real8('b', b, n)
call fz_real8('c', c, n)
call fz_real8('d', d, n)
call fz_real8('u', u, size(u))
call fz_real8('s', [s + cnt, t], 2)
"""
_BLEND = """\
subroutine blend_{tag}(x, y, m)
implicit none
integer, intent(in) :: m
real(8), intent(inout) :: x(m)
real(8), intent(in) :: y(m)
integer :: k
do k = 1, m
x(k) = 0.5d0*(x(k) + y(k))
end do
end subroutine blend_{tag}
"""


@dataclass(frozen=True)
class Frame:
    """One choice of all of it; ``inside``: the procedures that it contains, as lines.

    ``uses``, ``declared``: further lines of the specification; ``before``: program units in front;
    ``shown``: what is printed at the end beside the arrays; ``nobody``: a rank that is alone has
    MPI_PROC_NULL for its neighbours, and is its own one otherwise.  ``code``: where its error code
    is.
    """

    tag: str
    n: int
    left: str
    right: str
    storage: str
    binding: str  # mpi | mpif.h
    fixed: bool
    inside: tuple[str, ...]
    uses: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    nobody: bool = True
    code: Code = field(default_factory=lambda: Code("", "local"))

    def text(self, body: list[str]) -> str:
        """The whole procedure around some statements."""
        names = {"tag": self.tag, "n": self.n, "left": self.left, "right": self.right}
        use = ("use mpi",) if self.binding == "mpi" else ()
        brings = ("include 'mpif.h'",) if self.binding != "mpi" else ()
        lines = [*self.before, *(line.format(**names) for line in self._before())]
        arrays = ("a", "b", "c", "d", "u", "n") if self.storage == "dummy" else ()
        name = f"work_{self.tag}" if self.storage == "dummy" else self._name
        lines += [f"subroutine {name}{self.code.arguments(*arrays)}", *use, *self.code.uses]
        if self.storage == "module":
            lines.append(f"use hold_{self.tag}")
        lines += [*self.uses, "implicit none", *brings]
        lines += [line.format(**names) for line in _DECLARATIONS[self.storage]]
        lines += [*_SCALARS, *self.code.declared, *self.declared]
        if self.storage == "allocatable":
            lines.append("allocate(a(n), b(n), c(n), d(n), u(n, 0:4))")
        begin = _BEGIN.format(**names).splitlines()
        lines += [line for line in begin if self.nobody or not line.startswith("if (np == 1)")]
        lines += [*body, *_END.splitlines(), *self.shown]
        if self.inside:
            lines += ["contains", *self.inside]
        lines.append(f"end subroutine {name}")
        lines += _BLEND.format(**names).splitlines()
        return _fixed(lines) if self.fixed else _free(lines)

    @property
    def _name(self) -> str:
        return self.code.name or self.tag

    def _before(self) -> tuple[str, ...]:
        """What stands in front of the procedure: the module or the caller with its arrays."""
        code = self.code
        lines = (*code.before, *code.around)
        if self.storage == "module":
            module = "module hold_{tag}", "implicit none", _SIZES, _PLAIN, "end module hold_{tag}"
            return (*lines, *module)
        if self.storage != "dummy":
            return lines
        given = code.arguments("a", "b", "c", "d", "u", "n")
        declared = code.declared if code.where == "passed" else ()
        return (
            *lines, f"subroutine {self._name}{code.arguments()}", "implicit none", _SIZES, _PLAIN,
            *declared, f"call work_{{tag}}{given}", f"end subroutine {self._name}",
        )  # fmt: skip


def inner_procedures(random: Random, arrays: tuple[str, ...]) -> tuple[str, ...]:
    """Procedures that see the arrays of their host: ``touch(k)`` changes one, ``peek(k)`` reads
    one, and sometimes its error code or a variable of the same name as one of the host's."""
    x, y, z = (random.choice(arrays) for _ in range(3))
    own = random.choice([(), ("integer :: ierr",), ("real(8) :: t",)])
    uses = {(): (), ("integer :: ierr",): ("ierr = k",), ("real(8) :: t",): ("t = k",)}[own]
    reads = ("if (ierr /= 0) cnt = cnt + 1",) if random.random() < 0.15 else ()
    writes = random.choice([f"{x}(k) = 0.5d0*{y}(k) + 1", f"{x}(k) = {x}(k) + 0.25d0", "s = s + k"])
    return (
        "subroutine touch(k)",
        "integer, intent(in) :: k",
        *own,
        *uses,
        *(reads if not own else ()),
        writes,
        "end subroutine touch",
        "real(8) function peek(k)",
        "integer, intent(in) :: k",
        f"peek = 0.5d0*{z}(k)",
        "end function peek",
    )


def _free(lines: list[str]) -> str:
    depth, found = 0, []
    for line in lines:
        if line.startswith(("end", "else", "contains")):
            depth -= 1
        found.append(_folded("  " * max(depth, 0) + line))
        opens = line.startswith(("do ", "else", "subroutine", "module ", "contains"))
        if opens or line.endswith("then") or (" function " in line and not line.startswith("end")):
            depth += 1
    return "".join(found)


def _folded(line: str) -> str:
    """A statement on lines of at most 100 columns."""
    parts: list[str] = []
    while len(line) > 100:
        at = line.rindex(", ", 0, 96) + 2
        parts.append(line[:at] + "&")
        line = "      " + line[at:]
    return "\n".join([*parts, line]) + "\n"


def _fixed(lines: list[str]) -> str:
    """In fixed form: statements in columns 7 to 72, continued where a comma stands."""
    found = []
    for line in lines:
        rest, mark = line, " "
        while len(rest) > 66:
            at = rest.rindex(",", 0, 65) + 1
            found.append(f"     {mark}{rest[:at]}\n")
            rest, mark = rest[at:].lstrip(), "&"
        found.append(f"     {mark}{rest}\n")
    return "".join(found)
