"""Why a procedure or a module is not known: what to tell whoever has to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.names.resolve import gives
from asphalt.analysis.names.scopes import Origin, Scope

_KNOWN = (Origin.DUMMY, Origin.INTRINSIC, Origin.MPI)
_NAMED = 2  # files that a message names


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why something is not known, in a clause; ``module``: that of which nothing is known, folded;
    None: it is no module's."""

    why: str
    module: str | None = None


def why_unseen(name: str, scope: Scope) -> Unseen | None:
    """Why the procedure of that name, as a unit sees it, is not known; None: no simple reason."""
    module = unseen_module(name, scope)
    if module is not None:
        return module
    symbol = scope.lookup(name)
    if symbol is not None and (symbol.origin in _KNOWN or symbol.attrs & {"pointer", "generic"}):
        return None
    files = scope.program.defined_in("external", name)
    if len(files) == 1:
        return None
    return Unseen(_missing("its source" if not files else name, files))


def unseen_module(name: str, scope: Scope) -> Unseen | None:
    """The first module that may give a name and of which nothing is known."""
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            if use.intrinsic or scope.scopes.module(use.module) is not None:
                continue
            files = scope.program.defined_in("module", use.module)
            if gives(use, name) and not _is_built_in(use.module):
                return Unseen(_missing(f"module {use.module}", files), use.module)
        here = here.host
    return None


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


def _is_built_in(module: str) -> bool:
    return module in MPI_MODULES | RUNTIME_MODULES or is_intrinsic_module(module)


def _missing(what: str, files: tuple[str, ...]) -> str:
    if not files:
        return f"{what} is not among the given files"
    more = len(files) - _NAMED
    listed = ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{what} is defined {len(files)} times, in {listed}"
