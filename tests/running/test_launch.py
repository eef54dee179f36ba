"""What launchers and failed programs say."""

from __future__ import annotations

import pytest

from asphalt.running.launch import last_words, printed_last, refusal

OPENMPI_REFUSES = """\
--------------------------------------------------------------------------
mpirun.openmpi was unable to launch the specified application as it could not access
or execute an executable:

Executable: ./nothing
Node: here

while attempting to start process rank 0.
--------------------------------------------------------------------------
"""


OPENMPI_AFTER = """\
STOP 3
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:
--------------------------------------------------------------------------
"""


MPICH_REFUSES = """\
[proxy:0:0@here] HYDU_create_process (x.c:7): execvp error on file ./x (No such file or directory)
"""


SMPI_REFUSES = """\
[n0:0:(1) 0.000000] ./src/smpi_global.cpp:341: [root/CRITICAL] Cannot read from ./x. Please make sure
"""  # noqa: E501


@pytest.mark.parametrize(
    ("status", "told", "words"),
    [
        (132, OPENMPI_REFUSES, "or execute an executable: Executable: ./nothing Node: here while"),
        (1, 'mpirun.openmpi: Error: unknown option "--x"\nType', 'Error: unknown option "--x"'),
        (255, MPICH_REFUSES, "execvp error on file ./x"),
        (134, SMPI_REFUSES, "Cannot read from ./x. Please make sure"),
        (127, "env: './x': No such file or directory\n" + OPENMPI_AFTER, "env: './x': No such"),
        (1, "env: './x': No such file or directory\n", None),
        (3, OPENMPI_AFTER, None),
        (1, "myprog: unknown option -x", None),
        (0, OPENMPI_REFUSES, None),
    ],
)
def test_what_launchers_that_start_nothing_say(status: int, told: str, words: str | None) -> None:
    found = refusal(status, told)
    assert (found is None) is (words is None)
    assert words is None or words in str(found)


def test_last_words_are_the_programs() -> None:
    assert last_words(OPENMPI_AFTER) == "STOP 3"
    runtime = "At line 5 of file x.f90\nFortran runtime error: no file\n\nError termination.\n"
    assert last_words(runtime) == "Fortran runtime error: no file"
    assert last_words(OPENMPI_AFTER.partition("\n")[2]).startswith("Primary job")
    assert last_words("") == ""


OPENMPI_ABORT = """\
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
with errorcode 1.

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
--------------------------------------------------------------------------
[here:04697] 2 more processes have sent help message help-mpi-api.txt / mpi-abort
[here:04697] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages
"""


def test_hints_of_the_launcher_are_no_last_words() -> None:
    told = "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD"
    assert last_words(OPENMPI_ABORT) == told
    assert last_words(f"no input file\n{OPENMPI_ABORT}") == "no input file"
    error = "[here:12] *** MPI_ERR_COUNT: invalid"
    assert last_words(error) == error


def test_the_last_line_that_was_printed() -> None:
    assert printed_last(" step 1\n n must be divisible by np \n\n") == "n must be divisible by np"
    assert printed_last("\n") == ""
    assert len(printed_last("x" * 1000)) < 130
