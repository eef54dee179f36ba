"""The programs of a tree in which several files define one name, and what they agree about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.driver.several_programs import programs_of
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.project import Project

GRID = "module grid\n  integer, parameter :: n = 200\nend module grid\n"
MAIN = """
program {name}
  use mpi
  use grid
  use step
  implicit none
  integer :: ierr, r, s, k, left, right
  real(8) :: u(0:n+1, 0:n+1), v(0:n+1, 0:n+1), w(0:2*n+3, 0:n+1)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, r, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, s, ierr)
  left = merge(r - 1, MPI_PROC_NULL, r > 0)
  right = merge(r + 1, MPI_PROC_NULL, r < s - 1)
  u = r
  w = r
  v = 0
  do k = 1, 10
    call advance({field}, v, n, left, right)
    u = v
  end do
  print *, sum(u)
  call MPI_Finalize(ierr)
end program {name}
"""
STEP = """
module step
  use mpi
  implicit none
contains
  subroutine advance(u, v, n, left, right)
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: u(0:, 0:), v(0:, 0:)
    integer :: i, j, ierr
    call MPI_Sendrecv(u(0, n), n + 2, MPI_DOUBLE_PRECISION, right, 1, u(0, 0), n + 2, &
      MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{between}    do j = 1, n
      do i = 1, n
        v(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
      end do
    end do
  end subroutine advance
end module step
"""
WHOLE, GAPS = "u", "w(0:2*n+3:2, :)"
"""What a program hands to ``advance``: an array, and a section of which compilers make a copy."""
LIBRARY = """
subroutine relax(w, v, n)
  use step
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: w(0:2*n+3, 0:n+1), v(0:n+1, 0:n+1)
  call advance(w(0:2*n+3:2, :), v, n, 0, 0)
end subroutine relax
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def cases(folder: Path, one: str = WHOLE, two: str = WHOLE, **more: str) -> Path:
    """Two programs with their own copies of a module, and a library of both."""
    files = {"lib/step.f90": STEP.format(between="")}
    for name, field in (("one", one), ("two", two)):
        files |= {
            f"{name}/main.f90": MAIN.format(name=name, field=field),
            f"{name}/grid.f90": GRID,
        }
    return write(folder, files | more)


def divided(folder: Path, files: dict[str, str]) -> list[tuple[list[str], list[str]]]:
    """The programs of a tree: the files of their main programs, and all."""
    found = programs_of(load_tree((write(folder, files),), Settings(cache=False)))

    def names(paths: object) -> list[str]:
        return sorted(str(Path(str(path)).relative_to(folder)) for path in paths)  # type: ignore[attr-defined]

    return [(names(one.mains), names(one.paths)) for one in found]


def program(name: str, *lines: str) -> str:
    return "\n".join((f"program {name}", *lines, f"end program {name}", ""))


COPY = "module grid\nend module grid\n"
USER = "subroutine library()\n  use grid\nend subroutine library\n"


def test_each_has_the_copy_of_its_folder(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY}
    files |= {f"{name}/main.f90": program(name, "use grid") for name in "ab"}
    assert divided(tmp_path, files) == [
        ([f"{name}/main.f90"], [f"{name}/grid.f90", f"{name}/main.f90"]) for name in "ab"
    ]


def test_a_library_has_the_copy_of_the_program(tmp_path: Path) -> None:
    files = {"a/src/grid.f90": COPY, "b/src/grid.f90": COPY, "lib/library.f90": USER}
    files |= {f"{name}/main.f90": program(name, "call library()") for name in "ab"}
    assert divided(tmp_path, files) == [
        ([f"{name}/main.f90"], [f"{name}/main.f90", f"{name}/src/grid.f90", "lib/library.f90"])
        for name in "ab"
    ]


def test_copies_that_are_as_near_leave_it_open(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "x/main.f90": program("x", "use grid")}
    files |= {"y/main.f90": program("y", "print *, 1")}
    assert (["x/main.f90"], ["a/grid.f90", "b/grid.f90", "x/main.f90"]) in divided(tmp_path, files)


def test_a_copy_of_no_program_leaves_it_open(tmp_path: Path) -> None:
    """An old copy below the folder of a program is nearer than the one that all are built with."""
    files = {"a/old/grid.f90": COPY, "src/grid.f90": COPY, "lib/library.f90": USER}
    files |= {f"{name}/main.f90": program(name, "call library()") for name in "ab"}
    for _, paths in divided(tmp_path, files):
        assert {"a/old/grid.f90", "src/grid.f90"} <= set(paths)


def test_a_library_with_a_copy_of_its_own_leaves_it_open(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "lib/grid.f90": COPY, "lib/library.f90": USER}
    files |= {"a/main.f90": program("a", "use grid", "call library()")}
    files |= {"b/main.f90": program("b", "print *, 1")}
    assert divided(tmp_path, files)[0] == (["a/main.f90"], sorted(files.keys() - {"b/main.f90"}))


def test_procedures_of_the_same_file_come_first(tmp_path: Path) -> None:
    own = "subroutine update()\nend subroutine update\n"
    files = {f"{name}.f90": program(name, "call update()") + own for name in "ab"}
    assert divided(tmp_path, files) == [([f"{name}.f90"], [f"{name}.f90"]) for name in "ab"]


def test_no_program_has_two_main_programs(tmp_path: Path) -> None:
    own = "subroutine update()\nend subroutine update\n"
    files = {f"{name}.f90": program(name, "call update()") + own for name in "ab"}
    files |= {"c.f90": program("c", "call update()")}
    assert (["c.f90"], ["c.f90"]) in divided(tmp_path, files)


def test_what_is_passed_on_is_reached(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "lib/library.f90": USER}
    files |= {"a/main.f90": program("a", "use grid", "external library", "call run(library)")}
    files |= {"b/main.f90": program("b", "use grid")}
    assert "lib/library.f90" in divided(tmp_path, files)[0][1]


def test_what_is_called_by_an_entry_is_reached(tmp_path: Path) -> None:
    own = "subroutine library()\n  print *, 1\n  entry other()\nend subroutine library\n"
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "lib/library.f90": own}
    files |= {"a/main.f90": program("a", "use grid", "call other()")}
    files |= {"b/main.f90": program("b", "use grid")}
    assert "lib/library.f90" in divided(tmp_path, files)[0][1]


@pytest.mark.parametrize("use", ["use private", "use public, only: other => library"])
def test_what_a_module_hides_is_reached(use: str, tmp_path: Path) -> None:
    """A used module has a procedure of that name, which has another one here, or none."""
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "lib/library.f90": USER}
    for name in ("public", "private"):
        files[f"lib/{name}.f90"] = (
            f"module {name}\n  {name}\ncontains\n  subroutine library()\n"
            f"  end subroutine library\nend module {name}\n"
        )
    files |= {"a/main.f90": program("a", "use grid", use, "call library()")}
    files |= {"b/main.f90": program("b", "use grid")}
    assert "lib/library.f90" in divided(tmp_path, files)[0][1]


