"""The line that compiles a program where the user gives none."""

from __future__ import annotations

from asphalt.cli.build_options import Building


def test_the_macros_that_asphalt_reads_with_are_those_of_the_build() -> None:
    line = Building(None, None, None).line_of("-O2", ("__MPI", "N=4", "WORK=w(1)", "F={x}"))
    assert line.format(fc="mpif90", sources="a.F90", exe="a.x") == (
        "mpif90 -O2 -D__MPI -DN=4 -D'WORK=w(1)' -D'F={x}' a.F90 -o a.x"
    )


def test_the_user_knows_better() -> None:
    assert Building(None, "mpif90 {sources}", None).line_of("-O2", ("A",)) == "mpif90 {sources}"
    assert Building("make", None, None).line_of("-O2", ("A",)) == "make"
