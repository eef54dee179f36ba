"""Messages to a person on stderr."""

from __future__ import annotations

import sys


def note(message: str) -> None:
    """Print a message to a person on stderr; stdout is for results."""
    encoding = sys.stderr.encoding or "utf-8"
    line = f"asphalt: {message}".encode(encoding, "backslashreplace").decode(encoding)
    print(line, file=sys.stderr)
