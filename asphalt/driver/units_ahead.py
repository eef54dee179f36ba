"""Units that are optimised before their turn, by other processes and this one.

Units are optimised one after the other, and each for the tree that those before it have left.  Most
leave it as it is.  So several processes optimise units for the tree as it stands now, and what they
find is taken unit by unit; as soon as one unit changes, what was found for those behind it is
forgotten.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import replace

from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.driver.known_outcomes import KnownOutcomes, Start, Text
from asphalt.frontend.source_tree.problems import InputProblem
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.optimiser.acceptance import Key, key_of
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.outcome import Optimised
from asphalt.support.results_ahead import ResultsAhead

_FEW = 8  # units that are not worth another process


@record
class State:
    """What the optimisation of units begins with: the analyses of the tree as it was given, the
    tree as it stands ``now``, the options, and what is known of the program.

    ``known``: what became of units under other assumptions; ``text``: what the tree contains.
    """

    first: Analyses
    now: Tree
    options: Options
    context: Context
    known: KnownOutcomes
    text: Text

    def start(self, key: Key) -> Start:
        """What the optimisation of a unit begins with."""
        return Start(key, self.text, frozenset(self.context.changed), self.options)


@record
class _Attempt:
    """What became of a unit: the result, or the internal error that ended it; and the problems of
    files that were read for it."""

    found: Optimised | None
    errors: InternalErrors
    problems: tuple[InputProblem, ...] = ()


class Ahead:
    """The results for the units of some places, whose turns come in this order.

    ``jobs``: how many processes may work on units; the others end when results are forgotten.
    """

    def __init__(self, places: Sequence[Key], jobs: int) -> None:
        self._places = places
        self._helpers = jobs - 1 if multiprocessing.parent_process() is None else 0
        self._results: ResultsAhead[_Attempt] | None = None

    def found(self, number: int, located: Located, state: State) -> Optimised | None:
        """What becomes of the unit whose turn it is; None: an internal error has been recorded.

        All states are the same until ``forget`` is called.
        """
        errors = state.first.errors
        with errors.caught(located):
            attempt = self._attempt(number, located, state)
            errors.take_over(attempt.errors)
            known = state.first.tree.unreadable
            known += [problem for problem in attempt.problems if problem not in known]
            return attempt.found
        return None

    def forget(self) -> None:
        """Forget all results: the tree changes."""
        if self._results is not None:
            self._results.close()
            self._results = None

    def _attempt(self, number: int, located: Located, state: State) -> _Attempt:
        last = len(self._places)
        if self._results is None and self._helpers and last - number >= _FEW:
            helpers = min(self._helpers, (last - number) // _FEW)

            def task(number: int) -> _Attempt:
                one = unit_of(state.now, *self._places[number])
                return _Attempt(None, InternalErrors()) if one is None else _attempted(one, state)

            self._results = ResultsAhead(task, range(number, last), helpers)
        if self._results is None:
            return _attempted(located, state)
        return self._results.result(number)


def unit_of(tree: Tree, path: str, chain: tuple[str, ...]) -> Located | None:
    """The unit of a tree with this name and these hosts; None: there is none any more."""
    return next((one for one in tree.units_of(path) if key_of(one)[1] == chain), None)


def _attempted(located: Located, state: State) -> _Attempt:
    found = state.known.of(state.start(key_of(located)))
    if found is not None:
        return _Attempt(found, InternalErrors())
    errors, unreadable = InternalErrors(), state.first.tree.unreadable
    before = len(unreadable)
    with errors.caught(located):
        found = replace(optimise(state.now, located, state.options, state.context), trees=())
    return _Attempt(found, errors, tuple(unreadable[before:]))
