"""Files of several configurations: changed in the one that was analysed, untouched in all others.

The preprocessor decides what other configurations compile, so it is asked: what it makes of a file
there must be the same before and after.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Outcome, Project
from support.judging import NEST, program
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

HALO = """\
module lines
#ifdef HAVE_MPI
  use mpi
#endif
  implicit none
contains
  subroutine relax(a, b, w, n, left, right)
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: a(n), b(n), w(n)
    integer :: i
#if defined(HAVE_MPI)
    integer :: ierr
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
#else
    b = a
#endif
    do i = 1, n
#ifdef SQUARES
      w(i) = w(i)**2
#else
      w(i) = sqrt(w(i)) + 1
#endif
    end do
    b(1) = b(1) + w(n)
  end subroutine relax
end module lines
program main
#ifdef HAVE_MPI
  use mpi
#endif
  use lines
  implicit none
  integer :: ierr, me, np, step
  real(8) :: a(1000), b(1000), w(1000)
  me = 0
  np = 1
#ifdef HAVE_MPI
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
#endif
  a = me + 0.5d0
  b = 0
  w = [(step*0.001d0, step = 1, 1000)]
  do step = 1, 3
    call relax(a, b, w, 1000, modulo(me - 1, np), modulo(me + 1, np))
    a = a + b/3
  end do
  print *, me, sum(a), sum(b), sum(w)
#ifdef HAVE_MPI
  call MPI_Finalize(ierr)
#endif
end program main
"""
EXCHANGE = """\
subroutine scatter(s, r, n, nz, np)
#if defined(HAVE_MPI)
  use mpi
#endif
  implicit none
  integer, intent(in) :: n, nz, np
  real(8) :: s(n,nz,np), r(n,nz,np)
  integer :: z, p, i, ierr
  ierr = 0
#if defined(HAVE_MPI)
  do z = 1, nz
    do p = 1, np
      do i = 1, n
#ifdef SQUARES
        s(i,z,p) = dble(i + z)**2/p
#else
        s(i,z,p) = dble(i + z)/p
#endif
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
#else
  s = 2
  r = s
#endif
end subroutine scatter
program main
#if defined(HAVE_MPI)
  use mpi
#endif
  implicit none
  integer :: ierr, np
  real(8), allocatable :: a(:,:,:), b(:,:,:)
  np = 1
#if defined(HAVE_MPI)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
#endif
  allocate(a(10,16,np), b(10,16,np))
  call scatter(a, b, 10, 16, np)
  print *, sum(b)
#if defined(HAVE_MPI)
  call MPI_Finalize(ierr)
