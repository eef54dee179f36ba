"""Summaries of procedures, stored from run to run.

They are conclusions from the whole tree, so they are stored under a digest of every file, of the
configuration, and of the source of the analysis.

Where a few files have been edited since, those summaries are believed that depend on no edited
procedure, and those that depend on some which do what they did.  Each one is stored with the
procedures whose summaries it was made from; what else it depends on is not edited
(``summary_provenance``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import version

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.procedure_effects import Effects, Known, ProcedureKey
from asphalt.analysis.effects.summary_provenance import Traces, Tracing
from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.source_digest import source_digest
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.records import record

_DEPENDENCIES = ("islpy", "pympistandard")


@record
class _Kept:
    """What is known of a tree.  ``inputs``: the procedures whose summaries each one was made from;
    ``follows``: those whose summaries depend on nothing else in other procedures, as flows do (on
    what allocates an array, say)."""

    known: Known
    inputs: Mapping[ProcedureKey, tuple[ProcedureKey, ...]]
    follows: frozenset[ProcedureKey]

    def without(self, procedures: Collection[ProcedureKey]) -> Known:
        """The summaries that follow from others, which do so, too, and not from those of some
        procedures."""
        summaries = self.known.summaries
        users: dict[ProcedureKey, list[ProcedureKey]] = {}
        for user, used in self.inputs.items():
            for one in used:
                users.setdefault(one, []).append(user)
        found = {*procedures, *(key for key in summaries if key not in self.follows)}
        waiting = list(found)
        while waiting:
            new = [user for user in users.get(waiting.pop(), ()) if user not in found]
            found.update(new)
            waiting += new
        return Known({key: one for key, one in summaries.items() if key not in found}, {})


class Remembered:
    """The effects of the calls of a tree while ``pure`` procedures are assumed to be so, with what
    other runs have found.

    ``bodies_since``: the procedures whose text differs from that in another tree, if others see
    nothing of that except what they do; None: more differs.
    """

    def __init__(
        self,
        tree: Tree,
        scopes: Scopes,
        pure: frozenset[str],
        traces: Traces | None = None,
        locate: Callable[[ProcedureKey], Located | None] = lambda key: None,
        fatal: bool = False,
        bodies_since: Callable[[Tree], frozenset[ProcedureKey] | None] = lambda tree: None,
    ) -> None:
        self._tree = tree
        self._pure = pure
        self._sizes = ("any sizes", *sorted(map(str, scopes.asked))) if scopes.any_sizes else ()
        self._recalled = 0
        self._locate = locate
        self._bodies_since = bodies_since
        self._tracing = Tracing(Traces() if traces is None else traces, lambda key: True)
        assumed = Assumed(pure, fatal)  # summaries do not depend on ``fatal``
        self.effects = Effects(scopes, assumed, self._recall, tracing=self._tracing, locate=locate)

    def keep(self) -> None:
        """Stores what is known by now for other runs, if it is more than before."""
        known = self.effects.known
        if known.size <= self._recalled:
            return
        follows = frozenset(
            key for key in known.summaries if self._tracing.traces.follow_from(key, known.summaries)
        )
        inputs = {key: used for key, used in self._tracing.inputs.items() if key in known.summaries}
        self._tree.keep(_Kept(known, inputs, follows), *self._key())
        self._tree.keep_as_version(self._tree.latest_version(*self._key()), *self._key())
        self._recalled = known.size

    def _recall(self) -> Iterator[Known]:
        kept = self._tree.kept(*self._key())
        if isinstance(kept, _Kept):
            self._recalled = kept.known.size
            self._remember(kept, frozenset())
            yield kept.known
            return
        version = self._tree.latest_version(*self._key())
        kept = None if version is None else self._tree.kept_of(version.digest, *self._key())
        before = None if version is None else self._tree.as_of(version)
        if not isinstance(kept, _Kept) or before is None:
            return
        bodies = self._bodies_since(before)
        if bodies is not None:
            yield from self._of_edited(kept, bodies)

    def _of_edited(self, kept: _Kept, bodies: frozenset[ProcedureKey]) -> Iterator[Known]:
        """What is still so where the bodies of some procedures have been edited."""
        edited = bodies & kept.known.summaries.keys()
        self._remember(kept, edited)
        yield kept.without(edited)
        before = kept.known.summaries
        other = {key for key in edited if self._summary(key) != before[key]}
        yield kept.without(other)

    def _summary(self, key: ProcedureKey) -> object:
        located = self._locate(key)
        return None if located is None else self.effects.summary(located)

    def _remember(self, kept: _Kept, edited: frozenset[ProcedureKey]) -> None:
        """Takes from where summaries were made, except those of edited procedures."""
        summaries = kept.known.summaries
        for key, used in kept.inputs.items():
            if key in edited:
                continue
            self._tracing.inputs[key] = used
            if key not in kept.follows:
                self._tracing.mixed.add(key)
            value = summaries[key]
            if key in kept.follows and value is not None:
                asked = tuple((one, summaries[one]) for one in used)
                self._tracing.traces.note(key, (asked, value))

    def _key(self) -> tuple[str | bytes, ...]:
        versions = [f"{name} {version(name)}" for name in _DEPENDENCIES]
        assumed = (*self._sizes, *sorted(self._pure))
        return ("summaries", source_digest(__name__), *versions, *assumed)
