"""The unified diff of two versions of a file, byte for byte, for ``patch -p1``."""

from __future__ import annotations

import difflib
import os
import re

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(name: str, before: bytes | None, after: bytes) -> bytes:
    """The diff with ``a/`` and ``b/`` before ``name``; ``before`` None: a new file."""
    old = _lines(before or b"")
    new = _lines(after)
    label = os.fsencode(name).decode("latin-1").lstrip("/")
    end = "\t" if " " in label else ""  # as git does: else patch takes the name's first word
    source = "/dev/null" if before is None else f"a/{label}{end}"
    diff = difflib.unified_diff(old, new, source, f"b/{label}{end}", lineterm="\n")
    text = "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in diff)
    return text.encode("latin-1")


def _lines(data: bytes) -> list[str]:
    # Latin-1 keeps every byte; only \n ends a line (splitlines would cut at \r, \x0c and others).
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("latin-1"))
