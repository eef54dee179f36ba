"""Variables that a procedure shares with its caller without argument association.

A variable of a module, a COMMON block or a host has a name in each procedure with access to it.  An
access in a called procedure is an access to the storage of the caller's own name.
"""

from __future__ import annotations

from dataclasses import field

from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.storage import storage_of, storage_with_target
from asphalt.analysis.names.common_blocks import visible_scopes
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.scopes import Origin, Scope, Symbol, element_bytes
from asphalt.ir.records import record


@record
class SharedVariable:
    """A variable outside of a procedure, identified independently of it.

    ``kind``: ``module`` (``key``: its storage), ``host`` (``identity``), ``common`` (``key``: the
    block, ``layout``: bytes of each member up to the variable, the last one its own; None: some
    part of the block), ``target`` (``key``: what tells it from others, ``identity`` if it is a
    host's) or ``aliased`` (any that pointers may reach).  ``name``: in the procedure; None: it has
    none there.  ``path``: the component of it that is accessed; empty: all of it.
    """

    kind: str
    key: str
    identity: tuple[str, str, str] | None = None
    layout: tuple[tuple[str, int], ...] | None = None
    name: str | None = field(default=None, compare=False)
    path: tuple[str, ...] = ()


def shared_storage(storage: str, scope: Scope) -> SharedVariable | None:
    """The variable outside of a unit to which a storage of the unit belongs.

    None: it is local, or cannot be identified outside.
    """
    if "::" in storage:
        owner, name = storage.split("::", 1)
        return SharedVariable("module", storage, name=_local_name(owner, name, scope))
    if storage.startswith("/"):
        return SharedVariable("common", storage.strip("/"))
    symbol = scope.lookup(storage)
    if symbol is None or symbol.equivalenced or symbol.attrs & {"pointer", "target", "volatile"}:
        return None
    if symbol.origin is Origin.HOST:
        return SharedVariable("host", symbol.name, symbol.identity, name=storage)
    if symbol.origin is Origin.COMMON and symbol.common_block is not None:
        return SharedVariable("common", symbol.common_block, None, _layout(symbol), storage)
    return None


def shared_target(path: tuple[str, ...], scope: Scope) -> SharedVariable:
    """What an access of a unit to something with several names is outside of it (``path``: that of
    the access): a target of a module or a host, or else any."""
    symbol = scope.lookup(path[0]) if path else None
    if path and "::" in path[0]:
        return SharedVariable("target", path[0])
    if symbol is not None and symbol.origin is Origin.HOST:
        return SharedVariable("target", symbol.name, symbol.identity)
    return SharedVariable("aliased", ALIASED)


def _local_name(owner: str, name: str, scope: Scope) -> str | None:
    """The name that a module variable has in a unit, if it is that of the module."""
    symbol = scope.lookup(name)
    found = symbol is not None and symbol.origin is Origin.MODULE and symbol.owner == owner
    return name if found and storage_of(name, scope) == f"{owner}::{name}" else None


def storages_in(shared: SharedVariable, caller: Scope) -> tuple[str, ...] | None:
    """The storages of ``caller`` that are, or may be a part of, a variable; None: unknown."""
    match shared.kind:
        case "module" | "aliased":
            return (shared.key,)
        case "target":
            symbol = None if shared.identity is None else caller.lookup(shared.key)
            if shared.identity is None:
                return (f"{ALIASED}%{shared.key}",)
            if symbol is None or symbol.identity != shared.identity:
                return (ALIASED,)  # it has no name there
            return (storage_with_target(shared.key, caller),)
        case "host":
            symbol = caller.lookup(shared.key)
            if symbol is None or symbol.identity != shared.identity:
                return None
            return (storage_of(shared.key, caller),)
    return _common_storages(shared, caller)


def is_exact(shared: SharedVariable, storage: str, caller: Scope) -> bool:
    """Whether a storage of the caller is the variable itself, element by element."""
    if shared.kind != "common":
        return shared.kind != "aliased"
    symbol = caller.lookup(storage)
    return symbol is not None and shared.layout is not None and _layout(symbol) == shared.layout


def _common_storages(shared: SharedVariable, caller: Scope) -> tuple[str, ...] | None:
    members = caller.declared.commons.get(shared.key)
    if members is None:
        return (f"/{shared.key}/",) if _certainly_unseen(shared.key, caller) else None
    symbols = [caller.lookup(member) for member in members]
    if any(s is None or s.common_block != shared.key for s in symbols):
        return None
    for member, symbol in zip(members, symbols, strict=True):
        assert symbol is not None
        if shared.layout is not None and _layout(symbol) == shared.layout:
            return (storage_of(member, caller),)
    return tuple(dict.fromkeys(storage_of(member, caller) for member in members))


def _layout(symbol: Symbol) -> tuple[tuple[str, int], ...] | None:
    """The types and sizes in bytes of the members of a block, up to a variable."""
    home = symbol.home
    if not isinstance(home, Scope) or symbol.common_block is None:
        return None
    found: list[tuple[str, int]] = []
    for name in home.declared.commons.get(symbol.common_block, []):
        member = home.lookup(name)
        if member is None or member.type is None:
            return None
        size = element_bytes(member, home)
        shape = []
        for dim in member.dims or ():
            low = 1 if dim.lower is None else constant(dim.lower, home)
            high = constant(dim.upper, home)
            if low is None or high is None:
                return None
            shape.append((low, high))
        if size is None:
            return None
        count = 1
        for low, high in shape:
            count *= max(0, high - low + 1)
        found.append((f"{member.type.base} {shape}", size * count))
        if name == symbol.name:
            return tuple(found)
    return None


def _certainly_unseen(block: str, scope: Scope) -> bool:
    """Whether a unit certainly has no access to a declaration of a COMMON block."""
    return all(
        other is not None and block not in other.declared.commons and not other.declared.open
        for other in visible_scopes(scope)
    )
