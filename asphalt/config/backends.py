"""The backends of an exchange in tiles: what may carry its pieces at run time.

Each has a module of the runtime, ``asphalt_backend_NAME``, and behind it a procedure
``asphalt_by_NAME``, which the header passes to the beginning of an exchange.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.config.errors import UsageError
from asphalt.config.runtime import runtime_modules

ISEND = "isend"
PERSISTENT = "persistent"
_MODULE = "asphalt_backend_"


def backends() -> tuple[str, ...]:
    """The backends that the runtime has, ``isend`` first."""
    found = [name.removeprefix(_MODULE) for name in runtime_modules() if name.startswith(_MODULE)]
    return (ISEND, *sorted(name for name in found if name != ISEND))


def offering_procedure(name: str) -> str:
    """The procedure that offers a backend."""
    return f"asphalt_by_{name}"


def modules_of(names: Iterable[str]) -> frozenset[str]:
    """The modules of the runtime that backends are in."""
    return frozenset(_MODULE + name for name in names)


def put_in(names: Iterable[str]) -> tuple[str, ...]:
    """The backends that emitted code may choose among: those that are named, the first of which is
    the one that the header names, and ``isend``, which costs nothing.

    Raises UsageError for a name that means none.
    """
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name != ISEND and name not in backends():
            raise UsageError(f"{name!r} is not a backend (known: {', '.join(backends())})")
    if not found:
        raise UsageError("name at least one backend")
    return found if ISEND in found else (*found, ISEND)