def test_a_submodule_is_reached(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY}
    files |= {"a/part.f90": "submodule (grid) part\nend submodule part\n"}
    files |= {f"{name}/main.f90": program(name, "use grid") for name in "ab"}
    (_, first), (_, second) = divided(tmp_path, files)
    assert "a/part.f90" in first
    assert "a/part.f90" not in second


def test_what_c_calls_belongs_to_each(tmp_path: Path) -> None:
    files = {
        "a/grid.f90": COPY,
        "b/grid.f90": COPY,
        "lib/library.f90": "subroutine called()\nend\n",
    }
    files |= {"lib/c.c": "void called_(void); void f_(void) { called_(); }\n"}
    files |= {f"{name}/main.f90": program(name, "use grid", "call f()") for name in "ab"}
    assert all("lib/library.f90" in paths for _, paths in divided(tmp_path, files))


def test_what_no_program_reaches_is_one_more(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "lib/library.f90": USER}
    files |= {f"{name}/main.f90": program(name, "use grid") for name in "ab"}
    *_, (mains, paths) = divided(tmp_path, files)
    assert (mains, paths) == ([], ["a/grid.f90", "b/grid.f90", "lib/library.f90"])


def test_without_copies_it_is_one(tmp_path: Path) -> None:
    files = {"grid.f90": COPY} | {f"{n}/main.f90": program(n, "use grid") for n in "ab"}
    assert divided(tmp_path, files) == []


def test_one_main_program_is_one(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "a/main.f90": program("a", "use grid")}
    assert divided(tmp_path, files) == []


def test_programs_that_share_files_are_taken_together_where_they_can(tmp_path: Path) -> None:
    files = {"a/grid.f90": COPY, "b/grid.f90": COPY, "a/main.f90": program("a", "use grid")}
    files |= {"a/other.f90": program("other", "use grid"), "b/main.f90": program("b", "use grid")}
    assert [mains for mains, _ in divided(tmp_path, files)] == [
        ["a/main.f90", "a/other.f90"],
        ["b/main.f90"],
    ]


