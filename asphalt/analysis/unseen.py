"""Why a procedure or a module is not known: what to tell whoever has to mend it."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.resolve import gives
from asphalt.analysis.symbols import Origin, Scope

_KNOWN = (Origin.DUMMY, Origin.INTRINSIC, Origin.MPI)
_NAMED = 2  # files that a message names


def why_unseen(name: str, scope: Scope) -> str | None:
    """Why the procedure of that name, as a unit sees it, is not known; None: no simple reason."""
    program = scope.program
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            if use.intrinsic or scope.scopes.module(use.module) is not None:
                continue
            if gives(use, name):
                return _missing(f"module {use.module}", program.defined_in("module", use.module))
        here = here.host
    symbol = scope.lookup(name)
    if symbol is not None and (symbol.origin in _KNOWN or symbol.attrs & {"pointer", "generic"}):
        return None
    files = program.defined_in("external", name)
    return None if len(files) == 1 else _missing("its source" if not files else name, files)


def ambiguous_modules(scope: Scope) -> Iterator[tuple[str, str]]:
    """The modules that a unit or its hosts use and that are defined more than once, so that
    nothing of them is known; each with what to say of it."""
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            files = () if use.intrinsic else scope.program.defined_in("module", use.module)
            if len(files) > 1:
                yield use.module, _missing(f"module {use.module}", files)
        here = here.host


def _missing(what: str, files: tuple[str, ...]) -> str:
    if not files:
        return f"{what} is not among the given files"
    more = len(files) - _NAMED
    listed = ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{what} is defined {len(files)} times, in {listed}"
