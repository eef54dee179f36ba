"""The statements of a procedure: its exchanges one after the other, and what is printed."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.names import MPI_TYPE, Names
from fuzz.nests import nest
from fuzz.oddities import ODDITIES
from fuzz.program import Procedure

MAIN_START = [
    "call MPI_Init(ierr)",
    "call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)",
    "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)",
]
_SHOW = {"real8": "fz_real8", "integer": "fz_integer", "complex": "fz_complex", "real4": "fz_real4"}
TRANSFERS = {
    "": (),
    "sendrecv": (
        "call MPI_Sendrecv(v, 1, MPI_DOUBLE_PRECISION, mod(me + 1, np), 1, x, 1, "
        "MPI_DOUBLE_PRECISION, mod(me + np - 1, np), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)",
    ),
    "ring": (
        "do j = 1, 2",
        "call MPI_Irecv(x, 1, MPI_DOUBLE_PRECISION, mod(me + np - 1, np), 7, MPI_COMM_WORLD, "
        "{req}(1), ierr)",
        "call MPI_Isend(v, 1, MPI_DOUBLE_PRECISION, mod(me + 1, np), 7, MPI_COMM_WORLD, "
        "{req}(2), ierr)",
        "y = y + j",
        "call MPI_Waitall(2, {req}, MPI_STATUSES_IGNORE, ierr)",
        "v(1) = x + 1",
        "end do",
    ),
    "pairs": (
        "if (mod(me, 2) == 0 .and. me + 1 < np) then",
        "call MPI_Send(y, 1, MPI_DOUBLE_PRECISION, me + 1, 4, MPI_COMM_WORLD, ierr)",
        "else if (mod(me, 2) == 1) then",
        "call MPI_Recv(y, 1, MPI_DOUBLE_PRECISION, me - 1, 4, MPI_COMM_WORLD, "
        "MPI_STATUS_IGNORE, ierr)",
        "end if",
    ),
    "nonblocking": (
        "call MPI_Ialltoall(ix, 1, MPI_INTEGER, iz, 1, MPI_INTEGER, MPI_COMM_WORLD, {req}(1), "
        "ierr)",
        "call MPI_Wait({req}(1), MPI_STATUS_IGNORE, ierr)",
    ),
    "reduce": ("call MPI_Allreduce(y, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)",),
    "in place": (
        "call MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INTEGER, iz, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)",
    ),
}


def initial(names: Sequence[Names]) -> list[str]:
    """Every variable defined before it is used."""
    lines = [f"{name} = {value}" for name, value in _SCALARS]
    lines += ["do i = 1, 16", "ix(i) = max(1, n + 1 - i)", "end do"]
    lines += ["do i = 1, 64", "iz(i) = max(1, nz + 1 - i)", "end do", "i = 0"]
    for one in names:
        lines += [f"{one.s} = -1", f"{one.r} = -2", f"w{one.q} = 3"]
    return lines


_SCALARS = (
    ("i", "0"), ("j", "0"), ("z", "0"), ("p", "1"), ("c", "1"), ("m", "1"), ("cnt", "0"),
    ("step", "0"), ("x", "5"), ("y", "6"), ("u", "7 - mod(np, 2)"), ("v", "4"),
)  # fmt: skip


def body(procedure: Procedure, names: Sequence[Names], tag: str, number: int) -> list[str]:
    """The exchanges, in a loop if there are ``steps``, then everything that they left."""
    lines = [line.format(req=f"req{number}") for line in TRANSFERS[procedure.transfers]]
    for one in names:
        lines += exchange(one)
    if procedure.steps:
        lines = [f"do step = 1, {procedure.steps}", *lines, "end do"]
    for one in names:
        show = _SHOW[one.exchange.type]
        lines.append(f"call {show}('{tag} r{one.q}', {one.r}, size({one.r}))")
        if not one.exchange.silent:
            lines.append(f"call {show}('{tag} s{one.q}', {one.s}, size({one.s}))")
        if procedure.prints:
            lines.append(f"call fz_real8('{tag} w{one.q}', w{one.q}, size(w{one.q}))")
    if procedure.prints or not names:
        lines.append(f"call fz_real8('{tag} x {number}', [x, y, u], 3)")
        lines.append(f"call fz_real8('{tag} v {number}', v, n)")
    if procedure.prints:
        lines.append(f"call fz_integer('{tag} i {number}', [i, z, p, m, j, cnt, step], 7)")
    return lines


def exchange(names: Names) -> list[str]:
    """One exchange with everything around it."""
    e, oddity = names.exchange, ODDITIES[names.exchange.odd]
    ahead = [*_some(e.ahead, names), *_lists(names)]
    if e.call == "count variable" and not e.uneven and not oddity.call:
        ahead.append(f"cnt = {names.count}")
    core = _some(oddity.ahead, names)
    together = [
        *_some(oddity.nest[0], names), *nest(names, oddity), *_some(oddity.nest[1], names),
        *_some(e.between, names), *_some(oddity.between, names),
        *_some(oddity.around_call[0], names), *_call(names), *_some(oddity.around_call[1], names),
    ]  # fmt: skip
    core += together
    if oddity.other:
        core += [*_some(oddity.other, names), *together]
    core += _some(oddity.behind, names)
    core = [*ahead, *_some(oddity.open, names), *core, *_some(oddity.close, names)]
    return [*_wrapped(names, core), *_some(e.behind, names)]


def _wrapped(names: Names, core: list[str]) -> list[str]:
    match names.exchange.way:
        case "if":
            return ["if (np > 0) then", *core, "end if"]
        case "agreed if":
            agree = "call MPI_Allreduce(me, cnt, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)"
            return [agree, "if (cnt < 3) then", *core, "end if"]
        case "late if":
            return ["if (mod(step, 2) == 0) then", *core, "end if"]
        case "select":
            return ["select case (mod(np, 2))", "case (0)", *core, "case default",
                    "x = 2", "end select"]  # fmt: skip
        case "block":
            return ["block", *core, "end block"]
    return core


def _lists(names: Names) -> list[str]:
    """Counts and displacements of an uneven exchange."""
    e, q = names.exchange, names.q
    if not e.uneven:
        return []
    more, less = e.uneven.split(",")
    sc, sd, rc, rd, ends = (f"{kind}{q}" for kind in ("sc", "sd", "rc", "rd", "ends"))
    row = "" if e.shape == "line" else "n*"
    if names.slab:
        lines = [
            "do p = 0, np",
            f"{ends}(p) = min(nz*np, (p*nz*np + {more})/max(1, np + {less}))",
            "end do",
            f"{ends}(np) = nz*np",
            "do p = 1, np",
            f"{sc}(p) = {row}({ends}(p) - {ends}(p-1))",
            f"{sd}(p) = {row}{ends}(p-1)",
            f"{rc}(p) = {row}({ends}(me+1) - {ends}(me))",
        ]
    else:
        lines = [
            "do p = 1, np",
            f"{sc}(p) = modulo({more}*me + {less}*p, {names.count} + 1)",
            f"{rc}(p) = modulo({more}*(p - 1) + {less}*(me + 1), {names.count} + 1)",
            f"{sd}(p) = {names.count}*(p - 1)",
        ]
    return [*lines, f"{rd}(p) = sum({rc}(1:p-1))", "end do"]


def _call(names: Names) -> list[str]:
    e, oddity, mpi = names.exchange, ODDITIES[names.exchange.odd], MPI_TYPE[names.exchange.type]
    if oddity.call:
        return _some(oddity.call, names)
    q, count = names.q, names.count
    if e.uneven:
        left, right = f"sc{q}, sd{q}, {mpi}", f"rc{q}, rd{q}, {mpi}"
        return [f"call MPI_Alltoallv({names.s}, {left}, {names.r}, {right}, MPI_COMM_WORLD, ierr)"]
    send, receive, operation = names.s, names.r, "MPI_Alltoall"
    match e.call:
        case "wrapper":
            return [f"call {names.tag}_swap{q}({send}, {receive}, {count})"]
        case "keywords":
            return [
                f"call MPI_Alltoall(sendbuf={send}, sendcount={count}, sendtype={mpi}, "
                f"recvbuf={receive}, comm=MPI_COMM_WORLD, recvtype={mpi}, recvcount={count}, "
                "ierror=ierr)"
            ]
        case "profiling":
            operation = "PMPI_Alltoall"
        case "count variable":
            count = "cnt"
        case "first element" if names.storage not in ("assumed", "pointer"):
            corner = names.corner  # where there is one
            if dict(names.extra)["empty"] != "yes":
                send, receive = send + corner, receive + corner
    arguments = f"{send}, {count}, {mpi}, {receive}, {count}, {mpi}, MPI_COMM_WORLD, ierr"
    return [f"call {operation}({arguments})"]


def _some(templates: Sequence[str], names: Names) -> list[str]:
    return [line for template in templates for line in template.format(**names.known()).split("\n")]
