"""Results of reading, kept on disk: entries under keys made of content, settings and versions.

An entry is a checksum and a pickle of asphalt's dataclasses, written as class and field values
(three times faster than the default for slotted dataclasses) and read back for classes of this
package only.  A damaged entry counts as absent.  Entries are written to a temporary file and
renamed, so that any number of processes can share a directory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import hashlib
import io
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, SupportsIndex, cast

from asphalt.frontend.source_tree.source_digest import source_digest

_DIGEST = 16
_KEPT = 30 * 86400.0
_LARGEST = 512 << 20


def cache_directory() -> Path:
    """Where entries are kept for this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "asphalt"


def key_of(*parts: str | bytes) -> str:
    """A key that no two sequences of parts share, in this version of the code."""
    digest = hashlib.blake2b(_version(), digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _version() -> bytes:
    """A digest of everything that decides what an entry holds: the code of the frontend, Python."""
    return source_digest("asphalt.ir", "asphalt.frontend")


@dataclasses.dataclass(frozen=True, slots=True)
class Cache:
    """Entries in ``directory``; with None, nothing is kept and nothing found."""

    directory: Path | None

    def get(self, key: str) -> object | None:
        """The value under ``key``, or None."""
        data = self.read(key)
        return None if data is None else unpack(data)

    def put(self, key: str, value: object) -> None:
        """Keep ``value`` (not None); no effect if the directory cannot be written."""
        if self.directory is not None:
            self.write(key, pack(value))

    def read(self, key: str) -> bytes | None:
        """The packed value under ``key``, or None."""
        if self.directory is None:
            return None
        path = self._path(self.directory, key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        payload = data[_DIGEST:]
        if hashlib.blake2b(payload, digest_size=_DIGEST).digest() != data[:_DIGEST]:
            return None
        return payload

    def write(self, key: str, payload: bytes) -> None:
        """Keep a packed value."""
        if self.directory is None:
            return
        path = self._path(self.directory, key)
        checksum = hashlib.blake2b(payload, digest_size=_DIGEST).digest()
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent)
            try:
                with open(handle, "wb") as file:
                    file.write(checksum + payload)
                os.replace(name, path)
            except BaseException:
                os.unlink(name)
                raise

    def prune(self) -> None:
        """Once a day, remove entries older than thirty days, and the oldest of more than half a
        gigabyte."""
        if self.directory is None or not self.directory.is_dir():
            return
        stamp = self.directory / "pruned"
        now = time.time()
        with contextlib.suppress(OSError):
            if stamp.exists() and now - stamp.stat().st_mtime < 86400:
                return
            stamp.touch()
            entries = [(path.stat(), path) for path in self.directory.glob("??/*")]
            size = 0
            for status, path in sorted(entries, key=lambda e: e[0].st_mtime, reverse=True):
                size += status.st_size
                if size > _LARGEST or now - status.st_mtime > _KEPT:
                    path.unlink()

    @staticmethod
    def _path(directory: Path, key: str) -> Path:
        return directory / key[:2] / key[2:]


def pack(value: object) -> bytes:
    """A value of our dataclasses, enumerations and plain containers as bytes."""
    buffer = io.BytesIO()
    _Packer(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def unpack(data: bytes) -> object | None:
    """The value that was packed; None for bytes that are no packed value."""
    collects = gc.isenabled()
    gc.disable()  # many objects at once, and none of them is garbage
    try:
        value: object = _Unpacker(io.BytesIO(data)).load()
    except Exception:  # pickle raises whatever the broken bytes make it stumble over
        return None
    finally:
        if collects:
            gc.enable()
    return value


class _Packer(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        kind = type(obj)
        if not dataclasses.is_dataclass(kind):
            return NotImplemented
        return kind, _fields(kind)(obj)


@functools.cache
def _fields(kind: type) -> Callable[[object], tuple[object, ...]]:
    names = [field.name for field in dataclasses.fields(cast(Any, kind))]
    if len(names) == 1:
        return lambda obj: (getattr(obj, names[0]),)
    return cast(Callable[[object], tuple[object, ...]], attrgetter(*names))


class _Unpacker(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith("asphalt.") else None
        if isinstance(found, type):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in the cache")

    def persistent_load(self, pid: SupportsIndex) -> Any:
        raise pickle.UnpicklingError("no references outside")
