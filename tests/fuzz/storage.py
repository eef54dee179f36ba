"""Where buffers live: declarations, allocations, dummies and what is passed to them."""

from __future__ import annotations

from fuzz.names import BYTES, DECLARED, DUMMIES, MPI_TYPE, Names
from fuzz.nests import effective_inner
from fuzz.oddities import ODDITIES
from fuzz.program import DROPPED, Exchange, Program

_HANDLES = ("communicator", "request", "datatype")


def effective_storage(exchange: Exchange, home: str) -> str:
    """Where the buffers can be: main programs have no dummies, nor automatic arrays."""
    if home == "main" and exchange.storage in ("local", *DUMMIES):
        return "allocatable"
    return exchange.storage


def extra_words(
    program: Program, exchange: Exchange, tag: str, q: int
) -> tuple[tuple[str, str], ...]:
    """What templates may name that depends on the program: types of handles, common blocks."""
    typed = program.binding == "use mpi_f08"
    handles = ("type(MPI_Comm)", "type(MPI_Request)", "type(MPI_Datatype)")
    words = [
        (word, handle if typed else "integer")
        for word, handle in zip(_HANDLES, handles, strict=True)
    ]
    names = Names(tag, q, exchange, "common")
    common = f"{DECLARED[exchange.type]} :: s{q}({names.dims()}), r{q}({names.dims(True)})"
    words += [
        ("parameters", f"integer, parameter :: n = {program.n}, nz = {program.nz}"),
        ("common", f"{common}\ncommon /{tag}_area{q}/ s{q}, r{q}"),
        ("binding", program.binding),
        ("empty", "yes" if program.nz == 0 else "no"),
    ]
    return tuple(words)


def modules(names: Names, program: Program) -> list[str]:
    """The modules that hold the buffers, or their type."""
    kind, q = DECLARED[names.exchange.type], names.q
    pair = f"{kind}, allocatable :: s{q}({names.deferred}), r{q}({names.deferred})"
    if names.storage == "module":
        name = f"{names.tag}_data{q}"
        return [f"module {name}", "implicit none", pair, f"end module {name}"]
    if names.storage == "component":
        name, box = f"{names.tag}_types{q}", f"{names.tag}_box{q}"
        lines = [f"module {name}", "implicit none", f"type :: {box}", pair, f"end type {box}"]
        return [*lines, f"end module {name}"]
    return []


def declarations(names: Names, home: str) -> list[str]:
    """The declarations of the buffers and of all that the nests of an exchange need."""
    e, q, kind = names.exchange, names.q, DECLARED[names.exchange.type]
    oddity = ODDITIES[e.odd]
    pair = f"s{q}({names.dims()}), r{q}({names.dims(True)})"
    deferred = f"s{q}({names.deferred}), r{q}({names.deferred})"
    buffers = {
        "local": [f"{kind} :: {pair}"],
        "fixed": [f"{kind} :: {pair}"],
        "allocatable": [f"{kind}, allocatable :: {deferred}"],
        "explicit": [f"{kind}, intent(inout) :: {pair}"],
        "assumed": [f"{kind}, intent(inout) :: s{q}({names.assumed}), r{q}({names.assumed})"],
        "module": [],
        "component": [f"type({names.tag}_box{q}) :: d{q}"],
        "pointer": [f"{kind}, pointer :: {deferred}"],
        "target": [f"{kind}, allocatable, target :: {deferred}"],
        "common": dict(names.extra)["common"].split("\n"),
    }[names.storage]
    lines = [*buffers]
    if oddity.twice:
        lines.append(f"{kind}, intent(inout) :: b{q}({names.dims()})")
    if home == "main":
        lines.append(f"real(8), allocatable :: w{q}(:,:)")
    else:
        lines.append(f"real(8) :: w{q}(n, -9:nz*np+12)")
    if e.work in DROPPED:
        deferred = ", ".join(":" * (1 + names.source_dims.count(",")))
        lines.append(f"{kind}, allocatable :: t{q}({deferred})")
    if effective_inner(names) == "function":
        lines.append(f"real(8), external :: {names.tag}_value{q}")
    if e.uneven:
        sizes = f"ends{q}(0:4), sc{q}(4), sd{q}(4), rc{q}(4), rd{q}(4)"
        lines.append(f"integer :: {sizes}")
    return [*lines, *(part for line in oddity.declare for part in _lines(line, names))]


def _lines(template: str, names: Names) -> list[str]:
    return template.format(**names.known()).split("\n")


