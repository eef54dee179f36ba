"""The options for building a program, shared by the subcommands that build one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from asphalt.cli.options import PATHS
from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.verify.builds import BUILD_PLACES


@record
class Building:
    """The user's build command, in one of its two forms, and the executable that it makes."""

    build: str | None
    compile: str | None
    executable: str | None

    def line(self, default: str) -> str:
        """The command line; ``default`` if the user gave none."""
        return self.build or self.compile or default

    def line_of(self, flags: str, defines: Iterable[str]) -> str:
        """The command line; where the user gave none, one that compiles all sources with ``flags``
        and the macros that asphalt reads them with."""
        macros = (f" -D{shlex.quote(one)}" for one in defines)
        given = "".join(macros).replace("{", "{{").replace("}", "}}")
        return self.line(f"{{fc}} {flags}{given} {{sources}} -o {{exe}}")


def build_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the build options to a command, which gets them as one argument ``building``.

    ``default``: the default command line as the help text shows it.  The command raises
    ``UsageError`` if both --build and --compile are given.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_building(
            *args: Any,
            build_line: str | None,
            compile_line: str | None,
            exe: str | None,
            **kwargs: Any,
        ) -> Any:
            if build_line is not None and compile_line is not None:
                raise UsageError("give either --build or --compile, not both")
            building = Building(build_line, compile_line, exe)
            return command(*args, building=building, **kwargs)

        for option in reversed(_options(default)):
            with_building = option(with_building)
        return with_building

    return decorate


def _options(default: str) -> tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...]:
    return (
        click.option(
            "--build",
            "build_line",
            metavar="COMMAND",
            help="The build command, e.g. 'make FC={fc}'; it runs in the mirrored tree. "
            f"{places_text(BUILD_PLACES)}.",
        ),
        click.option(
            "--compile",
            "compile_line",
            metavar="COMMAND",
            help="Or one line that compiles all sources, e.g. 'mpif90 -O2 {sources} -o {exe}'.  "
            f"[default: {default}]",
        ),
        click.option(
            "--exe",
            metavar="FILE",
            help="The executable below the tree (else {exe}, or the one that the build makes).",
        ),
    )


def places_text(places: dict[str, str]) -> str:
    """The placeholders of a command line with their meanings, for a help text."""
    by_meaning: dict[str, list[str]] = {}
    for name, meaning in places.items():
        by_meaning.setdefault(meaning, []).append(f"{{{name}}}")
    return "; ".join(f"{' '.join(names)}: {meaning}" for meaning, names in by_meaning.items())


tree_option = click.option(
    "--tree",
    type=PATHS,
    metavar="DIR",
    help="Mirror this whole directory, and build there (else the PATHs).",
)


def copied_paths(paths: tuple[Path, ...], tree: Path | None) -> tuple[Path, ...]:
    """The trees and files to mirror for a build: the paths, or the tree around them.

    Raises ``UsageError`` if the tree does not hold all of the paths.
    """
    if tree is None:
        return paths
    if not tree.is_dir():
        raise UsageError(f"--tree {tree}: no such directory; check the path")
    for path in paths:
        if not path.resolve().is_relative_to(tree.resolve()):
            raise UsageError(f"{path}: lies outside --tree {tree}; name a directory above both")
    return (tree,)
