"""Checking on the machine what was proved: original and transformed program, run side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asphalt.config.errors import UsageError

if TYPE_CHECKING:
    from asphalt.verify.procedures.loading import Pair, Procedure, load

__all__ = ["Pair", "Procedure", "load"]


def __getattr__(name: str) -> object:
    """What calls procedures is imported when it is asked for: it needs NumPy, the rest does not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from asphalt.verify.procedures import loading
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "numpy":
            raise
        raise UsageError(
            "calling procedures needs NumPy; get it with 'pip install asphalt[procedures]'"
        ) from None
    return getattr(loading, name)
