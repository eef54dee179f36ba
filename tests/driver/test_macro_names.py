"""Procedures whose statements have macros for names: of calls, datatypes, numbers and variables.

The preprocessor is asked what other configurations compile: there it must be what it was.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Outcome, Project
from driver.test_configurations import changed, outcome, preprocessed
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

NAMES = """\
#if defined(SYNC)
# define SENDS mpi_ssend
#else
# define SENDS mpi_send
#endif
#if defined(SINGLE)
# define WP 4
# define MTYPE mpi_real
#else
# define WP 8
# define MTYPE mpi_double_precision
#endif
#define TAG 7
#define EDGE row
"""
RING = """\
program ring
  use mpi
  implicit none
  integer, parameter :: n = 100
  real(WP) :: a(0:n+1, 0:n+1), b(0:n+1, 0:n+1), row(n)
  integer :: rank, ranks, up, down, ierr, i, j, step
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, ranks, ierr)
  up = merge(mpi_proc_null, rank + 1, rank + 1 == ranks)
  down = merge(mpi_proc_null, rank - 1, rank == 0)
  do j = 0, n + 1
    do i = 0, n + 1
      a(i, j) = mod(i*7 + j*3 + rank*11, 13)
    end do
  end do
  b = 0
  do step = 1, 4
    call SENDS(a(1, n), n, MTYPE, up, TAG, mpi_comm_world, ierr)
    call mpi_recv(EDGE, n, MTYPE, down, TAG, mpi_comm_world, mpi_status_ignore, ierr)
    do j = 2, n
      do i = 1, n
        b(i, j) = 0.25*(a(i-1, j) + a(i+1, j) + a(i, j-1) + a(i, j+1))
      end do
    end do
    if (down /= mpi_proc_null) a(1:n, 0) = EDGE
    do i = 1, n
      b(i, 1) = 0.25*(a(i-1, 1) + a(i+1, 1) + a(i, 0) + a(i, 2))
    end do
    a(1:n, 1:n) = b(1:n, 1:n)
  end do
  print '(i3, 2z20)', rank, sum(a), sum(b)
  call mpi_finalize(ierr)
end program
"""
FIXED = """\
#ifdef SYNC
#define SENDS mpi_ssend
#else
#define SENDS mpi_send
#endif
#define T8 mpi_double_precision
#define M 100
#define PEER up
      program ring
      use mpi
      implicit none
      real*8 a(0:M+1, 0:M+1), b(0:M+1, 0:M+1), row(M)
      integer rank, ranks, up, down, ierr, i, j, step
      call mpi_init(ierr)
      call mpi_comm_rank(mpi_comm_world, rank, ierr)
      call mpi_comm_size(mpi_comm_world, ranks, ierr)
      PEER = rank + 1
      if (up .eq. ranks) up = mpi_proc_null
      down = rank - 1
      if (down .lt. 0) down = mpi_proc_null
      a = 0.5d0 + rank
      b = 0
      do step = 1, 4
        call SENDS(a(1, M), M, T8, PEER,
c       M numbers of the type T8
     &    7, mpi_comm_world, ierr)
        call mpi_recv(row, M, T8, down, 7,
     &    mpi_comm_world, mpi_status_ignore, ierr)
        do j = 2, M
          do i = 1, M
            b(i, j) = 0.25d0*(a(i-1, j) + a(i, j-1) + a(i, j+1))
          end do
        end do
        if (down .ne. mpi_proc_null) a(1:M, 0) = row
        a(1:M, 1:M) = b(1:M, 1:M)
      end do
      print '(i3, 2z20)', rank, sum(a), sum(b)
      call mpi_finalize(ierr)
      end program