#endif
end program main
"""
CONFIGURATIONS = ((), ("HAVE_MPI",), ("SQUARES",), ("HAVE_MPI", "SQUARES"))


def preprocessed(text: str, defines: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """The lines that a compiler sees of a text in free form."""
    options = [f"-D{define}" for define in defines]
    command = ["gfortran", "-E", "-P", "-cpp", *flags, *options, "-x", "f95-cpp-input", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.strip()]


def outcome(
    folder: Path, passes: Sequence[str], defines: Sequence[str], cpp: bool = False, **texts: str
) -> Outcome:
    """What becomes of some files; ``name_suffix`` is the file ``name.suffix``."""
    for name, text in texts.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text)
    settings = Settings(tuple(defines), passes=tuple(passes), cache=False, jobs=1, cpp=cpp)
    return Project(folder, settings=settings).outcome(tile=3)


def changed(found: Outcome) -> str:
    """The one file that is changed."""
    (change,) = found.changes
    return change.after.decode()


@pytest.mark.parametrize(("text", "passes"), [(HALO, ["all"]), (EXCHANGE, ["prepush"])])
@pytest.mark.parametrize("defines", CONFIGURATIONS)
def test_other_configurations_are_compiled_as_they_were(
    tmp_path: Path, text: str, passes: Sequence[str], defines: Sequence[str]
) -> None:
    after = changed(outcome(tmp_path, passes, ["HAVE_MPI"], main_F90=text))
    assert after != text
    same = preprocessed(text, defines) == preprocessed(after, defines)
    assert same is (tuple(defines) != ("HAVE_MPI",))
    dead = [line for line in text.splitlines() if "**2" in line or "b = a" in line]
    assert [line for line in after.splitlines() if "**2" in line or "b = a" in line] == dead
    assert "!#asphalt" not in after


@pytest.mark.parametrize(
    ("text", "passes"),
    [(HALO, ["all"]), pytest.param(EXCHANGE, ["prepush"], marks=pytest.mark.wide)],
)
@pytest.mark.parametrize(
    "mpi",
    [*installed(OPENMPI), *(pytest.param(one, marks=pytest.mark.wide) for one in installed(MPICH))],
)
def test_all_configurations_print_what_they_did(
    tmp_path: Path, mpi: Mpi, text: str, passes: Sequence[str]
) -> None:
    (tmp_path / "source").mkdir()
    found = outcome(tmp_path / "source", passes, ["HAVE_MPI"], main_F90=text)
    (change,) = found.changes
    for number, defines in enumerate(CONFIGURATIONS):
        printed = []
        for kind, content in (("before", text.encode()), ("after", change.after)):
            place = tmp_path / f"{kind}{number}"
            place.mkdir()
            (place / "main.F90").write_bytes(content)
            for entry in change.parameters:
                header = f"integer, parameter :: asphalt_k_{entry.site} = 3, "
                header += f"asphalt_d_{entry.site} = 2\n"
                (place / "asphalt_params.inc").write_text(header)
            sources = [*RUNTIME, place / "main.F90"]
            flags = ["-O1", "-w", *(f"-D{define}" for define in defines)]
            ran = run(mpi, build(mpi, sources, place, flags), 3)
            assert ran.code == 0, ran.stderr
            printed.append(sorted(ran.stdout.splitlines()))
        assert printed[0] == printed[1]


def test_edits_inside_of_the_branch_need_no_condition(tmp_path: Path) -> None:
    text = EXCHANGE.replace("#ifdef SQUARES\n        s(i,z,p) = dble(i + z)**2/p\n#else\n", "")
    text = text.replace("dble(i + z)/p\n#endif\n", "dble(i + z)/p\n")
    after = changed(outcome(tmp_path, ["prepush"], ["HAVE_MPI"], main_F90=text))
    added = [line for line in after.splitlines() if line.startswith("#")]
    given = [line for line in text.splitlines() if line.startswith("#")]
    assert len(added) == len(given) + 2
    assert after.count("#if defined(HAVE_MPI)\n  type(asphalt_exchange_t) :: asphalt_x\n") == 1
    assert after.count("dble(i + z)/p") == 1


def test_a_nest_in_a_branch_is_cut_together_with_a_call_behind_it(tmp_path: Path) -> None:
    other = NEST.replace("do z = 1, nz", "do z = nz, 1, -1")
    text = program(nest=f"#ifdef FORWARD\n{NEST}#else\n{other}#endif\n")
    after = changed(outcome(tmp_path, ["prepush"], ["FORWARD"], exchange_F90=text))
    assert preprocessed(after, []) == preprocessed(text, [])
    assert preprocessed(after, ["FORWARD"]) != preprocessed(text, ["FORWARD"])
    assert "#ifdef FORWARD\n  ! asphalt: MPI_Alltoall of site 'exchange'" in after


_BRANCHES = """\
subroutine sums(h, w, n)
{use}  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: h(n), w(n)
  integer :: i
{declared}  call mpi_sendrecv(h, n, mpi_real8, 0, 1, t, n, mpi_real8, 0, 1, mpi_comm_self, &
                    mpi_status_ignore, e)
#endif
  do i = 1, n
    w(i) = sqrt(w(i))
  end do
#ifdef PARALLEL
  h = t
