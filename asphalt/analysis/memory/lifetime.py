"""Whether a buffer keeps its storage and shape as long as messages use it.

asphalt posts receives where the producer begins, and puts the last wait where the call was.  In
between an array may lose its storage: it is deallocated, MOVE_ALLOC moves its allocation, an
assignment or a procedure reallocates it (F2018 9.7, 10.2.1.3), or a pointer gets another target.
Condition 1 excludes jumps out of the region; a variable of a BLOCK construct has no name outside of
it.
"""

from __future__ import annotations

from asphalt.analysis.memory.accesses import ALIASED, Access, Footprint, Mode
from asphalt.analysis.memory.invariant_frame import keeps_bounds
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.regions import Region
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.designators import designator, symbol_named
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.stmt import Allocation, Assign, Guarded, What
from asphalt.support.may_must import MayMustAnswer, no, unknown, yes

_DONE = {"allocate": "allocated", "deallocate": "deallocated", "nullify": "nullified"}


def lives_through(buffer: str, footprint: Footprint, region: Region, scope: Scope) -> MayMustAnswer:
    """Whether the array of a designator keeps its storage and shape in a region."""
    storage = storage_of(buffer, scope)
    if storage == ALIASED:
        if keeps_bounds(designator(buffer), buffer, storage, footprint.accesses, scope):
            return yes("keeps its target")
        return unknown("may get another target or shape before the call")
    symbol = symbol_named(buffer, scope)
    movable = symbol is None or "allocatable" in symbol.attrs or "pointer" in symbol.attrs
    for access in footprint.of(storage):
        if access.writes:
            found = _after(access, movable, region, scope)
            if not found.yes:
                return found
    return yes("keeps its storage and shape")


def _after(access: Access, movable: bool, region: Region, scope: Scope) -> MayMustAnswer:
    """Whether the array keeps its storage and shape in one access."""
    what: What = access.leaf.what
    while isinstance(what, Guarded):
        what = what.action
    span = access.leaf.span
    if isinstance(what, Allocation):
        return no(f"is {_DONE[what.kind]} here", span)
    refined = region.refined(access)
    if refined.subscripts is not None:
        return yes("changes an element")
    if access.mode is Mode.MAYBE_WRITE:
        return unknown("may be allocated or changed as a whole here", span)
    if movable and isinstance(what, Assign) and not is_scalar(what.value, scope):
        return unknown("may get another shape by this assignment", span)
    return yes("keeps its shape")
