"""Whether a send and a receive of a unit are the only ones of the program that match each other.

Then the receive gets all messages of the send, and the n-th message of a rank is the n-th one
received from it (MPI-4.0 section 3.5).  Sender and receiver remain in step if both are changed
alike, for instance cut into the same segments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import PurePath

from asphalt.analysis.call_graph.call_sites import is_bound_to_c
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.messages.wildcards import takes_any_source, takes_any_tag
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.mpi.runtime_module import RUNTIME_CALLS, RUNTIME_MODULES, RUNTIME_SEGMENTS
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.references import passed_on
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.expr import Expr, names_in
from asphalt.ir.program import Located, Program
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Decl, Include, Opaque, Plain, Raw, Use
from asphalt.ir.tree import Leaf, Unit, leaves

_HEADER = "mpif.h"
_ACCESSIBILITY = frozenset({"public", "private"})
_TRAFFIC = frozenset({Store.INCOMING, Store.OUTGOING})


@record
class _Mention:
    """A call, in the unit of a name; ``leaf`` None: another use of its name.

    ``tags``: those that it names, None among them for an unknown value; None: it may have any.
    """

    name: str
    unit: str
    leaf: Leaf | None
    place: tuple[str, int, int] | None
    tags: frozenset[int | None] | None


class SolePair:
    """The messages between two ranks of the program of a unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.program: Program = facts.scope.program
        self._plain = Scopes(self.program)  # with the values of named constants
        self._live: dict[tuple[str, tuple[str, ...]], bool] = {}
        self._found: list[_Mention] = []
        self._more = self._mentions()

    def why_not(self, tags: Collection[Expr], own: Collection[Leaf]) -> str | None:
        """Why messages with these tags may match statements other than ``own``, all of the unit;
        None: they cannot."""
        if self._unclear is not None:
            return self._unclear
        here = self._plain.of(self.facts.located)
        mine = {constant(tag, here) for tag in tags}
        known = {_place(self.facts.located, leaf) for leaf in own}
        for found in self._all():
            if found.leaf is None:
                return f"{found.name} has uses other than calls in {found.unit or 'main'}"
            if found.place not in known and not _differ(found, mine):
                where = "?" if found.leaf.span is None else found.leaf.span.first
                return f"{found.name} in line {where} may have the same tag"
        return None

    @cached_property
    def _unclear(self) -> str | None:
        """Why nothing is known of any messages of the program."""
        if not is_closed(self.facts.effects):
            return "a part of the program is unknown"
        if takes_any_tag(self.program):
            return "a receive may have MPI_ANY_TAG"
        if takes_any_source(self.program):
            return "a receive may have MPI_ANY_SOURCE"
        if any(not call.live and _moves(call.operation) for call in self.program.mpi_calls()):
            return "other builds of the program have other messages"
        return None

    def _all(self) -> Iterator[_Mention]:
        """The result of ``_mentions``, computed once."""
        at = 0
        while True:
            if at == len(self._found):
                new = next(self._more, None)
                if new is None:
                    return
                self._found.append(new)
            yield self._found[at]
            at += 1

    def _mentions(self) -> Iterator[_Mention]:
        """The statements of the program that may send, receive or probe."""
        for name in sorted(self._names()):
            for located in self.program.mentions(name):
                if located.unit.name in RUNTIME_MODULES or not self._is_live(located):
                    continue
                for leaf, call in self._calls(located, name):
                    place = None if leaf is None else _place(located, leaf)
                    tags = None if call is None else self._tags(call, located)
                    yield _Mention(name, located.unit.name, leaf, place, tags)

    def _names(self) -> frozenset[str]:
        """The names by which the program sends, receives or probes."""
        called = {mention.operation for mention in self.program.mpi_calls()}
        names = {n for own in called for n in (own, f"p{own}") if _moves(own.removeprefix("p"))}
        names |= {name for name in called if _moves(name)}
        names |= {n for n, own in RUNTIME_CALLS.items() if _moves(own.operation)}
        return frozenset(names | RUNTIME_SEGMENTS)

    def _calls(self, located: Located, name: str) -> Iterator[tuple[Leaf | None, MpiCall | None]]:
        """The calls by one name in a unit; no statement: another use of the name."""
        scope = self._plain.of(located)
        if passed_on(located, name):
            yield None, None
        for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
            what = leaf.action
            if isinstance(what, Raw | Opaque) and name in what.code.lower():
                yield leaf, None
            if not isinstance(what, Call):
                continue
            if any(name in names_in(arg) for arg in what.args):
                yield None, None
            if name in names_in(what.procedure):
                yield leaf, mpi_call(what, scope)

    def _tags(self, call: MpiCall, located: Located) -> frozenset[int | None] | None:
        """The tags that a call names; none if another call has named them; None: it may have
        any."""
        given = [call.args[p.name] for p in call.procedure.parameters if _is_tag(p, call)]
        if not given:
            return frozenset() if call.queue is not None else None
        scope = self._plain.of(located)
        return frozenset(constant(tag, scope) for tag in given)

    def _is_live(self, located: Located) -> bool:
        """Whether a unit may be executed: all units but procedures that no other one names, USE
        statements and those about accessibility aside."""
        key = located.path, tuple(unit.name for unit in located.chain)
        if key not in self._live:
            self._live[key] = True  # where the question comes back to itself
            self._live[key] = (
                located.unit.kind != "subroutine"
                or located.is_unread
                or _has_other_names(located.unit)
                or any(
                    self._is_live(other)
                    for other in self.program.mentions(located.unit.name)
                    if (other.path, tuple(unit.name for unit in other.chain)) != key
                    and _may_call(other, located.unit.name)
                )
            )
        return self._live[key]


def _has_other_names(unit: Unit) -> bool:
    """Whether a procedure may be called by a name that is not its own."""
    own = (leaf.what for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    entry = any(isinstance(what, Plain) and what.keyword == "entry" for what in own)
    return entry or is_bound_to_c(unit)


def _may_call(located: Located, name: str) -> bool:
    """Whether a unit names a procedure other than to make its name known."""
    if located.is_unread:
        return True
    unit = located.unit
    for leaf in (leaf for node in (*unit.spec, *unit.body, unit.end) for leaf in leaves(node)):
        what = leaf.what
        if isinstance(what, Use) and all(item.local == item.name for item in what.items):
            continue
        if isinstance(what, Decl) and what.kind in _ACCESSIBILITY:
            continue
        if name in words_at(leaf):
            return True
        if isinstance(what, Include) and PurePath(what.path).name != _HEADER:
            return True
    return False


def _differ(found: _Mention, mine: Collection[int | None]) -> bool:
    """Whether the tags of a call are certainly others than ``mine``."""
    tags = found.tags
    if tags is None:
        return False
    return not tags or (None not in mine and None not in tags and not tags & set(mine))


def _moves(operation: str) -> bool:
    """Whether a procedure sends, receives, prepares one of both, or probes."""
    found = procedure(operation)
    if found is None:
        return False
    row = library_row(found)
    return any(access.store in _TRAFFIC for access in (*row.accesses, *row.prepared))


def _is_tag(parameter: object, call: MpiCall) -> bool:
    return getattr(parameter, "kind", "") == "TAG" and getattr(parameter, "name", "") in call.args


def _place(located: Located, leaf: Leaf) -> tuple[str, int, int]:
    span = leaf.span
    return located.path, *((-1, -1) if span is None else (span.first, span.first_col))