def changed(folder: Path) -> dict[str, str]:
    changes = Project(folder, settings=Settings(cache=False)).transform()
    return {str(one.path.relative_to(folder)): one.after.decode() for one in changes}


def scanned(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, str]], str]:
    """The sites of a scan, and what is told first."""
    assert main(["scan", "--no-cache", "--format", "json", str(folder)]) == 0
    out, err = capsys.readouterr()
    return json.loads(out)["sites"], err.splitlines()[0]


def test_several_programs_are_told_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites, told = scanned(cases(tmp_path), capsys)
    assert {site["verdict"] for site in sites} == {"proved"}
    assert f"note: {tmp_path}/one/main.f90: one of 2 programs" in told
    assert f"{tmp_path}/two/main.f90 (3 of 5 files)" in told
    assert "(grid), each has the nearest copy" in told


HOOK = "subroutine hook(v)\n  real(8), intent(inout) :: v(*)\n{line}end subroutine hook\n"
PACK = STEP.replace("u(0:, 0:), v(0:, 0:)", "u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)")


def test_a_shared_file_is_changed_where_all_agree(tmp_path: Path) -> None:
    folder = cases(tmp_path, **{"lib/step.f90": PACK.format(between="")})
    assert list(changed(folder)) == ["lib/step.f90"]


def test_of_two_procedures_one_may_stay(tmp_path: Path) -> None:
    both = PACK.format(between="")
    again = both[both.index("  subroutine") : both.index("end module")].replace("advance", "again")
    files = {"lib/step.f90": both.replace("end module step", f"{again}end module step")}
    hooked = files["lib/step.f90"].replace(
        "    do j = 1, n\n", "    call hook(v)\n    do j = 1, n\n", 1
    )
    files["lib/step.f90"] = hooked
    for name, line in (("one", "  v(1) = 1\n"), ("two", "  call MPI_Barrier(91, i)\n")):
        files[f"{name}/hook.f90"] = HOOK.format(line=line)
        text = MAIN.format(name=name, field="u")
        files[f"{name}/main.f90"] = text.replace(
            "    u = v", "    call again(v, u, n, left, right)"
        )
    after = changed(cases(tmp_path, **files))["lib/step.f90"]
    first, second = after.split("end subroutine advance")
    assert "asphalt_isend" not in first
    assert "asphalt_isend" in second


def test_the_caller_of_another_program_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cases(tmp_path, two=GAPS)
    assert list(changed(folder)) == ["one/main.f90"]  # which has its own copy, inlined
    sites, _ = scanned(folder, capsys)
    (refused,) = (site for site in sites if site["verdict"] == "refused")
    assert refused["file"].endswith("lib/step.f90")
    where = f"in the program of {folder}/two/main.f90"
    assert refused["message"].startswith(f"{where}: u is not contiguous in any caller")
    assert main(["explain", f"{folder}/lib/step.f90:{refused['line']}", str(folder)]) == 0
    assert refused["message"] in capsys.readouterr().out
    out = tmp_path.parent / "out"
    report = tmp_path / "report.json"
    assert main(["apply", str(folder), "-o", str(out), "--report", str(report)]) == 0
    applied = json.loads(report.read_text())["sites"]
    assert [site["verdict"] for site in applied] == [
        {"proved": "applied"}.get(site["verdict"], site["verdict"]) for site in sites
    ]
    assert (out / "lib" / "step.f90").read_text() == (folder / "lib" / "step.f90").read_text()


def test_the_caller_of_a_library_without_main_program_counts(tmp_path: Path) -> None:
    assert "lib/step.f90" not in changed(cases(tmp_path, **{"extra/relax.f90": LIBRARY}))


def test_a_file_that_would_become_different_texts_stays(tmp_path: Path) -> None:
    more = {"lib/step.f90": PACK.format(between="    call hook(v)\n")}
    hooks = {
        f"{name}/hook.f90": HOOK.format(line="  v(1) = 1\n" if name == "one" else f"  {line}\n")
        for name, line in (("one", ""), ("two", "call MPI_Barrier(91, i)"))
    }
    together = changed(cases(tmp_path / "all", **more, **hooks))
    project = Project(tmp_path / "all", settings=Settings(cache=False))
    texts = [
        {str(c.path): c.after for c in one.outcome().changes if "lib" in str(c.path)}
        for one in project.each
    ]
    assert texts[0] != texts[1]
    assert "lib/step.f90" not in together
