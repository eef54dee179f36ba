"""``asphalt mk``: the path of the makefile fragment that makes asphalt a build step."""

from __future__ import annotations

import click

from asphalt.cli.command import Command
from asphalt.config.resources import MAKEFILE, shipped


@click.command(cls=Command)
def mk() -> None:
    """Print the path of asphalt.mk, for a makefile's include line.

    \b
        ASPHALT_SOURCES = src/main.f90 src/transpose.f90
        ASPHALT_BUILD = build/asphalt
        include $(shell asphalt mk)
    """
    print(shipped(MAKEFILE))
