"""A procedure that nothing calls any more stays as it was written, and is told of once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.project import Outcome, Project
from asphalt.running.mpi import OPENMPI
from bench.lab.build import Recipe, sources_of
from bench.lab.case import load_cases
from support.idempotence import stays

_PROCEDURE = """\
subroutine exchange(g, n, me, np)
  use mpi
  integer, intent(in) :: n, me, np
  real(8), intent(inout) :: g(n,0:3)
  integer :: ierr, i
  real(8) :: line(n), got(n)
  line = g(:,1)
  call MPI_Sendrecv(line, n, MPI_DOUBLE_PRECISION, modulo(me+1, np), 1, &
                    got, n, MPI_DOUBLE_PRECISION, modulo(me-1, np), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do i = 1, n
    g(i,0) = got(i)
  end do
end subroutine exchange
"""
_MODULE = """\
module exchanges
  implicit none
{declared}contains
{procedures}end module exchanges
"""
_STEP = """\
subroutine step(r, w, n, m, me, np)
{use}  implicit none
{declared}  integer, intent(in) :: n, m, me, np
  real(8), intent(inout) :: r(n,0:3), w(n,m)
  integer :: i, j
  call {name}(r, n, me, np)
{more}  do j = 1, m
    do i = 1, n
      w(i,j) = sqrt(w(i,j)) + 1
    end do
  end do
end subroutine step
"""
_MAIN = """\
program work
  use mpi
  implicit none
  integer, parameter :: n = 2000, m = 500
  integer :: ierr, me, np
  real(8) :: r(n,0:3), w(n,m)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  r = me
  w = 1
  call step(r, w, n, m, me, np)
  print *, me, sum(w)
  call MPI_Finalize(ierr)
end program work
"""
_USE = "  use exchanges\n"
_ONLY = "  use exchanges, only: exchange\n"


def module(declared: str = "", more: str = "") -> str:
    return _MODULE.format(declared=declared, procedures=_PROCEDURE + more)


def step(use: str = _ONLY, name: str = "exchange", declared: str = "", more: str = "") -> str:
    return _STEP.format(use=use, name=name, declared=declared, more=more)


def outcome(folder: Path, files: dict[str, str]) -> Outcome:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return Project(folder, settings=Settings(passes=TRANSFERS, jobs=1, cache=False)).outcome()


def is_left(found: Outcome) -> bool:
    """Whether the exchange is told to be called by nothing, once; else it was looked at."""
    told = [note for note in found.notes if note.message.startswith("exchange is not transformed")]
    looked_at = [one for one in found.procedures if one.unit == "exchange"]
    assert len(told) + len(looked_at) == 1
    return bool(told)


def was_inlined(found: Outcome) -> bool:
    texts = b"exchange of a.f90 stands here", b"call exchange_asphalt_start("
    return any(text in change.after for change in found.changes for text in texts)


_OTHER = """\
module others
contains
  subroutine exchange(k)
    integer :: k
    k = k + 1
  end subroutine exchange
  subroutine count(k)
    integer :: k
    call exchange(k)
  end subroutine count
end module others
"""
_BODY = """\
  interface
    subroutine exchange(g, n, me, np)
      integer, intent(in) :: n, me, np
      real(8), intent(inout) :: g(n,0:3)
    end subroutine exchange
  end interface
"""
_MANY = """\
subroutine many(r, w, n, m, me, np)
  use exchanges, only: exchange
  integer, intent(in) :: n, m, me, np
  real(8), intent(inout) :: r(n,0:3), w(n,m)
  call step(r, w, n, m, me, np)
end subroutine many
"""
_GENERIC = "  interface swap\n    module procedure exchange\n  end interface\n"
LEFT = {
    "USE with ONLY": module() + step(),
    "USE without ONLY": module() + step(_USE),
    "another name": module() + step("  use exchanges, only: swap => exchange\n", "swap"),
    "another name beside all others": module() + step("  use exchanges, x => exchange\n", "x"),
    "PRIVATE and PUBLIC": module("  private\n  public :: exchange\n") + step(),
    "an external procedure": _PROCEDURE + step("", declared="  external :: exchange\n"),
    "an interface body": _PROCEDURE + step("", declared=_BODY),
    "another caller that only uses it": module() + step() + _MANY,
    "another procedure of the name": module() + step() + _OTHER,
    "a variable of the name": module() + step() + "subroutine s(exchange)\nexchange = 1\nend\n",
    "a generic name that nothing calls": module(_GENERIC) + step(),
    "an included procedure that calls others": module() + step() + "include 'q.inc'\n",
    "a comment in an included file": module() + step() + "subroutine s\ninclude 'x.inc'\nend\n",
}
_QUIET = "subroutine quiet\ncall exchanger\nend subroutine\n"
INCLUDED = "! exchange\ninteger :: i\n"


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_nothing_calls_stays_as_it_was_written(text: str, tmp_path: Path) -> None:
    files = {"a.f90": text, "b.f90": _MAIN, "x.inc": INCLUDED, "q.inc": _QUIET}
    found = outcome(tmp_path, files)
    assert was_inlined(found)
    assert is_left(found)
    changed = [change.after for change in found.changes if change.path.name == "a.f90"]
    assert all(_PROCEDURE.encode() in after for after in changed)


_RUN = """\
subroutine run(what, g, n, me, np)
  external :: what
  integer, intent(in) :: n, me, np
  real(8), intent(inout) :: g(n,0:3)
  call what(g, n, me, np)
end subroutine run
"""
_BOUND = """\
  type :: state
  contains
    procedure, nopass :: go => exchange
  end type state
"""
_TARGET = "  procedure(exchange), pointer :: p => exchange\n"
_ASSIGNED = """\
subroutine choose(p)
  use exchanges, only: exchange
  procedure(exchange), pointer :: p
  p => exchange
end subroutine choose
"""
_AGAIN = """\
subroutine again(r, n, me, np)
  use exchanges, only: {use}
  real(8) :: r(n,0:3)
  read *, n
  if (n > 3) goto 1
  call {name}(r(1,n), n, me, np)
1 continue
end subroutine again
"""
_PASSED = "  call run(exchange, r, n, me, np)\n"
_INNER = "include 'p.inc'\n"
_HOST = f"""\
module hosts
contains
{_INNER}subroutine s
end subroutine s
end module hosts
"""
CALLED = {
    "an actual argument": module() + step(more=_PASSED) + _RUN,
    "an actual argument of another name": module()
    + step("  use exchanges, only: x => exchange\n", "x", more=_PASSED.replace("(exchange", "(x"))
    + _RUN,
    "another call": module() + step() + _AGAIN.format(use="exchange", name="exchange"),
    "another call by another name": module()
    + step()
    + _AGAIN.format(use="x => exchange", name="x"),
    "another call by a generic name": module(_GENERIC)
    + step()
    + _AGAIN.format(use="swap", name="swap"),
    "a binding of a type": module(_BOUND) + step(),
    "the target of a pointer": module(_TARGET) + step(),
    "a pointer assignment": module() + step() + _ASSIGNED,
    "a name that C knows": module().replace("np)\n  use", "np) bind(c)\n  use") + step(),
    "an assignment that a type defines": module(
        "  interface assignment(=)\n    module procedure exchange\n  end interface\n"
    )
    + step(),
    "an OpenMP line": module() + step(more="  !$ call exchange(r, n, me, np)\n"),
    "an included statement": module() + step() + "subroutine s\ninclude 'y.inc'\nend\n",
    "a statement that an included file includes": module()
    + step()
    + "subroutine s\ninclude 'z.inc'\nend\n",
    "an OpenMP line that is cut in the name": module()
    + step(more="  !$ call exch&\n  !$ &ange(r, n, me, np)\n"),
    "an included procedure of a module": module() + step() + _HOST,
    "an included procedure at the end of a module": module()
    + step()
    + _HOST.replace(_INNER, "").replace("end module", f"{_INNER}end module"),
    "an included external procedure": module() + step() + _INNER,
    "an included procedure between others": module() + _INNER + step(),
    "an included procedure for OpenMP alone": module() + step() + f"!$ {_INNER}",
    "a procedure for OpenMP alone": module()
    + step()
    + "!$ subroutine s\n!$ call exchange\n!$ end subroutine s\n",
    "an included file that is missing": module() + step() + "include 'missing.inc'\n",
}
_CALL = "x = 1\ncall exchange(r, n, me, np)\n"
_INCLUDED = f"subroutine inner(r, n, me, np)\nuse exchanges\n{_CALL}end subroutine\n"


@pytest.mark.parametrize("renamed", ["x => exchange", "only: x => exchange"])
def test_a_second_use_statement_may_rename_what_the_first_one_gives(
    renamed: str, tmp_path: Path
) -> None:
    uses = f"  use exchanges\n  use exchanges, {renamed}\n"
    host = _MODULE.format(declared="", procedures=_PROCEDURE + step(uses))
    host = host.replace("module exchanges", "module hosts")
    main_unit = _MAIN.replace("  use mpi\n", "  use mpi\n  use hosts, only: step\n")
    found = outcome(tmp_path, {"a.f90": module(), "b.f90": host, "c.f90": main_unit})
    changed = b"".join(change.after for change in found.changes)
    texts = b"exchange of b.f90 stands here", b"call exchange_asphalt_start("
    assert any(text in changed for text in texts)
    assert b"exchange of a.f90 stands here" not in changed


@pytest.mark.parametrize("text", CALLED.values(), ids=CALLED)
def test_what_may_be_called_is_looked_at(text: str, tmp_path: Path) -> None:
    files = {"a.f90": text, "b.f90": _MAIN, "y.inc": _CALL, "z.inc": "include 'y.inc'\n"}
    files["p.inc"] = _INCLUDED
    assert not is_left(outcome(tmp_path, files))


def test_calls_by_a_generic_name_are_inlined(tmp_path: Path) -> None:
    text = module(_GENERIC) + step("  use exchanges, only: swap\n", "swap")
    found = outcome(tmp_path, {"a.f90": text, "b.f90": _MAIN})
    assert was_inlined(found)
    assert is_left(found)


def test_c_may_call_it(tmp_path: Path) -> None:
    files = {"a.f90": module() + step(), "b.f90": _MAIN, "c.c": "void f() { exchange_(); }\n"}
    found = outcome(tmp_path, files)
    assert was_inlined(found)
    assert not is_left(found)


def test_lines_that_are_not_compiled_call_nothing(tmp_path: Path) -> None:
    dead = "#ifdef NEVER\n  call exchange(r, n, me, np)\n#endif\n"
    text = module() + step() + f"subroutine s\n{dead}end subroutine s\n"
    assert is_left(outcome(tmp_path, {"a.F90": text, "b.f90": _MAIN}))


def test_others_may_call_what_a_library_has(tmp_path: Path) -> None:
    found = outcome(tmp_path, {"a.f90": module() + step()})
    assert was_inlined(found)
    assert not is_left(found)


def test_what_only_the_module_sees_is_left_in_a_library(tmp_path: Path) -> None:
    text = module("  private :: exchange\n", step("", "exchange"))
    found = outcome(tmp_path, {"a.f90": text})
    assert was_inlined(found)
    assert is_left(found)


def test_what_only_a_procedure_calls_that_nothing_calls_is_left(tmp_path: Path) -> None:
    between = "subroutine between(g, n, me, np)\n" + "".join(
        f"  {line}\n"
        for line in (
            "integer, intent(in) :: n, me, np",
            "real(8), intent(inout) :: g(n,0:3)",
            "call exchange(g, n, me, np)",
        )
    )
    text = module("", between + "end subroutine between\n")
    text += step("  use exchanges, only: between\n", "between")
    found = outcome(tmp_path, {"a.f90": text, "b.f90": _MAIN})
    assert was_inlined(found)
    assert [note.message for note in found.notes] == [
        "between is not transformed: nothing in these files calls it any more; "
        "its only call, in step, was inlined",
        "exchange is not transformed: nothing in these files calls it any more; "
        "only between calls it, which nothing calls either",
    ]


@pytest.mark.parametrize("name", ["USE with ONLY", "another name", "an interface body"])
def test_nothing_becomes_of_what_was_transformed(name: str, tmp_path: Path) -> None:
    assert is_left(stays(tmp_path, {"a.f90": LEFT[name].encode(), "b.f90": _MAIN.encode()}))


def test_it_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out, report = tmp_path / "src", tmp_path / "out", tmp_path / "r.json"
    source.mkdir()
    (source / "a.f90").write_text(module() + step())
    (source / "b.f90").write_text(_MAIN)
    told = "its only call, in step, was inlined"
    for command in (
        ["diff"],
        ["apply", "-o", str(out), "--report", str(report)],
        ["apply", "-o", str(out), "--format", "json"],
    ):
        arguments = ["--passes", "transfers", "--jobs", "1", "--no-cache", str(source)]
        assert main([*command, *arguments]) == 0
        said = capsys.readouterr()
        assert said.err.count(told) == 1
        assert said.out.count(told) == ("json" in command)
    problems = json.loads(report.read_text())["problems"]
    assert [(one["line"], one["note"]) for one in problems if told in one["message"]] == [(4, True)]


def test_the_exchange_of_a_plate_stays(tmp_path: Path) -> None:
    (case,) = (case for case in load_cases() if case.name == "halo_2d")
    files = sources_of(Recipe(case, "original", OPENMPI))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    project = Project(tmp_path, settings=Settings(passes=TRANSFERS, jobs=1, cache=False))
    (change,) = project.outcome().changes
    assert change.after.split(b"program halo_2d")[0] == change.before.split(b"program halo_2d")[0]
