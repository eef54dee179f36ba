"""Several calls of a unit replaced at once.

Each replacement is proved for the unit as it stands, and a procedure does the same at its call and
inlined there: so each proof holds beside the other replacements, too.  What these could take from
each other is names.  A replacement is planned again where another one declares a name that it
needs; one that brings more than variables and constants is made by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.exchange.site import StatementPosition
from asphalt.analysis.names.visibility import words_at
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, leaves
from asphalt.transforms.inlining.inline import Inline, apply, at_call, judged
from asphalt.transforms.rewriting.step import Phase, Several, Step, Transformation


@record
class Inlines(Several):
    """Calls that are replaced one after the other, in source order."""

    names_readings: ClassVar[bool] = True

    @property
    def reported(self) -> tuple[Step, ...]:
        """The steps in source order."""
        return self.steps


class AtCall(Protocol):
    """A function that finds the step for a call of a procedure (``target``: with all arguments), or
    why it is none; ``reserved``: names that no new variable has."""

    def __call__(
        self,
        facts: UnitFacts,
        leaf: Leaf,
        place: StatementPosition,
        target: tuple[Located, Call],
        sites: CallSites,
        *,
        reserved: frozenset[str],
    ) -> Inline | Refused: ...


def together(facts: UnitFacts, steps: Iterator[Step], again: AtCall = at_call) -> Step:
    """The first step for a call, with the others that can be made beside it; ``again``: finds those
    anew that need a name that another one declares."""
    first, *others = (step for step in steps if isinstance(step, Inline))
    if not _is_plain(first):
        return first
    sites = CallSites(facts.effects.scopes)
    kept = [first]
    new, used = set(_new_names(first)), _used_names(first)
    for step in filter(_is_plain, others):
        fitting = _beside(facts, step, new, used, sites, again)
        if fitting is not None:
            kept.append(fitting)
            new |= set(_new_names(fitting))
            used |= _used_names(fitting)
    if len(kept) < 2:
        return first
    return Inlines(first.line, first.does, first.evidence, tuple(kept))


def _beside(
    facts: UnitFacts,
    step: Inline,
    new: set[str],
    used: set[str],
    sites: CallSites,
    again: AtCall,
) -> Inline | None:
    """A step for the same call that declares none of the ``used`` names, and needs none of the
    ``new`` ones for something else; None: there is none."""
    if not _meets(step, new, used):
        return step
    plan = step.plan
    what = plan.call.action
    target = invoked(what, facts.scope) if isinstance(what, Call) else None
    if target is None:
        return None
    found = again(facts, plan.call, plan.place, target, sites, reserved=frozenset(new | used))
    if isinstance(found, Inline) and _is_plain(found) and not _meets(found, new, used):
        return found
    return None


def _meets(step: Inline, new: set[str], used: set[str]) -> bool:
    own = set(_new_names(step))
    return bool(own & used) or bool(_used_names(step) & new)


def _is_plain(step: Inline) -> bool:
    """Whether a replacement brings nothing but variables and constants of its own."""
    needed = step.plan.needed
    if needed.uses or needed.header or needed.includes or needed.commons or needed.shown:
        return False
    if step.plan.call.label is not None:
        return False
    return all(
        leaf.label is None and leaf.name is None for node in step.nodes for leaf in leaves(node)
    )


def _new_names(step: Inline) -> Iterator[str]:
    """The names that a replacement declares."""
    needed = step.plan.needed
    return (name.lower() for name, _ in (*needed.variables, *needed.constants))


def _used_names(step: Inline) -> set[str]:
    """The words in what replaces a call, and in the call."""
    found = set(words_at(step.plan.call))
    for node in step.nodes:
        for leaf in leaves(node):
            found |= words_at(leaf)
    return found | set(_new_names(step))


TRANSFORMATION = Transformation(
    "inlining",
    Pass.INLINE,
    Phase.PREPARATION,
    "A procedure that communicates is inlined at its call.",
    judged,
    apply,
    in_place=True,
    together=together,
)
