"""Mutants of the passes for transfers between two ranks: each has one legality condition off.

``near`` names the procedures that come close to what the condition rules out (``close``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from asphalt.analysis.data_flow import temporaries
from asphalt.analysis.dependence import (
    iteration_pairs,
    loop_distribution,
    placement,
    receive_schedule,
)
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.placement import Placement
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.inlining import names, procedure
from asphalt.analysis.inlining.call_context import CallContext
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.memory import mpi_buffers
from asphalt.analysis.memory.accesses import ALIASED, Access, EffectKind
from asphalt.analysis.memory.mpi_buffers import _Buffers
from asphalt.analysis.messages.buffer_flow import BufferFlow
from asphalt.analysis.messages.collectives import Together
from asphalt.analysis.messages.full_messages import FullMessages
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.messages.non_overtaking import MessageOrder
from asphalt.analysis.requests.local import OwnRequests
from asphalt.analysis.tiling import block_loops, edge_iterations
from asphalt.running.mpi import SMPI
from asphalt.transforms.buffers import (
    array_expansion,
    redundant_stores,
    renaming,
)
from asphalt.transforms.buffers.loop_invariants import LoopInvariants
from asphalt.transforms.decomposition import divided_call
from asphalt.transforms.loops import branch_fission, index_set_splitting, unrolling
from asphalt.transforms.motion import branch_copies
from asphalt.transforms.nonblocking import rules as nonblocking_rules
from asphalt.transforms.nonblocking import single_waits
from asphalt.transforms.nonblocking.rules import Rules
from fuzz import called_mutation, code_mutation, tile_mutation, turn_mutation
from fuzz.mutation import Replacement
from fuzz.transfer_mutant import ON_MPICH, Switch, TransferMutant, off, property_of


def _no_order(original: Replacement) -> Replacement:
    """Calls that do something else keep no order with any."""

    def calls(self: MessageOrder, one: Any, other: Any) -> str | None:
        return (
            None if Stage.OTHER in (stage_of(one), stage_of(other)) else original(self, one, other)
        )

    return calls


def _mutants() -> Iterator[TransferMutant]:
    own = nonblocking_rules
    yield TransferMutant("ASP020 error codes", "error_code", off(own, "is_read", False))
    yield TransferMutant("ASP022 statuses", "status", off(own, "is_read", False))
    yield TransferMutant("ASP021 copies", "gaps", off(own, "_is_one_variable", "switched off"))
    yield TransferMutant(
        "ASP023 conditions that change", "condition_again",
        off(Rules, "_condition_changes", None),
        also="ASP012: the wait is not known to be reached",
    )  # fmt: skip
    yield TransferMutant(
        "ASP023 functions in arguments",
        "function_argument",
        (*off(own, "_function_for", None), *off(own, "is_default_integer", True)),
    )
    yield TransferMutant(
        "ASP023 arrays for scalars", "array_for_scalar", off(own, "may_be_array", False)
    )
    yield TransferMutant(
        "ASP023 kinds of integers", "long_count", off(own, "is_default_integer", True)
    )
    yield TransferMutant("ASP024 elsewhere", "elsewhere", off(own, "together", Together(None)))
    yield TransferMutant("ASP025 digits", "digits", off(own, "why_other_digits", None))
    order, calls, place = Independence, MessageOrder, Placement
    yield TransferMutant("order: one envelope", "one_envelope", off(calls, "overtaking", None))
    yield TransferMutant(
        "order: any tag", "any_tag", (Switch(calls, "_takes_any_tag", property_of(False)),)
    )
    yield TransferMutant(
        "order: wildcards", "any_tag_by_number", off(calls, "wildcard", False), ON_MPICH
    )
    yield TransferMutant(
        "order: between ranks", "depends_on_time",
        (Switch(calls, "depends_on_time", property_of(None)),), ON_MPICH,
    )  # fmt: skip
    yield TransferMutant(
        "order: other calls", "probed",
        (*off(place, "_unknown_part", None), Switch(calls, "_calls", _no_order)),
    )  # fmt: skip
    values = temporaries
    yield TransferMutant("data: what meets", "needs_message", off(order, "_conflicting", ()))
    yield TransferMutant("data: own waits", "own_wait", off(Messages, "pending", ()))
    yield TransferMutant(
        "data: what stands behind", "beyond", off(_Buffers, "_beside", frozenset())
    )
    yield TransferMutant(
        "data: several columns", "columns", (Switch(mpi_buffers, "_covered", _first_only),)
    )
    yield TransferMutant("data: scalars", "carried_scalar", off(order, "is_temporary", True))
    yield TransferMutant("data: last values", "read_behind", off(values, "is_dead_after", True))
    yield TransferMutant(
        "data: procedures inside", "seen_inside",
        (*off(values, "is_local", True), *off(values, "is_dead_after", True)),
    )  # fmt: skip
    yield TransferMutant(
        "data: second names", "second_name", (Switch(Access, "meets", _not_aliased),)
    )
    yield _effect("jumps", "leaves", EffectKind.JUMP)
    yield _effect("output", "prints", EffectKind.IO)
    yield _effect("unseen calls", "unseen_call", EffectKind.UNKNOWN_CALL)
    yield _effect("state", "kept_state", EffectKind.STATE)
    yield TransferMutant("form: labels", "target_of_jump", off(place, "_form", None))
    yield TransferMutant(
        "form: one line", "one_line", off(place, "_form", None),
        also="form: such lines are written anew, or nothing is made of them",
    )  # fmt: skip
    yield TransferMutant(
        "form: skipped",
        "skipped",
        (
            *off(TransferDirectives, "skipped", None),
            Switch(place, "_skipped", property_of({})),
            Switch(placement, "_LINES_THAT_STAY", lambda original: frozenset()),
        ),
    )
    yield TransferMutant(
        "requests: of others", "started_elsewhere", off(OwnRequests, "is_own", True)
    )
    yield TransferMutant(
        "requests: subscripts", "other_subscript", off(Messages, "_kept_between", _Everything())
    )
    yield from _of_branches()
    yield from _of_buffers()
    yield from _of_loops()
    yield from _of_procedures()
    yield from _of_blocks()


def _of_branches() -> Iterator[TransferMutant]:
    yield TransferMutant(
        "fission: conditions", "condition_set", off(branch_fission, "repeatable", True),
        also="ASP012: the wait is not known to be reached",
    )  # fmt: skip
    meets = off(branch_copies._Paths, "_meets_no_condition", True)
    yield TransferMutant("copies on paths: conditions", "condition_received", meets)
    arms = Switch(branch_copies, "_arms", lambda original: lambda branch: branch.arms)
    yield TransferMutant(
        "copies on paths: no ELSE", "no_else", (arms,),
        also="ASP011: on one way nothing would be waited for",
    )  # fmt: skip
    yield TransferMutant("waits: statuses", "statuses", off(single_waits, "_is_unseen", True))
    yield TransferMutant(
        "waits: the first one", "first_of_several", off(single_waits, "_is_for_all", True),
        also="ASP012: it is not known which one is complete",
    )  # fmt: skip


def _of_buffers() -> Iterator[TransferMutant]:
    full = FullMessages
    yield TransferMutant("renaming: short messages", "shorter", off(full, "why_not", None))
    differ = off(full, "_tags_differ", True)
    yield TransferMutant("renaming: messages of one tag", "shorter", differ)
    yield TransferMutant(
        "renaming: MPI_PROC_NULL", "from_nobody",
        (Switch(full, "_may_receive_nothing", property_of(False)),),
    )  # fmt: skip
    yield TransferMutant(
        "renaming: values that stay", "part_received", off(BufferFlow, "needs_no_value", True)
    )
    yield TransferMutant(
        "renaming: procedures inside", "read_inside", off(renaming, "is_local", True)
    )
    yield TransferMutant("ASP074 short messages", "stored_and_left", off(full, "why_not", None))
    yield TransferMutant(
        "ASP075 read between", "stored_and_read", off(redundant_stores, "_are_apart", True)
    )
    yield TransferMutant(
        "ASP075 read in a call", "stored_for_call",
        (
            *off(redundant_stores._Stores, "_unseen", None),
            *off(redundant_stores, "_are_apart", True),
        ),
    )  # fmt: skip
    yield TransferMutant(
        "ASP076 noticed", "stored_with_effect", off(redundant_stores._Stores, "_noticed", None)
    )
    yield TransferMutant(
        "ASP084 ranks that change",
        "source_changes",
        off(receive_schedule, "_changes", None),
        gainful=True,
    )
    yield TransferMutant(
        "ASP084 bounds", "bounds_again", off(receive_schedule, "_uncounted", None), gainful=True
    )
    yield TransferMutant(
        "ASP085 other messages",
        "message_before",
        off(receive_schedule, "_others", None),
        gainful=True,
    )
    own = array_expansion._Buffers
    yield TransferMutant("expansion: read behind", "buffer_behind", off(own, "_is_private", True))
    yield TransferMutant(
        "expansion: values carried", "buffer_carried", off(BufferFlow, "needs_no_value", True)
    )
    yield TransferMutant(
        "expansion: bounds", "bounds_asked", off(own, "_whole", False), gainful=True
    )


def _of_loops() -> Iterator[TransferMutant]:
    keeps = off(loop_distribution._Distribution, "_keeps", True)
    yield TransferMutant("draining: later iterations", "next_iteration", keeps)
    kept = off(iteration_pairs._Pairs, "_is_kept", True)
    yield TransferMutant(
        "draining: conditions", "condition_of_wait", kept,
        also="data: the wait under its condition meets what changes this",
    )  # fmt: skip
    yield TransferMutant("ASP060 order", "ordered", off(index_set_splitting, "why_ordered", None))
    yield TransferMutant(
        "ASP062 edges", "wide_halo", (Switch(edge_iterations, "_least", _one_less),),
        also="data: no part of a nest passes what it meets",
    )  # fmt: skip
    digits = off(index_set_splitting, "why_other_digits", None)
    yield TransferMutant("ASP063 digits", "rounding", digits, ((SMPI, "-O3"),))
    yield TransferMutant(
        "ASP061 labels", "labelled_nest", off(index_set_splitting.Nest, "_unrepeatable", None)
    )


def _of_procedures() -> Iterator[TransferMutant]:
    yield TransferMutant(
        "ASP042 kept variables", "kept_variable", (Switch(names.InlinedNames, "_local", _not_kept),)
    )
    yield TransferMutant(
        "ASP043 changed arguments", "argument_changes", off(CallContext, "stays", True)
    )
    yield TransferMutant(
        "ASP041 ways out", "ways_out", (Switch(procedure, "without_returns", _all_ways),)
    )
    yield TransferMutant(
        "unrolling: variables", "loop_variable_seen", off(unrolling, "_is_plain", True)
    )
    yield TransferMutant(
        "hoisting: sizes", "size_changes", (Switch(LoopInvariants, "shape", _as_it_is),)
    )


def _of_blocks() -> Iterator[TransferMutant]:
    ordered = off(block_loops, "why_ordered", None)
    yield TransferMutant("ASP083 order", "blocks_in_order", ordered)
    beside = off(divided_call.DividedCall, "_why_not_beside", None)
    yield TransferMutant("ASP082 beside", "beside_blocks", beside)
    yield TransferMutant("ASP081 bounds", "block_bounds", off(block_loops, "_is_plain", True))


def _one_less(original: Replacement) -> Replacement:
    """One iteration too few is an edge."""

    def least(*args: Any) -> int | None:
        number = original(*args)
        return None if number is None else max(1, number - 1)

    return least


def _not_kept(original: Replacement) -> Replacement:
    """A variable that keeps its value is a variable like any other."""

    def local(self: names.InlinedNames, name: str, symbol: Any) -> None:
        if symbol.attrs & {"save", "data"}:
            self.variable(name, symbol)
        else:
            original(self, name, symbol)

    return local


def _as_it_is(_: Replacement) -> Replacement:
    """An array has the same size in all iterations."""
    return lambda self, array, number: array


def _all_ways(original: Replacement) -> Replacement:
    """A RETURN in the middle stays."""

    def without(nodes: Any, *others: Any) -> Any:
        try:
            return original(nodes, *others)
        except RefusedError:
            return nodes

    return without


class _Everything(frozenset[str]):
    """A set that has whatever is asked for."""

    def __contains__(self, name: object) -> bool:
        return True


def _first_only(original: Replacement) -> Replacement:
    """Of the elements that a message has, the first one."""

    def covered(first: Any, count: Any, shape: Any, *, alone: bool) -> Any:
        return tuple(part.expression() for part in first)

    return covered


def _not_aliased(original: Replacement) -> Replacement:
    def meets(self: Access, other: Access) -> bool:
        return self.storage != ALIASED and original(self, other)

    return meets


def _effect(name: str, near: str, kind: EffectKind) -> TransferMutant:
    """An effect of one kind is none."""

    def replacement(original: Replacement) -> Replacement:
        return lambda effect, node: effect.kind is kind or original(effect, node)

    switch = Switch(placement, "goes_on_inside", replacement)
    return TransferMutant(f"effects: {name}", near, (switch,))


MUTANTS = (
    *_mutants(),
    *called_mutation.mutants(),
    *code_mutation.mutants(),
    *tile_mutation.mutants(),
    *turn_mutation.mutants(),
)


def named(name: str) -> TransferMutant:
    """The mutant of this name."""
    return next(mutant for mutant in MUTANTS if mutant.name == name)
