"""Disables eager sends, so that programs that rely on buffered sends hang.

MPI 3.1, section 3.4: a standard send may be buffered, or wait for its receive.  A program that
needs the buffer is erroneous, but usually runs with short messages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from asphalt.running.process import run
from asphalt.verify.setups import CannotError, Setup, launcher

# UCX sends by rendezvous from 0 bytes on, including empty messages; Open MPI's own transports
# always send short messages eagerly, so UCX is selected for all networks
_UCX = {"UCX_RNDV_THRESH": "0"}
_OPENMPI = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_osc": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}
_SIMULATION = {"smpi/send-is-detached-thresh": "0"}
_PROBE = """\
program asphalt_probe
  use mpi
  implicit none
  integer :: me, ierr, request, turn, item(1)
  logical :: through
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  item = 0
  if (me == 0) then
    call MPI_Isend(item, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, request, ierr)
    do turn = 1, 2000
      call MPI_Test(request, through, MPI_STATUS_IGNORE, ierr)
    end do
    call MPI_Send(item, 0, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    if (through) print '(a)', 'eager'
    if (.not. through) print '(a)', 'rendezvous'
  else
    call MPI_Recv(item, 0, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(item, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end if
  call MPI_Finalize(ierr)
end program asphalt_probe
"""
_SECONDS = 60.0


def without_eager_sends(setup: Setup) -> Setup:
    """This setup, with sends that do not complete before their receives are posted."""
    environment: Mapping[str, str] = {**setup.environment, **_UCX, **_OPENMPI}
    simulation = {**setup.simulation, **_SIMULATION}
    return replace(
        setup, environment=environment, simulation=simulation, rendezvous=True, eager=setup
    )


def prove_rendezvous(setup: Setup) -> None:
    """Run a program that tests whether a short send waits for its receive.

    Raises ``CannotError`` if it does not wait, or if the program cannot be built and run.
    """
    with tempfile.TemporaryDirectory(prefix="asphalt-probe-") as name:
        _probe(setup, Path(name))


def _probe(setup: Setup, folder: Path) -> None:
    (folder / "probe.f90").write_text(_PROBE, encoding="ascii")
    name = setup.name or "this MPI"
    build = [*setup.places["fc"], "probe.f90", "-o", "probe"]
    words = [*launcher(setup, folder, 2, arguments=False), "-np", "2", "./probe"]
    for command in (build, words):
        outcome = run(command, folder, _SECONDS, settings=setup.environment)
        if outcome.status != 0:
            errors = outcome.stderr.decode("utf-8", "backslashreplace").split("\n")
            error = next((line.strip() for line in errors if line.strip("- ")), "it hangs")
            raise CannotError(f"--rendezvous: the test program fails with {name}: {error}")
    if b"rendezvous" not in outcome.stdout:
        raise CannotError(
            f"--rendezvous: {name} sends short messages eagerly in spite of all settings; use "
            "SMPI, or Open MPI or MPICH with UCX (as in Debian)"
        )
