"""Facts that proofs look through, and what each of them must not be taken for.

For each fact there are two programs that differ in a line or two.  In ``free`` the fact holds, and
asphalt takes the step; in ``bound`` it does not, the step would be wrong, and asphalt does not take
it.  ``without``: what asphalt asks for the fact.  If the answer were always the one that allows the
step, asphalt would take it in ``bound``, too: so the pair finds this mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.data_flow import clock_uses, clock_values
from asphalt.analysis.data_flow.clock_values import ClockValues
from asphalt.analysis.dependence.threads import LoopThreads
from asphalt.analysis.effects import error_handlers
from asphalt.analysis.effects.unit_names import UnitNames
from asphalt.analysis.exchange import packing_counter
from asphalt.analysis.inlining.call_context import CallContext
from asphalt.analysis.memory import module_arrays, shapes
from asphalt.analysis.memory.regions import Region
from asphalt.analysis.uniformity import split_colours
from asphalt.analysis_manager.configurations import Configurations
from asphalt.config.passes import TRANSFERS
from asphalt.frontend.lexical import conditionals
from asphalt.ir.expr import root_name

EXCHANGES = ("prepush",)
_RECEIVE = r"call asphalt_irecv\("


@dataclass(frozen=True)
class Mutant:
    """An answer that is always the same."""

    owner: object
    name: str
    answer: Callable[..., Any]


@dataclass(frozen=True)
class Fact:
    """``allows``: what the fact is, as a clause; ``step``: a pattern that the changed text holds
    if the step was taken; ``beside``: other files of ``bound``, by name."""

    allows: str
    free: str
    bound: str
    without: Mutant
    passes: tuple[str, ...] = TRANSFERS
    assume: frozenset[str] = frozenset()
    suffix: str = ".f90"
    step: str = _RECEIVE
    beside: Mapping[str, str] = field(default_factory=dict)


_RING = """\
module work
  use mpi
  implicit none
  integer, parameter :: n = 3000
{attributes}  real(8) :: spent = 0
  integer :: passed = 0
