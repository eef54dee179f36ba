"""An executable has one main program: what builds one says which files to give."""

from __future__ import annotations

import os
from collections.abc import Iterator

from asphalt.config.errors import InputError
from asphalt.driver.several_programs import files_of
from asphalt.frontend.source_tree.program_tree import included_alone
from asphalt.ir.conditionals import change
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves
from asphalt.project import Project

_MOST_FILES = 6  # that a message names
_MOST_MAINS = 4
_BY_BUILD = "give a build command of one of them with --build, and its program with --exe"


def refuse_several_mains(project: Project, command: str) -> None:
    """Raise ``InputError`` if a build command is to get the sources of several main programs.

    Main programs in branches of the preprocessor do not count: flags may choose one of them.
    """
    if "{sources}" not in command:
        return
    mains = {one.path: one for one in _always_compiled(project)}
    if len(mains) < 2:
        return
    places = [_place(project, one) for one in mains.values()]
    names = [
        f"{one.unit.name or 'unnamed'} in {file}:{line}"
        for one, (file, line) in zip(mains.values(), places, strict=True)
    ]
    more = len(names) - _MOST_MAINS
    named = ", ".join((*names[:_MOST_MAINS], *([f"{more} more"] if more > 0 else [])))
    raise InputError(
        *places[0],
        f"one of {len(mains)} main programs ({named}), and an executable has one: "
        f"{_files(project, list(mains))}or {_BY_BUILD}",
    )


def _files(project: Project, mains: list[str]) -> str:
    """The advice to give the files of one program, if there are few."""
    needed = files_of(project.tree, mains)
    shown = [" ".join(needed[main]) for main in mains if len(needed[main]) <= _MOST_FILES]
    example = f" ({shown[0]})" if shown else ""
    return f"give the files of one of them{example}, "


def _always_compiled(project: Project) -> Iterator[Located]:
    """The main programs outside of branches of the preprocessor, one of each compiled file."""
    parts = {os.path.abspath(part) for part in included_alone(project.tree)}
    for one in project.tree.main_programs():
        if os.path.abspath(one.path) not in parts and not _is_conditional(project, one):
            yield one


def _is_conditional(project: Project, main: Located) -> bool:
    first = next(leaves(main.unit)).span
    depth = 0
    for leaf in leaves(project.tree.file(main.path)):
        depth += sum(change(trivia)[0] for trivia in leaf.lead)
        if leaf.span == first:
            break
    return depth > 0


def _place(project: Project, main: Located) -> tuple[str, int]:
    span = next(leaves(main.unit)).span
    return project.places.place(main.path, span.first if span is not None else 1)