def allocations(names: Names, home: str) -> list[str]:
    """What is allocated at the beginning of the procedure; nothing lives longer than it."""
    e, q = names.exchange, names.q
    lines = []
    if names.storage in ("allocatable", "component", "pointer", "target"):
        lines.append(f"allocate({names.s}({names.dims()}), {names.r}({names.dims(True)}))")
    if names.storage == "module":
        lines.append(f"if (.not. allocated({names.s})) allocate({names.s}({names.dims()}), "
                     f"{names.r}({names.dims(True)}))")  # fmt: skip
    if home == "main":
        lines.append(f"allocate(w{q}(n, -9:nz*np+12))")
    if e.work in DROPPED:
        lines.append(f"allocate(t{q}({names.source_dims}))")
        lines.append(f"t{q} = -4")
    return lines


def passed(names: Names) -> tuple[list[str], list[str], list[str], list[str]]:
    """Dummies, actual arguments, declarations of these and their allocation by the caller."""
    e, q, kind = names.exchange, names.q, DECLARED[names.exchange.type]
    if names.storage not in DUMMIES:
        return [], [], [], []
    oddity = ODDITIES[e.odd]
    dummies, actuals = [f"s{q}", f"r{q}"], [f"o{q}", f"g{q}"]
    declared = [f"{kind}, allocatable :: o{q}({names.deferred}), g{q}({names.deferred})"]
    dims = names.dims()
    if oddity.gaps:
        dims = f"2*{dims}"
        actuals[0] = f"o{q}(::2{', :' * (names.rank - 1)})"
    allocated = [f"allocate(o{q}({dims}), g{q}({names.dims(True)}))"]
    if oddity.twice:
        dummies, actuals = [*dummies, f"b{q}"], [*actuals, f"o{q}"]
    return dummies, actuals, declared, allocated


def helpers(names: Names) -> list[str]:
    """The procedures that an exchange calls: what fills columns or planes, functions, wrappers."""
    e, q, tag = names.exchange, names.q, names.tag
    kind, inner = DECLARED[e.type], effective_inner(names)
    lines: list[str] = []
    if inner == "column call":
        name = f"{tag}_fill{q}"
        lines += [
            f"subroutine {name}(a, n, seed)", "implicit none", "integer, intent(in) :: n, seed",
            f"{kind}, intent(inout) :: a(n)", "integer :: i", "do i = 1, n",
            "a(i) = seed + 3*i", "end do", f"end subroutine {name}",
        ]  # fmt: skip
    if inner == "plane call":
        name = f"{tag}_plane{q}"
        block = e.shape == "block"
        dims = "n, nz, np" if block else "n, nz*np"
        head = [
            f"subroutine {name}(a, n, nz, np, k, me)", "implicit none",
            "integer, intent(in) :: n, nz, np, k, me", f"{kind}, intent(inout) :: a({dims})",
            "integer :: i, p",
        ]  # fmt: skip
        loop = ["do i = 1, n", f"a(i,k{',p' if block else ''}) = 7*k + i + 100*me", "end do"]
        loop = ["do p = 1, np", *loop, "end do"] if block else loop
        lines += [*head, *loop, f"end subroutine {name}"]
    if inner == "function":
        name = f"{tag}_value{q}"
        lines += [
            f"real(8) function {name}(i, z, me)", "implicit none", "integer :: i, z, me",
            f"{name} = sqrt(dble(i + 5*abs(z) + 50*me))", f"end function {name}",
        ]  # fmt: skip
    if e.call == "wrapper" and not e.uneven and not ODDITIES[e.odd].call:
        lines += _wrapper(names, kind)
    return lines


def _wrapper(names: Names, kind: str) -> list[str]:
    name, binding = f"{names.tag}_swap{names.q}", dict(names.extra)["binding"]
    mpi = MPI_TYPE[names.exchange.type]
    assert BYTES[names.exchange.type]
    head = [] if binding == "mpif.h" else [binding]
    head += ["implicit none", *(["include 'mpif.h'"] if binding == "mpif.h" else [])]
    return [
        f"subroutine {name}(from, to, many)", *head, "integer, intent(in) :: many",
        f"{kind} :: from(*), to(*)", "integer :: code",
        f"call MPI_Alltoall(from, many, {mpi}, to, many, {mpi}, MPI_COMM_WORLD, code)",
        f"end subroutine {name}",
    ]  # fmt: skip
