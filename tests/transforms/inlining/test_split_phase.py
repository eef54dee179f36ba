"""An inlined exchange with work in its window becomes two calls: its start, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.inlining.split_phase import check_phases, phases_at, positions
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import Do, Leaf, Node
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.inlining.split_phase_arguments import check_passed
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_PACK = """\
    do i = 1, nx
      sbuf(i, 1) = a(i, 1)
      sbuf(i, 2) = a(i, ny)
    end do
"""
_NONBLOCKING = """\
    call MPI_Irecv(rbuf(1, 1), nx, MPI_REAL8, left, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(rbuf(1, 2), nx, MPI_REAL8, right, 2, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Isend(sbuf(1, 2), nx, MPI_REAL8, right, 1, MPI_COMM_WORLD, req(3), ierr)
    call MPI_Isend(sbuf(1, 1), nx, MPI_REAL8, left, 2, MPI_COMM_WORLD, req(4), ierr)
    call MPI_Waitall(4, req, MPI_STATUSES_IGNORE, ierr)
"""
_BLOCKING = """\
    call MPI_Sendrecv(sbuf(1, 2), nx, MPI_REAL8, right, 1, rbuf(1, 1), nx, MPI_REAL8, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(sbuf(1, 1), nx, MPI_REAL8, left, 2, rbuf(1, 2), nx, MPI_REAL8, right, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_UNPACK = """\
    do i = 1, nx
      a(i, 0) = rbuf(i, 1)
      a(i, ny+1) = rbuf(i, 2)
    end do
"""
_EXCHANGE = """\
  subroutine exchange({dummies})
{uses}    real(8){intent} :: a(0:nx+1, 0:ny+1)
{locals}
{pack}{transfer}{unpack}  end subroutine exchange
"""
_GRID = """\
module grid
  use mpi
  implicit none
{private}  integer :: nx, ny, left, right
{module}{exchange}end module grid
"""
_MAIN = """\
program steps
  use mpi
  {use}
  implicit none
  real(8), allocatable :: u(:, :), v(:, :)
{declared}  integer :: ierr, me, np, i, j, n
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  nx = 300
  ny = 100
  left = mod(me + np - 1, np)
  right = mod(me + 1, np)
  allocate(u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1))
  do j = 0, ny + 1
    do i = 0, nx + 1
      u(i, j) = mod(7*i + 13*(j + ny*me), 127)*0.01d0
    end do
  end do
  v = 0
{before}  do n = 1, 4
    {call_u}
    do j = 1, ny
      do i = 1, nx
        v(i, j) = u(i, j) + 0.1d0*(u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1) - 4*u(i, j))
      end do
    end do
{between}    {call_v}
    do j = 1, ny
      do i = 1, nx
        u(i, j) = v(i, j) + 0.1d0*(v(i-1, j) + v(i+1, j) + v(i, j-1) + v(i, j+1) - 4*v(i, j))
      end do
    end do
  end do
  do n = 0, np - 1
    if (n == me) print '(i0, 3es24.16)', me, sum(u(1:nx, 1:ny)), u(1, 1), u(nx, ny)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Finalize(ierr)
{contains}end program steps
"""
_LOCALS = "    real(8) :: sbuf(nx, 2), rbuf(nx, 2)\n    integer :: req(4), ierr, i\n"
_BUFFERS = "  real(8), allocatable :: sbuf(:, :), rbuf(:, :)\n"
_ALLOCATED = "    if (.not. allocated(sbuf)) allocate(sbuf(nx, 2), rbuf(nx, 2))\n"


@dataclass(frozen=True)
class _Program:
    """A program of two fields that exchange their edges with the neighbours."""

    dummies: str = "a"
    uses: str = ""
    intent: str = ", intent(inout)"
    locals: str = _LOCALS
    pack: str = _PACK
    transfer: str = _NONBLOCKING
    unpack: str = _UNPACK
    private: str = ""
    module: str = "contains\n"
    use: str = "use grid"
    declared: str = ""
    before: str = ""
    between: str = ""
    call_u: str = "call exchange(u)"
    call_v: str = "call exchange(v)"
    home: str = "grid.f90"

    @property
    def exchange(self) -> str:
        """The procedure."""
        return _EXCHANGE.format(**self._parts)

    @property
    def _parts(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def texts(self) -> dict[str, str]:
        """The files, in compile order."""
        exchange = {one: self.exchange if one == self.home else "" for one in _HOMES}
        inner = f"contains\n{exchange['main.f90']}" if exchange["main.f90"] else ""
        grid = replace(self, module="") if self.home != "grid.f90" else self
        grid_text = _GRID.format(**{**grid._parts, "exchange": exchange["grid.f90"]})
        texts = {"grid.f90": grid_text}
        if exchange["external.f90"]:
            texts["external.f90"] = exchange["external.f90"]
        return {**texts, "main.f90": _MAIN.format(**self._parts, contains=inner)}


_HOMES = ("grid.f90", "external.f90", "main.f90")
_USES = "    use mpi\n    use grid, only: nx, ny, left, right\n    implicit none\n"


def _transformed(folder: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """What becomes of the files."""
    source = folder / "in"
    source.mkdir()
    for name, text in texts.items():
        (source / name).write_text(text)
    tree = load_tree([source], Settings(cache=False, jobs=1))
    main = str(source / "main.f90")
    (unit,) = (one for one in tree.units_of(main) if one.unit.name == "steps")
    found = optimise(tree, unit)
    changed = {**found.beside, main: found.content or tree.content(main)}
    return {
        name: changed.get(str(source / name), text.encode()).decode()
        for name, text in texts.items()
    }


def _run_the_same(
    folder: Path, mpi: Mpi, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    outputs: list[list[list[str]]] = []
    for name, texts, runtime in (("before", before, ()), ("after", after, RUNTIME)):
        place = folder / f"{name}_{mpi.name}"
        place.mkdir()
        for file, text in texts.items():
            (place / file).write_text(text)
        sources = [*runtime, *(place / file for file in texts)]
        program = build(mpi, sources, place, flags=("-O2",))
        outcomes = [run(mpi, program, n) for n in (1, 2, 3, 4)]
        for outcome in outcomes:
            assert outcome.code == 0, f"{name}: {outcome.stderr}"
        outputs.append([sorted(outcome.stdout.splitlines()) for outcome in outcomes])
    assert outputs[0] == outputs[1]
    assert all(outputs[0])


_TAKEN = {
    "automatic arrays": _Program(),
    "blocking": _Program(transfer=_BLOCKING),
    "buffers of the module": _Program(
        private="  private\n  public :: nx, ny, left, right, exchange\n",
        module=f"{_BUFFERS}contains\n",
        locals="    integer :: req(4), ierr, i\n" + _ALLOCATED,
    ),
    "in a branch": _Program(pack=f"    if (nx > 1) then\n{_PACK}", unpack=f"{_UNPACK}    end if\n"),
    "private by default": _Program(
        private="  private\n  public :: nx, ny, left, right, exchange\n",
        use="use grid, only: nx, ny, left, right, exchange",
    ),
    "external": _Program(home="external.f90", uses=_USES),
    "keywords": _Program(call_u="call exchange(a=u)", call_v="call exchange(a=v)"),
    "another argument": _Program(
        dummies="k, a",
        locals=f"    integer, intent(in) :: k\n{_LOCALS}",
        pack=_PACK.replace("a(i, 1)", "a(i, 1) + k"),
        call_u="call exchange(n, u)",
        call_v="call exchange(n, v)",
    ),
}


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("program", _TAKEN.values(), ids=_TAKEN.keys())
def test_an_exchange_becomes_two_calls(tmp_path: Path, program: _Program, mpi: Mpi) -> None:
    after = _transformed(tmp_path, program.texts)
    calls = after["main.f90"].split("contains\n")[0]
    assert calls.count("call exchange_asphalt_start(") == 2, after["main.f90"]
    assert calls.count("call exchange_asphalt_finish(") == 2
    assert "stands here" not in calls
    assert "MPI_Irecv" not in calls
    assert "subroutine exchange_asphalt_start(" in after[program.home]
    assert calls.count("integer :: req") + calls.count("integer :: asphalt_requests") <= 1
    _run_the_same(tmp_path, mpi, program.texts, after)


_NESTED = {
    "one stays whole inside": (
        _Program(call_u="if (mod(n, 2) == 0) then\n    call exchange(u)", between="    end if\n"),
        1,
    ),
    "both are split, one inside": (
        _Program(
            call_u="if (mod(n, 2) == 0) then\n    call exchange(u)",
            between="    v(1, 1) = v(1, 1) + 1\n    end if\n",
        ),
        1,
    ),
    "in a loop inside": (
        _Program(call_u="do k = 1, 2\n    call exchange(u)", between="    end do\n",
                 declared="  integer :: k\n"),
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize(("program", "least"), _NESTED.values(), ids=_NESTED.keys())
def test_calls_in_lists_inside_of_another(
    tmp_path: Path, program: _Program, least: int, mpi: Mpi
) -> None:
    """What changes in an inner list stays changed when the outer one is written."""
    after = _transformed(tmp_path, program.texts)
    assert after["main.f90"].count("call exchange_asphalt_start(") >= least
    _run_the_same(tmp_path, mpi, program.texts, after)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_procedures_of_two_modules_have_versions_of_other_names(tmp_path: Path, mpi: Mpi) -> None:
    program = _Program(use="use grid\n  use gridb, only: exb => exchange", call_v="call exb(v)")
    texts = program.texts
    second = texts["grid.f90"].replace("module grid", "module gridb")
    second = second.replace("  use mpi\n", "  use mpi\n  use grid, only: nx, ny, left, right\n", 1)
    second = second.replace(
        "  integer :: nx, ny, left, right\n", "  private\n  public :: exchange\n"
    )
    second = second.replace("rbuf(i, 1)\n", "rbuf(i, 1)*0.5d0\n")
    texts = {"grid.f90": texts["grid.f90"], "gridb.f90": second, "main.f90": texts["main.f90"]}
    after = _transformed(tmp_path, texts)
    assert "call exchange_asphalt_start(" in after["main.f90"]
    assert "call exchange_asphalt_start_2(" in after["main.f90"]
    _run_the_same(tmp_path, mpi, texts, after)


def test_a_version_that_loses_a_statement_is_found(tmp_path: Path) -> None:
    program = _Program()
    after = _transformed(tmp_path, program.texts)
    where = after["grid.f90"].index("subroutine exchange_asphalt_finish(")
    lost = after["grid.f90"][where:].replace("      a(i, ny+1) = rbuf(i, 2)\n", "", 1)
    broken = {**after, "grid.f90": after["grid.f90"][:where] + lost}
    for mpi in installed(OPENMPI):
        with pytest.raises(AssertionError):
            _run_the_same(tmp_path, mpi, program.texts, broken)


_WHOLE = {
    "a local variable is allocatable": _Program(
        locals="    real(8), allocatable :: sbuf(:, :), rbuf(:, :)\n"
        "    integer :: req(4), ierr, i\n"
        "    allocate(sbuf(nx, 2), rbuf(nx, 2))\n",
    ),
    "it returns early": _Program(pack=f"    if (nx == 1) return\n{_PACK}"),
}


@pytest.mark.parametrize("program", _WHOLE.values(), ids=_WHOLE.keys())
def test_an_exchange_has_no_phases(tmp_path: Path, program: _Program) -> None:
    after = _transformed(tmp_path, program.texts)
    assert "exchange_asphalt_start" not in after["main.f90"]
    for mpi in installed(OPENMPI):
        _run_the_same(tmp_path, mpi, program.texts, after)


def test_a_variable_that_changes_in_between_is_passed_to_both(tmp_path: Path) -> None:
    program = _Program(
        dummies="k, a",
        locals=f"    integer, intent(in) :: k\n{_LOCALS}",
        unpack=_UNPACK.replace("rbuf(i, 1)", "rbuf(i, 1) + k"),
        declared="  integer :: m\n",
        before="  m = 0\n",
        call_u="m = m + 1\n    call exchange(m, u)\n    m = m + 2",
        call_v="call exchange(m, v)\n    m = m + 1",
    )
    after = _transformed(tmp_path, program.texts)
    finish = after["main.f90"].index("call exchange_asphalt_finish(m, u")
    assert finish < after["main.f90"].index("m = m + 2")
    for mpi in installed(OPENMPI):
        _run_the_same(tmp_path, mpi, program.texts, after)


_PASSED = {
    "a pointer": (
        _Program(
            declared="  real(8), pointer :: p(:, :)\n",
            before="  p => v(:, ::2)\n",
            call_u="call exchange(p)\n    n = n",
        ),
        "a copy may be passed for a",
    ),
    "a section": (
        _Program(call_u="call exchange(u(:, ::2))\n    n = n"),
        "a copy may be passed for a",
    ),
    "another field in the second phase": (
        _Program(
            declared="  real(8) :: f(0:301, 0:101, 3)\n",
            call_u="call exchange(f(:, :, n))\n    n = n + 1",
        ),
        "what is passed for a depends on n",
    ),
    "other bounds in the second phase": (
        _Program(call_u="call exchange(u)\n    ny = ny + 1"),
        "decides a bound in it",
    ),
}


@pytest.mark.parametrize(("program", "why"), _PASSED.values(), ids=_PASSED.keys())
def test_both_phases_must_get_the_same_variables(
    tmp_path: Path, program: _Program, why: str
) -> None:
    inside = _facts(tmp_path, program)
    tree = inside.effects.scopes.program
    (main,) = (one for one in tree.mentions("exchange") if one.unit.name == "steps")
    facts = UnitFacts(main, inside.effects)
    loop = next(n for n in facts.unit.body if isinstance(n, Do) and _called(n.body[0]))
    call, between = loop.body[0], loop.body[1]
    assert isinstance(call, Leaf)
    (position,) = positions(inside)
    phases = phases_at(inside, position)
    with pytest.raises(RefusedError, match=why):
        check_passed(facts, call, inside, phases, (between,))


def _called(node: Node) -> bool:
    return isinstance(node, Leaf) and node.call is not None


def _facts(folder: Path, program: _Program) -> UnitFacts:
    """The facts of the procedure."""
    for name, text in program.texts.items():
        (folder / name).write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    units = tree.units_of(str(folder / program.home))
    (located,) = (one for one in units if one.unit.name == "exchange")
    return UnitFacts(located, Effects(Scopes(tree)))


def test_what_lives_from_one_phase_to_the_other(tmp_path: Path) -> None:
    facts = _facts(tmp_path, _Program())
    check_phases(facts)
    (position,) = positions(facts)
    phases = phases_at(facts, position)
    assert set(phases.carried) == {"sbuf", "rbuf", "req"}
    assert set(phases.pending) == {"sbuf", "rbuf"}


_REFUSED = {
    "a dummy may be absent": (
        _Program(dummies="a, k", locals=f"    integer, optional :: k\n{_LOCALS}"),
        "k may be absent",
    ),
    "it returns in between": (
        _Program(unpack=f"    if (nx == 1) return\n{_UNPACK}"),
        "is left",
    ),
    "a local variable is a pointer": (
        _Program(locals=f"    real(8), pointer :: p(:)\n{_LOCALS}"),
        "p may have other names",
    ),
    "a declaration depends on what it changes": (
        _Program(pack=f"{_PACK}    nx = nx\n"),
        "declarations depend on",
    ),
    "a collective operation is in progress": (
        _Program(pack=f"{_PACK}    call MPI_Barrier(MPI_COMM_WORLD, ierr)\n"),
        "may be in progress",
    ),
    "a local variable is saved": (
        _Program(
            locals=f"    integer, save :: k = 0\n{_LOCALS}",
            unpack=f"    k = k + 1\n{_UNPACK}",
            pack=f"    k = k + 1\n{_PACK}",
        ),
        "k lives from one phase to the other",
    ),
    "a local variable is allocated in one and freed in the other": (
        _Program(
            locals=f"    real(8), allocatable :: w(:)\n{_LOCALS}",
            pack=f"    allocate(w(nx))\n{_PACK}",
            unpack=f"{_UNPACK}    deallocate(w)\n",
        ),
        "w lives from one phase to the other",
    ),
    "a communicating procedure is called": (
        _Program(
            pack=f"{_PACK}    call more\n",
            module="contains\n  subroutine more\n    integer :: e\n"
            "    call MPI_Send(nx, 1, MPI_INTEGER, left, 7, MPI_COMM_WORLD, e)\n"
            "  end subroutine more\n",
        ),
        "more communicates, too",
    ),
}


@pytest.mark.parametrize(("program", "why"), _REFUSED.values(), ids=_REFUSED.keys())
def test_a_procedure_has_no_phases(tmp_path: Path, program: _Program, why: str) -> None:
    facts = _facts(tmp_path, program)
    with pytest.raises(RefusedError, match=why):
        _check(facts)


def _check(facts: UnitFacts) -> None:
    check_phases(facts)
    for position in positions(facts):
        phases_at(facts, position)
