"""Procedures that were inlined in vain are called again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.ir.tree import Leaf, leaves
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.inlining import inline
from asphalt.transforms.inlining.inlined_statements import Came
from asphalt.transforms.inlining.restored_calls import restored
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.mpi_run import MPICH, RUNTIME, Mpi, build, installed, run
from support.stepping import Stepped

_LIMIT = """\
module limits
  use mpi
  implicit none
contains
  subroutine limit(n, a, dt)
    integer, intent(in) :: n
    real(8), intent({intent}) :: a({shape})
    real(8), intent(inout) :: dt
    real(8) :: least
    integer :: i, ierr
    least = dt
    ! the smallest one
    do i = 1, n
      a(i) = 2*i
      least = min(least, a(i))
    end do
    call MPI_Allreduce(least, dt, 1, MPI_REAL8, MPI_MIN, MPI_COMM_WORLD, ierr)
  end subroutine limit
end module limits
"""
_UNIT = """\
subroutine step(n, a, b, dt, comm)
  use mpi
  use limits
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: a({extent}), b(n, n), dt
  integer :: request, error
  call MPI_Irecv(b, n, MPI_REAL8, 1, 5, comm, request, error)
  b(1, 2) = 1
  ! how long
{call}
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
end subroutine step
"""
_CALL = "  call limit(n, a, dt) ! so long\n"
_COMPUTED = "  call limit(n/2, a, dt)\n"


def _again(
    folder: Path, edit: Callable[[str], str], call: str = _CALL, limit: dict[str, str] | None = None
) -> tuple[str, str | None]:
    """A unit with a call, and what becomes of it when the call is inlined, the text edited, and the
    procedure called again; None: it is not."""
    parts = {"intent": "inout", "shape": "n", "extent": "n", "call": call.rstrip("\n")}
    parts |= limit or {}
    files = {"limits.f90": _LIMIT.format(**parts), "step.f90": _UNIT.format(**parts)}
    stepped = Stepped.of(folder, files)
    given = _step(stepped)
    path = given.located.path
    (step,) = (s for s in inline.check(given) if isinstance(s, inline.Inline))
    unit = inline.apply(given, step)
    own = {leaf.span.first for leaf in leaves(step.plan.callee.unit) if leaf.span}
    came = [_came(leaf, step, own, path) for node in unit.body for leaf in leaves(node)]
    file = replace_unit(stepped.tree.file(path), given.unit, unit)
    text = edit(unparse(file))
    stepped.tree = stepped.tree.edited({path: text.encode("latin-1")})
    facts = _step(stepped)
    now = [leaf for node in facts.unit.body for leaf in leaves(node)]
    texts = [_text(leaf) for node in unit.body for leaf in leaves(node)]

    def origin(leaf: Leaf) -> Came | None:
        mine = _text(leaf)
        return (
            came[texts.index(mine)] if any(leaf is one for one in now) and mine in texts else None
        )

    found = restored(facts, given, origin)
    if found is None:
        return files["step.f90"], None
    again = unparse(replace_unit(stepped.tree.file(path), facts.unit, found.unit))
    return files["step.f90"], again


def _step(stepped: Stepped) -> UnitFacts:
    return next(facts for facts in stepped.facts() if facts.unit.name == "step")


def _came(leaf: Leaf, step: inline.Inline, own: set[int], path: str) -> Came:
    if leaf.span is None or (leaf.span.file != path and leaf.span.first in own):
        return Came(
            step.line, step.plan if leaf.span else None, leaf.span.first if leaf.span else 0
        )
    return Came(leaf.span.first)


def _text(leaf: Leaf) -> str:
    return str(leaf.what)


def _statements(text: str) -> list[str]:
    """What a unit does, without its declarations."""
    lines = [line for line in text.splitlines() if "::" not in line]
    return [line.strip() for line in lines if line.strip()]


@pytest.mark.parametrize(
    "call",
    [
        _CALL,
        "  call limit(dt=dt, a=b(:, 2), n=n)\n",
        "  if (n > 2) call limit(n, a, dt)\n",
        _COMPUTED,
        "  if (n > 2) call limit(n/2, a, dt)\n",
    ],
)
def test_a_procedure_whose_statements_stayed_is_called_again(call: str, tmp_path: Path) -> None:
    given, again = _again(tmp_path, lambda text: text, call)
    assert again is not None
    assert _statements(again) == _statements(given)


def _moved_down(text: str) -> str:
    """The reduction behind the wait."""
    begin = text.index("  call MPI_Allreduce")
    end = text.index("\n", text.index("ierr)", begin)) + 1
    reduction = text[begin:end]
    return (text[:begin] + text[end:]).replace(
        "end subroutine step", reduction + "end subroutine step"
    )


@pytest.mark.parametrize(
    ("edit", "call"),
    [
        # a statement of it stands elsewhere
        (_moved_down, _CALL),
        # something has come in between
        (lambda text: text.replace("  ! the smallest", "  b(2, 2) = 2\n  ! the smallest"), _CALL),
        # it computes something else now
        (lambda text: text.replace("min(least, a(", "max(least, a("), _CALL),
        # a comment of the caller would go
        (lambda text: text.replace("! the smallest one", "! not of it"), _CALL),
        # what is computed first is not
        (lambda text: text.replace("= n/2", "= n/3"), _COMPUTED),
        # something else depends on the condition now
        (
            lambda text: text.replace("  end if", "    b(2, 2) = 2\n  end if"),
            "  if (n > 2) call limit(n, a, dt)\n",
        ),
        (lambda text: text.replace("(n > 2)", "(n > 3)"), "  if (n > 2) call limit(n, a, dt)\n"),
    ],
)
def test_changed_statements_stay(edit: Callable[[str], str], call: str, tmp_path: Path) -> None:
    _, again = _again(tmp_path, lambda text: text, call)
    assert again is not None
    _, again = _again(tmp_path / "edited", edit, call)
    assert again is None


@pytest.mark.parametrize(
    ("call", "limit", "is_called"),
    [
        # a copy of what the caller passes may be written back over what arrives there
        (_CALL, {"extent": ":"}, False),
        (_CALL, {"extent": ":", "shape": ":"}, True),
        # what arrives in the other column would be undefined
        ("  call limit(n, b(:, 2), dt)\n", {"intent": "out"}, False),
        ("  call limit(n, b(:, 2), dt)\n", {}, True),
        (_CALL, {"intent": "out"}, True),
    ],
)
def test_a_call_passes_what_the_statements_access(
    call: str, limit: dict[str, str], is_called: bool, tmp_path: Path
) -> None:
    _, again = _again(tmp_path, lambda text: text, call, limit)
    assert (again is not None) is is_called


_HALO = """\
module halo
  use mpi
  implicit none
  integer :: nx, ny, left, right
  real(8), allocatable :: u(:, :), w(:, :)