"""
CONFIGURATIONS = ([], ["SYNC"], ["SINGLE"], ["SYNC", "SINGLE"])
TRANSFERS = ["nonblocking", "motion"]


def reason(found: Outcome) -> str:
    """Why the one procedure stays as it is."""
    assert not found.changes
    (procedure,) = found.procedures
    return procedure.ended or ""


def test_the_names_stay_under_the_conditions_of_their_definitions(tmp_path: Path) -> None:
    text = NAMES + RING
    after = changed(outcome(tmp_path, TRANSFERS, [], ring_F90=text))
    assert "call asphalt_isend(a(1,n), n, MTYPE, up, TAG, mpi_comm_world, asph" in after
    assert "call asphalt_irecv(EDGE, n, MTYPE, down, TAG, mpi_comm_world, asph" in after
    for defines in CONFIGURATIONS:
        same = preprocessed(text, defines) == preprocessed(after, defines)
        assert same is bool(defines)
    kept = [line for line in after.splitlines() if line in text.splitlines()]
    assert [line for line in text.splitlines() if line in kept] == text.splitlines()


def test_fixed_form(tmp_path: Path) -> None:
    after = changed(outcome(tmp_path, TRANSFERS, [], ring_F=FIXED))
    assert "call asphalt_irecv(row, M, T8, down, 7,\n" in after
    assert "call asphalt_isend(a(1,M), M, T8, PEER,\n" in after
    flags = ["-ffixed-form"]
    assert preprocessed(after, ["SYNC"], flags) == preprocessed(FIXED, ["SYNC"], flags)


@pytest.mark.parametrize("suffix", ["F90", "F"])
@pytest.mark.parametrize(
    "mpi",
    [*installed(OPENMPI), *(pytest.param(one, marks=pytest.mark.wide) for one in installed(MPICH))],
)
def test_all_configurations_print_what_they_did(tmp_path: Path, mpi: Mpi, suffix: str) -> None:
    text = NAMES + RING if suffix == "F90" else FIXED
    (tmp_path / "source").mkdir()
    after = changed(outcome(tmp_path / "source", TRANSFERS, [], **{f"ring_{suffix}": text}))
    for number, defines in enumerate(CONFIGURATIONS[:3:2] if suffix == "F90" else ([], ["SYNC"])):
        printed = []
        for kind, content in (("before", text), ("after", after)):
            place = tmp_path / f"{kind}{number}"
            place.mkdir()
            (place / f"ring.{suffix}").write_text(content)
            flags = ["-O1", "-w", *(f"-D{define}" for define in defines)]
            ran = run(mpi, build(mpi, [*RUNTIME, place / f"ring.{suffix}"], place, flags), 3)
            assert ran.code == 0, ran.stderr
            printed.append(sorted(ran.stdout.splitlines()))
        assert printed[0] == printed[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#define TAG 7", "#define TAG 7 + 0"),
        ("#define TAG 7", "#define TAG(x) 7"),
        ("    call mpi_recv", "#undef EDGE\n#define EDGE(x) row(x)\n    call mpi_recv"),
    ],
)
def test_other_macros_keep_the_statements(tmp_path: Path, old: str, new: str) -> None:
    text = (NAMES + RING).replace(old, new).replace("step = 1, 4", "step = 1, 4, 1")
    text = text.replace("TAG, mpi_comm", "TAG(1), mpi_comm") if "(x)" in new else text
    text = text.replace("(EDGE", "(EDGE(1)").replace("= EDGE", "= row") if "row(x)" in new else text
    assert not outcome(tmp_path, TRANSFERS, [], ring_F90=text).changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    call mpi_recv", "#undef EDGE\n#define EDGE row(1)\n    call mpi_recv"),
        ("    do j = 2, n\n", "#define step 4\n    do j = 2, n\n"),
        ("    if (down", "#undef EDGE\n#define EDGE row + 0\n    if (down"),
    ],
)
def test_macros_with_several_meanings_are_what_they_stand_for(
    tmp_path: Path, old: str, new: str
) -> None:
    text = (NAMES + RING).replace(old, new).replace("step = 1, 4", "step = 1, 4, 1")
    text = text.replace("= EDGE", "= EDGE + 0*step") if "step" in new else text
    text = text.replace("= EDGE", "= row") if "row(1)" in new else text
    source = tmp_path / "source"
    source.mkdir()
    after = changed(outcome(source, TRANSFERS, [], ring_F90=text))
    lines = [line for line in new.split("\n") if line.startswith("#")]
    assert set(lines) <= set(after.split("\n"))
    printed = []
    for kind, content in (("before", text), ("after", after)):
        place = tmp_path / kind
        place.mkdir()
        (place / "ring.F90").write_text(content)
        ran = run(OPENMPI, build(OPENMPI, [*RUNTIME, place / "ring.F90"], place, ["-w"]), 3)
        assert ran.code == 0, ran.stderr
        printed.append(sorted(ran.stdout.splitlines()))
    assert printed[0] == printed[1]


def test_no_condition_asks_for_a_name_that_an_option_gives(tmp_path: Path) -> None:
    text = (NAMES + RING).replace("# define MTYPE mpi_double_precision\n", "")
    found = outcome(tmp_path, TRANSFERS, ["MTYPE=mpi_double_precision"], ring_F90=text)
    assert "whether the macro MTYPE stands for mpi_double_precision" in reason(found)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("", None),
        ("/* generated by configure */\n", "names.h defines the macro SENDS, and it says that it"),
    ],
)
def test_a_header_that_is_generated_may_have_other_names(
    tmp_path: Path, first: str, why: str | None
) -> None:
    (tmp_path / "names.h").write_text(f"{first}#define SENDS mpi_send\n")
    text = '#include "names.h"\n' + NAMES.split("#endif\n", 1)[1] + RING
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text)
    if why is None:
        assert "call asphalt_isend(" in changed(found)
    else:
        assert why in reason(found)


def test_a_number_that_an_option_may_give_instead_keeps_a_procedure(tmp_path: Path) -> None:
    text = (NAMES + RING).replace("#define TAG 7", "#ifndef TAG\n#define TAG 7\n#endif")
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text)
    assert "TAG may be something else in ring" in reason(found)


@pytest.mark.parametrize("own", ["which", "unused"])
def test_a_name_that_is_a_macro_elsewhere_is_a_condition(tmp_path: Path, own: str) -> None:
    """Without ALT it is a variable of the program."""
    text = f"#ifdef ALT\n#define {own} 5\n#endif\n" + NAMES + RING
    text = text.replace("= EDGE", "= EDGE*which").replace("ierr, i", "ierr, i, which")
    text = text.replace("  b = 0\n", "#ifndef ALT\n  which = 1\n#endif\n  b = 0\n")
    text = text.replace("#ifndef ALT\n  which = 1\n#endif\n", "  read (*, *) which\n")
    after = changed(outcome(tmp_path, TRANSFERS, [], ring_F90=text))
    assert ("defined(ALT)" in after.split("program ring")[1]) is (own == "which")


def test_a_macro_that_a_file_defines_in_other_configurations(tmp_path: Path) -> None:
    """No line between the test and the other file changes what its macros are here."""
    module = """\
