"""Whether a unit uses names of asphalt's run-time modules for other entities.

Emitted statements use the names of these modules unchanged.  A unit that has such a name would no
longer compile, or would call something else.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.analysis.names.used_names import used_names
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.stmt import Use
from asphalt.ir.tree import leaves
from asphalt.support.word_sets import words

PUBLIC = words(
    "asphalt_enter asphalt_ranks asphalt_window asphalt_sync asphalt_byte asphalt_copy"
    " asphalt_strided asphalt_free asphalt_isend asphalt_irecv asphalt_progress asphalt_waitall"
    " asphalt_no_request asphalt_answers asphalt_enter_uneven asphalt_hear asphalt_pieces_of"
    " asphalt_most_pieces asphalt_next_piece asphalt_posts_of asphalt_enter_packed asphalt_rank"
    " asphalt_iterations asphalt_isend_at asphalt_irecv_at asphalt_issend"
    " asphalt_isendrecv_replace asphalt_wait asphalt_wait_both asphalt_ibcast asphalt_ireduce"
    " asphalt_iallreduce asphalt_igather asphalt_igatherv asphalt_iscatter asphalt_iscatterv"
    " asphalt_iallgather asphalt_iallgatherv asphalt_ialltoall asphalt_ialltoallv"
    " asphalt_ialltoallw asphalt_iscan asphalt_iexscan asphalt_ireduce_scatter"
    " asphalt_ireduce_scatter_block asphalt_in_place asphalt_queue asphalt_post asphalt_take"
    " asphalt_send asphalt_waited asphalt_oldest asphalt_taken asphalt_private asphalt_segment"
    " asphalt_is_smpi asphalt_blocks asphalt_alltoall_blocks asphalt_alltoallv_blocks"
    " asphalt_alltoallw_blocks asphalt_allgather_blocks asphalt_allgatherv_blocks"
    " asphalt_gather_blocks asphalt_gatherv_blocks asphalt_scatter_blocks"
    " asphalt_scatterv_blocks asphalt_bcast_blocks asphalt_to_take asphalt_await_block"
    " asphalt_to_send asphalt_send_block asphalt_send_blocks asphalt_finish_blocks"
    " asphalt_wait_f08 asphalt_take_f08"
)
"""The public names of the modules, and those of the modules themselves."""
PUBLIC |= RUNTIME_MODULES


def clashing_name(scope: Scope) -> str | None:
    """Why a unit cannot use the run-time modules: the entity with one of their names, and its line.

    An internal procedure that mentions such a name would get it by host association.  A host may
    have the name if neither the unit nor its internal procedures mention it.
    """
    given = _given(scope)
    for leaf in leaves(replace(scope.unit, contained=())):
        for name in sorted(PUBLIC & words_at(leaf)):
            if name not in given and not _is_runtime(name, scope):
                return f"line {line_of(leaf)} has the name {name}, which asphalt needs"
    for name in sorted(PUBLIC & used_names(scope)):
        if isinstance(scope.resolve(name), Symbol) and not _is_runtime(name, scope):
            return f"a module that it uses has the name {name}, which asphalt needs"
    for inner in scope.unit.contained:
        located = scope.program.contained(scope.located, inner.name)
        found = None if located is None else clashing_name(scope.scopes.of(located))
        if found is not None:
            return found
    return None


def _given(scope: Scope) -> frozenset[str]:
    """The run-time modules that a unit or a host of it uses, and the names that they get there."""
    uses = [
        leaf.what
        for unit in scope.located.chain
        for node in unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Use) and leaf.what.module in RUNTIME_MODULES
    ]
    names = {item.name for use in uses for item in use.items if item.local == item.name}
    return frozenset({*names, *(use.module for use in uses)})


def _is_runtime(name: str, scope: Scope) -> bool:
    found = scope.resolve(name)
    return isinstance(found, Symbol) and found.owner in RUNTIME_MODULES
