"""``asphalt doctor``: which parts are installed, and what to install for what."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

import asphalt
from asphalt.cli.command import Command
from asphalt.cli.session import PipeConsole, note
from asphalt.running.parts import DISTRIBUTION, other_distributions, parts


@click.command(cls=Command)
@click.option(
    "--format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Format of the report: for people, for programs.",
)
def doctor(format: str) -> int:
    """Say which MPI, compiler, simulator and optional parts are there.

    For what is missing, doctor says which commands need it, and how to install it.  Exits with 1 if
    another distribution brings an import package 'asphalt': both cannot share an environment.
    """
    found, others = tuple(parts()), other_distributions()
    place = Path(asphalt.__file__).parent
    if format == "json":
        data = {
            "version": 1,
            "asphalt": asphalt.__version__,
            "place": str(place),
            "python": platform.python_version(),
            "others": others,
            "parts": [asdict(part) for part in found],
        }
        print(json.dumps(data, indent=2))
        return int(bool(others))
    console = PipeConsole(highlight=False, soft_wrap=True, emoji=False)
    here = f"asphalt {asphalt.__version__}, Python {platform.python_version()}, in {place}"
    console.print(here, markup=False)
    table = Table("part", "found", "needed by")
    for column in table.columns:
        column.overflow = "fold"
    for part in found:
        table.add_row(part.name, part.found or "[yellow]missing[/yellow]", part.needed)
    console.print(table)
    for part in found:  # outside of the table, which would cut what one copies
        if not part.found:
            console.print(f"{part.name}: {part.get}", markup=False)
    for name in others:
        note(
            f"the distribution {name} brings an import package 'asphalt', too: its files and those "
            f"of {DISTRIBUTION} overwrite each other; install one of them in another environment"
        )
    return int(bool(others))