#if defined(COUPLED)
#define GENERIC 1
#endif
module shared
  implicit none
  real(8) :: w(1000)
contains
  subroutine work
#if defined(GENERIC) && !defined(OLD)
    w = w + 1
#endif
    w = sqrt(w)
  end subroutine
end module
"""
    text = NAMES + RING.replace("  use mpi\n", "  use mpi\n  use shared\n")
    text = text.replace("    do j = 2, n\n", "    call work\n    do j = 2, n\n")
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text, shared_F90=module)
    after = changed(found)
    assert "!defined(COUPLED)" in after
    assert preprocessed(after, ["COUPLED"]) == preprocessed(text, ["COUPLED"])


@pytest.mark.parametrize("line", ["#undef COUPLED", "#undef OTHER"])
def test_a_condition_that_its_own_branch_changes_is_not_clear(tmp_path: Path, line: str) -> None:
    """With both macros, ``work`` adds; behind the branch nothing would tell."""
    module = f"""\
module shared
  implicit none
  real(8) :: w(1000)
contains
  subroutine work
#if defined(GENERIC)
    w = w + 1
#endif
    w = sqrt(w)
  end subroutine
end module
#if defined(COUPLED)
#undef GENERIC
{line}
#endif
"""
    text = module + NAMES + RING.replace("  use mpi\n", "  use mpi\n  use shared\n")
    text = text.replace("    do j = 2, n\n", "    call work\n    do j = 2, n\n")
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text)
    if "COUPLED" in line:
        assert "GENERIC may be something else in ring" in (found.procedures[-1].ended or "")
    else:
        assert "!defined(COUPLED)" in changed(found)


def test_an_inlined_procedure_takes_no_macros_along(tmp_path: Path) -> None:
    module = (
        NAMES
        + """\
module tiles
  use mpi
  implicit none
  integer, parameter :: n = 100
  integer :: up, down
contains
  subroutine edges(a)
    real(WP), intent(inout) :: a(0:n+1, 0:n+1)
    integer :: ierr
    call mpi_sendrecv(a(1, n), n, MTYPE, up, TAG, a(1, 0), n, MTYPE, down, TAG, &
                      mpi_comm_world, mpi_status_ignore, ierr)
  end subroutine
end module
"""
    )
    caller = """\
subroutine relax(a, b)
  use tiles
  implicit none
  real(8) :: a(0:n+1, 0:n+1), b(0:n+1, 0:n+1)
  integer :: i, j
  call edges(a)
  do j = 1, n
    do i = 1, n
      b(i, j) = 0.25*(a(i-1, j) + a(i+1, j) + a(i, j-1) + a(i, j+1))
    end do
  end do
end subroutine
"""
    after = changed(outcome(tmp_path, ["all"], [], tiles_F90=module, relax_F90=caller))
    isend = "asphalt_isend(a(1,n), n, mpi_double_precision, up, 7, mpi_comm_world, asphalt_request"
    assert isend in after
    for defines in CONFIGURATIONS[2:]:
        assert preprocessed(after, defines) == preprocessed(caller, defines)
    for clash in ("#define up other\n", "#ifdef X\n#define up other\n#endif\n"):
        source = tmp_path / f"clash{len(clash)}"
        source.mkdir()
        plain = module.replace("MTYPE", "mpi_real8").replace("TAG", "7")
        caller_too = clash + caller
        assert not outcome(source, ["all"], [], tiles_F90=plain, relax_F90=caller_too).changes


def test_no_option_replaces_names_of_an_inlined_procedure(tmp_path: Path) -> None:
    """Its own file is not preprocessed; that of its caller is."""
    module = """\