#endif
end subroutine
"""
_USE = "#ifdef PARALLEL\n  use mpi\n#endif\n"
_OWN = "  real(8) :: t(n)\n  integer :: e\n"


@pytest.mark.parametrize("between", ["", "#endif\n#ifdef PARALLEL\n"])
def test_a_branch_that_begins_with_declarations_takes_more(tmp_path: Path, between: str) -> None:
    text = _BRANCHES.format(use=_USE, declared=f"#ifdef PARALLEL\n{_OWN}{between}")
    after = changed(outcome(tmp_path, ["all"], ["PARALLEL"], sums_F90=text))
    assert preprocessed(after, []) == preprocessed(text, [])
    assert "asphalt_isend" in "".join(preprocessed(after, ["PARALLEL"]))


CALLER = """\
subroutine step(a, b, w, n, right)
  use mpi
  implicit none
  integer, intent(in) :: n, right
  real(8), intent(inout) :: a(n), b(n), w(n)
  integer :: ierr
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, &
                    MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call work(w, n)
  w(1) = w(1) + b(1)
end subroutine step
"""
CALLEE = """\
subroutine work(w, n)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: w(n)
  integer :: i
  do i = 1, n
    w(i) = sqrt(w(i)) + 1
  end do
#ifdef DBL
  call touch(w)
