"""What an object rests on, kept in the object itself: it goes with it into archives.

The mark is a section that no program loads.  It is found by its first and last bytes, in objects
and in archives of them alike.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.ir.records import record

_FIRST, _LAST = b"asphalt-mark-1:", b":kram-tlahpsa"
_MARK = re.compile(re.escape(_FIRST) + rb"(\{[^\0]*?\})" + re.escape(_LAST))
_SECTION = ".asphalt"


@record
class Mark:
    """The ``source`` of an object, the database of its program ("": none), and the digest of the
    text that was compiled: what the proofs of all files of the program made of the source.
    ``runtime``: the modules of the runtime that the program needs."""

    program: str
    source: str
    text: str
    runtime: tuple[str, ...] = ()


def mark(file: Path, what: Mark) -> None:
    """Put a mark into an object.  Raises ``UsageError`` if the tool for it is missing or fails."""
    content = _FIRST + json.dumps(asdict(what)).encode() + _LAST
    with tempfile.NamedTemporaryFile(prefix="asphalt-mark-") as section:
        section.write(content)
        section.flush()
        command = ["objcopy", "--remove-section", _SECTION]
        command += ["--add-section", f"{_SECTION}={section.name}", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"objcopy: {error.strerror}; it comes with binutils") from None
    if done.returncode != 0:
        raise UsageError(f"objcopy does not mark {file}: {done.stderr.strip()}")


def marks_in(file: Path) -> Iterator[Mark]:
    """The marks of an object, or of all objects of an archive."""
    try:
        content = file.read_bytes()
    except OSError:
        return
    if content.startswith(b"!<thin>\n"):
        command = ["ar", "t", str(file)]
        names = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for name in names.splitlines():
            yield from marks_in(file.parent / name)
        return
    for found in _MARK.finditer(content):
        try:
            fields = json.loads(found[1])
            yield Mark(**{**fields, "runtime": tuple(fields["runtime"])})
        except (ValueError, TypeError):
            continue
