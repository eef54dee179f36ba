"""flang compiles the runtime, and what exchanges become.

It cannot read the module ``mpi`` that gfortran wrote: here it is made from MPI's own ``mpif.h``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from asphalt.config.limits import HEADER
from asphalt.config.runtime import runtime_modules
from support.places import GOLDEN

FLANG = next((name for name in ("flang-new-19", "flang-19", "flang-new") if shutil.which(name)), "")
HEADERS = Path("/usr/lib/x86_64-linux-gnu/openmpi/include")
MODULE = "module mpi\n  implicit none\n  include 'mpif.h'\nend module mpi\n"
TYPED = "mpi_f08"

pytestmark = pytest.mark.skipif(
    not FLANG or not (HEADERS / "mpif.h").exists(),
    reason="needs flang (flang-19 of Debian) and mpif.h of Open MPI",
)


def _compile(source: Path, folder: Path) -> None:
    command = [FLANG, f"-I{HEADERS}", "-c", str(source)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_flang_compiles_the_runtime_and_emitted_code(tmp_path: Path) -> None:
    (tmp_path / "mpi.f90").write_text(MODULE)
    _compile(tmp_path / "mpi.f90", tmp_path)
    for module in runtime_modules().values():
        if not module.name.endswith("_f08"):
            _compile(module.source, tmp_path)
    compiled = 0
    for path in sorted(GOLDEN.glob("*.after.f*")):
        text = path.read_text(encoding="latin-1")
        if TYPED in text.lower():
            continue
        sites = {w.split("_", 2)[2] for w in _words(text) if w.startswith("asphalt_k_")}
        (tmp_path / HEADER).write_text(
            "".join(
                f"      integer, parameter :: asphalt_k_{s} = 0, asphalt_d_{s} = 4\n" for s in sites
            )
        )
        source = tmp_path / path.name.replace(".after.", ".")
        source.write_text(text, encoding="latin-1")
        _compile(source, tmp_path)
        compiled += 1
    assert compiled > 8


def _words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text.lower()).split())
