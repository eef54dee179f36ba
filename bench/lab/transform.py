"""Calls `asphalt apply` on the sources of a kernel."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from asphalt.config.passes import Pass
from asphalt.config.runtime import runtime_modules
from bench.lab.case import ROOT
from bench.lab.places import place_for
from bench.lab.run import LabError

APPLIED = ROOT / "build" / "applied"
HEADER = "asphalt_params.inc"
_VALUE = re.compile(r"(asphalt_([kd])_\w+\s*=\s*)\d+")


def command() -> list[str]:
    """The command of asphalt in this interpreter's environment."""
    return [sys.executable, "-m", "asphalt"]


@cache
def available() -> bool:
    """Whether `asphalt apply` is available."""
    done = subprocess.run(
        [*command(), "apply", "--help"], cwd=ROOT, capture_output=True, check=False
    )
    return done.returncode == 0


def transform(
    files: Mapping[str, bytes], passes: Sequence[str] = (), more: Sequence[str] = ()
) -> dict[str, bytes]:
    """The files that asphalt writes, in an order that compiles; raises LabError.

    ``passes``: the passes; (): that for exchanges alone.  ``more``: further options.
    """
    out = apply(files, passes, more)
    names = [name for name in files if (out / name).exists()]
    runtime = [module.file for module in runtime_modules().values() if (out / module.file).exists()]
    headers = sorted(path.name for path in out.glob("*.inc") if path.name not in names)
    return {name: (out / name).read_bytes() for name in (*runtime, *names, *headers)}


def sites(files: Mapping[str, bytes]) -> list[dict[str, object]]:
    """The sites that asphalt reports for the files, as in the report's schema."""
    report = json.loads((apply(files).parent / "report.json").read_text(encoding="utf-8"))
    found: list[dict[str, object]] = report["sites"]
    return found


def apply(files: Mapping[str, bytes], passes: Sequence[str] = (), more: Sequence[str] = ()) -> Path:
    """Run `asphalt apply` on the files; returns its directory.  Cached by content."""
    options = ("--passes", ",".join(passes or (Pass.PREPUSH,)), *more)
    key = (tool_state(), sorted(files.items()), *options)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()
    place = APPLIED / digest[:16]
    out = place / "out"
    if (place / "done").exists():
        return out
    with place_for(place) as unfinished:
        _apply(files, unfinished, options)
    return out


def _apply(files: Mapping[str, bytes], place: Path, options: Sequence[str]) -> None:
    """Fill ``place``: source, out, report.json, and done with the output."""
    source, out = place / "source", place / "out"
    source.mkdir()
    for name, content in files.items():
        (source / name).write_bytes(content)
    report = place / "report.json"
    done = subprocess.run(
        [
            *command(),
            "apply",
            *(str(source), "--root", str(source), "--output", str(out), "--report", str(report)),
            *("--no-cache", "--force"),
            *options,
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(f"asphalt apply: exit code {done.returncode}\n{done.stderr[-3000:]}")
    (place / "done").write_text(done.stdout, encoding="utf-8")


def set_tiling(files: Mapping[str, bytes], tile: int, depth: int) -> dict[str, bytes]:
    """The files with K and D edited in the header, as a person would."""
    changed = dict(files)
    if HEADER in files:
        text = files[HEADER].decode("latin-1")
        values = {"k": tile, "d": depth}
        changed[HEADER] = _VALUE.sub(lambda m: f"{m[1]}{values[m[2]]}", text).encode("latin-1")
    return changed


@cache
def tool_state() -> str:
    """A hash of asphalt's own files, on which its output depends."""
    state = hashlib.sha256()
    for path in sorted((*ROOT.glob("asphalt/**/*.py"), *ROOT.glob("fortran_runtime/*.f90"))):
        state.update(path.read_bytes())
    return state.hexdigest()
