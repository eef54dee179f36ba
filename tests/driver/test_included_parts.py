"""Included text is changed in its own file, and all reports name that file and its lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.driver.configurations import check_borders
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.unparse.guards import NotConfinedError
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_HEAD = """\
program m
  use mpi
  implicit none
  integer, parameter :: n = 2000
  integer :: ierr, rank, i, k
  real(8) :: a(n), b(n), s(n)
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  do i = 1, n
    a(i) = rank + i
    b(i) = 2.0d0*i
  end do
"""
_CALL = """\
  call mpi_allreduce(a, s, n, mpi_double_precision, mpi_max, mpi_comm_world, ierr)
"""
_WORK = """\
  do i = 1, n
    b(i) = sqrt(b(i)) + 1.0d0
  end do
"""
_USED = "  a = s + b\n"
_STEP = f"{_CALL}{_WORK}{_USED}"
_TAIL = """\
  print *, rank, sum(a), sum(b), ierr
  call mpi_finalize(ierr)
end program
"""
_PROCEDURE = f"""\
subroutine step(a, b, n)
  use mpi
  implicit none
  integer, intent(in) :: n
  real(8) :: a(n), b(n), s(n)
  integer :: i, ierr
{_STEP}end subroutine
"""
_INCLUDE = '#include "step.inc"\n'
_NEVER = ["--no-cache", "--jobs", "1"]


def files(folder: Path, **texts: str) -> Path:
    """Files, with ``_`` for the dot in their names."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / ".".join(name.rsplit("_", 1))).write_bytes(text.encode())
    return folder


def applied(source: Path, *options: str) -> dict[str, bytes]:
    """The transformed files of a tree that differ from the original."""
    output = source.parent / f"{source.name}-out"
    passes = ["--passes", "nonblocking,fission,motion,splitting", "--assume", "fatal"]
    assert main(["apply", str(source), "-o", str(output), *passes, *options, *_NEVER]) == 0
    return {
        path.name: (output / path.name).read_bytes()
        for path in sorted(source.iterdir())
        if (output / path.name).read_bytes() != path.read_bytes()
    }


def printed(mpi: Mpi, source: Path, folder: Path, defines: Sequence[str], ranks: int) -> list[str]:
    """The sorted lines of a program in ``source``."""
    place = folder / "built"
    place.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            (place / path.name).write_bytes(path.read_bytes())
    flags = ["-O1", "-w", "-cpp", *(f"-D{define}" for define in defines)]
    (main_file,) = (path for path in source.iterdir() if path.stem == "main")
    outcome = run(mpi, build(mpi, [*RUNTIME, place / main_file.name], place, flags), ranks)
    assert outcome.code == 0, outcome.stderr
    return sorted(outcome.stdout.splitlines())


def fixed(text: str) -> str:
    """Statements of free form that are short, in fixed form."""
    long = text.replace("mpi_max, ", "\n     &  mpi_max, ")
    return "".join(
        line if line.startswith(("#", "     &")) else f"      {line.strip()}\n"
        for line in long.splitlines(keepends=True)
    )


