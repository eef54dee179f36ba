"""``asphalt mk``: the path of the makefile fragment that makes asphalt a build step."""

from __future__ import annotations

import click

from asphalt.cli.command import Command
from asphalt.config.resources import CMAKE, MAKEFILE, shipped


@click.command(cls=Command)
@click.option("--cmake", is_flag=True, help="Print the folder for -Dasphalt_DIR=... instead.")
def mk(cmake: bool) -> None:
    """Print the path of asphalt.mk, for a makefile's include line.

    \b
        ASPHALT_SOURCES = src/main.f90 src/transpose.f90
        ASPHALT_BUILD = build/asphalt
        include $(shell asphalt mk)
    """
    print(shipped(CMAKE).parent if cmake else shipped(MAKEFILE))
