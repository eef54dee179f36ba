"""The class of all subcommands: it refuses an option that is given twice."""

from __future__ import annotations

from collections import Counter

import click


class Command(click.Command):
    """A command that refuses an option with one value if it is given more than once.

    click takes the last value, but a user who writes ``--tile 2 --tile 3`` wants both.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; raises ``BadOptionUsage`` for an option that is repeated."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        once = [param for param in given if isinstance(param, click.Option) and _has_one(param)]
        counts = Counter(option.name for option in once)
        for option in once:
            if counts[option.name] > 1:
                words = dict.fromkeys(one.opts[-1] for one in once if one.name == option.name)
                raise click.BadOptionUsage(
                    option.opts[-1],
                    f"{' and '.join(words)}: given {counts[option.name]} times, takes one value.",
                    ctx,
                )
        return super().parse_args(ctx, args)


def _has_one(option: click.Option) -> bool:
    """Whether the option has one value; a switch may be repeated without effect."""
    switch = option.is_flag and isinstance(option.flag_value, bool)
    return not option.multiple and not option.count and not switch
