"""The side effects of a procedure as a whole: on dummies, on shared variables, and others."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.call_graph.defined_operations import finalizes_at_end
from asphalt.analysis.effects.shared_storage import SharedVariable, shared_storage, shared_target
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.memory.accesses import ALIASED, Effect, EffectKind, Footprint, NameSemantics
from asphalt.analysis.memory.loop_scalars import surely_defined
from asphalt.analysis.names.common_blocks import blocks_seen_twice
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.parallel_loops import private_names
from asphalt.analysis.names.references import given_other_names
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import root_name
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Guarded, Opaque, Raw
from asphalt.ir.tree import leaves


@record
class Summary:
    """The effects that a call of a procedure may have.

    ``read``, ``written``: dummies, and variables outside of the procedure, whose earlier value may
    be read, or that may be changed; ``defined``: the scalars among them that every call defines
    before it reads them.  ``effects``: everything else.
    """

    dummies: tuple[str, ...]
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    shared_read: frozenset[SharedVariable] = frozenset()
    shared_written: frozenset[SharedVariable] = frozenset()
    shared_defined: frozenset[SharedVariable] = frozenset()
    effects: tuple[tuple[EffectKind, str], ...] = ()


def least_summary(scope: Scope) -> Summary:
    """The least element of the fixpoint: no effects."""
    return Summary(dummies_of(scope))


def dummies_of(scope: Scope) -> tuple[str, ...]:
    """The folded names of the dummy arguments, in order."""
    return scope.dummies


def summarise(scope: Scope, footprint: Footprint, names: NameSemantics) -> Summary:
    """The summary of a procedure of the tree with this footprint of its body."""
    unit, dummies = scope.unit, dummies_of(scope)
    on_entry = evaluated_on_entry(scope, names)
    effects: dict[tuple[EffectKind, str], None] = {}
    for effect in (*on_entry.effects, *footprint.effects):
        if effect.kind is EffectKind.JUMP:
            continue
        if effect.kind is EffectKind.ALLOCATION and _allocates_locals(effect, scope):
            continue
        effects[effect.kind, effect.detail] = None
    for leaf in (leaf for node in unit.spec for leaf in leaves(node)):
        if isinstance(leaf.what, Opaque | Raw):  # which may be executed
            effects[EffectKind.OPAQUE, "statement"] = None
    for _, text in conditional_statements(unit):
        effects[EffectKind.OPAQUE, f"conditional compilation: {text}"] = None
    if finalizes_at_end(scope):
        effects[EffectKind.UNKNOWN_CALL, "final subroutine"] = None
    read: set[str] = set()
    written: set[str] = set()
    shared_read: dict[tuple[str, tuple[str, ...]], SharedVariable] = {}
    shared_written: dict[tuple[str, tuple[str, ...]], SharedVariable] = {}
    for access in (*on_entry.accesses, *footprint.accesses):
        storage = access.storage
        symbol = scope.lookup(storage)
        if storage in dummies:
            (written if access.writes else read).add(storage)
            if symbol is not None and symbol.attrs & {"pointer", "target"}:
                effects[EffectKind.POINTER, f"dummy {storage} may be aliased"] = None
            continue
        shared = shared_storage(storage, scope)
        if shared is not None:
            known = shared_written if access.writes else shared_read
            known[storage, access.path] = replace(shared, path=access.path)
        elif storage == ALIASED and (access.path or not blocks_seen_twice(scope)):
            known = shared_written if access.writes else shared_read
            known[storage, access.path] = shared_target(access.path, scope)
        elif symbol is None or _is_state(symbol):
            effects[EffectKind.STATE, storage] = None
    if "*" in dummies:
        effects[EffectKind.JUMP, "alternate return"] = None
    renamed = given_other_names(unit.body)
    for name in dummies:
        symbol = scope.lookup(name)
        kept = name not in renamed or (symbol is not None and symbol.intent == "in")
        if is_reset_on_entry(name, scope) or not kept:
            written.add(name)

    for_itself = private_names(unit)

    def may_be_defined(name: str) -> bool:
        symbol = scope.lookup(name)
        scalar = symbol is not None and symbol.dims is None
        # with OpenMP, the variable of the procedure keeps its value
        return scalar and name not in for_itself

    scalars = {name for name in written if may_be_defined(name)}
    shared_scalars = [
        (storage, shared)
        for (storage, path), shared in shared_written.items()
        if shared.name is not None and not path and may_be_defined(shared.name)
    ]
    asked = scalars.union(storage for storage, _ in shared_scalars)
    sure = surely_defined(unit.body, asked, footprint, names)
    sure -= {access.storage for access in on_entry.accesses}
    defined = frozenset(scalars & sure)
    shared_defined = frozenset(one for storage, one in shared_scalars if storage in sure)
    return Summary(
        dummies,
        frozenset(read - defined),
        frozenset(written),
        defined,
        frozenset(shared_read.values()) - shared_defined,
        frozenset(shared_written.values()),
        shared_defined,
        tuple(effects),
    )


def is_reset_on_entry(dummy: str, scope: Scope) -> bool:
    """Whether a call may change an actual argument by INTENT(OUT) alone: it deallocates what is
    allocatable, with components, and initialises what the type initialises (F2018 8.5.10)."""
    symbol = scope.lookup(dummy)
    if symbol is None or symbol.intent != "out":
        return False
    plain = symbol.type is not None and symbol.type.base not in ("type", "class")
    return not plain or bool(symbol.attrs & {"allocatable", "pointer"})


def _is_state(symbol: Symbol) -> bool:
    """Whether a variable that has no name elsewhere keeps its value after the call."""
    if symbol.origin is Origin.LOCAL:
        return bool(symbol.attrs & {"save", "pointer"}) or symbol.equivalenced
    return symbol.origin in (Origin.HOST, Origin.COMMON)


def _allocates_locals(effect: Effect, scope: Scope) -> bool:
    """Whether an allocation effect concerns only arrays that are deallocated with the procedure."""
    what = effect.leaf.what
    if isinstance(what, Guarded):
        what = what.action
    if not isinstance(what, Allocation) or what.kind == "nullify":
        return False
    symbols = [scope.lookup(root_name(item) or "") for item in what.objects]
    return all(
        s is not None and s.origin is Origin.LOCAL and not s.attrs & {"save", "pointer"}
        for s in symbols
    )
