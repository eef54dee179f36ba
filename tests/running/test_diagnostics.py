"""The first error in what compilers, linkers and make print."""

from __future__ import annotations

import pytest

from asphalt.running.diagnostics import essence


def test_what_the_compiler_says_is_one_line() -> None:
    output = (
        "main.f90:5:6:\n\n    5 |   total = nothing\n      |      1\n"
        "Error: Symbol 'nothing' at (1) has no IMPLICIT type\n"
    )
    assert essence(output) == ("main.f90:5:6: Error: Symbol 'nothing' at (1) has no IMPLICIT type")
    assert essence("ld: a.o: undefined reference to `x'\n") == "ld: a.o: undefined reference to `x'"
    assert essence("") == ""


QUOTED = """\
main.f90:4:33:

    4 | call mpi_init(ierror, nothing, 3)
      |                                 1
Error: No specific subroutine for the generic 'mpi_init' at (1)
make: *** [Makefile:3: main.o] Error 1
"""


WARNED = """\
main.f90:3:9:

    3 | integer ierror
      |         1
Warning: Unused dummy argument 'ierror' at (1) [-Wunused-dummy-argument]
f951: Warning: error: no such option
/usr/bin/ld: main.o: in function `MAIN__':
main.f90:(.text+0x14): undefined reference to `other_'
collect2: error: ld returned 1 exit status
"""


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            QUOTED,
            "main.f90:4:33: Error: No specific subroutine for the generic 'mpi_init' at (1)",
        ),
        (WARNED, "main.f90:(.text+0x14): undefined reference to `other_'"),
        ("main.f90(5): error #6404: no type", "main.f90(5): error #6404: no type"),
        ("\x1b[31mx.c:3:1: \x1b[1merror: \x1b[0mno\n", "x.c:3:1: error: no"),
        (
            "mpif90 -c mpi_errors.f90\nmake: *** No rule to make target 'x.o'.  Stop.\n",
            "make: *** No rule to make target 'x.o'.  Stop.",
        ),
        ("echo errors\nmake: *** [Makefile:2: all] Error 3\n", "echo errors"),
    ],
)
def test_the_compilers_error_is_found_and_no_line_that_it_quotes(output: str, told: str) -> None:
    """Arguments named ierror, warnings and make's last words are no errors."""
    assert essence(output) == told
