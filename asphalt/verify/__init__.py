"""Builds and runs original and transformed programs or procedures, and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asphalt.config.errors import UsageError
from asphalt.running.parts import pip_line

if TYPE_CHECKING:
    from asphalt.verify.procedures.loading import Pair, Procedure, load

__all__ = ["Pair", "Procedure", "load"]


def __getattr__(name: str) -> object:
    """Import the interface for procedures on demand: only it needs NumPy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from asphalt.verify.procedures import loading
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "numpy":
            raise
        raise UsageError(
            f"calling procedures needs NumPy; get it with {pip_line('procedures')}"
        ) from None
    return getattr(loading, name)
