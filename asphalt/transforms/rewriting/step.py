"""Transformations, and the steps that they find.

A transformation is a module that ends with a ``TRANSFORMATION``: its title, its pass, its phase,
one line for people, and two functions::

    def check(facts: UnitFacts) -> tuple[Found, ...]       # steps and refusals, in source order
    def apply(facts: UnitFacts, step: Step) -> Unit        # the unit after one of these steps

Both are pure.  ``apply`` is only called with a step that ``check`` gave for the same facts.  The
optimiser unparses and reads the unit again after each step, so that the next ``check`` sees the
new text as it sees any other source.  Steps that do not meet can be taken ``together``: their
``apply`` rests on nothing but the statements that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from enum import Enum
from functools import wraps
from typing import ClassVar, Protocol, Self, cast

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.tree import Unit


@record
class Step:
    """A possible application; each transformation has a subclass with what ``apply`` needs.

    ``line``: of the statement that it is about; ``does``: what it does, one clause for people;
    ``evidence``: why it is legal, a sentence each; ``assumed``: the names of the assumptions that
    it rests on.  ``names_readings``: whether they say which readings of a clock it passes; those of
    another step may rest on ``timers`` wherever the unit reads clocks.
    """

    names_readings: ClassVar[bool] = False

    line: int
    does: str
    evidence: tuple[str, ...]
    assumed: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def reported(self) -> tuple[Step, ...]:
        """The steps that reports list: the step itself, or its parts in source order."""
        return (self,)


@record
class Trial(Step):
    """A step that is tried once, and kept only if an overlap window gets more work by it.

    ``text``: the statements that it is about; they identify the step when lines have moved.
    ``about``: what it divides; of several steps that divide the same, the best one is kept.
    ``starts_receives``: it lets receives start earlier.  Messages that find no receive are copied
    once more, which the cost model does not count.
    """

    starts_receives: ClassVar[bool] = False

    text: tuple[str, ...]

    @property
    def about(self) -> tuple[object, ...]:
        """What it divides."""
        return self.text


@record
class Several(Step):
    """Steps of one transformation that do not meet: ``steps``, in the order of their application.

    Each is proved for the unit as it stands, and changes nothing that the proofs of the others
    rest on.
    """

    steps: tuple[Step, ...]

    @property
    def reported(self) -> tuple[Step, ...]:
        """The steps in source order."""
        return tuple(reversed(self.steps))


class PlacedStep(Protocol):
    """A step about one node of a unit; ``place`` leads to it."""

    @property
    def place(self) -> tuple[int, ...]:
        """The positions of the nodes around it, from the outermost one, and its own."""


Found = Step | Refused


def together(
    check: Callable[[UnitFacts], Iterable[Found]],
) -> Callable[[UnitFacts], Iterable[Found]]:
    """The steps that a ``check`` finds, all at once as far as they are about different nodes, none
    of which stands in another one."""

    @wraps(check)
    def several(facts: UnitFacts) -> Iterable[Found]:
        found = tuple(check(facts))
        kept: dict[tuple[int, ...], Step] = {}
        for one in found:
            if isinstance(one, Step):
                place = cast(PlacedStep, one).place
                if not any(meet(place, other) for other in kept):
                    kept[place] = one
        if len(kept) < 2:
            return found
        # from the end, so that the places of those in front still lead there
        steps = tuple(kept[place] for place in sorted(kept, reverse=True))
        first = steps[-1]
        return (Several(first.line, first.does, first.evidence, steps),)

    return several


def meet(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether one of two places stands inside of the other, or is the other; each is given by the
    positions that lead to it."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


class Phase(Enum):
    """The phases of the optimiser, in their order, each with what is tried in it and kept."""

    summary: str

    def __new__(cls, title: str, summary: str) -> Self:
        member = object.__new__(cls)
        member._value_ = title
        member.summary = summary
        return member

    EXCHANGES = (
        "exchanges",
        "Lets ranks exchange fewer messages.  This comes before all other phases, and is kept if "
        "the procedure does not take longer.",
    )
    PREPARATION = (
        "preparation",
        "Brings communication to the statements that it can overlap with.  All of it is kept if "
        "more transfers overlap by it and more time is saved.",
    )
    BUFFERS = (
        "buffers",
        "Gives transfers buffers of their own.  Each step is kept if what the next phases make of "
        "it gains.",
    )
    STARTS = (
        "starts",
        "Takes blocking operations apart.  An operation whose overlap window stays empty remains "
        "blocking.",
    )
    WINDOWS = ("windows", "Fills the overlap windows, until no step is found.")
    DIVISION = (
        "division",
        "Divides what stands in the way of a wait or a start.  Each step is kept if a window gets "
        "more computation by it and the procedure does not take longer.",
    )
    SHARING = (
        "sharing",
        "Shares the interior of a nest among the overlap windows that it could stand in.  Each "
        "step is kept if it gains.",
    )
    DEPARTURES = (
        "departures",
        "Lets the sends that are still blocking leave from copies, each if that gains.",
    )
    ITERATIONS = (
        "iterations",
        "Brings the first work of the next iteration, or of a called procedure, to the transfers "
        "of this one.  It is kept if it gains.",
    )
    TILES = ("tiles", "Cuts nests and messages into tiles.  Each step is kept if it gains.")


@record
class Transformation:
    """A transformation, as its module registers it.

    ``title``: its name in the literature; ``requested_by``: the pass that it belongs to; ``phase``:
    when the optimiser tries it; ``summary``: one line for people; ``check`` gives the possible
    steps, maybe one by one as they are asked for; ``apply`` does one of them.  ``in_place``:
    whether all statements that it leaves alone are executed as before: as often, with the same
    values, and in the same iteration of loops as the others of their list.  ``together``: makes one
    step of the first possible one, and of others; without it, the first one is taken.
    """

    title: str
    requested_by: Pass
    phase: Phase
    summary: str
    check: Callable[[UnitFacts], Iterable[Found]]
    apply: Callable[[UnitFacts, Step], Unit]
    in_place: bool = False
    together: Callable[[UnitFacts, Iterator[Step]], Step] | None = None

    @property
    def name(self) -> Pass:
        """The pass that it belongs to, by which steps are listed."""
        return self.requested_by
