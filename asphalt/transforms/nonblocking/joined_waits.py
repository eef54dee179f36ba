"""Joined waits: single waits of one place that stayed together are one wait again.

Before::

    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      ...
    end do
    call MPI_Wait(requests(3), MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(requests(4), MPI_STATUS_IGNORE, ierr)

After::

    call MPI_Waitall(2, requests(1:2), MPI_STATUSES_IGNORE, ierr)
    do j = 1, n
      ...
    end do
    call MPI_Waitall(2, requests(3:4), MPI_STATUSES_IGNORE, ierr)

The waits are those that ``single_waits`` made of one statement, or that came with an inlined
procedure.  Nobody reads a status, nor an error code that tells one operation from another (MPI-4.0
section 3.7.5).  All operations are complete behind the last wait, in whatever order these stand.
This is done once, when all steps are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.mpi.call import mpi_call, mpi_constant
from asphalt.ir.expr import Arg, Lit, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, What
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.nonblocking.single_waits import is_unseen
from asphalt.transforms.rewriting.edit import flat_map, lists_in
from asphalt.transforms.rewriting.make import num

_WAIT, _ALL = "MPI_Wait", "MPI_Waitall"
_NO_STATUS, _NO_STATUSES = "mpi_status_ignore", "mpi_statuses_ignore"


@record
class _Wait:
    """A wait for one element of an array of requests; ``error``: its error code, if it has one."""

    leaf: Leaf
    array: Ref
    element: int
    error: tuple[Arg, ...]


def with_joined_waits(facts: UnitFacts, given: Unit) -> Unit:
    """The unit with one wait for neighbouring elements where waits stood one behind the other that
    the ``given`` unit has not; the same unit where none do."""
    known = {leaf.what for node in given.body for leaf in leaves(node) if leaf.call is not None}
    body = facts.unit.body
    for run in _runs(facts, known):
        made = tuple(_joined(run, facts))
        if len(made) < len(run):
            lead = run[0].leaf.lead
            first = (replace(made[0], lead=lead), *(replace(leaf, lead=()) for leaf in made[1:]))
            body = flat_map(body, run[0].leaf, lambda _, leaves=first: leaves)  # type: ignore[misc]
            for wait in run[1:]:
                body = flat_map(body, wait.leaf, lambda _: ())
    return facts.unit if body is facts.unit.body else replace(facts.unit, body=body)


def _runs(facts: UnitFacts, known: Collection[What]) -> Iterator[tuple[_Wait, ...]]:
    """The waits for elements of one array that stand one behind the other."""
    for _, siblings in lists_in(facts.unit.body):
        run: list[_Wait] = []
        for node in (*siblings, None):
            wait = None if node is None else _wait(node, facts, known)
            if wait is not None and run and _belongs_to(run, wait):
                run.append(wait)
                continue
            if len(run) > 1:
                yield tuple(run)
            run = [] if wait is None else [wait]


def _wait(node: Node, facts: UnitFacts, known: Collection[What]) -> _Wait | None:
    what = node.what if isinstance(node, Leaf) and not node.frozen and not node.macros else None
    if not isinstance(node, Leaf) or not isinstance(what, Call) or what in known:
        return None
    alone = node.label is None and not node.joined and not node.trail.strip()
    if not alone or not isinstance(what.procedure, Ref):
        return None
    call = mpi_call(what, facts.scope)
    if call is None or call.procedure.name != _WAIT.lower() or len(what.args) not in (2, 3):
        return None
    request, status, *error = what.args
    if not isinstance(status, Ref) or mpi_constant(status, facts.scope) != _NO_STATUS:
        return None
    if not isinstance(request, Ref) or request.args is None or len(request.args) != 1:
        return None
    (element,) = request.args
    number = element.integer if isinstance(element, Lit) else None
    if number is None or not is_unseen(call, node, facts):
        return None
    return _Wait(node, replace(request, args=None), number, tuple(error))


def _belongs_to(run: Sequence[_Wait], wait: _Wait) -> bool:
    alike = wait.array.name == run[0].array.name and wait.error == run[0].error
    elements = [one.element for one in run]
    return wait.leaf.lead == () and alike and wait.element not in elements


def _joined(run: Sequence[_Wait], facts: UnitFacts) -> Iterator[Leaf]:
    """The statements instead of some waits, in the order of the elements."""
    ordered = enumerate(sorted(run, key=lambda wait: wait.element))
    for _, found in groupby(ordered, lambda numbered: numbered[1].element - numbered[0]):
        waits = [wait for _, wait in found]
        call = _for_all(waits, facts) if len(waits) > 1 else None
        yield from (
            (wait.leaf for wait in waits) if call is None else (rewrite(waits[0].leaf, call),)
        )


def _for_all(run: Sequence[_Wait], facts: UnitFacts) -> Call | None:
    """The wait for all of them, spelled as they are; None: the names mean something else here."""
    one = run[0].leaf.what
    assert isinstance(one, Call)
    assert isinstance(one.procedure, Ref)
    assert isinstance(one.args[1], Ref)
    lower = one.procedure.spelled.islower()
    all_ = _ALL.upper() if one.procedure.spelled.isupper() else _ALL.lower() if lower else _ALL
    statuses = _NO_STATUSES if one.args[1].spelled.islower() else _NO_STATUSES.upper()
    elements = Section(num(run[0].element), num(run[-1].element), None)
    part = replace(run[0].array, args=(elements,))
    ignored = Ref(_NO_STATUSES, statuses)
    call = Call(Ref(_ALL.lower(), all_), (num(len(run)), part, ignored, *run[0].error))
    own, made = mpi_call(one, facts.scope), mpi_call(call, facts.scope)
    known = mpi_constant(ignored, facts.scope) == _NO_STATUSES
    return call if own and made and known and own.binding == made.binding else None
