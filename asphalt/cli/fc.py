"""``asphalt fc``: in front of a compiler, so that a build transforms what it compiles."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from asphalt.building.wrapped import Wrapping
from asphalt.cli.command import Command
from asphalt.cli.notes import note
from asphalt.cli.options import PATHS
from asphalt.config.errors import UsageError
from asphalt.config.passes import GROUPS, PASSES
from asphalt.config.settings import load_settings

_DATABASE = "ASPHALT_DATABASE"


@click.command(cls=Command, context_settings={"ignore_unknown_options": False})
@click.option(
    "--record",
    type=PATHS,
    metavar="FILE",
    help="Compile as without asphalt, and write what is compiled, and how, into FILE.",
)
@click.option(
    "--database",
    type=PATHS,
    envvar=_DATABASE,
    show_envvar=True,
    metavar="FILE",
    help="What the whole build compiles: a FILE of --record, or a compile_commands.json.",
)
@click.option(
    "--passes",
    metavar="NAME,...",
    help=f"Transformations to apply, of {', '.join(PASSES)}, or {' or '.join(GROUPS)} (else all).",
)
@click.option(
    "--assume", multiple=True, metavar="NAME,...", help="Accept these assumptions, by their names."
)
@click.option("--config", type=PATHS, metavar="FILE", help="Settings file, as for apply.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMPILER ...")
def fc(
    record: Path | None,
    database: Path | None,
    passes: str | None,
    assume: tuple[str, ...],
    config: Path | None,
    words: tuple[str, ...],
) -> int:
    """Run a compiler, and transform what it compiles: FC="asphalt fc -- mpif90".

    \b
        make FC="asphalt fc --record $PWD/build.json -- mpif90"     what belongs together
        make clean
        make FC="asphalt fc --database $PWD/build.json -- mpif90"   proved with all files

    Proofs rest on the whole program: without a database, only a command that makes a program of
    all its sources is transformed.  With one, each object carries what its text rests on; the link
    compares, and says what to compile again.  It also adds the
    runtime.  Test programs of configurations stay as they are.
    The exit code is the compiler's; 2 if asphalt refuses.
    """
    if record is not None and database is not None and os.environ.get(_DATABASE) is None:
        raise UsageError("give either --record or --database, not both")
    folder = Path.cwd()
    settings = load_settings(folder, config)
    if passes is not None:
        settings = replace(settings, passes=tuple(name.strip() for name in passes.split(",")))
    names = {name.strip() for value in assume for name in value.split(",")}
    settings = replace(settings, assume=settings.assume | names, jobs=settings.jobs or 1)
    wrapping = Wrapping(
        settings,
        None if database is None or record is not None else database.absolute(),
        None if record is None else record.absolute(),
        note,
    )
    return wrapping.run(words, folder)
