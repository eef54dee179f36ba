"""What becomes of one unit: its steps, its transfers, and what ended the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from asphalt.analysis.verdicts.verdict import Code, Refused, Role
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.wording import changes_text
from asphalt.ir.records import record
from asphalt.optimiser.origins import SourceLine
from asphalt.support.asked_assumptions import Answer
from asphalt.transforms.inlining.inline import Inline
from asphalt.transforms.rewriting.step import Step

FIXPOINT = "no transformation finds another step"
UNGAINED = "these passes gain nothing by themselves"
LOSING = "all steps together would make the procedure slower"
SAVES_NOTHING = "all steps together save nothing"
SAVES_LITTLE = "all steps together save less than the least gain that is asked for"
"""Why a unit stays as it was although steps were found."""
LESS_SAVED = "it saves no more time"
LITTLE_SAVED = "it saves too little"
WORTH = (LESS_SAVED, LITTLE_SAVED)
"""Why what makes the text longer is not kept, with the seconds behind it."""
_TOGETHER = frozenset({LOSING, SAVES_NOTHING, SAVES_LITTLE})


@record
class InlinedCall:
    """A call that a procedure was inlined at: file and name of the procedure, and the place of the
    call in the user's source."""

    path: str
    unit: str
    place: SourceLine


def inlined_call(step: Step, place: SourceLine) -> InlinedCall | None:
    """The call that a step replaces by the procedure; ``place``: of the call."""
    if not isinstance(step, Inline):
        return None
    return InlinedCall(step.plan.callee.path, step.plan.callee.unit.name, place)


@record
class Done:
    """A step that was applied: by which transformation, and what it did.

    ``gained``: the seconds by which it shortens one execution of the unit, by network.  They are
    negative for a step that others need; there are none for a step that only prepares the unit,
    since the model does not know the same sizes before and after it.  ``place``: of the statement
    that it is about, in the user's source.  ``assumed``: the assumptions that it rests on, by name,
    beside those of transfers.  ``call``: the one that is replaced, if it inlines a procedure.
    """

    transformation: str
    does: str
    evidence: tuple[str, ...]
    place: SourceLine
    gained: Mapping[str, float] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    call: InlinedCall | None = None


@record
class Dropped:
    """A step, or several that belong together, that was tried and is not kept.

    ``does``: what it did, in a clause; ``place``: of the statement that it is about, in the user's
    source; ``why`` it is not kept.  ``before`` and ``tried``: the seconds of one execution of the
    unit without and with it, by network; {}: its price did not matter, or savings were compared of
    texts whose seconds are not comparable.  ``calls``: those at which procedures were inlined by
    it, or before it was tried.
    """

    transformation: str
    does: str
    place: SourceLine
    why: str
    before: Mapping[str, float] = field(default_factory=dict)
    tried: Mapping[str, float] = field(default_factory=dict)
    calls: tuple[InlinedCall, ...] = ()

    @property
    def rests_on_sizes(self) -> bool:
        """Whether a price is the reason."""
        return bool(self.before) or self.why.startswith(WORTH)

    @property
    def numbers(self) -> str:
        """Why it is not kept, with what the model said."""
        said = changes_text(self.before, self.tried)
        return f"{self.why}{said and ': ' + said}"


@record
class StoppedAtCall:
    """A transfer that came to a caller, where its procedure was inlined in vain: its place in the
    user's source, the call, and ``why`` the work behind the call does not overlap with it, a
    clause, whose lines are those of the file ``path``."""

    place: SourceLine
    call: InlinedCall
    why: str
    path: str


