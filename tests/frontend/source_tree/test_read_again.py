"""Of an edited file, only the units are read anew that the edit has changed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree import reading
from asphalt.frontend.source_tree.file_text import FileText, Request
from asphalt.frontend.source_tree.outline import outline_of
from asphalt.frontend.source_tree.parts import ReadFile, kept_unit, read_again, read_in_place
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.source import Form
from asphalt.ir.tree import leaves
from support.places import ROOT

FREE = """\
module sizes
  use mpi, only: MPI_COMM_WORLD
  integer, parameter :: n = 8
contains
  subroutine inner(a)
    real :: a(n)
    a = 0
  end subroutine inner
end module sizes

! what comes first
include 'more.inc'
!$ include 'threads.inc'
subroutine first(a, ierr)
  use sizes
  include 'mpif.h'
  real :: a(n)
  !$omp parallel do
  do i = 1, n
    a(i) = a(i) + 1
    !$ call omp_trace(i)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
end subroutine first

program main
  use sizes
  real :: x(n)
  call inner(x)
  call first(x, ierr)
  if (x(1) > 0) then; print *, x; end if
contains
  subroutine shown
    print *, 'shown'
  end subroutine shown
end program main
! the end
"""
FIXED = """\
      subroutine first(a, n)
      real a(n)
c     a comment
      do 10 i = 1, n
   10 a(i) = a(i)
     &     + 1
      end
      subroutine second(a, n)
      real a(n)
      call first(a, n)
      end

      program main
      real x(8)
      call second(x, 8)
      end
"""


def read(text: str, form: Form = Form.FREE) -> ReadFile:
    request = Request("a.f90", text.encode("latin-1"), form, None, (), ())
    outline = outline_of(FileText(request))
    return ReadFile(request.content, outline, *read_in_place(FileText(request)))


def again(before: ReadFile, text: str) -> ReadFile | None:
    request = Request("a.f90", text.encode("latin-1"), before.file.form, None, (), ())
    return read_again(before, FileText(request))


def assert_same(found: ReadFile, whole: ReadFile) -> None:
    assert found.outline == whole.outline
    assert found.file == whole.file
    one, other = ([(x.cut, x.macros) for x in leaves(r.file)] for r in (found, whole))
    assert one == other
    assert (found.parts.words, found.parts.loose) == (whole.parts.words, whole.parts.loose)
    kept, made = ([kept_unit(u) for u in r.parts.units] for r in (found, whole))
    assert kept == made


EDITS = {
    "a statement of the module": ("    a = 0\n", "    a = 1\n    a(1) = 2\n"),
    "a statement fewer": ("    a = 0\n", ""),
    "a procedure more": (
        "  end subroutine inner\n",
        "  end subroutine inner\n  subroutine more(ierr)\n    call MPI_Init(ierr)\n"
        "  end subroutine more\n",
    ),
    "a unit more": (
        "end subroutine first\n",
        "end subroutine first\n\nsubroutine second\nend subroutine second\n",
    ),
    "a hidden call": ("omp_trace", "omp_leave"),
    "the last unit": ("'shown'", "'other'"),
    "a continued string": ("'shown'", "'a &\n      &b'"),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_it_is_what_is_read_as_a_whole(old: str, new: str) -> None:
    before, text = read(FREE), FREE.replace(old, new, 1)
    found = again(before, text)
    assert found is not None
    assert_same(found, read(text))
    back = again(found, FREE)
    assert back is not None
    assert_same(back, before)


@pytest.mark.parametrize(
    ("old", "new"), [("+ 1\n", "- 1\n"), ("call first(a, n)", "call first(a,\n     &n)")]
)
def test_fixed_form(old: str, new: str) -> None:
    before, text = read(FIXED, Form.FIXED), FIXED.replace(old, new, 1)
    found = again(before, text)
    assert found is not None
    assert_same(found, read(text, Form.FIXED))


def test_other_units_are_the_same_objects() -> None:
    before = read(FREE)
    found = again(before, FREE.replace("a(i) + 1", "a(i) + 2"))
    assert found is not None
    assert found.file.units[0] is before.file.units[0]
    assert found.file.units[2] is before.file.units[2]
    assert found.file.units[1] is not before.file.units[1]


WHOLE = {
    "the END of a unit is lost": ("end subroutine first\n", ""),
    "an END too many": ("call inner(x)", "end"),
    "a statement after the last unit": ("! the end", "call first"),
    "the head of the first unit": ("module sizes\n", "module sizes ! of all\n"),
    "a line that the preprocessor sees": ("    a = 0\n", "#define A\n    a = 0\n"),
    "the number of a line": ("    a = 0\n", "    a = __LINE__\n"),
    "a binding label": ("    a = 0\n", "    call bind(a)\n"),
    "another name for a procedure of MPI": ("only: MPI_COMM_WORLD", "only: x => MPI_Send"),
    "a string that goes on": ("'shown'", "'shown &"),
}


@pytest.mark.parametrize(("old", "new"), WHOLE.values(), ids=WHOLE)
def test_what_may_concern_other_units_is_read_as_a_whole(old: str, new: str) -> None:
    found = again(read(FREE), FREE.replace(old, new, 1))
    assert found is None


def test_a_file_that_begins_with_a_statement_of_no_unit_is_read_as_a_whole() -> None:
    text = "print *, 1\nend\n" + FREE.replace("program main", "subroutine last")
    text = text.replace("end program main", "end subroutine last")
    assert again(read(text), text.replace("a(i) + 1", "a(i) + 2")) is None


def test_a_unit_that_shares_a_line_with_another_one_is_read_as_a_whole() -> None:
    text = FREE.replace("end module sizes\n\n", "end module sizes; ")
    text = text.replace("! what comes first\ninclude 'more.inc'\n!$ include 'threads.inc'\n", "")
    assert again(read(text), text.replace("a(i) + 1", "a(i) + 2")) is None


def test_an_edited_tree_reads_what_a_new_one_would(tmp_path: Path) -> None:
    """Lines of a kernel are taken out, doubled and exchanged at random."""
    source = (ROOT / "kernels" / "multigrid_smooth" / "original.f90").read_text("latin-1")
    path = tmp_path / "a.f90"
    path.write_text(source, "latin-1")
    tree = load_tree([path], Settings(cache=False, jobs=1))
    tree.file(str(path))
    lines, choose = source.splitlines(keepends=True), random.Random(1)
    for _ in range(40):
        edited = list(lines)
        place, other = choose.randrange(len(lines)), choose.randrange(len(lines))
        match choose.randrange(3):
            case 0:
                del edited[place]
            case 1:
                edited.insert(place, edited[place])
            case _:
                edited[place] = edited[other]
        content = "".join(edited).encode("latin-1")
        found = tree.edited({str(path): content})
        path.write_bytes(content)
        new = load_tree([path], Settings(cache=False, jobs=1))
        assert found.outline(str(path)) == new.outline(str(path))
        if not new.outline(str(path)).broken:
            assert found.file(str(path)) == new.file(str(path))
            assert found.words(str(path)) == new.words(str(path))
            assert found.loose_words(str(path)) == new.loose_words(str(path))


def test_a_tree_reads_an_edited_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.f90"
    path.write_text(FREE)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    tree.file(str(path))

    def whole(text: FileText) -> None:
        pytest.fail(f"{text.request.path} is read as a whole")

    monkeypatch.setattr(reading, "read_in_place", whole)
    edited = tree.edited({str(path): FREE.replace("a = 0", "a = 1").encode()})
    assert edited.file(str(path)).units[1:] == tree.file(str(path)).units[1:]
    assert edited.words(str(path)) == tree.words(str(path))