#endif
end subroutine work
"""
TRANSFERS = ["nonblocking", "motion"]


def test_a_branch_of_a_called_procedure_is_a_condition_of_the_caller(tmp_path: Path) -> None:
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=CALLEE))
    assert "#if !defined(DBL)\n" in after
    assert preprocessed(after, ["DBL"]) == preprocessed(CALLER, ["DBL"])
    assert "asphalt_isend" in "".join(preprocessed(after, []))


@pytest.mark.parametrize(
    "lines",
    [
        "#if 0\n  print *, 'never'\n#endif\n",
        "#if 1\n  ! always\n#endif\n",
        "#ifdef BAD\n#error no\n#endif\n",
        "#ifdef DOUBLE\n#define KIND 8\n#endif\n",
        "#ifdef TOLD\n  ! a comment\n#endif\n",
    ],
    ids=["never", "always", "error", "define", "comment"],
)
@pytest.mark.parametrize("place", ["  integer :: ierr\n", "  call work(w, n)\n"])
def test_conditionals_that_leave_no_line_to_a_test_stay(
    lines: str, place: str, tmp_path: Path
) -> None:
    callee = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    caller = CALLER.replace(place, f"{place}{lines}")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=caller, work_F90=callee))
    assert "asphalt_isend" in after
    assert lines in after
    assert "#asphalt" not in after


def test_removed_lines_stay_in_one_configuration(tmp_path: Path) -> None:
    lines = "#ifdef DEBUG\n  print *, ierr\n#endif\n"
    callee = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    caller = CALLER.replace("  call work(w, n)\n", f"  call work(w, n)\n{lines}")
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), one_configuration=True)
    for name, text in {"step.F90": caller, "work.F90": callee}.items():
        (tmp_path / name).write_text(text)
    after = changed(Project(tmp_path, settings=own).outcome())
    assert lines in after
    assert "#asphalt" not in after


def test_where_the_caller_is_not_preprocessed_it_stays(tmp_path: Path) -> None:
    found = outcome(tmp_path, TRANSFERS, [], step_f90=CALLER, work_F90=CALLEE)
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended == (
        "the proof holds where !defined(DBL) (work.F90:9), and step.f90 is not preprocessed, "
        "unless --cpp says so (--one-configuration: compiled with these -D alone)"
    )


def test_where_there_is_one_configuration_no_condition_stands(tmp_path: Path) -> None:
    (tmp_path / "step.f90").write_text(CALLER)
    (tmp_path / "work.F90").write_text(CALLEE)
    settings = Settings(jobs=1, passes=("nonblocking", "motion"), one_configuration=True)
    after = changed(Project(tmp_path, settings=settings).outcome())
    assert "asphalt_isend" in after
    assert "#if" not in after
    # in the configuration that counts, a call stands in the way
    other = replace(settings, defines=("DBL",))
    assert not Project(tmp_path, settings=other).outcome().changes


_ACC = """\
subroutine step(a, b, c, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer :: i, ierr
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{0}parallel loop &
{0}& private(i)
  do i = 1, n
    c(i) = sqrt(c(i)) + 1
  end do
end subroutine step
"""


@pytest.mark.parametrize(
    ("sentinel", "defines", "one", "moves"),
    [
        ("!$acc ", (), True, True),
        ("!$cuf ", (), True, True),
        ("!$acc ", ("_CUDA",), True, True),
        ("!$acc ", ("_OPENACC=201711",), True, False),
        ("!$cuf ", ("_CUDA",), True, False),
        ("!$acc ", (), False, False),  # other compilations may read it
        ("!$access ", (), True, False),
        ("!$omp ", ("_CUDA",), True, False),  # not a parallel loop
    ],
)
def test_directives_that_no_compiler_reads_are_comments(
    sentinel: str, defines: tuple[str, ...], one: bool, moves: bool, tmp_path: Path
) -> None:
    text = _ACC.format(sentinel)
    (tmp_path / "step.f90").write_text(text)
    settings = Settings(
        defines, jobs=1, cache=False, passes=tuple(TRANSFERS), one_configuration=one
    )
    project = Project(tmp_path, settings=settings)
    assert bool(project.outcome().changes) is moves
    notes = [one.message for one in project.tree.notes]
    what = {"!$acc ": "OpenACC", "!$cuf ": "CUDA Fortran"}.get(sentinel)
    assert [one.split(" count ")[0] for one in notes] == [f"directives of {what}"] * moves


def test_where_there_is_one_configuration_lines_change_inside_of_branches(tmp_path: Path) -> None:
    (tmp_path / "halo.F90").write_text(HALO)
    settings = Settings(
        ("HAVE_MPI", "SQUARES"), jobs=1, passes=tuple(TRANSFERS), one_configuration=True
    )
    (change,) = Project(tmp_path, settings=settings).outcome().changes
    after = change.after.decode()
    directives = [line for line in HALO.splitlines() if line.startswith("#")]
    assert [line for line in after.splitlines() if line.startswith("#")] == directives
    made = preprocessed(after, ["HAVE_MPI", "SQUARES"])
    assert "asphalt_isend" in "".join(made)
    assert not any("call MPI_Sendrecv" in line for line in made)


def test_where_the_build_preprocesses_all_files_the_caller_gets_the_condition(
    tmp_path: Path,
) -> None:
    after = changed(outcome(tmp_path, TRANSFERS, [], True, step_f90=CALLER, work_F90=CALLEE))
    assert "#if !defined(DBL)\n" in after
    assert preprocessed(after, ["DBL"]) == preprocessed(CALLER, ["DBL"])


def test_where_the_build_preprocesses_all_files_macros_change_them(tmp_path: Path) -> None:
    """The caller's work goes elsewhere with the macro, where nothing is known of it."""
    texts = {"step_f90": CALLER, "work_f90": CALLEE.split("#ifdef")[0] + "end subroutine work\n"}
    assert outcome(tmp_path, TRANSFERS, ["work=unseen"], **texts).changes
    found = outcome(tmp_path, TRANSFERS, ["work=unseen"], True, **texts)
    assert not found.changes


def test_where_another_macro_of_the_name_is_defined_it_stays(tmp_path: Path) -> None:
    caller = f"#define DBL\n{CALLER}"
    found = outcome(tmp_path, TRANSFERS, [], step_F90=caller, work_F90=CALLEE)
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended == (
        "the proof holds where !defined(DBL) (work.F90:9), and DBL may be something else in step "
        "(--one-configuration: compiled with these -D alone)"
    )


def test_a_macro_that_changes_in_between_keeps_a_procedure(tmp_path: Path) -> None:
    text = CALLEE.replace("#endif", "#endif\n#define DBL") + CALLER
    found = outcome(tmp_path, TRANSFERS, [], both_F90=text)
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended is not None
    assert "DBL may be something else in step" in procedure.ended


def test_a_header_that_defines_the_macro_keeps_a_procedure(tmp_path: Path) -> None:
    (tmp_path / "config.h").write_text("#define DBL\n")
    callee = CALLEE.replace("  call touch(w)\n", "  w(n) = 0\n")
    found = outcome(
        tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=f'#include "config.h"\n{callee}'
    )
    assert not found.changes


def test_conditionals_in_included_statements_are_conditions(tmp_path: Path) -> None:
    callee = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", '#include "more.h"\n')
    (tmp_path / "more.h").write_text("w(n) = 0\n")
    assert outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=callee).changes
    (tmp_path / "more.h").write_text("w(n) = 0\n#ifdef DBL\ncall touch(w)\n#endif\n")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=callee))
    assert "#if !defined(DBL)\n" in after
    assert preprocessed(after, ["DBL"]) == preprocessed(CALLER, ["DBL"])


