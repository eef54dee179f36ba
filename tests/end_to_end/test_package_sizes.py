"""Modules and packages stay small enough to be read in one sitting."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.places import ROOT

MOST_LINES = 450
MOST_MODULES = 25
TOP = {"__init__.py", "__main__.py", "project.py"}
PACKAGES = sorted(path.parent for path in (ROOT / "asphalt").rglob("__init__.py"))
_IDS = [str(path.relative_to(ROOT)) for path in PACKAGES]


def test_the_top_holds_packages_and_the_project() -> None:
    assert {path.name for path in (ROOT / "asphalt").glob("*.py")} == TOP


@pytest.mark.parametrize("package", PACKAGES, ids=_IDS)
def test_a_package_is_small(package: Path) -> None:
    modules = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES
    assert {
        path.name: lines
        for path in modules
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    } == {}


@pytest.mark.parametrize("package", PACKAGES, ids=_IDS)
def test_a_package_says_what_belongs_in_it(package: Path) -> None:
    text = (package / "__init__.py").read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
