"""Summaries that stay as they were when the bodies of some procedures are edited.

The summary of a procedure is a function of those of the procedures that it calls; where procedures
call each other, they are the least fixpoint, found by evaluating these functions again and again
(``support/fixpoint``).  If the function of an edited procedure still has the value that it had in
the last evaluation, the summaries are a fixpoint; if it has the same values in all of them, the
evaluations lead to the same one.  The edit of a procedure that calls itself through many others
then costs some looks at that one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from asphalt.analysis.effects.procedure_effects import Effects, Known, ProcedureKey
from asphalt.analysis.effects.summary import Summary
from asphalt.analysis.effects.summary_provenance import Traces, Tracing
from asphalt.analysis.names.scopes import Scopes
from asphalt.ir.program import Located

_Values = Mapping[ProcedureKey, Summary | None]
_Locate = Callable[[ProcedureKey], Located | None]


class _UnknownError(Exception):
    """A summary is asked for that is not known."""


class SameSummaries:
    """The summaries of a program, ``before``, that another one has, too.

    ``scopes``: of the other one.  ``edited``: the procedures whose text differs, if others see
    nothing of that except what they do.  ``locate_before`` and ``locate`` find procedures in the
    programs.
    """

    def __init__(
        self,
        before: Effects,
        scopes: Scopes,
        edited: Collection[ProcedureKey],
        locate_before: _Locate,
        locate: _Locate,
    ) -> None:
        self._before = before
        self._scopes = scopes
        self._edited = edited
        self._locate_before = locate_before
        self._locate = locate
        self._inputs: dict[ProcedureKey, tuple[ProcedureKey, ...] | None] = {}
        self._found: dict[ProcedureKey, bool] = {}

    def find(self, key: ProcedureKey) -> tuple[Effects, Located] | None:
        """Where to take the summary of a procedure from; None: it may be another one."""
        located = self._locate_before(key)
        if located is None or not self._is_same(key):
            return None
        return self._before, located

    def _is_same(self, key: ProcedureKey) -> bool:
        """Whether a summary and all those from which it follows are as they were."""
        if key in self._found:
            return self._found[key]
        waiting, seen = [key], {key}
        while waiting:
            one = waiting.pop()
            inputs = () if self._found.get(one) else self._inputs_of(one)
            if inputs is None:
                self._found[key] = False
                return False
            new = set(inputs) - seen
            seen |= new
            waiting += new
        self._found |= dict.fromkeys(seen, True)
        return True

    def _inputs_of(self, key: ProcedureKey) -> tuple[ProcedureKey, ...] | None:
        """The procedures from whose summaries the one of a procedure follows that it had before;
        None: it may be another one."""
        if key not in self._inputs:
            self._inputs[key] = self._edited_inputs(key) if key in self._edited else self._own(key)
        return self._inputs[key]

    def _own(self, key: ProcedureKey) -> tuple[ProcedureKey, ...] | None:
        located = self._locate_before(key)
        if located is None:
            return None
        self._before.summary(located)
        return self._before.inputs(key)

    def _edited_inputs(self, key: ProcedureKey) -> tuple[ProcedureKey, ...] | None:
        """The same for an edited procedure, which is looked at."""
        before, after = self._locate_before(key), self._locate(key)
        if before is None or after is None:
            return None
        inputs = self._evaluated(after, {}, self._before.summary(before))
        if inputs is None or not any(self._reaches_edited(one) for one in inputs):
            return inputs
        evaluations = self._before.evaluations(key)
        if evaluations is None:
            return None
        same = (self._evaluated(after, dict(asked), value) for asked, value in evaluations)
        return inputs if all(one is not None for one in same) else None

    def _evaluated(
        self, located: Located, values: _Values, expected: Summary | None
    ) -> tuple[ProcedureKey, ...] | None:
        """The procedures from whose summaries the expected one of another one follows, and nothing
        else; None: it does not.  ``values``: some of these summaries; the others are final and
        depend on no edited procedure.  {}: all are final."""

        def elsewhere(key: ProcedureKey) -> tuple[Effects, Located] | None:
            other = self._locate_before(key)
            if other is None or (values and self._reaches_edited(key)):
                raise _UnknownError
            return self._before, other

        effects = Effects(
            self._scopes,
            self._before.assumed,
            lambda: (Known(values, {}),),
            elsewhere,
            Tracing(Traces(), lambda key: False),
            self._locate,
        )
        try:
            same = effects.summary_from_others(located) == expected
        except _UnknownError:
            return None
        return effects.inputs(effects.key(located)) if same else None

    def _reaches_edited(self, key: ProcedureKey) -> bool:
        """Whether a summary may depend on that of an edited procedure."""
        waiting, seen = [key], {key}
        while waiting:
            one = waiting.pop()
            inputs = None if one in self._edited else self._own(one)
            if inputs is None:
                return True
            new = set(inputs) - seen
            seen |= new
            waiting += new
        return False