def test_a_procedure_in_an_included_file_stays(tmp_path: Path) -> None:
    (tmp_path / "step.h").write_text(f"! generated by a script\n{CALLER}")
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    found = outcome(tmp_path, TRANSFERS, [], all_F90=f'{work}#include "step.h"\n')
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended == 'its text comes from another file: #include "step.h" in line 10'


def test_headers_that_only_define_macros_are_no_condition(tmp_path: Path) -> None:
    callee = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    header = "#ifndef MORE\n#define MORE\n#ifdef DBL\n#define K 8\n#endif\n#endif\n"
    (tmp_path / "more.h").write_text(header)
    work = f'#include "more.h"\n{callee}'
    found = outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=work)
    assert "#" not in changed(found)


def test_a_caller_in_a_removed_line_is_a_condition(tmp_path: Path) -> None:
    other = "subroutine other(a)\n  real(8) :: a(9)\n  a = 0\n#ifdef SAME\n"
    other += "  call step(a, a, a, 9, 0)\n#endif\nend subroutine other\n"
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    found = outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_f90=work, other_F90=other)
    assert "#if !defined(SAME)\n" in changed(found)


def test_conditionals_that_play_no_part_are_no_condition(tmp_path: Path) -> None:
    other = "subroutine other(a)\n  real(8) :: a(9)\n#ifdef SAME\n  a = 0\n#endif\nend subroutine\n"
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    found = outcome(tmp_path, TRANSFERS, [], step_f90=CALLER, work_f90=work, other_F90=other)
    assert "#" not in changed(found)


@pytest.mark.parametrize(
    ("define", "condition"),
    [("N=64", "#if defined(N) && N == 64\n"), ("N", "#if defined(N) && N == 1\n")],
)
@pytest.mark.parametrize(
    "bound",
    [
        "  real(8) :: t(N, 2)\n",
        "  integer, parameter :: k = 2*N\n",
        "#if N > 100\n  real :: t(n)\n#endif\n",
    ],
)
def test_the_values_of_macros_are_conditions(
    tmp_path: Path, define: str, condition: str, bound: str
) -> None:
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "  w(n) = N\n")
    work = work.replace("  integer :: i\n", f"  integer :: i\n{bound}")
    found = outcome(tmp_path, TRANSFERS, [define], step_F90=CALLER, work_F90=work)
    assert condition.removeprefix("#if ") in changed(found)


@pytest.mark.parametrize(
    "bound",
    [
        "",
        "  real(8) :: t = N\n",
        "  integer :: k = N\n",
        "  integer, parameter :: k = N*2.5\n",
        "  real :: t(int(N*2.5))\n",
        "#ifdef WIDE\n#else\n  real(8) :: t(N, 2)\n#endif\n",
    ],
)
def test_no_condition_compares_what_may_be_real_elsewhere(tmp_path: Path, bound: str) -> None:
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "  w(n) = N\n")
    work = work.replace("  integer :: i\n", f"  integer :: i\n{bound}")
    found = outcome(tmp_path, TRANSFERS, ["N=64"], step_F90=CALLER, work_F90=work)
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended == (
        "no condition can ask for the value of N, which may be a real one "
        "(--one-configuration: compiled with these -D alone)"
    )


