"""Runs of programs whose nests are executed in tiles with messages, with any K and D."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.project import Project
from support.mpi_run import RUNTIME, Mpi, build, run


def transformed(
    tmp_path: Path,
    files: dict[str, str],
    tile: int | None = None,
    depth: int | None = None,
    accepted: frozenset[str] = frozenset(),
) -> tuple[dict[str, str], str]:
    """The files after all passes for transfers, with the ``accepted`` assumptions, and the
    header."""
    folder = tmp_path / "given"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    settings = replace(Settings(cache=False, jobs=1), passes=("inline", "nonblocking", "motion",
                       "fission", "renaming", "branches", "waits", "pipelining"))  # fmt: skip
    settings = replace(settings, assume=accepted)
    changes = Project(folder, settings=settings).transform(tile, depth)
    made = dict(files)
    header = ""
    for change in changes:
        made[change.path.name] = change.after.decode()
        for one in change.parameters:
            header += (
                f"      integer, parameter :: asphalt_k_{one.site} = {one.tile}\n"
                f"      integer, parameter :: asphalt_d_{one.site} = {one.depth}\n"
            )
    return made, header


def output(
    folder: Path, mpi: Mpi, files: dict[str, str], ranks: int, header: str = ""
) -> list[str]:
    """What a program prints, sorted by lines."""
    return outputs(folder, mpi, files, (ranks,), header)[0]


def outputs(
    folder: Path,
    mpi: Mpi,
    files: dict[str, str],
    ranks: Sequence[int],
    header: str = "",
    level: str = "-O1",
) -> list[list[str]]:
    """The same for several numbers of ranks; ``level``: of the compiler's optimisation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "asphalt_params.inc").write_text(header)
    sources = [*RUNTIME] if header else []
    for name, text in files.items():
        (folder / name).write_text(text)
        if not name.endswith(".inc"):
            sources.append(folder / name)
    checks = ("-fcheck=all",) if level == "-O1" else ()
    flags = (level, *checks, "-std=legacy", f"-I{folder}", f"-J{folder}")
    program = build(mpi, sources, folder, flags)
    found: list[list[str]] = []
    for number in ranks:
        outcome = run(mpi, program, number)
        assert outcome.code == 0, outcome.stderr
        found.append(sorted(outcome.stdout.splitlines()))
    return found


def with_values(header: str, tile: int, depth: int) -> str:
    """The header with other values of K and D."""
    text = re.sub(r"(asphalt_k_\w+ = )\d+", rf"\g<1>{tile}", header)
    return re.sub(r"(asphalt_d_\w+ = )\d+", rf"\g<1>{depth}", text)
