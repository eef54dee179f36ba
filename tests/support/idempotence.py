"""Applying asphalt to its own output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.output.write import write_tree
from asphalt.project import Outcome, Project


def _applied(source: Path, passes: tuple[str, ...]) -> Outcome:
    return Project(source, settings=Settings(passes=passes, jobs=1, cache=False)).outcome()


def stays(folder: Path, files: Mapping[str, bytes], passes: tuple[str, ...] = TRANSFERS) -> Outcome:
    """What becomes of some files, after the proof that nothing more becomes of that."""
    source = folder / "given"
    source.mkdir(parents=True)
    for name, content in files.items():
        (source / name).write_bytes(content)
    once = _applied(source, passes)
    if once.changes:
        write_tree([source], once.changes, folder / "once")
        twice = _applied(folder / "once", passes)
        after = {change.path.name: change.after.decode("latin-1") for change in twice.changes}
        before = {change.path.name: change.before.decode("latin-1") for change in twice.changes}
        assert after == before
    return once
