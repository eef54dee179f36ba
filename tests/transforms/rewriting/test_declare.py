"""Declarations of what emitted statements use: where they go, and what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.runtime import runtime_modules
from asphalt.unparse.params import HeaderEntry, merge_header
from support.judging import CALL, NEST, SETTINGS, program, project, transformed
from support.mpi_run import MPICH, OPENMPI, compile_runtime, compile_source, installed

UNIT = """\
subroutine exchange(np, me)
{spec}
{nest}{call}end subroutine exchange
"""
DECLARED = """\
  integer, parameter :: n = 3, nz = 8
  integer :: np, me, i, z, p, ierr
  real(8) :: s(n,nz,np), r(n,nz,np)
"""


def unit(spec: str) -> str:
    return UNIT.format(spec=spec, nest=NEST, call=CALL)


def lines(folder: Path, text: str, suffix: str = ".f90") -> list[str]:
    return [line.strip() for line in transformed(folder, text, suffix).splitlines()]


def position(found: list[str], start: str) -> int:
    return next(number for number, line in enumerate(found) if line.startswith(start))


def test_use_goes_behind_the_last_use(tmp_path: Path) -> None:
    found = lines(tmp_path, unit(f"  use mpi\n  use, intrinsic :: iso_c_binding\n{DECLARED}"))
    assert position(found, "use asphalt_exchange") == position(found, "use, intrinsic") + 1


def test_use_goes_first_where_there_is_no_other(tmp_path: Path) -> None:
    found = lines(tmp_path, unit(f"  implicit none\n  include 'mpif.h'\n{DECLARED}"))
    assert found[1].startswith("use asphalt_exchange")
    assert position(found, "implicit none") > 1


def test_only_what_is_used_is_used(tmp_path: Path) -> None:
    text = transformed(tmp_path, program())
    assert "asphalt_ranks" not in text
    given = text.replace("&", "").split("implicit none")[0].split("use asphalt_")[1:]
    uses = {name: listed.replace(",", " ").split() for name, listed in
            (use.split(", only:") for use in given)}  # fmt: skip
    assert list(uses) == ["exchange"]
    for module, names in uses.items():
        offered = runtime_modules()[f"asphalt_{module}"].names
        assert names == sorted(offered & {*re.findall(r"\w+", text.split("implicit none")[1])})


def test_declarations_go_behind_the_last_one(tmp_path: Path) -> None:
    found = lines(tmp_path, unit(f"  use mpi\n{DECLARED}"))
    assert position(found, "type(asphalt_exchange_t)") == position(found, "real(8) ::") + 1
    assert position(found, "include 'asphalt_params.inc'") < position(found, "call asphalt_x%begin")


def test_declarations_go_in_front_of_statement_functions(tmp_path: Path) -> None:
    spec = f"  use mpi\n{DECLARED}  real(8) :: f, x\n  f(x) = 2*x\n"
    found = lines(tmp_path, unit(spec))
    assert position(found, "include 'asphalt_params.inc'") < position(found, "f(x) = 2*x")


def test_declarations_go_behind_interfaces(tmp_path: Path) -> None:
    spec = f"""\
  use mpi
{DECLARED}
  interface
    subroutine other
    end subroutine other
  end interface
"""
    found = lines(tmp_path, unit(spec))
    assert position(found, "include 'asphalt_params.inc'") > position(found, "end interface")


def test_declarations_stay_out_of_preprocessor_branches(tmp_path: Path) -> None:
    spec = f"  use mpi\n{DECLARED}#ifdef DEBUG\n  integer :: debug\n#endif\n"
    found = lines(tmp_path, unit(spec), ".F90")
    branch = range(position(found, "#ifdef"), position(found, "#endif") + 1)
    assert position(found, "include 'asphalt_params.inc'") not in branch
    assert position(found, "type(asphalt_exchange_t)") not in branch
    assert position(found, "call asphalt_x%begin") > position(found, "include 'asphalt_params.inc'")


def test_every_new_name_is_declared(tmp_path: Path) -> None:
    """``implicit none`` is there, so a compiler would find one that is not."""
    for mpi in installed(OPENMPI, MPICH)[:1]:
        source = tmp_path / "changed.f90"
        source.write_text(transformed(tmp_path, program()))
        (tmp_path / "asphalt_params.inc").write_text(header(0, 4))
        assert compile_runtime(mpi, tmp_path).code == 0
        assert compile_source(mpi, source, tmp_path, ["-Wall", "-Werror"]).code == 0


def header(tile: int, depth: int) -> str:
    text = merge_header(
        None, [HeaderEntry("exchange", "MPI_Alltoall", "exchange.f90:9", "z", 0, 1)]
    )
    text = text.replace("k_exchange = 0", f"k_exchange = {tile}")
    return text.replace("d_exchange = 1", f"d_exchange = {depth}")


@pytest.mark.parametrize(
    ("tile", "depth", "accepted"),
    [(0, 1, True), (7, 3, True), (-1, 1, False), (1, 0, False), (1, -3, False)],
)
def test_a_wrong_header_is_a_compile_error(
    tile: int, depth: int, accepted: bool, tmp_path: Path
) -> None:
    for mpi in installed(OPENMPI, MPICH)[:1]:
        source = tmp_path / "changed.f90"
        source.write_text(transformed(tmp_path, program()))
        (tmp_path / "asphalt_params.inc").write_text(header(tile, depth))
        assert compile_runtime(mpi, tmp_path).code == 0
        assert (compile_source(mpi, source, tmp_path).code == 0) is accepted


def test_an_unnamed_main_program(tmp_path: Path) -> None:
    text = program().replace("program exchange\n", "", 1).replace("end program exchange", "end")
    (change,) = project(tmp_path, text, settings=SETTINGS).transform()
    found = [line.strip() for line in change.after.decode().splitlines()]
    assert found[0] == "use mpi"
    assert found[1].startswith("use asphalt_exchange")
