"""Messages to a person on stderr."""

from __future__ import annotations

import sys

import click


def note(message: str) -> None:
    """Print a message to a person on stderr, unless --quiet is given; stdout is for results."""
    if is_quiet():
        return
    encoding = sys.stderr.encoding or "utf-8"
    line = f"asphalt: {message}".encode(encoding, "backslashreplace").decode(encoding)
    print(line, file=sys.stderr)


def is_quiet() -> bool:
    """Whether --quiet is given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))
