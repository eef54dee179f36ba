"""What launchers and failed programs say."""

from __future__ import annotations

import pytest

from asphalt.running.launch import last_words, refusal

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
