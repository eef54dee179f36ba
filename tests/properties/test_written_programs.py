"""What is proved of a program does not depend on how its arrays, sizes and names are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from support.written_programs import PLAIN, PROGRAMS

_CASES = [(name, way) for name, text in PROGRAMS.items() for way in text.ways]


def overlapped(folder: Path, text: str) -> list[str]:
    """The operations of a program that are changed."""
    folder.mkdir()
    (folder / "whole.F90").write_text(text)
    project = Project(folder, settings=Settings((), passes=("all",), cache=False, jobs=1))
    sites = [site for change in project.outcome().changes for site in change.sites]
    return [site.operation for site in sorted(sites, key=lambda site: site.line)]


@pytest.mark.wide
@pytest.mark.parametrize(("name", "way"), _CASES)
def test_what_is_changed_is_that_of_the_plain_program(tmp_path: Path, name: str, way: str) -> None:
    own = PROGRAMS[name]
    plain = overlapped(tmp_path / "plain", own.written(PLAIN))
    assert plain
    assert overlapped(tmp_path / "other", own.written(way)) == plain
