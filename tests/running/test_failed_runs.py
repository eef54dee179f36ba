"""A test that fails tells which of its programs ended with an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from asphalt.running.mpi import OPENMPI
from support.places import ROOT

_TEST = """\
from pathlib import Path

from asphalt.running.mpi import OPENMPI
from support.mpi_run import build, run


def test_both_versions(tmp_path: Path) -> None:
    codes = []
    for name, last in (("given", ""), ("made", "write (0, '(a)') 'made fails'; stop 3")):
        (tmp_path / name).mkdir()
        source = tmp_path / name / "main.f90"
        text = "use mpi\\ninteger :: ierr\\ncall MPI_Init(ierr)\\n"
        text += f"call MPI_Finalize(ierr)\\n{last}\\nend\\n"
        source.write_text(text)
        codes.append(run(OPENMPI, build(OPENMPI, [source], tmp_path / name), 1).code)
    assert codes == [0, 0]
"""


def test_the_report_of_a_test_tells_which_program_failed(tmp_path: Path) -> None:
    OPENMPI.require()
    (tmp_path / "test_pair.py").write_text(_TEST)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not wide"]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "--rootdir", ".", "test_pair.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    _, told = done.stdout.split("Programs that ended with an error")
    assert "given/prog" not in told
    assert "made/prog, not transformed, of " in told
    assert f": exit code 3 on 1 ranks, {OPENMPI}\n" in told
    assert "made fails" in told
