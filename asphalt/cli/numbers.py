"""Options whose value is a list of whole numbers."""

from __future__ import annotations

from collections.abc import Callable

import click

from asphalt.limits import Limits

Numbers = tuple[int, ...]
RANKS = Limits(1, 10**6)


def numbers(
    limits: Limits,
) -> Callable[[click.Context, click.Parameter, str | None], Numbers | None]:
    """Reads a comma-separated list of whole numbers within limits."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> Numbers | None:
        if value is None:
            return None
        words = value.split(",")
        if not all(word.strip().isdecimal() and int(word) in limits for word in words):
            raise click.BadParameter(f"'{value}' is no list of whole numbers from {limits}.")
        return tuple(dict.fromkeys(map(int, words)))

    return convert