@pytest.mark.parametrize(
    ("declared", "free"),
    [
        ("  real(8), parameter :: dt = N\n", True),
        ("  double precision :: dt = 2.0*N\n", True),
        ("  real(N), parameter :: dt = N\n", False),
        ("  real(8), parameter :: dt(1) = N\n", False),
        ("  real(8) :: dt = N, t(N)\n", False),
    ],
)
def test_the_value_of_a_real_constant_is_no_condition(
    tmp_path: Path, declared: str, free: bool
) -> None:
    """No proof rests on it, so that a build with another one is transformed, too."""
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    work = work.replace("  integer :: i\n", f"  integer :: i\n{declared}")
    found = outcome(tmp_path, TRANSFERS, ["N=8"], step_F90=CALLER, work_F90=work)
    assert ("#if" not in changed(found) if found.changes else False) is free


@pytest.mark.parametrize(
    ("declared", "define", "free"),
    [
        ("  integer, parameter :: k = N\n", "N=8", True),
        ("  integer, parameter :: odd = 3\n  integer, parameter :: k = N\n", "N=odd", True),
        ("  integer, parameter :: k = N\n  real(k) :: t\n", "N=8", False),
        (
            "  integer, parameter :: k = N\n  integer, parameter :: l = k\n  real(l) :: t\n",
            "N=8",
            False,
        ),
        ("  integer, parameter :: k = N\n  real(8) :: t = 1.0_k\n", "N=8", False),
        ("  integer, parameter :: k = N\n  real(8) :: t = real(1, k)\n", "N=8", False),
        ("  integer, parameter :: k = N\n  real(8) :: t = real(1, kind=k)\n", "N=8", False),
        ("  integer, parameter :: k = N\n  character(k) :: t\n", "N=8", False),
        ("  integer, parameter :: k = N\n", "N=mpi_real8", False),
        ("  integer, parameter :: k = N, l = 2\n", "N=8", False),
        ("  integer(N), parameter :: k = N\n", "N=8", False),
    ],
)
def test_the_value_of_an_integer_constant_is_no_condition(
    tmp_path: Path, declared: str, define: str, free: bool
) -> None:
    """A proof that rests on one is checked by the compiler; but kinds and names are not."""
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    work = work.replace("  integer :: i\n", f"  integer :: i\n{declared}")
    found = outcome(tmp_path, TRANSFERS, [define], step_F90=CALLER, work_F90=work)
    assert ("#if" not in changed(found) if found.changes else False) is free


def test_what_a_macro_stands_for_may_be_a_macro_itself(tmp_path: Path) -> None:
    own = "  w(n) = LAST\n"
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", own)
    work = work.replace("  integer :: i\n", "  integer :: i, k(LAST)\n")
    found = outcome(
        tmp_path, TRANSFERS, ["N=64"], step_F90=CALLER, work_F90=f"#define LAST (N+1)\n{work}"
    )
    assert "#if defined(N) && N == 64\n" in changed(found)


def test_what_chooses_among_definitions_is_a_condition(tmp_path: Path) -> None:
    own = "  w(n) = ROOT(w(n))\n"
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", own)
    choice = "#ifdef SLOW\n#define ROOT(x) sqrt(x)\n#else\n#define ROOT(x) x\n#endif\n"
    found = outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=f"{choice}{work}")
    assert "#if !defined(SLOW)\n" in changed(found)
    twice = "#define ROOT(x) x\n#undef ROOT\n"
    found = outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=f"{twice}{choice}{work}")
    assert "#if !defined(SLOW)\n" in changed(found)
    work = work.replace("ROOT(w(n))\n", "ROOT(w(n))\n#undef ROOT\n")
    found = outcome(tmp_path, TRANSFERS, ["ROOT(x)=x"], step_F90=CALLER, work_F90=work)
    assert not found.changes


