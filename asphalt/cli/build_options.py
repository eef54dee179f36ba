"""The options that say how a program is built, for every subcommand that builds one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from asphalt.cli.options import PATHS
from asphalt.config.errors import UsageError
from asphalt.verify.builds import BUILD_PLACES


@dataclass(frozen=True, slots=True)
class Building:
    """What the user said about building: one command line at most, and the program it makes."""

    build: str | None
    compile: str | None
    executable: str | None

    def line(self, default: str) -> str:
        """The command line; ``default`` where nothing was said."""
        return self.build or self.compile or default


def build_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of building, as one argument ``building``.

    ``default``: what help says of the line that is used else.  Raises ``UsageError`` where two
    command lines are given.
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
                raise UsageError(
                    "there is one command to build with; give one of them, --build or --compile"
                )
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
            help="How to build, e.g. 'make FC={fc}'; it runs in the mirrored tree. "
            f"{places_text(BUILD_PLACES)}.",
        ),
        click.option(
            "--compile",
            "compile_line",
            metavar="COMMAND",
            help="Or a line that compiles all, e.g. 'mpif90 -O2 {sources} -o {exe}'.  "
            f"[default: {default}]",
        ),
        click.option(
            "--exe",
            metavar="FILE",
            help="The program below the tree (else {exe}, or what the build makes).",
        ),
    )


def places_text(places: dict[str, str]) -> str:
    """What help says of the places that a command line may have."""
    by_meaning: dict[str, list[str]] = {}
    for name, meaning in places.items():
        by_meaning.setdefault(meaning, []).append(f"{{{name}}}")
    return "; ".join(f"{' '.join(names)}: {meaning}" for meaning, names in by_meaning.items())


tree_option = click.option(
    "--tree",
    type=PATHS,
    metavar="DIR",
    help="Mirror this directory with all that is in it, and build there (else the PATHs).",
)


def copied_paths(paths: tuple[Path, ...], tree: Path | None) -> tuple[Path, ...]:
    """What is mirrored for a build: the paths, or the tree around them.

    Raises ``UsageError`` for a tree that misses a path.
    """
    if tree is None:
        return paths
    if not tree.is_dir():
        raise UsageError(f"--tree {tree}: no such directory; check the path")
    for path in paths:
        if not path.resolve().is_relative_to(tree.resolve()):
            raise UsageError(f"{path}: lies outside --tree {tree}; name a directory above both")
    return (tree,)
