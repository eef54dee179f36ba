"""Fixed form: loops that end at one label, and are divided into tiles from around all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.limits import HEADER
from asphalt.config.settings import Settings
from asphalt.output.write import write_tree
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run
from support.tiled_runs import with_values

MAIN = """\
      PROGRAM LABELS
      INCLUDE 'mpif.h'
      INTEGER N, NZ, MAXP
      PARAMETER (N = 5, NZ = 10, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,MAXP), R(N,NZ,MAXP)
      COMMON /BUFFER/ S, R
      INTEGER ME, NP, IERR, ISTEP
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      DO 10 ISTEP = 1, 2
      CALL STATEM(NP, ME, ISTEP)
      CALL CONTIN(NP, ME, ISTEP)
      CALL JUMPS(NP, ME, ISTEP)
      CALL INSIDE(NP, ME, ISTEP)
   10 CALL BLOCKS(NP, ME, ISTEP)
      CALL MPI_FINALIZE(IERR)
      END

      SUBROUTINE SHOW(NAME, ME, ISTEP, I, IZ, IP)
      CHARACTER*(*) NAME
      INTEGER ME, ISTEP, I, IZ, IP, J
      INTEGER*8 BITS
      DOUBLE PRECISION S(200), R(200)
      COMMON /BUFFER/ S, R
      BITS = 0
      DO 10 J = 1, 200
   10 BITS = IEOR(ISHFTC(BITS, 7), TRANSFER(R(J), BITS))
      PRINT '(A8,5I4,I24)', NAME, ME, ISTEP, I, IZ, IP, BITS
      END
"""
PROCEDURE = """
      SUBROUTINE {name}(NP, ME, ISTEP)
      INCLUDE 'mpif.h'
      INTEGER N, NZ, MAXP, NP, ME, ISTEP, I, IZ, IP, IERR
      PARAMETER (N = 5, NZ = 10, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,MAXP), R(N,NZ,MAXP)
      COMMON /BUFFER/ S, R
{nest}
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('{name}', ME, ISTEP, {left})
      END
"""
_BLOCKS = """\
      DO 10 IP = 1, NP
         DO 10 IZ = 1, NZ
            DO 10 I = 1, N
   10          S(I,IZ,IP) = I*IZ + ISTEP*ME - IP"""
NESTS = {
    "STATEM": """\
      DO 10 IZ = 1, NZ
      DO 10 IP = 1, NP
      DO 10 I = 1, N
   10 S(I,IZ,IP) = SIN(DBLE(I*IZ + ISTEP)) + IP*ME""",
    "CONTIN": """\
      DO 10 IZ = 1, NZ
         DO 10 IP = 1, NP
            DO 10 I = 1, N
               S(I,IZ,IP) = COS(DBLE(I*IZ + ISTEP)) - IP*ME
   10 CONTINUE""",
    "JUMPS": """\
      DO 10 IZ = 1, NZ
         DO 10 IP = 1, NP
            DO 10 I = 1, N
               S(I,IZ,IP) = I*IZ
               IF (MOD(I + IZ, 2) .EQ. 0) GO TO 10
               S(I,IZ,IP) = S(I,IZ,IP)*ISTEP + ME
   10 CONTINUE""",
    "INSIDE": _BLOCKS,
    "BLOCKS": _BLOCKS,
}
"""What stands at the label: an assignment, CONTINUE, a target of jumps.  The loop over the blocks
is tiled where nothing asks for the loop variables behind it; else the loop in it is."""
TEXT = MAIN + "".join(
    PROCEDURE.format(name=name, nest=nest, left="0, 0, 0" if name == "BLOCKS" else "I, IZ, IP")
    for name, nest in NESTS.items()
)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_tiles_stand_around_all_loops_of_a_label(mpi: Mpi, tmp_path: Path) -> None:
    given, out = tmp_path / "src", tmp_path / "out"
    given.mkdir()
    main = given / "main.f"
    main.write_text(TEXT)
    settings = Settings(tile=3, depth=2, cache=False)
    written = write_tree([given], Project(given, settings=settings).transform(), out)
    made = (out / "main.f").read_text()
    heads = [line.strip() for line in made.splitlines() if "%LO" in line]
    assert heads == [
        f"DO 10 {loop} = ASPHALT_X%LO, ASPHALT_X%HI" for loop in ("IZ", "IZ", "IZ", "IZ", "IP")
    ]
    assert made.count("   10 ") == TEXT.count("   10 ") == 7
    expected = {
        ranks: run(mpi, build(mpi, [main], given, ["-O2", "-w"]), ranks) for ranks in (1, 3)
    }
    header = (out / HEADER).read_text()
    for tile in (1, 3):
        (out / HEADER).write_text(with_values(header, tile, 2))
        program = build(mpi, [*written.runtime, out / "main.f"], out, ["-O2", "-w"])
        for ranks, original in expected.items():
            outcome = run(mpi, program, ranks)
            assert outcome.code == original.code == 0, outcome.stderr
            lines = sorted(outcome.stdout.splitlines())
            assert len(lines) == 10 * ranks
            assert lines == sorted(original.stdout.splitlines()), (tile, ranks)