def test_a_macro_that_stands_for_a_name_keeps_a_procedure(tmp_path: Path) -> None:
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "  w(n) = ROOT(w(n))\n")
    found = outcome(tmp_path, TRANSFERS, ["ROOT=sqrt"], step_F90=CALLER, work_F90=work)
    assert not found.changes
    (procedure,) = found.procedures
    assert procedure.ended == (
        "no condition can ask whether the macro ROOT stands for sqrt "
        "(--one-configuration: compiled with these -D alone)"
    )


_WITH_ARGUMENT = """\
{before}subroutine turn(a, b, w, n, right)
  use mpi
  implicit none
  integer, intent(in) :: n, right
  real(8), intent(inout) :: a(n), b(n), w(n)
  integer :: i, k, ierr
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, &
                    MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do i = 1, n
    w(i) = ROOT(w(i))
  end do
{behind}  b(1) = b(1) + w(n)
end subroutine turn
"""
_AGAIN = "#undef ROOT\n#define ROOT(x) x\n"


@pytest.mark.parametrize(
    ("before", "behind", "passed"),
    [
        ("#define ROOT(x) sqrt(x)\n", "", True),
        ("#define ROOT(x) sqrt(x)\n", _AGAIN, False),
        ("#define ROOT(x) sqrt(x); k = i\n", "", False),  # one text of two statements
    ],
)
def test_a_message_passes_a_loop_with_a_macro_of_arguments(
    tmp_path: Path, before: str, behind: str, passed: bool
) -> None:
    text = _WITH_ARGUMENT.format(before=before, behind=behind)
    found = outcome(tmp_path, TRANSFERS, [], turn_F90=text)
    assert bool(found.changes) is passed
    if passed:
        loop = text[text.index("  do i") : text.index("  end do")]
        assert loop in changed(found)


def test_a_build_with_openmp_is_another_configuration(tmp_path: Path) -> None:
    work = CALLEE.replace("DBL", "_OPENMP")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=work))
    assert preprocessed(after, [], ["-fopenmp"]) == preprocessed(CALLER, [], ["-fopenmp"])
    assert preprocessed(after, []) != preprocessed(CALLER, [])


def test_a_build_with_another_compiler_is_another_configuration(tmp_path: Path) -> None:
    work = CALLEE.replace("#ifdef DBL", "#ifndef __GFORTRAN__")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=CALLER, work_F90=work))
    other = ["-U__GFORTRAN__"]
    assert preprocessed(after, [], other) == preprocessed(CALLER, [], other)
    assert preprocessed(after, []) != preprocessed(CALLER, [])


def test_a_file_that_is_compiled_twice_is_changed_in_one_of_both(tmp_path: Path) -> None:
    text = "#ifdef SINGLE\n#define NAME step4\n#define KIND 4\n#else\n#define NAME step8\n"
    text += "#define KIND 8\n#endif\n"
    text += CALLER.replace("call work(w, n)", "w = sqrt(w)\n#ifdef SINGLE\n  w = w/2\n#endif")
    after = changed(outcome(tmp_path, TRANSFERS, ["SINGLE"], step_F90=text))
    assert preprocessed(after, []) == preprocessed(text, [])
    assert preprocessed(after, ["SINGLE"]) != preprocessed(text, ["SINGLE"])


SWAP = """\
subroutine swap(a, b, n, right)
#ifdef HAVE_MPI
  use mpi
#endif
  implicit none
  integer, intent(in) :: n, right
  real(8), intent(inout) :: a(n), b(n)
#ifdef HAVE_MPI
  integer :: ierr
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, &
                    MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
#else
  b = a
#endif
end subroutine swap
"""
AROUND = """\
subroutine step(a, b, w, n, right)
  implicit none
  integer, intent(in) :: n, right
  real(8), intent(inout) :: a(n), b(n), w(n)
  integer :: i
  call swap(a, b, n, right)
  do i = 1, n
    w(i) = sqrt(w(i)) + 1
  end do
  w(1) = w(1) + b(1)
end subroutine step
"""


