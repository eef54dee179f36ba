"""One application of a transformation: what is found possible before it is done.

A transformation is a module with a ``NAME``, a function ``check`` and a function ``apply``::

    def check(facts: UnitFacts) -> tuple[Found, ...]       # steps and refusals, in source order
    def apply(facts: UnitFacts, step: Step) -> Unit        # the unit after one of these steps

Both are pure.  ``apply`` is only called with a step that ``check`` gave for the same facts.  What a
step changes is seen by the next ``check`` as any other source: the optimiser reads what was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.tree import Unit


@dataclass(frozen=True, slots=True)
class Step:
    """A possible application; each transformation has a subclass with what ``apply`` needs.

    ``line``: where the statement stands that it is about; ``does``: for people, in one clause;
    ``evidence``: why it is allowed, a sentence each; ``assumed``: the assumptions that it rests on,
    by name.
    """

    line: int
    does: str
    evidence: tuple[str, ...]
    assumed: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Trial(Step):
    """A step that is kept only if the window of some transfer gains work by it, and tried once:
    ``text``, the statements that it is about, is what it is known by when lines have moved."""

    text: tuple[str, ...]


Found = Step | Refused


@dataclass(frozen=True, slots=True)
class Transformation:
    """A transformation by its name, as ``--passes`` takes it; ``check`` may find its steps when
    they are asked for."""

    name: str
    check: Callable[[UnitFacts], Iterable[Found]]
    apply: Callable[[UnitFacts, Step], Unit]