module tiles
  use mpi
  implicit none
  integer :: right = 0
contains
  subroutine edges(a, b, n)
    integer, intent(in) :: n
    real(8) :: a(n), b(n)
    integer :: ierr
    call mpi_sendrecv(a, n, mpi_real8, right, 1, b, n, mpi_real8, 0, 1, mpi_comm_self, &
                      mpi_status_ignore, ierr)
  end subroutine
end module
"""
    caller = """\
subroutine relax(a, b, w, n)
  use tiles
  implicit none
  integer, intent(in) :: n
  real(8) :: a(n), b(n), w(n)
  integer :: i
  call edges(a, b, n)
  do i = 1, n
    w(i) = sqrt(w(i))
  end do
end subroutine
"""
    texts = {"tiles_f90": module, "relax_F90": caller}
    assert outcome(tmp_path, ["all"], ["left=5"], **texts).changes
    assert not outcome(tmp_path, ["all"], ["right=5"], **texts).changes


def test_new_names_are_no_macros(tmp_path: Path) -> None:
    text = "#define asphalt_isend nothing\n#define integer INTEGER\n" + NAMES + RING
    after = changed(outcome(tmp_path, TRANSFERS, [], ring_F90=text))
    assert "call ASPHALT_ISEND(" in after
    assert "nothing" not in "\n".join(preprocessed(after, []))


def test_the_scan_gives_no_condition_where_macros_have_none(tmp_path: Path) -> None:
    text = "#define SENDS mpi_send\n#define WP 8\n#define MTYPE mpi_real8\n#define TAG 7\n"
    text += "#define EDGE row\n" + RING
    (tmp_path / "ring.F90").write_text(text)
    settings = Settings((), passes=("all",), cache=False, jobs=1)
    project = Project(tmp_path, settings=settings)
    (change,) = project.outcome().changes
    assert change.after.decode().count("#") == text.count("#")


CODE = (
    RING.replace("  use mpi\n", "  use mpi\n  use flags\n")
    .replace("mpi_status_ignore, ierr", "mpi_status_ignore, j")
    .replace("    a(1:n, 1:n)", "    if (which /= 0) print *, 'code'\n    a(1:n, 1:n)")
)
FLAGS = "module flags\n  implicit none\n  integer :: which = 0\nend module\n"


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("#ifdef ALT\n#define which ierr\n#endif\n", "#undef which\n#define which 7\n"),
        ("#define which ierr\n#ifndef ALT\n#undef which\n#endif\n", ""),
        ("#ifdef ALT\n#define which ierr\n#else\n#undef which\n#endif\n", "#define which 7\n"),
    ],
)
@pytest.mark.parametrize("place", ["file", "header"])
def test_a_name_is_a_macro_elsewhere_and_in_other_configurations(
    tmp_path: Path, first: str, last: str, place: str
) -> None:
    """With ALT the error code of the send is read."""
    text = first + NAMES + CODE + last
    if place == "header":
        (tmp_path / "code.h").write_text("    if (which /= 0) print *, 'code'\n")
        line = "    if (which /= 0) print *, 'code'\n"
        text = text.replace(line, '#include "code.h"\n' * 2)
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text, flags_f90=FLAGS)
    assert "defined(ALT)" in changed(found).split("program ring")[1]


def test_a_name_is_a_macro_elsewhere_in_all_configurations(tmp_path: Path) -> None:
    text = "#define which ierr\n#undef which\n" + NAMES + CODE
    after = changed(outcome(tmp_path, TRANSFERS, [], ring_F90=text, flags_f90=FLAGS))
    assert "defined(which)" not in after
    assert "!defined(SINGLE)" in after


def test_no_macro_goes_behind_a_backslash_that_hides_a_quote(tmp_path: Path) -> None:
    """The preprocessor takes the next quote for the end of the constant."""
    text = NAMES + RING.replace("    call SENDS(", "    if (c == 'BS') &\n      call SENDS(")
    text = text.replace("ierr, i, j, step", "ierr, i, j, step\n  character :: c = 'b'", 1)
    assert outcome(tmp_path, TRANSFERS, [], ring_F90=text.replace("BS", "B")).changes
    found = outcome(tmp_path, TRANSFERS, [], ring_F90=text.replace("BS", "\\"))
    assert not found.changes
    assert "is beside a part of a character constant" in str(found)
    plain = text.removeprefix(NAMES).replace("BS", "\\")
    for name, token in (("SENDS", "mpi_send"), ("WP", "8"), ("TAG", "7"), ("EDGE", "row")):
        plain = plain.replace(name, token)
    plain = "#define NONE\n" + plain.replace("MTYPE", "mpi_real8")
    assert outcome(tmp_path, TRANSFERS, [], ring_F90=plain).changes