@record
class Tried:
    """The steps that were tried for a unit and not kept, and ``whole``: what kept nests from
    being divided, by their place in the user's source.  ``doubt``: why what was found for it is
    not done: it is not clear what the unit means.  ``at_calls``: the transfers of procedures that
    were inlined in vain.  ``sizes``: the variables for whose values prices take usual ones."""

    dropped: tuple[Dropped, ...] = ()
    whole: Mapping[SourceLine, Refused] = field(default_factory=dict)
    doubt: str | None = None
    at_calls: tuple[StoppedAtCall, ...] = ()
    sizes: tuple[str, ...] = ()

    @property
    def ending(self) -> Dropped | None:
        """All steps together, if the unit is not changed because they would make it slower, or not
        faster."""
        return next((d for d in self.dropped if d.why in _TOGETHER), None)

    def about(self, place: SourceLine) -> Iterator[str]:
        """The steps with the nest at a place that were tried and not kept, with what the model
        says, a clause each."""
        for one in self.dropped:
            if one.place == place and one.before and one.why not in _TOGETHER:
                yield f"not kept: {one.does}: {one.numbers}"


@record
class Transfer:
    """A blocking call that was made non-blocking or posted early: its line, its MPI procedure, and
    how many operations it starts.

    ``assumed``: the assumptions that it rests on, by name.  ``overlaps``: the loops, calls and
    array statements that it overlaps with now.  ``path``: its file; ``inlined``: whether it came to
    this unit from another one; ``does``: what becomes of it if ``overlaps`` is empty.  ``marks``:
    the places of what completes it and of what overlaps with it, with texts for people.
    ``waiting``: the requests of its operations without work, where others have some; ``stopped``:
    what the wait for its receive cannot pass, if that is one of them.
    """

    line: int
    operation: str
    messages: int
    assumed: tuple[str, ...] = ()
    overlaps: tuple[str, ...] = ()
    path: str = ""
    inlined: bool = False
    does: str = "overlaps with the work in its window"
    marks: tuple[tuple[SourceLine, str], ...] = ()
    waiting: tuple[str, ...] = ()
    stopped: str | None = None


@record
class Staying:
    """An operation that the program starts itself and that overlaps with no more work: the place of
    the call in the user's source, the MPI procedure, and why, as a refusal says it.

    ``marks``: other places that play a part, with their roles and what they do.  ``witness``: file
    and line of a statement that shows why; None: the call.
    """

    place: SourceLine
    operation: str
    code: Code
    message: str
    marks: tuple[tuple[SourceLine, Role, str], ...] = ()
    witness: str | None = None


@record
class Cleared:
    """Stores to a receive buffer that are dropped: their line, the MPI procedure that overwrites
    them, the buffer, and their file."""

    line: int
    operation: str
    buffer: str
    path: str


@record
class Tiled:
    """A nest that is executed in tiles, with its messages: the name of the site in the header, the
    line and the MPI procedure of the receive, the variable of the loop, and the file."""

    site: str
    line: int
    operation: str
    along: str
    path: str


@record
class Optimised:
    """The result of the optimisation of one unit.

    ``content``: of its file; None: nothing gained, so nothing is changed.  ``beside``: the contents
    of other files in which versions of procedures stand now, by path.  ``transfers``: the
    blocking ones that now overlap with work.  ``refused``: those that cannot be non-blocking.
    ``ended``: the rule that ended the search.  ``tiled``: the nests that have a K and a D.
    ``cleared``: the stores that are dropped.  ``trees``: the tree after each step, as long as the
    gains of steps may be asked for; then the last one.  ``dropped``: the steps that were tried and
    not kept.  ``staying``: the operations that the program starts itself and that overlap with no
    more work.  ``whole``: what kept nests from being divided, by their place in the user's source.
    ``doubt``: why what was found is not done: it is not clear what the unit means.  ``asked``:
    which assumptions were asked for, with the answers: with the same ones the result is the same.
    ``at_calls``: the transfers of procedures that were inlined in vain.  ``sizes``: the variables
    for whose values prices take usual ones.
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
    doubt: str | None = None
    beside: Mapping[str, bytes] = field(default_factory=dict)
    asked: frozenset[Answer] = frozenset()
    at_calls: tuple[StoppedAtCall, ...] = ()
    sizes: tuple[str, ...] = ()