def test_a_procedure_with_branches_is_inlined_under_a_condition(tmp_path: Path) -> None:
    found = outcome(tmp_path, ["all"], ["HAVE_MPI"], step_F90=AROUND, swap_F90=SWAP)
    after = changed(found)
    assert found.changes[0].path.name == "step.F90"
    assert preprocessed(after, []) == preprocessed(AROUND, [])
    assert "asphalt_isend" in "".join(preprocessed(after, ["HAVE_MPI"]))
    assert "b = a" not in after
    assert "#if defined(HAVE_MPI)\n" in after


def test_nothing_is_inlined_where_no_condition_can_be(tmp_path: Path) -> None:
    found = outcome(tmp_path, ["all"], ["HAVE_MPI"], step_f90=AROUND, swap_F90=SWAP)
    assert not found.changes


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    after = changed(outcome(tmp_path, ["prepush"], ["HAVE_MPI"], main_F90=EXCHANGE))
    assert not outcome(tmp_path, ["prepush"], ["HAVE_MPI"], main_F90=after).changes
    (tmp_path / "main.F90").unlink()
    after = changed(outcome(tmp_path, ["all"], ["HAVE_MPI"], halo_F90=HALO))
    assert not outcome(tmp_path, ["all"], ["HAVE_MPI"], halo_F90=after).changes


@pytest.mark.parametrize("directive", ["!$omp parallel do private(p, i)", "!dir$ nounroll"])
def test_a_directive_alone_is_a_choice(tmp_path: Path, directive: str) -> None:
    chosen = f"#ifdef THREADS\n  {directive}\n#endif\n  do z = 1, nz\n"
    text = EXCHANGE.replace("  do z = 1, nz\n", chosen)
    after = changed(outcome(tmp_path, ["prepush"], ["HAVE_MPI"], main_F90=text))
    assert after != text
    threads = ["HAVE_MPI", "THREADS"]
    assert preprocessed(after, threads) == preprocessed(text, threads)


@pytest.mark.parametrize("directive", ["!$omp simd private(i)", "!dir$ ivdep"])
def test_vector_directives_of_other_procedures_are_no_condition(
    tmp_path: Path, directive: str
) -> None:
    work = CALLEE.replace("#ifdef DBL\n  call touch(w)\n#endif\n", "")
    chosen = work.replace("  do i", f"#ifdef WIDE\n  {directive}\n#endif\n  do i")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_f90=CALLER, work_F90=chosen))
    assert "#" not in after
    # any other one is a condition, and so is that of a loop that moves
    more = chosen.replace(directive, "!$omp parallel do private(i)")
    found = outcome(tmp_path, TRANSFERS, [], step_f90=CALLER, work_F90=more)
    assert not found.changes
    loop = "  do i = 1, n\n    w(i) = sqrt(w(i)) + 1\n  end do\n"
    own = CALLER.replace("  call work(w, n)\n", f"#ifdef WIDE\n  {directive}\n#endif\n{loop}")
    own = own.replace("  integer :: ierr\n", "  integer :: ierr, i\n")
    after = changed(outcome(tmp_path, TRANSFERS, [], step_F90=own))
    assert preprocessed(after, ["WIDE"]) == preprocessed(own, ["WIDE"])


def test_a_comment_alone_is_none(tmp_path: Path) -> None:
    chosen = "#ifdef THREADS\n  ! one thread for each plane\n#endif\n  do z = 1, nz\n"
    text = EXCHANGE.replace("  do z = 1, nz\n", chosen)
    after = changed(outcome(tmp_path, ["prepush"], ["HAVE_MPI"], main_F90=text))
    assert "THREADS)" not in after
