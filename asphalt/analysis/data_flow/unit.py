"""The analyses of one unit, for transformations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast
from weakref import finalize, ref

from asphalt.analysis.data_flow.feasible_statements import FeasibleStatements, all_statements
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.data_flow.same_statements import Outline, SameStatements
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Footprint, NameSemantics
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.uniformity.uniformity import Uniformity
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.ir.tree import Leaf, Node, Unit
from asphalt.support.asked_assumptions import Answer, record
from asphalt.support.cached_properties import drop_cached_properties

T = TypeVar("T")
_LINE = re.compile(r"\bline (\d+)")


def with_places(message: str, at: Callable[[int], str]) -> str:
    """A message of an analysis with the original places of its lines.  ``at``: that of a line."""
    return _LINE.sub(lambda found: at(int(found[1])), message)


@dataclass(frozen=True)
class UnitFacts:
    """A unit of a program with its analyses, each made on demand.

    ``eol``: the line ending of its file.  The facts hold for this version of the unit: the result
    of a transformation has facts of its own.  ``uniformity``: what all ranks have in common; None:
    not asked.  ``accepted``: the assumptions that the user accepts.  ``once_called``: names of the
    procedures that the unit called before any transformation.  ``elsewhere``: the lines of calls
    that came from other units, to which assumptions among the declarations do not apply.
    ``places``: the original file and line of the statement in a line of the unit, or of the
    statement that it was made for; None: in this file and line.  ``same``: the statements that
    other texts of the unit have, too; None: it has no other texts.  ``all_count``: no error code is
    known to decide what is executed.
    """

    located: Located
    effects: Effects
    eol: str = "\n"
    uniformity: Uniformity | None = None
    accepted: frozenset[str] = frozenset()
    once_called: frozenset[str] = frozenset()
    elsewhere: frozenset[int] = frozenset()
    places: Callable[[int], tuple[str, int]] | None = None
    same: SameStatements | None = None
    all_count: bool = False

    @property
    def unit(self) -> Unit:
        """The unit itself."""
        return self.located.unit

    @property
    def free(self) -> bool:
        """Whether the source is in free form."""
        return self.located.form is Form.FREE

    def at(self, where: Leaf | int) -> str:
        """The original position of a statement, or a line, in messages: ``line 12``, or
        ``other.f90:12`` in another file."""
        line = where if isinstance(where, int) else line_of(where)
        path, line = (self.located.path, line) if self.places is None else self.places(line)
        return f"line {line}" if path == self.located.path else f"{path}:{line}"

    @cached_property
    def scope(self) -> Scope:
        """The scope of the unit."""
        return self.effects.scopes.of(self.located)

    @cached_property
    def scope_of_these_sizes(self) -> Scope:
        """The scope of the unit with the present values of all named constants."""
        return Scopes(self.effects.scopes.program).of(self.located)

    @cached_property
    def values(self) -> Values:
        """The values of its integer scalars."""
        return Values(self.scope, self.effects.names(self.scope))

    @cached_property
    def names(self) -> NameSemantics:
        """The names of the unit, with what its statements do if errors are fatal."""
        return self.executed.names

    @cached_property
    def reaching(self) -> ReachingDefinitions:
        """Its control flow and definitions."""
        return self.executed.reaching

    @cached_property
    def executed(self) -> FeasibleStatements:
        """Its statements that can be executed.

        That error codes decide nothing, so that all of them are, is taken over from other texts of
        the unit with the same calls of MPI, and from where a procedure stands in a program in which
        it does the same: it is the answer that says least.
        """
        outline = self.outline
        known = None if self.same is None or outline is None else self.same.known.undecided
        if self.all_count or (known and outline in known) or self._is_undecided_elsewhere:
            return self.effects.once_for(self.scope, all_statements)
        found = self.effects.once_for(self.scope, FeasibleStatements)
        if known is not None and outline is not None and not found.is_less:
            known.add(outline)
        return found

    @property
    def _is_undecided_elsewhere(self) -> bool:
        same = self.effects.same_elsewhere(self.located)
        if same is None:
            return False
        effects, located = same
        scope = effects.scopes.of(located)
        return not effects.once_for(scope, FeasibleStatements).is_less

    @cached_property
    def outline(self) -> Outline | None:
        """The calls of MPI and the jumps of the unit, as its other texts know them; None: it has
        none, or they do not."""

        def calls(leaf: Leaf) -> bool:
            call = leaf.call
            return call is not None and mpi_call(call, self.scope) is not None

        return None if self.same is None else self.same.outline(self.unit, calls)

    @cached_property
    def _footprints(self) -> dict[int, tuple[Node, Footprint]]:
        return {}  # with the node, so that no other one can get its identity

    def footprint(self, node: Node) -> Footprint:
        """The accesses and effects of a statement or construct of the unit."""
        found = self._footprints.get(id(node))
        if found is None:
            found = self._footprints[id(node)] = node, examine((node,), self.names)
        return found[1]

    @cached_property
    def _written(self) -> dict[int, tuple[Node, frozenset[str]]]:
        return {}

    def written(self, node: Node) -> frozenset[str]:
        """The storages that a statement or construct of the unit may write."""
        found = self._written.get(id(node))
        if found is None:
            found = self._written[id(node)] = node, self.footprint(node).written()
        return found[1]

    @cached_property
    def _found(self) -> dict[Callable[[UnitFacts], object], object]:
        return {}

    @cached_property
    def asked(self) -> set[Answer]:
        """Which assumptions were asked for so far, for these facts: kept results depend on them."""
        return set()

    def once(self, find: Callable[[UnitFacts], T]) -> T:
        """The result of ``find`` for the unit, computed once.

        It depends on nothing else.  Later calls return the same object, with everything that it has
        stored.
        """
        if find not in self._found:
            self._found[find] = find(self._inside)
        if self.asked:
            record(self.asked)
        return cast(T, self._found[find])

    @cached_property
    def _inside(self) -> UnitFacts:
        """These facts as analyses keep them, which does not keep this object: so its end is seen
        at once, not when garbage is collected."""
        other = object.__new__(UnitFacts)
        object.__setattr__(other, "__dict__", self.__dict__)
        return other

    def forget_at_end(self, *, with_effects: bool) -> None:
        """Forget all that is found out about the unit as soon as nobody has this object any more.
        ``with_effects``: also of its program, which nobody else asks."""
        # the end is not to keep what it forgets: that may refer to this object after all
        finalize(self, _forget, ref(self._inside), with_effects).atexit = False


_FOUND = (
    "executed",
    "names",
    "outline",
    "reaching",
    "values",
    "_footprints",
    "_written",
    "_inside",
)


def _forget(inside: ref[UnitFacts], with_effects: bool) -> None:
    """Drop what refers to each other: what is asked for again is found again."""
    facts = inside()
    if facts is None:
        return
    known = facts.__dict__
    found = known.get("_found")
    if isinstance(found, dict):
        for kept in found.values():
            drop_cached_properties(kept)
        found.clear()
    for name in _FOUND:
        known.pop(name, None)
    if with_effects:
        facts.effects.forget()


def line_of(leaf: Leaf) -> int:
    """The line on which a statement begins; 0 for one that asphalt made."""
    return leaf.line
