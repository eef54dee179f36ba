"""Blocking to non-blocking: a transfer becomes a start and a wait right behind it.

Before::

    call MPI_Recv(north, n, MPI_REAL, above, 1, comm, status, ierr)

After::

    call asphalt_irecv(north, n, MPI_REAL, above, 1, comm, asphalt_request_1)
    call asphalt_wait(asphalt_request_1, north, status)

A blocking call is equivalent to its non-blocking form followed by the wait (Danalis et al., ICS
2009, section 4, "function equivalence rules"; MPI-4.0 section 3.7); the wait returns the status.
Sends in buffered and in ready mode remain: the first returns at once as it is, the second depends
on the order of calls on two ranks.  Collective operations become their non-blocking forms (MPI-4.0
section 6.12) where all ranks enter them from the same call.  By itself this gains nothing; it lets
other code move between start and wait.

When all steps are done, the requests of transfers in progress at a time become one array, and waits
that stand in one place become one (``request_arrays``)::

    call asphalt_wait_all(2, asphalt_requests_1, north, south)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from asphalt.analysis.data_flow.error_codes import SUCCESS, ErrorCodes
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.runtime_module import IN_PLACE
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.assumptions import FATAL
from asphalt.config.passes import Pass
from asphalt.ir.expr import Ref, TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call, Decl, Entity, What
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.nonblocking.rules import (
    Rules,
    is_code_read,
    is_read,
    is_stored_before,
    why_types_are_lost,
)
from asphalt.transforms.nonblocking.sides import Side, sides_of, starts_nothing
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.comments import assumptions
from asphalt.transforms.rewriting.edit import flat_map
from asphalt.transforms.rewriting.make import num, var
from asphalt.transforms.rewriting.new_names import REQUEST, next_number
from asphalt.transforms.rewriting.replacement import statements_for
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation


@record
class Split(Step):
    """A blocking transfer that can be made non-blocking; receives come before sends.

    ``not_whole``: why it can become messages only, and not one non-blocking operation; None: it
    can.  ``stored``: the variable that gets MPI_SUCCESS in place of the call, since it may be read.
    ``stored_before``: it may be read, and needs no store, since others have stored it before.
    """

    leaf: Leaf
    call: MpiCall
    sides: tuple[Side, ...]
    not_whole: str | None = None
    stored: Ref | None = None
    stored_before: bool = False

    @property
    def is_send(self) -> bool:
        """Whether it is a send of the standard mode alone."""
        return [side.start for side in self.sides] == ["asphalt_isend"]

    @property
    def operation(self) -> str:
        """The MPI procedure of the blocking call."""
        return self.call.procedure.spelled


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """Each blocking transfer and collective operation of a unit: a step, or why it cannot be
    non-blocking."""
    return tuple(
        one for one in facts.once(splits) if isinstance(one, Refused) or one.not_whole is None
    )


def splits(facts: UnitFacts) -> tuple[Split | Refused, ...]:
    """All of them, including those that can become messages only."""
    judged = facts.once(_Judged)
    found = (judged.of(leaf, call) for leaf, call in facts.once(Messages).own_calls())
    return tuple(one for one in found if one is not None)


def message_splits(facts: UnitFacts) -> tuple[Split, ...]:
    """The steps of ``check`` for transfers alone: whether all ranks reach a collective operation
    together is a question about the whole program."""
    judged = facts.once(_Judged)
    calls = facts.once(Messages).own_calls()
    found = (judged.of(leaf, call) for leaf, call in calls if not call.procedure.collective)
    return tuple(one for one in found if isinstance(one, Split) and one.not_whole is None)


class _Judged:
    """The blocking operations of a unit, each judged once, when it is asked for."""

    def __init__(self, facts: UnitFacts) -> None:
        self._facts = facts
        self._rules = Rules(facts, facts.once(Independence.of))
        self._found: dict[int, Split | Refused | None] = {}  # the unit keeps the statements

    def of(self, leaf: Leaf, call: MpiCall) -> Split | Refused | None:
        """The step for a call, or why there is none; None: it is no blocking operation."""
        if id(leaf) not in self._found:
            self._found[id(leaf)] = self._judged(leaf, call)
        return self._found[id(leaf)]

    def _judged(self, leaf: Leaf, call: MpiCall) -> Split | Refused | None:
        facts, rules = self._facts, self._rules
        own = call.binding == "runtime"
        whole = call.procedure.collective or stage_of(call) is Stage.BOTH
        sides = sides_of(call, facts.scope) if whole and not own else ()
        if whole and not own and not sides and starts_nothing(call):
            return rules.never(leaf, call)
        if not sides:
            return None
        judged = rules.judged(leaf, call, sides)
        if isinstance(judged, Refused):
            return judged
        lost = why_types_are_lost(call, facts)
        return replace(_split(leaf, call, *judged, facts), not_whole=lost)


def _split(
    leaf: Leaf,
    call: MpiCall,
    sides: tuple[Side, ...],
    evidence: tuple[str, ...],
    assumed: tuple[str, ...],
    facts: UnitFacts,
) -> Split:
    parts = "two starts and two waits" if sides[1:] else "a start and a wait"
    does = f"{call.procedure.spelled} of {facts.at(leaf)} becomes {parts}"
    return _with_store(
        facts, Split(line_of(leaf), does, evidence, leaf, call, sides, assumed=assumed)
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one transfer split into starts and waits."""
    assert isinstance(step, Split)
    return _applied(facts.unit, step, next_number(facts, REQUEST), facts)


