"""Attributes that a macro gives count, though the text of their statements does not show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.call_graph.call_sites import is_bound_to_c
from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.project import Project


def project(folder: Path, text: str) -> Project:
    """A program of one file."""
    (folder / "all.F90").write_text(text)
    return Project(folder, settings=Settings(cache=False, jobs=1))


@pytest.mark.parametrize("definition", ["bind(c)", "bind(c, name='do')", ""])
def test_a_procedure_for_c(tmp_path: Path, definition: str) -> None:
    text = f"#define FOR_C {definition}\nsubroutine work() FOR_C\nend subroutine\n"
    tree = project(tmp_path, text).tree
    found = tree.external("work")
    assert found is not None
    assert is_bound_to_c(found.unit) is bool(definition)


@pytest.mark.parametrize("word", ["private", "public"])
def test_a_private_type(tmp_path: Path, word: str) -> None:
    text = f"""\
#define SEEN {word}
module held
  type, SEEN :: t
    integer :: i
  end type
end module
subroutine work()
  use held
end subroutine
"""
    tree = project(tmp_path, text).tree
    found = tree.external("work")
    assert found is not None
    definition = type_definition("t", Scopes(tree).of(found))
    assert (definition is None) is (word == "private")
