"""Tokens of fixed form that blanks or the end of a line cut are read as the compiler reads them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.frontend.statements.cut_tokens import whole_tokens
from asphalt.frontend.statements.statements import statement
from asphalt.ir.stmt import Opaque
from asphalt.project import Project
from support.fortran_program import FortranProgram
from support.mpi_run import MPICH, RUNTIME, build, installed, run

STATEMENTS = (
    "call mpi_alltoall(s, n*nz, mpi_real, r, n*nz, mpi_real, comm, ierr)",
    "call barrier",
    "u(i, k+1) = u(i, k) + 2.5d0*v(index(i))**12",
    "if (me .eq. 10) call mpi_send(buf, 100, mpi_real, 1, 20, comm, ierr)",
    "if (err .ne. 0) goto 999",
    "if (x .gt. 1.5e-3) y = 200",
    "if (alpha) 10, 20, 30",
    "do 100 index = first, last, 2",
    "do index = first, last",
    "goto 100",
    "go to (10, 20), jump",
    "real alpha, beta(10, 20), gamma",
    "real*8 alpha, beta(10)",
    "integer count, first(20)",
    "double precision alpha, beta(100)",
    "character*80 title",
    "common /block/ alpha, beta(10)",
    "dimension alpha(10), beta(20)",
    "parameter (size = 100, half = 50)",
    "external alpha, beta",
    "save alpha, beta",
    "equivalence (alpha(1), beta(10))",
    "subroutine alpha(beta, gamma)",
    "integer function alpha(beta)",
    "double precision function alpha(beta)",
    "write (6, *) alpha, beta",
    "read (5, *) alpha, beta(10)",
    "print *, alpha, 'a b  c', beta",
    "return",
    "stop 12",
    "else if (alpha .lt. beta) then",
    "if (alpha .lt. beta) then",
    "real function alpha()",
    "use grid, only: alpha => beta",
    "allocate (alpha(100), beta(20))",
    "implicit real*8 (a-h, o-z)",
)


def _cut(code: str, choose: random.Random) -> str:
    """The statement with blanks in some of its names and numbers."""
    found: list[str] = []
    constant = False
    for here, following in zip(code, code[1:] + " ", strict=True):
        found.append(here)
        constant ^= here == "'"
        word = here.isalnum() or here in "_."
        follows = following.isalnum() or following in "_."
        if not constant and word and follows and choose.random() < 0.2:
            found.append(" ")
    return "".join(found)


@pytest.mark.parametrize("code", STATEMENTS)
def test_blanks_do_not_count(code: str) -> None:
    choose = random.Random(code)
    meant = statement(code, False)
    assert not isinstance(meant, Opaque)
    for _ in range(300):
        cut = _cut(code, choose)
        read = statement(whole_tokens(cut), False)
        assert isinstance(read, Opaque) or read == meant, cut


@pytest.mark.parametrize(
    ("code", "whole"),
    [
        ("call mpi_al ltoall(a)", "call mpi_alltoall(a)"),
        ("x = al pha + 'a  b'//'c d'", "x =alpha+'a  b'//'c d'"),
        ("if (al pha) go to 1 0", "if (alpha)goto10"),
        ("double precision al pha", "double precision alpha"),
        ("parameter al pha = 3", "parameter alpha=3"),  # of old programs, without parentheses
        ("al pha = 3", "alpha=3"),
        ("call s('a' 'b', x y)", "call s('a' 'b', x y)"),  # never 'a''b'
        ("call s(2ha , x y)", "call s(2ha , x y)"),
        ("call s(al pha", "call s(al pha"),
        ("call s(alpha)", "call s(alpha)"),
    ],
)
def test_what_is_left_out(code: str, whole: str) -> None:
    assert whole_tokens(code) == whole


MAIN = """\
      program main
      include 'mpif.h'
      integer n, nz, np, me, i, z, p, ierr
      parameter (n = 3, nz = 32)
      double precision sent(n,nz,4), r(n,nz,4)
      call mpi_init(ierr)
      call mpi_comm_rank(mpi_comm_world, me, ierr)
      call mpi_comm_size(mpi_comm_world, np, ierr)
      do z = 1, nz
        do p = 1, np
          do i = 1, n
            sent(i,z,p) = sin(dble(i*z)) + p*me
          end do
        end do
      end do
      call mpi_alltoall(sent, n*nz, mpi_double_precision, r, n*nz,
     &                  mpi_double_precision, mpi_comm_world, ierr)
      print *, me, sum(r(:,:,1:np))
      call mpi_finalize(ierr)
      end