_PROGRAMS = {
    "a fragment": {"main_f90": f"{_HEAD}{_INCLUDE}{_TAIL}", "step_inc": _STEP},
    "an INCLUDE line": {"main_f90": f"{_HEAD}  {_INCLUDE[1:]}{_TAIL}", "step_inc": _STEP},
    "in a loop that ends in it": {
        "main_f90": f"{_HEAD}  do k = 1, 3\n{_INCLUDE}{_TAIL}",
        "step_inc": f"{_STEP}  end do\n",
    },
    "the call here and the work there": {
        "main_f90": f"{_HEAD}{_CALL}{_INCLUDE}{_USED}{_TAIL}",
        "step_inc": _WORK,
    },
    "other line ends": {
        "main_f90": f"{_HEAD}{_INCLUDE}{_TAIL}",
        "step_inc": _STEP.rstrip("\n").replace("  do", "\tdo").replace("\n", "\r\n"),
    },
    "fixed form": {
        "main_F": fixed(f"{_HEAD}{_INCLUDE}{_TAIL}"),
        "step_inc": fixed(_STEP) + "c the end",
    },
    "a procedure": {
        "main_f90": f"{_HEAD}  do k = 1, 2\n  call step(a, b, n)\n  end do\n{_TAIL}".replace(
            "end program", "contains\n  include 'step.inc'\nend program"
        ),
        "step_inc": _PROCEDURE,
    },
    "conditionals": {
        "main_F90": f"{_HEAD}#ifdef P\n  b(n) = 0\n#endif\n#ifdef A\n{_INCLUDE}#endif\n{_TAIL}",
        "step_inc": _STEP.replace(_USED, f"#ifdef Q\n  a = s - b\n#else\n{_USED}#endif\n"),
    },
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_the_included_file_is_changed(name: str, tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_PROGRAMS[name])
    found = applied(source, "-D", "A")
    step, before = found["step.inc"], (source / "step.inc").read_bytes()
    assert b"asphalt_wait" in step
    assert step.count(b"\r\n") in (0, step.count(b"\n"))
    assert before.endswith(b"\n") == step.endswith(b"\n")
    for text in found.values():
        assert b"#asphalt" not in text


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
@pytest.mark.parametrize("name", _PROGRAMS)
def test_all_configurations_compute_the_same(name: str, mpi: Mpi, tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_PROGRAMS[name])
    assert applied(source, "-D", "A")
    configurations = [("A",), (), ("P",), ("A", "Q")] if name == "conditionals" else [("A",)]
    for number, defines in enumerate(configurations):
        before, after = (
            printed(mpi, folder, tmp_path / f"{number}-{folder.name}", defines, 3)
            for folder in (source, tmp_path / "src-out")
        )
        assert before == after


def test_reports_name_the_included_file(tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_PROGRAMS["a fragment"])
    report = tmp_path / "report.json"
    applied(source, "--report", str(report))
    (site,) = json.loads(report.read_text())["sites"]
    assert (Path(site["file"]).name, site["line"], site["verdict"]) == ("step.inc", 1, "applied")
    assert site["id"] == "m:1"
    assert {(Path(mark["file"]).name, mark["line"]) for mark in site["marks"]} >= {("step.inc", 1)}


def test_messages_name_the_lines_of_the_included_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = _STEP.replace(_WORK, "  print *, s(1)\n")
    source = files(tmp_path / "src", main_f90=f"{_HEAD}{_INCLUDE}{_TAIL}", step_inc=step)
    flags = ["--passes", "nonblocking,motion", "--assume", "fatal", *_NEVER]
    assert main(["scan", str(source), *flags]) == 0
    assert "below, line 2 reads s; above, line 10 of main.f90 defines a" in capsys.readouterr().out
    assert main(["explain", f"{source / 'step.inc'}:1", str(source), *flags]) == 0
    assert f"{source / 'step.inc'}:1" in capsys.readouterr().out


def test_an_assumption_about_a_line_of_the_included_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = f"  read (*, *) k\n  if (k == 1) then\n{_CALL}{_WORK}{_USED}  end if\n"
    source = files(tmp_path / "src", main_f90=f"{_HEAD}{_INCLUDE}{_TAIL}", step_inc=step)
    flags = ["--passes", "nonblocking,motion", *_NEVER]

    def verdict(line: int) -> str:
        assert main(["scan", str(source), *flags, "--assume", f"control@m:{line}"]) == 0
        return capsys.readouterr().out

    assert "with --assume control" not in verdict(3)
    assert "with --assume control" in verdict(3 + _HEAD.count("\n") + 1)  # of composed text


def test_what_stands_in_a_file_is_written_into_it_in_place(tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_PROGRAMS["a fragment"])
    flags = ["--passes", "transfers", "--assume", "fatal", *_NEVER]
    assert main(["apply", str(source / "main.f90"), "--in-place", *flags]) == 0
    assert b"asphalt_wait" in (source / "step.inc").read_bytes()
    assert b"asphalt_request" in (source / "main.f90").read_bytes()


def test_a_given_file_brings_what_it_includes(tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_PROGRAMS["a procedure"])
    output = tmp_path / "out"
    flags = ["--passes", "nonblocking,motion", "--assume", "fatal", *_NEVER]
    assert main(["apply", str(source / "main.f90"), "-o", str(output), *flags]) == 0
    assert b"asphalt_wait" in (output / "step.inc").read_bytes()
    assert (output / "main.f90").read_bytes() == (source / "main.f90").read_bytes()


_TWO = f"{_HEAD}  call one(a, b, n)\n  call two(b, a, n)\n{_TAIL}"
_TYPED = _PROCEDURE.replace("subroutine step", "subroutine NAME").replace("real(8)", "real(KIND)")
_TYPED = _TYPED.replace("mpi_double_precision", "DATATYPE").replace("1.0d0", "2")


def _named(name: str, kind: int, datatype: str) -> str:
    macros = {"NAME": name, "KIND": kind, "DATATYPE": datatype}
    begin = "".join(f"#define {macro} {body}\n" for macro, body in macros.items())
    return f"{begin}{_INCLUDE}" + "".join(f"#undef {macro}\n" for macro in macros)


_SEVERAL: dict[str, tuple[dict[str, str], set[str]]] = {
    "one text in two places": (
        {
            "main_f90": f"{_HEAD}  call one(a, b, n)\n  call two(b, a, n)\n{_TAIL}".replace(
                "end program",
                "contains\n"
                + "".join(
                    _PROCEDURE.replace(_STEP, _INCLUDE).replace(
                        "subroutine step", f"subroutine {n}"
                    )
                    for n in ("one", "two")
                )
                + "end program",
            ),
            "step_inc": _STEP,
        },
        {"main.f90", "step.inc"},
    ),
    "other macros between": (
        {
            "main_f90": f"{_HEAD}#define Q b\n{_INCLUDE}#undef Q\n#define Q a\n{_INCLUDE}{_TAIL}",
            "step_inc": _STEP.replace("b", "Q"),
        },
        {"main.f90"},
    ),
    "a procedure of each type": (
        {
            "main_F90": _TWO.replace("call two(b, a, n)", "call two(f, real(b), n)")
            .replace("s(n)\n", "s(n)\n  real(4) :: f(n)\n", 1)
            .replace("sum(b)", "sum(b), sum(f)")
            .replace("  do i = 1, n\n    a", "  f = rank\n  do i = 1, n\n    a", 1)
            .replace(
                "end program",
                "contains\n"
                + _named("one", 8, "mpi_double_precision")
                + _named("two", 4, "mpi_real")
                + "end program",
            ),
            "step_inc": _TYPED,
        },
        {"main.F90"},
    ),
    "in one of two branches": (
        {
            "main_f90": f"{_HEAD}#ifdef A\n{_INCLUDE}#else\n{_WORK}{_INCLUDE}#endif\n{_TAIL}",
            "step_inc": _STEP,
        },
        {"main.f90"},
    ),
}


@pytest.mark.parametrize("name", _SEVERAL)
def test_a_file_changes_where_all_of_its_places_do(name: str, tmp_path: Path) -> None:
    """Else what changes in a place stands there instead of the line that includes the file."""
    texts, changed = _SEVERAL[name]
    assert set(applied(files(tmp_path / "src", **texts))) == changed


@pytest.mark.parametrize("name", _SEVERAL)
@pytest.mark.parametrize(
    "mpi",
    [*installed(OPENMPI), *(pytest.param(one, marks=pytest.mark.wide) for one in installed(MPICH))],
)
def test_text_of_several_places_computes_the_same(name: str, mpi: Mpi, tmp_path: Path) -> None:
    source = files(tmp_path / "src", **_SEVERAL[name][0])
    assert applied(source)
    for defines in ((), ("A",)):
        place = tmp_path / f"with{len(defines)}"
        before, after = (
            printed(mpi, tree, place / tree.name, defines, 2)
            for tree in (source, tmp_path / "src-out")
        )
        assert before == after


def test_nothing_moves_to_where_its_name_is_a_macro(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{_HEAD}#define b a\n{_INCLUDE}#undef b\n{_INCLUDE}{_TAIL}"
    assert not applied(files(tmp_path / "src", main_f90=text, step_inc=_STEP))
    assert "b is the name of a macro" in capsys.readouterr().err


_REFUSED = {
    "a file of another language": {"other_c": _INCLUDE},
    "a template": {"step.inc_in": ""},
}


@pytest.mark.parametrize("name", _REFUSED)
def test_text_that_is_not_composed_is_listed_and_stays(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = files(tmp_path / "src", **{**_PROGRAMS["a fragment"], **_REFUSED[name]})
    assert not applied(source, "-D", "A")
    assert f"{source / 'step.inc'}:1  MPI_Allreduce  refused" in capsys.readouterr().out


def test_a_condition_in_text_that_is_not_preprocessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main_text = f"{_HEAD}#ifdef P\n  b(n) = 0\n#endif\n  {_INCLUDE[1:]}{_TAIL}"
    source = files(tmp_path / "src", main_F90=main_text, step_inc=_STEP)
    assert not applied(source)
    told = capsys.readouterr().out
    assert "step.inc is not preprocessed where an INCLUDE line names it" in told


def test_a_file_that_is_compiled_alone_elsewhere_gets_the_whole_condition(tmp_path: Path) -> None:
    work = 'module work\ncontains\n#ifdef A\n#include "step.f90"\n#endif\nend module\n'
    text = f"{_HEAD}  do k = 1, 2\n  call step(a, b, n)\n  end do\n{_TAIL}"
    text = text.replace("  use mpi\n", "  use mpi\n  use work\n", 1)
    source = files(tmp_path / "src", main_f90=f"{work}{text}", step_f90=_PROCEDURE)
    passes = ["--passes", "nonblocking,motion", "--assume", "fatal", "-D", "A"]
    output = tmp_path / "out"
    assert main(["apply", str(source), "-o", str(output), *passes, *_NEVER]) == 0
    assert b"#if defined(A)\n" in (output / "step.f90").read_bytes()


def test_a_file_that_others_include_is_not_changed_for_itself(tmp_path: Path) -> None:
    text = f"{_HEAD}  call step(a, b, n)\n{_TAIL}"
    text = text.replace("end program", 'contains\n#include "step.f90"\nend program')
    source = files(tmp_path / "src", main_f90=text, step_f90=_PROCEDURE)
    output = tmp_path / "out"
    paths = [str(source / "main.f90"), str(source / "step.f90")]
    flags = ["--passes", "nonblocking,motion", "--assume", "fatal", *_NEVER]
    assert main(["apply", *paths, "-o", str(output), *flags]) == 0
    assert (output / "step.f90").read_text() == _PROCEDURE


def test_text_in_two_files_becomes_what_it_becomes_in_one(tmp_path: Path) -> None:
    """Whichever lines of a program stand in an included file."""
    text = f"{_HEAD}{_CALL}  do k = 1, 2\n    b(k) = k\n  end do\n{_WORK}{_USED}{_TAIL}"
    whole = applied(files(tmp_path / "whole", main_f90=text))["main.f90"]
    lines = text.splitlines(keepends=True)
    for first, last in ((2, 6), (8, 12), (12, 13), (12, 16), (13, 19), (16, 18), (19, 20)):
        source = files(
            tmp_path / f"cut{first}",
            main_f90="".join((*lines[:first], _INCLUDE, *lines[last:])),
            step_inc="".join(lines[first:last]),
        )
        applied(source)
        output = tmp_path / f"cut{first}-out"
        step = (output / "step.inc").read_bytes()
        assert (output / "main.f90").read_bytes().replace(_INCLUDE.encode(), step) == whole


def test_no_construct_gets_its_end_in_another_file(tmp_path: Path) -> None:
    source = files(
        tmp_path / "src", main_f90=f"{_HEAD}{_INCLUDE}{_TAIL}", step_inc=f"{_WORK}{_CALL}{_USED}"
    )
    tree = load_tree([source], Settings(cache=False, jobs=1))
    ((path, composition),) = tree.inclusions.compositions.items()
    before = tree.file(path)
    begin = b"!#asphalt include 1 begin\n"
    moved = composition.content.replace(begin, b"")
    moved = moved.replace(b"    b(i) = sqrt", begin + b"    b(i) = sqrt")
    assert moved != composition.content
    check_borders(composition, before, before, composition.content)
    with pytest.raises(NotConfinedError, match="begin in one file"):
        check_borders(composition, before, tree.edited({path: moved}).file(path), moved)
