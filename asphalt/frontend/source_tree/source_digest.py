"""A digest of the source code that an answer rests on: modules, and all that these import.

``cache`` and ``analysis_manager.summary_store`` do not believe what another version of the code
found.  The IMPORT statements say which modules count, so that a module that moves, or a new one,
needs no list.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]  # of the package asphalt
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(asphalt[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rb"|import[ \t]+(asphalt[\w.]*))",
    re.MULTILINE,
)
_NAME = re.compile(rb"\w+")


@functools.cache
def source_digest(*roots: str) -> bytes:
    """A digest of some modules or packages, of what they import, and of Python.

    ``roots``: dotted names; of a package, all modules count.
    """
    digest = hashlib.blake2b(sys.version.encode())
    for path in sorted(imported_files(*roots)):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(_ROOT).as_posix()} {len(data)} ".encode())
        digest.update(data)
    return digest.digest()


@functools.cache
def package_digest() -> bytes:
    """A digest of all files of asphalt, and of Python."""
    digest = hashlib.blake2b(sys.version.encode())
    for directory, subdirectories, names in os.walk(_ROOT):
        subdirectories[:] = sorted(set(subdirectories) - {"__pycache__"})
        for path in (Path(directory, name) for name in sorted(names)):
            data = path.read_bytes()
            digest.update(f"{path.relative_to(_ROOT).as_posix()} {len(data)} ".encode())
            digest.update(data)
    return digest.digest()


def imported_files(*roots: str) -> frozenset[Path]:
    """The files of some modules or packages and of what they import, directly or not: at run time,
    inside of functions and for type checkers.  The package ``asphalt`` itself, which imports on
    request, does not count."""
    found: set[Path] = set()
    names: set[str] = set()
    new = [path for root in roots for path in _below(root)]
    while new:
        path = new.pop()
        if path not in found:
            found.add(path)
            imported = set(_imports(path.read_bytes())) - names
            names |= imported
            new.extend(one for name in imported for one in _files(name))
    return frozenset(found)


def _imports(text: bytes) -> Iterator[str]:
    """The dotted names that the IMPORT statements of a module may import."""
    for package, names, module in _IMPORT.findall(text):
        name = (package or module).decode()
        yield name
        for word in _NAME.findall(names):
            yield f"{name}.{word.decode()}"


def _below(name: str) -> Iterator[Path]:
    """The files of a module, or of all modules of a package."""
    folder = _ROOT.joinpath(*name.split(".")[1:])
    if folder.is_dir():
        yield from folder.rglob("*.py")
    yield from _files(name)


def _files(name: str) -> Iterator[Path]:
    """The file of a module, with those of the packages that it is in; none for another name."""
    parts = name.split(".")[1:]
    for count in range(1, len(parts) + 1):
        stem = _ROOT.joinpath(*parts[:count])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                yield path