contains
  subroutine step(left, right)
    integer, intent(in) :: left, right
    integer :: i, ierr
    real(8) :: since
{declared}    since = MPI_Wtime()
    call MPI_Sendrecv({sent}, n, MPI_DOUBLE_PRECISION, right, 1, &
                      {received}, n, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{behind}    do i = 1, n
      w(i) = w(i)*0.5d0 + sqrt(abs(w(i)))
    end do
    w(1) = w(1) + {read}
  end subroutine step
{procedures}end module work
program ring
  use work
  implicit none
  integer :: me, np, ierr, k
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
{begin}  do k = 1, 3
    call step(modulo(me - 1, np), mod(me + 1, np))
{turn}  end do
{end}  print '(i0, 2(1x, z16))', me, sum(w), sum({received}(1:n))
  call MPI_Finalize(ierr)
end program ring
"""
_ARRAYS = "  real(8) :: a(n) = 1, b(n) = 2, w(n) = 3\n"


def _ring(**changed: str) -> str:
    parts = {
        "attributes": _ARRAYS,
        "declared": "",
        "sent": "a",
        "received": "b",
        "behind": "",
        "read": "b(1)",
        "procedures": "",
        "begin": "",
        "turn": "",
        "end": "",
    }
    return _RING.format(**parts | changed)


_READING = "    spent = spent + MPI_Wtime() - since\n"
_TESTED = "    if (ierr /= MPI_SUCCESS) passed = passed + 1\n"
_RETURNS = "  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)\n"
_OPERATOR = """\
  function later(one, other)
    real(8), intent(in) :: one, other
    real(8) :: later
    later = one - other
  end function later
"""
_HELP = """\
  subroutine help
{}    passed = passed + 1
  end subroutine help
"""
_THREADS = """\
program stencil
  use mpi
  implicit none
  integer, parameter :: n = 200
  real(8) :: u(0:n+1,0:n+1) = 1, v(0:n+1,0:n+1) = 0
  integer :: me, np, ierr, k, i, j, left, right
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = mod(me + 1, np)
  do k = 1, 3
    call MPI_Sendrecv(u(:,n), n + 2, MPI_DOUBLE_PRECISION, right, 1, &
                      u(:,0), n + 2, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(:,1), n + 2, MPI_DOUBLE_PRECISION, left, 2, &
                      u(:,n+1), n + 2, MPI_DOUBLE_PRECISION, right, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    !$omp parallel do private(i){}
    do j = 1, n
      do i = 1, n
        v(i,j) = u(i,j) + 0.2d0*(u(i-1,j) + u(i+1,j) + u(i,j-1) + u(i,j+1) - 4*u(i,j))
      end do
    end do
    u(1:n,1:n) = v(1:n,1:n)
  end do
  print '(i0, 1x, z16)', me, sum(u)
  call MPI_Finalize(ierr)
end program stencil
"""
_FIRST = r"(?:_all\(\d, asphalt_requests_1|\(asphalt_requests_1\(1\)),"
_BEFORE_THE_WAIT = rf"(?s)0\.5d0.*call asphalt_wait{_FIRST}"
_TWO_PARTS = r"(?s)!\$omp parallel do.*asphalt_wait.*!\$omp parallel do"
_EVERYWHERE = r"(?m)^(?!#if).*\n +use asphalt_core"
_BLOCKS = """\
program blocks
  use mpi
  implicit none
  integer :: ierr, me, np, n, nb, i, j, r
  real(8), allocatable :: a(:,:), b(:,:), c(:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  nb = 12
  n = nb*np
  allocate(a(nb,n), b(0:nb+1,n), c(nb,n+nb))
  a = me + 1
  b = 0
  c = 0
  call MPI_Alltoall(a, nb*nb, MPI_DOUBLE_PRECISION, c, nb*nb, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  do r = 0, np - 1
    do j = 1, nb
      do i = {}
        b(i,nb*r+j) = b(i,nb*r+j) + c(j,nb*r+i)
      end do
    end do
  end do
  print '(i0, 1x, z16)', me, sum(b)
  call MPI_Finalize(ierr)
end program blocks
"""
_UNEVEN = """\
program uneven
  use mpi
  implicit none
  integer, parameter :: n = 24, ny = 5, nz = 6
  integer :: ierr, me, np, p, x, y, z, pos
  integer, allocatable :: counts(:), first(:), back(:), place(:), low(:), high(:)
  real(8), allocatable :: s(:), r(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(counts(0:np-1), first(0:np-1), back(0:np-1), place(0:np-1), low(0:np-1), high(0:np-1))
  allocate(s(n*ny*nz), r(n*ny*nz*np))
  do p = 0, np - 1
    low(p) = p*n/np + 1
    high(p) = (p + 1)*n/np
    counts(p) = (high(p) - low(p) + 1)*ny*nz
    first(p) = (low(p) - 1)*ny*nz
  end do
  back = (high(me) - low(me) + 1)*ny*nz
  place = [(p*back(0), p = 0, np - 1)]
{}  call MPI_Alltoallv(s, counts, first, MPI_DOUBLE_PRECISION, r, back, place, &
                     MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  print '(i0, 1x, z16)', me, sum(r(1:np*back(0)))
  call MPI_Finalize(ierr)
end program uneven
"""
_RUNS = """\
  do z = 1, nz
    do p = 0, np - 1
      do y = 1, ny
        do x = low(p), {}
          s(first(p) + 1 + (x - low(p)) + (high(p) - low(p) + 1)*(y - 1 + ny*(z - 1))) = &
            sin(dble(x*y)) + z
        end do
      end do
    end do
  end do
"""
_POSITION = """\
  do p = 0, np - 1
    pos = first(p) + 1
    do z = 1, nz
      do y = 1, ny
        do x = low(p), high(p)
          s(pos) = sin(dble(x*y)) + {}
          pos = pos + 1
        end do
      end do
    end do
  end do
"""
_ACTIVE = """\
program some
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 24
  integer :: i, z, p, me, np, ierr, comm, colour, size
  logical :: active
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  active = me < 2
  if (active) then
    colour = 0
  else
    colour = {}
  end if
  call MPI_Comm_split(MPI_COMM_WORLD, colour, me, comm, ierr)
  call MPI_Comm_size(comm, size, ierr)
  allocate(s(n,nz,size), r(n,nz,size))
  if (active) then
    do z = 1, nz
      do p = 1, size
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
    print '(i0, 1x, z16)', me, sum(r)
  {}
  call MPI_Finalize(ierr)
end program some
"""
_OTHER_CALL = """\
else
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  end if"""
_CALLED = """\
module swap
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 24
  real(8), allocatable :: s(:,:,:), r(:,:,:)
contains
  subroutine exchange(me, np)
    integer, intent(in) :: me, np
    integer :: i, z, p, ierr
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end subroutine exchange
end module swap
subroutine spare(me, np)
  use swap
  implicit none
  integer, intent(in) :: me, np
  integer :: ierr
  if (me > 0) then
    call exchange(me, np)
  else
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end if
end subroutine spare
program all
  use mpi
  use swap
  implicit none
  integer :: me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  call exchange(me, np)
{}  print '(i0, 1x, z16)', me, sum(r)
  call MPI_Finalize(ierr)
end program all
"""
_CELLS = _ring(
    attributes="""\
  type :: cell
    real(8), {kind} :: g(:)
  end type cell
  type(cell) :: t(2)
  real(8), target :: a(n) = 1, b(n) = 2
  real(8) :: w(n) = 3
""",
    begin="  {begin}\n",
).replace("abs(w(i))", "abs(w(i) + t(2)%g(i))")
_SHAPED = (
    _ring(
        attributes="  real(8), allocatable :: a(:,:)\n  real(8) :: w(n) = 3\n",
        sent="a(1,1)",
        received="a(1,3)",
        read="a(1,3)",
        begin="  allocate(a(n,5))\n{}",
    )
    .replace("sum(a(1,3)(1:n))", "sum(a)")
    .replace("abs(w(i))", "abs(w(i) + a(i,4))")
)

_PASSED = """\
subroutine shift(p, q, n, to, from, by)
  use mpi
  implicit none
  integer :: n, to, from, by, ierr
  real(8) :: p(n), q(n)
{}  call MPI_Sendrecv(p, n, MPI_DOUBLE_PRECISION, to, 1, q, n, MPI_DOUBLE_PRECISION, from, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine shift
program passed
  use mpi
  implicit none
  integer, parameter :: n = 20000
  integer :: me, np, ierr, i, by
  real(8) :: a(n), b(n), w(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  by = 1
  a = me
  w = 2
  call shift(a, b, n, modulo(me + by, np), modulo(me - by, np), by)
  do i = 1, n
    w(i) = sqrt(w(i)) + 1
  end do
  print '(2(i0, 1x), 2(1x, z16))', me, by, sum(b), sum(w)
  call MPI_Finalize(ierr)
end program passed
"""

_KEPT = """\
program kept
  use mpi
  implicit none
  integer, parameter :: n = 3000
  integer :: me, np, ierr, i
  real(8), allocatable :: a(:,:), c(:,:)
  real(8) :: s(n), w(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(a(n,5), c({}))
  s = me
  w = 2
  c = 3
  a = c
  call MPI_Sendrecv(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, a(1,3), n, &
                    MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
  do i = 1, n/5
    w(i) = 0.5d0*sqrt(w(i) + a(i,4))
  end do
  print '(i0, 2(1x, z16))', me, sum(a), sum(w)
  call MPI_Finalize(ierr)
end program kept
"""

_MEASURED = """\
program measured
  use mpi
  implicit none
  integer, parameter :: n = 3000
  integer :: me, np, ierr, i
  real(8) :: a(n), s(n), w(n), t, most
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  s = me
  w = 2
  most = -1
  t = MPI_Wtime()
  call MPI_Sendrecv(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, a, n, &
                    MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
  t = MPI_Wtime() - t
  if (t > most) {}
  do i = 1, n
    w(i) = 0.5d0*sqrt(w(i) + i)
  end do
  if (most > 1d6) print *, most
  print '(i0, 2(1x, z16))', me, sum(a), sum(w)
  call MPI_Finalize(ierr)
end program measured
"""

FACTS: dict[str, tuple[Fact, ...]] = {
    "timers": (
        Fact(
            "a reading of a clock only reaches variables and output",
            free=_ring(behind=_READING, end="  if (me < 0) print *, spent\n"),
            bound=_ring(behind=_READING, end="  if (spent > 1d9) stop 3\n"),
            without=Mutant(ClockValues, "why_observed", lambda self, unit: None),
            assume=frozenset({"timers"}),
        ),
        Fact(
            "the program does not read it back from a file",
            free=_ring(behind=_READING, end="  write (17, *) spent\n"),
            bound=_ring(
                behind=_READING, end="  write (17, *) spent\n  rewind (17)\n  read (17, *) w(1)\n"
            ),
            without=Mutant(clock_uses, "why_read_back", lambda output, scope: None),
            assume=frozenset({"timers"}),
        ),
        Fact(
            "a reading decides about measured values alone",
            free=_MEASURED.format("most = t"),
            bound=_MEASURED.format("w(1) = 5"),
            without=Mutant(clock_values, "_variable", lambda name, scope: None),
            assume=frozenset({"timers"}),
        ),
    ),
    "fatal": (
        Fact(
            "a call of MPI that returns has stored MPI_SUCCESS",
            free=_ring(behind=_TESTED),
            bound=_ring(behind=_TESTED, begin=_RETURNS),
            without=Mutant(error_handlers, "_with_other_codes", lambda: ()),
            assume=frozenset({"fatal"}),
        ),
    ),
    "threads": (
        Fact(
            "iterations of a parallel loop of OpenMP share nothing but variables",
            free=_THREADS.format(""),
            bound=_THREADS.format(" lastprivate(j)"),
            without=Mutant(LoopThreads, "why_whole", lambda self, one: None),
            step=_TWO_PARTS,
        ),
    ),
    "configurations": (
        Fact(
            "no branch of the preprocessor chooses among the text of a proof",
            free=_ring(procedures=_HELP.format(""), behind="    call help\n"),
            bound=_ring(
                procedures=_HELP.format("#ifdef CLEAR\n    b(1) = 0\n#endif\n"),
                behind="    call help\n",
            ),
            without=Mutant(Configurations, "of", lambda self, path, chain, alone=None: ()),
            suffix=".F90",
            step=_EVERYWHERE,
        ),
        Fact(
            "nor among directives for compilers",
            free=_ring(behind="#ifdef THREADS\n    ! one thread\n#endif\n"),
            bound=_ring(behind="#ifdef THREADS\n    !$omp parallel do\n#endif\n"),
            without=Mutant(conditionals, "_is_compiled", lambda line: line[:1] not in "!#"),
            suffix=".F90",
            step=_EVERYWHERE,
        ),
    ),
    "delinearisation": (
        Fact(
            "the inner range of a flat subscript lies inside of a block",
            free=_BLOCKS.format("1, nb"),
            bound=_BLOCKS.format("1, nb + 1"),
            without=Mutant(Region, "out_of_bounds", lambda *given: None),
            step=r"asphalt_await_block",
        ),
    ),
    "runs of blocks": (
        Fact(
            "an iteration writes the next run of each block, and nothing else",
            free=_UNEVEN.format(_RUNS.format("high(p)")),
            bound=_UNEVEN.format(_RUNS.format("min(n, high(p) + 1)")),
            without=Mutant(Region, "out_of_bounds", lambda *given: None),
            passes=EXCHANGES,
            assume=frozenset({"bits"}),
            step=r"%begin_packed",
        ),
        Fact(
            "a running position fills each block in order",
            free=_UNEVEN.format(_POSITION.format("z")),
            bound=_UNEVEN.format(_POSITION.format("s(max(1, pos - 1))")),
            without=Mutant(packing_counter._Nest, "_shares_nothing", lambda self, blocks: None),
            passes=EXCHANGES,
            assume=frozenset({"bits"}),
            step=r"%begin_packed",
        ),
    ),
    "one ALLOCATE": (
        Fact(
            "the only ALLOCATE of a module array gives its shape",
            free=_SHAPED.format(""),
            bound=_SHAPED.format("  a = reshape([(1d0, k=1,n*5)], [n/5, 25])\n"),
            without=Mutant(module_arrays, "_shapes", lambda *given: False),
            step=_BEFORE_THE_WAIT,
        ),
        Fact(
            "an assignment of arrays with its extents keeps the shape of an allocatable",
            free=_KEPT.format("n,5"),
            bound=_KEPT.format("n/5,25"),
            without=Mutant(shapes, "_gives_extents", lambda *given: True),
            step=_BEFORE_THE_WAIT,
        ),
    ),
    "components": (
        Fact(
            "what is allocated in an element has no other name",
            free=_CELLS.format(kind="allocatable", begin="allocate(t(2)%g(n), source=1d0)"),
            bound=_CELLS.format(kind="pointer", begin="t(2)%g => b"),
            without=Mutant(UnitNames, "part", lambda self, part: f"{root_name(part)}%{part.name}"),
            step=_BEFORE_THE_WAIT,
        ),
    ),
    "communicators": (
        Fact(
            "the ranks of a communicator gave the colour that only one arm gives",
            free=_ACTIVE.format("1", "end if"),
            bound=_ACTIVE.format("0", _OTHER_CALL),
            without=Mutant(split_colours, "_colour", lambda definition, context: id(definition)),
            passes=EXCHANGES,
            step=r"%begin",
        ),
    ),
    "never executed": (
        Fact(
            "nothing calls a procedure in the whole program",
            free=_CALLED.format(""),
            bound=_CALLED.format("  call later(me, np)\n"),
            without=Mutant(CallSites, "is_never_called", lambda self, context: True),
            passes=EXCHANGES,
            step=r"%begin",
            beside={
                "later.c": "void spare_(int *me, int *np);\n"
                "void later_(int *me, int *np) { spare_(me, np); }\n"
            },
        ),
    ),
    "arguments": (
        Fact(
            "nothing that an expression reads changes while it stands for a dummy argument",
            free=_PASSED.format(""),
            bound=_PASSED.format("  by = by + 1\n"),
            without=Mutant(CallContext, "stays", lambda self, exprs: True),
            step=r"(?s)\A(?!.*call shift\().*call asphalt_irecv\(",
        ),
    ),
}