contains
  subroutine exchange(a)
    real(8), intent(inout) :: a(nx, 0:ny+1)
    integer :: req(4), ierr
    call MPI_Irecv(a(1, 0), nx, MPI_REAL8, left, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(a(1, ny+1), nx, MPI_REAL8, right, 2, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Isend(a(1, ny), nx, MPI_REAL8, right, 1, MPI_COMM_WORLD, req(3), ierr)
    call MPI_Isend(a(1, 1), nx, MPI_REAL8, left, 2, MPI_COMM_WORLD, req(4), ierr)
    call MPI_Waitall(4, req, MPI_STATUSES_IGNORE, ierr)
  end subroutine exchange
  subroutine find_step(dt)
    real(8), intent(out) :: dt
    real(8) :: most
    integer :: ierr
    most = maxval(u(:, 1:ny))
    call MPI_Allreduce(most, dt, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, ierr)
    dt = 0.2d0/(1 + dt)
  end subroutine find_step
end module halo
"""
_MAIN = """\
program steps
  use mpi
  use halo
  implicit none
  real(8) :: dt
  integer :: ierr, me, np, i, j, n
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  nx = 300
  ny = 100
  left = mod(me + np - 1, np)
  right = mod(me + 1, np)
  allocate(u(nx, 0:ny+1), w(nx, 0:ny+1))
  do j = 0, ny + 1
    do i = 1, nx
      u(i, j) = mod(7*i + 13*(j + ny*me), 127)*0.01d0
    end do
  end do
  w = 0
  do n = 1, 4
    if (mod(n, 2) == 1) call find_step(dt)
    call exchange(u)
    do j = 1, ny
      do i = 1, nx
        w(i, j) = u(i, j) + dt*(u(i, j-1) + u(i, j+1) - 2*u(i, j))
      end do
    end do
    do j = 1, ny
      do i = 1, nx
        u(i, j) = w(i, j)
      end do
    end do
  end do
  do n = 0, np - 1
    if (n == me) print '(i0, 3es24.16)', me, sum(u(:, 1:ny)), u(1, 1), u(nx, ny)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Finalize(ierr)
end program steps
"""


@pytest.mark.parametrize("mpi", installed(MPICH), ids=lambda mpi: mpi.name)
def test_what_was_inlined_in_vain_is_told_nowhere(mpi: Mpi, tmp_path: Path) -> None:
    files = {"halo.f90": _HALO, "steps.f90": _MAIN}
    stepped = Stepped.of(tmp_path / "given", files)
    tree = stepped.tree
    (main,) = (e for e in tree.files if e.path.endswith("steps.f90"))
    (located,) = tree.units_of(main.path)
    found = optimise(tree, located)
    assert found.content is not None
    text = found.content.decode()
    assert "    if (mod(n, 2) == 1) call find_step(dt)\n" in text
    assert "! asphalt: exchange of halo.f90 stands here" in text
    assert all(step.call is None or step.call.unit != "find_step" for step in found.steps)
    new = tmp_path / "new"
    new.mkdir()
    texts = {entry.path: tree.content(entry.path) for entry in tree.files}
    for path, content in {**texts, **found.beside, main.path: found.content}.items():
        (new / Path(path).name).write_bytes(content)
    outputs = []
    for folder, more in ((tmp_path / "given", []), (new, [*RUNTIME])):
        sources = [*more, folder / "halo.f90", folder / "steps.f90"]
        (folder / "build").mkdir()
        program = build(mpi, sources, folder / "build")
        outputs.append(run(mpi, program, 3))
    assert outputs[0] == outputs[1]


_PRINT = "  print *, me\n"


def test_names_that_came_with_a_call_that_is_called_again_go(tmp_path: Path) -> None:
    """The call in front of the loop has brought the tags for both."""
    own = "  private\n  public :: nx, ny, left, right, u, w, exchange, find_step\n"
    halo = _HALO.replace(
        "  integer :: nx,", own + "  integer, parameter :: up = 1, down = 2\n  integer :: nx,"
    )
    for peer, tag, name in (("left", 1, "up"), ("right", 2, "down")):
        halo = halo.replace(f"{peer}, {tag},", f"{peer}, {name},")
    halo = halo.replace("right, 1,", "right, up,").replace("left, 2,", "left, down,")
    main = _MAIN.replace("  do n = 1, 4\n", f"{_PRINT}  call exchange(u)\n{_PRINT}  do n = 1, 4\n")
    second = "u(i, j) = w(i, j) + dt*(w(i, j-1) + w(i, j+1) - 2*w(i, j))"
    first, rest = main.replace("u(i, j) = w(i, j)", second).split("    end do\n    do j", 1)
    main = f"{first}    end do\n    call exchange(w)\n    do j{rest}"
    tree = Stepped.of(tmp_path, {"halo.f90": halo, "steps.f90": main}).tree
    (entry,) = (e for e in tree.files if e.path.endswith("steps.f90"))
    (located,) = tree.units_of(entry.path)
    found = optimise(tree, located)
    assert found.content is not None
    assert b"call exchange_asphalt_start(u, " in found.content
    assert b"\n  call exchange(u)\n  print" in found.content
    assert b"only:" not in found.content
    (module,) = found.beside.values()
    (line,) = (
        line
        for line in module.decode().splitlines()
        if "public" in line and own.splitlines()[1] != line
    )
    assert set(line.split("::")[1].replace(" ", "").split(",")) == {
        "exchange_asphalt_start",
        "exchange_asphalt_finish",
    }
