"""COMMON blocks as units declare them."""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope


def layout(scope: Scope, block: str) -> tuple[object, ...]:
    """The variables of a COMMON block with what decides about their places in it."""
    symbols = [scope.lookup(name) for name in scope.declared.commons.get(block, ())]
    return tuple((s.name, s.type, s.dims) if s is not None else None for s in symbols)


def host_has_common(scope: Scope, block: str) -> bool:
    """Whether a unit around the scope declares the COMMON block."""
    host = scope.host
    return host is not None and (block in host.declared.commons or host_has_common(host, block))
