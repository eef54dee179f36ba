"""Where the folders of the repository are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
KERNELS = ROOT / "kernels"
RUNTIME = ROOT / "fortran_runtime"
RESULTS = ROOT / "bench" / "results"
GOLDEN = TESTS / "transforms" / "prepush" / "golden"
RUNTIME_PROGRAMS = TESTS / "runtime" / "programs"
TRANSFORMED = TESTS / "end_to_end" / "transformed"
