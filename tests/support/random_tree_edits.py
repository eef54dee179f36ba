"""A small tree of all kinds of files that an answer may rest on, and random edits of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from support.cli_programs import MAIN, REFUSED, TRANSPOSES

WORK = """\
module work
  implicit none
  include 'sizes.inc'
#include "kind.h"
contains
  subroutine fill(x, p)
    real(wp), intent(out) :: x(width)
    integer, intent(in) :: p
    x = p
  end subroutine fill
end module work
"""
CALLS = """\
subroutine calls(s, r, np, comm)
  use mpi
  use work, only: fill, width
  implicit none
  integer, intent(in) :: np, comm
  real(8), intent(inout) :: s(width, np), r(width, np)
  integer :: p, ierr
  do p = 1, np
    call fill(s(:, p), p)
  end do
  call MPI_Alltoall(s, width, MPI_DOUBLE_PRECISION, r, width, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine calls
"""
SHIFT = """\
subroutine shift(u, n, left, right, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right, comm
  real(8), intent(inout) :: u(0:n + 1)
  integer :: ierr, status(MPI_STATUS_SIZE)
  call MPI_Sendrecv(u(n), 1, MPI_REAL8, right, 1, u(0), 1, MPI_REAL8, left, 1, comm, status, ierr)
end subroutine shift
"""
NEW = """\
subroutine more(x, p)
  real(8), intent(out) :: x(4)
  integer, intent(in) :: p
  x = p
end subroutine more
"""
FILES = {
    "src/transposes.f90": TRANSPOSES,
    "src/main.f90": MAIN,
    "src/sub/refused.f90": REFUSED,
    "src/work.F90": WORK,
    "src/calls.f90": CALLS,
    "src/shift.f90": SHIFT,
    "inc/sizes.inc": "  integer, parameter :: width = 4\n",
    "inc/kind.h": "  integer, parameter :: wp = kind(1d0)\n",
    "src/other.c": "void other(void) { }\n",
}
OPTIONS = ("src", "-I", "near", "-I", "inc")
"""Of the command line, in the directory of the tree."""

_LINES = (  # pairs of text that make other programs of the same size where they occur
    ("x = p\n", "x = 7\n"),
    ("    x = p\n", "    print *, p\n"),
    ("width = 4", "width = 5"),
    ("kind(1d0)", "kind(1e0)"),
    ("intent(inout)", "intent(in)   "),
    ("MPI_Alltoall(", "MPI_Alltoal_("),
    ("right, 1, u", "right, 2, u"),
    ("void other", "void fill_"),
    ("void other", "void transpose_"),
    ("call fill(s(:, p), p)", "s(:, p) = p"),
    ("end do\n", "end do\n  ! a comment\n"),
    ("subroutine calls", "subroutine cells"),
    ("  end subroutine fill\n", "  end subroutine fill\n" + NEW),
    ("end subroutine shift\n", "end subroutine shift\n" + NEW),
    ("call fill(s(:, p), p)", "call more(s(:, p), p)"),
    ("only: fill", "only: more"),
    ("use work", "use werk"),
)


def write_files(folder: Path) -> None:
    """Write the tree, and an empty directory that is searched for included files."""
    (folder / "near").mkdir()
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def random_edit(folder: Path, random: Random) -> str:
    """Do one random edit of the tree, and say which."""
    edit = random.choice(_EDITS)
    return f"{edit.__name__.strip('_')} {edit(folder, random)}"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.*") if path.is_file() and path.parent != folder)


def _change(folder: Path, random: Random) -> str:
    """Change a line, often to one of the same size; the time of modification stays, sometimes."""
    path = random.choice(_files(folder))
    text, status = path.read_text(), path.stat()
    found = [pair for pair in _LINES if pair[0] in text] + [p[::-1] for p in _LINES if p[1] in text]
    if not found:
        return "nothing"
    old, new = random.choice(found)
    path.write_text(text.replace(old, new, 1))
    if random.random() < 0.5:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return f"{path.name}: {old!r} to {new!r}"


def _exchange(folder: Path, random: Random) -> str:
    """Exchange the contents of two files by renaming: sizes and times go with them."""
    one, other = random.choice(_files(folder)), random.choice(_files(folder))
    if one.suffix.lower() != other.suffix.lower() or one == other:
        return "nothing"
    aside = folder / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    return f"{one.name} and {other.name}"


def _add(folder: Path, random: Random) -> str:
    """Add a file: a copy of another one, or one that was looked for in vain."""
    name = random.choice(["near/sizes.inc", "near/kind.h", "src/sizes.inc", "src/copy.f90"])
    path = folder / name
    path.write_text(
        random.choice(list(FILES.values())) if name.endswith("90") else _include(random)
    )
    return name


def _include(random: Random) -> str:
    return f"  integer, parameter :: {random.choice(['width', 'wp'])} = {random.choice([4, 8])}\n"


def _remove(folder: Path, random: Random) -> str:
    path = random.choice(_files(folder))
    path.unlink()
    return path.name


def _restore(folder: Path, random: Random) -> str:
    name = random.choice(list(FILES))
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(FILES[name])
    return name


def _rename(folder: Path, random: Random) -> str:
    path = random.choice(_files(folder))
    target = path.with_name(f"a_{path.name}"[-20:])
    path.rename(target)
    return f"{path.name} to {target.name}"


def _link(folder: Path, random: Random) -> str:
    """Replace a file by a link to another one."""
    path, other = random.choice(_files(folder)), random.choice(_files(folder))
    if path == other or path.suffix != other.suffix:
        return "nothing"
    path.unlink()
    path.symlink_to(other.resolve())
    return f"{path.name} to {other.name}"


def _touch(folder: Path, random: Random) -> str:
    path = random.choice(_files(folder))
    path.touch()
    return path.name


_EDITS: tuple[Callable[[Path, Random], str], ...] = (
    _change,
    _change,
    _change,
    _exchange,
    _add,
    _remove,
    _restore,
    _restore,
    _rename,
    _link,
    _touch,
)