def one_by_one(facts: UnitFacts, steps: Iterable[Split]) -> Iterator[Unit]:
    """The unit after each of several steps, on top of those before it.

    Each wait is right behind its start: what is proved of the other transfers still holds, except
    that another one has stored MPI_SUCCESS before (``stored_before``).
    """
    unit, number = facts.unit, next_number(facts, REQUEST)
    for step in steps:
        unit = _applied(unit, step, number, facts)
        number += len(step.sides)
        yield unit


def positions_after(
    facts: UnitFacts, steps: Iterable[Split], others: Sequence[Split]
) -> tuple[int, ...]:
    """The positions that the statements of other steps have among those of the unit after some
    steps."""
    *_, unit = (facts.unit, *one_by_one(facts, steps))
    places = {id(leaf): number for number, leaf in enumerate(leaves(unit))}
    return tuple(places[id(step.leaf)] for step in others)


def moved_to(facts: UnitFacts, step: Split, position: int) -> Split:
    """A step that was found in an earlier text of a unit, for the same statement at a position."""
    leaf = next(islice(leaves(facts.unit), position, None))
    call = facts.once(Messages).call(leaf)
    assert call is not None
    return replace(step, line=line_of(leaf), leaf=leaf, call=call)


def stored_now(facts: UnitFacts, steps: Sequence[Split]) -> tuple[Split | None, ...]:
    """The first of these steps with what has to be stored as the unit is now, after others, and
    those behind it for which the same is true once these are done; None: the error code of the call
    is read now, and may be another one than MPI_SUCCESS.

    A step whose code may be read leaves the variable as it was before: it stores MPI_SUCCESS, or
    others have.  One whose code nothing reads may take away the store that another one relies on,
    and is the last.  The codes of others are read at least where they are now: a code that nothing
    reads may be read as soon as a later store is gone, and is judged again then.
    """
    found: list[Split | None] = []
    for step in steps:
        error = step.call.error
        is_kept = error is None or is_read(error, step.leaf, facts)
        if found and not is_kept:
            break
        found.append(_stored_now(facts, step))
        if not is_kept:
            break
    return tuple(found)


def _stored_now(facts: UnitFacts, step: Split) -> Split | None:
    error, assumed = step.call.error, step.assumed
    if error is not None and is_read(error, step.leaf, facts):
        codes = facts.once(ErrorCodes)
        if codes.why_not(step.call) is not None:
            return None
        if codes.rests_on_fatal and FATAL.word not in assumed:
            assumed = (*assumed, FATAL.word)
    return _with_store(facts, replace(step, assumed=assumed))


def _with_store(facts: UnitFacts, step: Split) -> Split:
    code = step.call.error if is_code_read(step.leaf, step.call, facts) else None
    assert code is None or isinstance(code, Ref)
    before = is_stored_before(step.leaf, step.call, facts)
    return replace(step, stored=code, stored_before=before)


def storing_alone(step: Split) -> Split:
    """The step for a call that is replaced together with others on whose MPI_SUCCESS it may rely:
    it stores its own."""
    if not step.stored_before:
        return step
    code = step.call.error
    assert isinstance(code, Ref)
    return replace(step, stored=code, stored_before=False)


def _applied(unit: Unit, step: Split, number: int, facts: UnitFacts) -> Unit:
    """A unit with one transfer of it split; ``number``: of its first request."""
    names = [f"{REQUEST}{one}" for one, _ in enumerate(step.sides, number)]
    calls: list[What] = []
    for name, side in zip(names, step.sides, strict=True):
        calls.append(Call(var(side.start), (*side.arguments, var(name))))
    for name, side in zip(names, step.sides, strict=True):
        status = () if side.status is None else (side.status,)
        calls.append(Call(var(side.wait), (var(name), *side.buffers, *status)))
    mark = f"asphalt: {step.operation} made non-blocking"
    body = flat_map(unit.body, step.leaf, instead(step, calls, mark, facts))
    entities = tuple(Entity(name, name, None) for name in names)
    declared = Decl("type", TypeSpec("integer"), (), None, entities)
    runtime = {name for side in step.sides for name in (side.start, side.wait)}
    if any(side.in_place for side in step.sides):
        runtime.add(IN_PLACE)
    unit = replace(unit, body=body)
    return added(unit, facts.located.form, facts.eol, runtime, (declared,))


def instead(
    split: Split, calls: Sequence[What], mark: str, facts: UnitFacts
) -> Callable[[Leaf], tuple[Node, ...]]:
    """Replaces a blocking call by others, which return no error code: MPI_SUCCESS is stored behind
    them where it may be read.  A comment names each assumption."""
    stored: tuple[What, ...] = ()
    if split.stored is not None:
        named = var("MPI_SUCCESS")
        known = mpi_constant(named, facts.scope) == SUCCESS
        stored = (Assign(split.stored, named if known else num(0)),)
    return statements_for((*calls, *stored), (mark, *assumptions(split.assumed)), facts)


TRANSFORMATION = Transformation(
    "blocking to non-blocking",
    Pass.NONBLOCKING,
    Phase.STARTS,
    "A blocking operation becomes a start and a wait right behind it.",
    check,
    apply,
)
