"""What becomes of one unit: its steps, its transfers, and what ended them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from asphalt.analysis.verdicts.verdict import Code, Refused, Role
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.wording import changes_text
from asphalt.optimiser.origins import SourceLine

FIXPOINT = "no transformation finds another step"
UNGAINED = "these passes gain nothing by themselves"
LOSING = "all steps together would make the procedure slower"
"""Why a unit stays as it was although steps were found."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step that was applied: by which transformation, and what it did.

    ``gained``: the seconds that one execution of the unit takes less by it, by network; below zero
    for one that others need, and nothing for one that only prepares the unit: what the model knows
    of sizes is not the same before and after it.  ``place``: of what it is about, as the user
    wrote it.  ``assumed``: what it rests on, by name, beside what the transfers do.
    """

    transformation: str
    does: str
    evidence: tuple[str, ...]
    place: SourceLine
    gained: Mapping[str, float] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A step, or several that belong together, that was tried and is not kept.

    ``does``: what it did, in a clause; ``place``: of what it is about, as the user wrote it;
    ``why`` it is not kept.  ``before`` and ``tried``: the seconds that one execution of the unit
    takes without and with it, by network; {}: nobody asked for it, or what is saved was compared,
    of texts whose seconds are not comparable.
    """

    transformation: str
    does: str
    place: SourceLine
    why: str
    before: Mapping[str, float] = field(default_factory=dict)
    tried: Mapping[str, float] = field(default_factory=dict)

    @property
    def numbers(self) -> str:
        """Why it is not kept, with what the model said."""
        said = changes_text(self.before, self.tried)
        return f"{self.why}{said and ': ' + said}"


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried for a unit in vain: steps that are not kept, and ``whole``: what kept nests
    from being divided, by where they stand in what the user gave."""

    dropped: tuple[Dropped, ...] = ()
    whole: Mapping[SourceLine, Refused] = field(default_factory=dict)

    @property
    def ending(self) -> Dropped | None:
        """All steps together, where the unit stays as it was for what they cost."""
        return next((d for d in self.dropped if d.why == LOSING), None)

    def about(self, place: SourceLine) -> Iterator[str]:
        """What was tried with the nest at a place and not kept, with what the model said, in a
        clause each."""
        for one in self.dropped:
            if one.place == place and one.before and one.why != LOSING:
                yield f"not kept: {one.does}: {one.numbers}"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A blocking call that was split or posted ahead: the line where it stood, the MPI procedure,
    and how many operations it starts; ``assumed``: what that rests on, by name.  ``beside``: the
    loops, calls and array statements that it overlaps with now.  ``path``: the file where it stood;
    ``inlined``: in another unit, from which it came here; ``does``: what becomes of it where
    nothing is told to come beside it.  ``marks``: where what completes it and what comes beside it
    stand, with what is told of them."""

    line: int
    operation: str
    messages: int
    assumed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    path: str = ""
    inlined: bool = False
    does: str = "overlaps with the work in its window"
    marks: tuple[tuple[SourceLine, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Staying:
    """An operation that the program starts itself and that gets no more work beside it: where the
    call stands in the user's source, the MPI procedure, and why, as a refusal says it.  ``marks``:
    other places that play a part, with their roles and what they do.  ``witness``: file and line of
    a statement that shows why; None: the call."""

    place: SourceLine
    operation: str
    code: Code
    message: str
    marks: tuple[tuple[SourceLine, Role, str], ...] = ()
    witness: str | None = None


@dataclass(frozen=True, slots=True)
class Cleared:
    """Stores to a receive buffer that are left out: the line where they stood, the MPI procedure
    that overwrites them, the buffer, and the file where they stood."""

    line: int
    operation: str
    buffer: str
    path: str


@dataclass(frozen=True, slots=True)
class Tiled:
    """A nest that is executed in tiles, with its messages: the name of the site in the header, the
    line and the MPI procedure of the receive, the variable of the loop, and the file."""

    site: str
    line: int
    operation: str
    along: str
    path: str


@dataclass(frozen=True, slots=True)
class Optimised:
    """What became of one unit.

    ``content``: of its file; None: nothing was gained, and nothing is changed.  ``transfers``: the
    blocking ones that are overlapped with work now.  ``refused``: what could not be split.
    ``dropped``: the steps that were tried on the way to it, and not kept.  ``staying``: the
    operations that the program starts itself and that get no more work beside them.  ``whole``:
    what kept nests from being divided, by where they stand in what the user gave.
    ``ended``: the rule that ended it.  ``tiled``: the nests that have a K and a D.
    ``cleared``: the stores that are left out.  ``trees``: the tree after each step, as long as
    somebody may ask what the steps gain; then the last one.
    """

    path: str
    unit: str
    content: bytes | None
    steps: tuple[Done, ...]
    transfers: tuple[Transfer, ...]
    refused: tuple[Refused, ...]
    ended: str
    tiled: tuple[Tiled, ...] = ()
    cleared: tuple[Cleared, ...] = ()
    trees: tuple[Tree, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    staying: tuple[Staying, ...] = ()
    whole: Mapping[SourceLine, Refused] = field(default_factory=dict)