"""
CALL = "      call mpi_alltoall("
FILL = "            sent(i,z,p) = sin(dble(i*z)) + p*me"
CUTS = {
    "filled": (CALL, f"      {'call mpi_al':>66}\n     &ltoall("),
    "early": (CALL, "      call mpi_al\n     &ltoall("),
    "numbered": (CALL, f"{'      call mpi_al':72}00010\n     &ltoall("),
    "comments": (CALL, "      ca ! one\nc two\n\n     1ll mpi_alltoall("),
    "blanks": ("n*nz, mpi_double", "n*n z, m pi_ double"),
    "producer": (FILL, "            sen\n     &t(i,z,p) = si n(dble(i*z)) + p*m e"),
    "loop": ("      do z = 1, nz", "      do z = 1, n\n     &z"),
}


def _changed(folder: Path, text: str) -> str:
    (folder / "main.f").write_text(text)
    project = Project(folder, settings=Settings(cache=False, jobs=1))
    assert [site.verdict for site in project.sites()] == ["proved"]
    (change,) = project.transform(tile=3, depth=2)
    (folder / "main.f").write_bytes(change.after)
    (folder / "asphalt_params.inc").write_text(
        "".join(
            f"      integer, parameter :: asphalt_{what}_{entry.site} = {value}\n"
            for entry in change.parameters
            for what, value in (("k", entry.tile), ("d", entry.depth))
        )
    )
    return change.after.decode()


@pytest.mark.parametrize("kind", CUTS)
def test_cut_names_are_understood_and_stay_as_they_are(kind: str, tmp_path: Path) -> None:
    old, new = CUTS[kind]
    assert MAIN.count(old) == 1
    after = _changed(tmp_path, MAIN.replace(old, new))
    for line in new.splitlines() if kind != "loop" else ():  # its head is that of the tiles now
        assert line.strip() in after
    code = [line for line in after.splitlines() if not line.startswith("!")]
    assert all(len(line) <= 72 or line[72:] == "00010" for line in code)


@pytest.mark.skipif(not installed(MPICH), reason="MPICH is not installed")
def test_transformed_programs_with_cut_names_print_the_same(tmp_path: Path) -> None:
    text = MAIN
    for kind in ("numbered", "producer", "loop"):
        text = text.replace(*CUTS[kind])
    places = [tmp_path / name for name in ("original", "changed")]
    for place in places:
        place.mkdir()
    (places[0] / "main.f").write_text(text)
    assert "asphalt_x%begin" in _changed(places[1], text)
    first = build(MPICH, [places[0] / "main.f"], places[0], ["-O1", "-w"])
    second = build(MPICH, [*RUNTIME, places[1] / "main.f"], places[1], ["-O1", "-w"])
    expected, found = run(MPICH, first, 3), run(MPICH, second, 3)
    assert expected.code == 0, expected.stderr
    assert (found.code, sorted(found.stdout.split())) == (0, sorted(expected.stdout.split()))


def test_a_cut_call_that_is_not_understood_is_reported(tmp_path: Path) -> None:
    (tmp_path / "main.f").write_text(MAIN.replace(CALL, "      call mpi_al\n     &ltoall(+("))
    project = Project(tmp_path, settings=Settings(cache=False, jobs=1))
    (note,) = project.remarks
    assert note.line == 16
    assert note.message.startswith("names MPI_ALLTOALL, and is not understood")


HOST = """\
      subroutine host(n)
      integer n, buffer
      buffer = n
      call inner
      contains
      subroutine inner
{}
      end subroutine
      end subroutine
"""


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("      buffer = 1", True),
        ("      buf fer = 1", True),
        ("      buf\n     &fer = 1", True),
        (f"      {'buf':>66}\n     &fer = 1", True),
        ("      print *, buf, fer", False),
    ],
)
def test_cut_names_of_procedures_inside_are_the_hosts(line: str, named: bool) -> None:
    program = FortranProgram(HOST.format(line), suffix=".f")
    scope = Scopes(program).of(program.at("host"))
    assert named_inside("buffer", scope) is named


def test_names_cut_in_free_form_are_the_hosts() -> None:
    program = FortranProgram(
        HOST.replace("      ", "").format("buf&\n  &fer = 1 + &\n  2"), suffix=".f90"
    )
    scope = Scopes(program).of(program.at("host"))
    assert named_inside("buffer", scope)
    assert not named_inside("fe", scope)


def _effects(line: str, folder: Path) -> set[EffectKind]:
    """What else a procedure of fixed form does, behind whose declarations a line stands."""
    text = f"subroutine p(n)\ninteger n\n{line}\nn = 3\nend"
    path = folder / "p.f"
    path.write_text("".join(f"      {part}\n" for part in text.splitlines()))
    tree = load_tree((path,), Settings(cache=False, jobs=1))
    effects, _ = Analyses(tree).of()
    (unit,) = tree.units_of(str(path))
    return {kind for kind, _ in effects.summary(unit).effects}


@pytest.mark.parametrize(
    "line",
    ["save k = 4", "real x = 2", "external f(2) = 1", "integer i(1,2) = 'a,b'", "sa ve k b"],
)
def test_what_may_be_an_assignment_is_an_effect(line: str, tmp_path: Path) -> None:
    """The first of these gives a variable its value, as gfortran reads it."""
    assert _effects(line, tmp_path) == {EffectKind.OPAQUE}


@pytest.mark.parametrize(
    "line",
    [
        "real x, y",
        "parameter (m = 3)",
        "parameter m = 3",
        "data a /1/, (b(i), i = 1, 3) /3*0/",
        "real :: x = 2.0",
    ],
)
def test_what_declares_is_no_assignment(line: str, tmp_path: Path) -> None:
    assert _effects(line, tmp_path) == set()
