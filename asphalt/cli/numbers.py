"""Options whose value is a list of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from asphalt.config.limits import Limits

Numbers = tuple[int, ...]
RANKS = Limits(1, 10**6)


def numbers_option(
    *names: str, limits: Limits, default: str | None = None, metavar: str, help: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that takes integers within limits, separated by commas or given one by one.

    ``--tile 2,3`` and ``--tile 2 --tile 3`` mean the same; a repeated number counts once.  The
    value is None if the option is not given and has no ``default``.
    """

    def convert(
        ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
    ) -> Numbers | None:
        found: list[int] = []
        for value in values:
            words = value.split(",")
            if not all(word.strip().isdecimal() and int(word) in limits for word in words):
                raise click.BadParameter(f"'{value}' is not a list of integers from {limits}.")
            found += map(int, words)
        return tuple(dict.fromkeys(found)) or None

    return click.option(
        *names,
        callback=convert,
        multiple=True,
        default=None if default is None else (default,),
        show_default=default or False,
        metavar=metavar,
        help=help,
    )
