"""Messages that the program starts and completes itself.

Before::

    call MPI_Isend(east, m*n, MPI_DOUBLE_PRECISION, right, 1, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)

asphalt can write ``asphalt_isend`` and ``asphalt_wait`` instead, which start and complete the same
operation (MPI-4.0 section 3.7), as for a blocking call.  Conditions:

- The request is a variable that nothing else accesses.
- Exactly one wait always completes the message, and nothing else.
- The program does not read the status of that wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, Way, envelopes_of, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.names.references import named_by
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, Ref, Section, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Guarded, Opaque, Raw
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.motion.windows import OverlapWindow, windows_of
from asphalt.transforms.nonblocking.rules import Rules, is_code_lost, is_read
from asphalt.transforms.nonblocking.sides import started_side
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.tiling.message_tiles import MessageSpan
from asphalt.transforms.tiling.whole_messages import holds_directly

_ONE = "mpi_wait"


@record
class _Named:
    """A request: the variable, and the subscript of an element of one dimension."""

    name: str
    subscript: int | None


class OwnStarts:
    """The messages that the program starts itself in one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.messages = facts.once(Messages)
        self._rules = Rules(facts, facts.once(Independence.of))
        self._judged: dict[int, tuple[Leaf, str | None]] = {}

    def messages_of(self, siblings: tuple[Node, ...]) -> Iterator[MessageSpan]:
        """The messages that statements of a list start, each up to its wait; with the reason if
        asphalt cannot replace their calls."""
        for window in windows_of(siblings, self.messages):
            if self._is_own(window.call) and self.why_not(window.start, window.call) is None:
                (end,) = self.messages.completion(window.start) or ()
                yield _message(window.start, window.call, (window.first, end, window.last))
        for position, node in enumerate(siblings):
            call = self.messages.call(node) if isinstance(node, Leaf) else None
            if call is None or not isinstance(node, Leaf) or not self._is_own(call):
                continue
            why = None if self.facts.executed.never(node) else self.why_not(node, call)
            if why is not None:
                yield _message(node, call, (position, *self._end(node, siblings)), why)

    def _end(self, start: Leaf, siblings: tuple[Node, ...]) -> tuple[Leaf, int]:
        """A statement of the list that may complete a message, with its position; else the last of
        the list, which stands for one that is not known."""
        place = {id(leaf): n for n, node in enumerate(siblings) for leaf in leaves(node)}
        ends = self.messages.completion(start) or ()
        found = ((end, place[id(end)]) for end in ends if id(end) in place)
        return next(found, (start, len(siblings) - 1))

    def why_not(self, start: Leaf, call: MpiCall) -> str | None:
        """Why the start of a message and its wait cannot be replaced."""
        if id(start) not in self._judged:
            self._judged[id(start)] = start, self._why_not(start, call)
        return self._judged[id(start)][1]

    def _is_own(self, call: MpiCall) -> bool:
        """Whether a call of the program starts one message between two ranks."""
        if call.binding == "runtime" or stage_of(call) is not Stage.START:
            return False
        return len(envelopes_of(call) or ()) == 1 and "request" in call.args

    def _why_not(self, start: Leaf, call: MpiCall) -> str | None:
        side = started_side(call)
        if side is None:
            return f"line {line_of(start)}: the mode of {call.procedure.spelled} cannot change"
        judged = self._rules.judged(start, call, (side,))
        if isinstance(judged, Refused):
            return judged.message
        request = self._named(call.args["request"])
        if request is None or not is_local(request.name, self.facts):
            return f"line {line_of(start)}: its request is no local variable that no others see"
        if is_code_lost(start, call, self.facts):
            return f"line {line_of(start)}: its error code is read"
        return (
            self._why_not_alone(request)
            or self._why_not_completed(start)
            or self._why_not_around(start)
        )

    def _named(self, request: Arg) -> _Named | None:
        if not isinstance(request, Ref):
            return None
        symbol = self.facts.scope.lookup(request.name)
        dims = None if symbol is None else symbol.dims
        if symbol is None or symbol.attrs & {"allocatable", "pointer"}:
            return None
        if request.args is None:
            return _Named(request.name, None) if dims is None else None
        if dims is None or len(request.args) != 1:
            return None
        (subscript,) = request.args
        if isinstance(subscript, Section | Keyword | AltReturn):
            return None
        value = self.facts.values.constants(subscript).value
        return None if value is None else _Named(request.name, int(value))

    def _why_not_alone(self, request: _Named) -> str | None:
        """What else knows a request than starts and waits for it, each wait behind a start."""
        starts: list[Leaf] = []
        ends: list[Leaf] = []
        for leaf in self._naming(request.name):
            call = self.messages.call(leaf)
            where = f"line {line_of(leaf)}"
            if call is None and self._is_null(leaf):
                continue
            part = Stage.OTHER if call is None else stage_of(call)
            own = None if call is None else self._named(call.args.get("request", Ref("", "")))
            if part not in (Stage.START, Stage.COMPLETE) or _times(request.name, leaf, call) != 1:
                return f"{where} may use its request"
            if own is None:
                return f"{where}: which requests it has is not known, or they are several"
            if own == request:
                (starts if part is Stage.START else ends).append(leaf)
        for end in ends:
            if not self.messages.follows(end, starts, ends):
                return f"line {line_of(end)} may wait where nothing was started"
        return None

    def _naming(self, name: str) -> Iterator[Leaf]:
        """The statements that have a name in them."""
        for leaf in (leaf for node in self.facts.unit.body for leaf in leaves(node)):
            names = named_by(leaf.what)
            if names is None or name in names:
                yield leaf
        for leaf in (leaf for node in self.facts.unit.spec for leaf in leaves(node)):
            what = leaf.what
            if isinstance(what, Raw | Opaque) and name in what.code.lower():
                yield leaf  # NAMELIST, say

    def _is_null(self, leaf: Leaf) -> bool:
        """Whether a statement only says that nothing is under way."""
        what = leaf.action
        if not isinstance(what, Assign) or not isinstance(what.value, Ref):
            return False
        return mpi_constant(what.value, self.facts.scope) == "mpi_request_null"

    def _why_not_completed(self, start: Leaf) -> str | None:
        """Why no single wait completes a message and nothing else, with a status and an error code
        that are not read."""
        ends = self.messages.completion(start)
        if not ends:
            return f"line {line_of(start)}: it is not known what completes it"
        if len(ends) > 1:
            lines = " and ".join(str(line_of(end)) for end in ends)
            return f"lines {lines} may complete it"
        (end,) = ends
        where, wait = f"line {line_of(end)}", self.messages.call(end)
        if wait is None or wait.operation != _ONE:
            return f"{where} waits for others, too"
        if len(self.messages.completed_by(end) or ()) != 1:
            return f"{where} may wait for others, too"
        status = wait.args.get("status")
        if status is not None and is_read(status, end, self.facts):
            return f"{where}: its status is read"
        judged = self._rules.judged(end, wait, ())
        if isinstance(judged, Refused):
            return judged.message
        return f"{where}: its error code is read" if is_code_lost(end, wait, self.facts) else None

    def _why_not_around(self, start: Leaf) -> str | None:
        """Why start and wait do not belong to one list of statements."""
        window = self._windows.get(id(start))
        if window is None:
            (end,) = self.messages.completion(start) or ()
            return f"line {line_of(end)} waits for it in another construct"
        return None

    @cached_property
    def _windows(self) -> dict[int, OverlapWindow]:
        """Those whose start and wait stand in a list, or in a branch of it."""
        found: dict[int, OverlapWindow] = {}
        for _, siblings in lists_in(self.facts.unit.body):
            for window in windows_of(siblings, self.messages):
                (end, *_) = self.messages.completion(window.start) or (window.start,)
                both = (siblings[window.first], window.start), (siblings[window.last], end)
                if all(holds_directly(node, leaf) for node, leaf in both):
                    found[id(window.start)] = window
        return found


def _message(
    start: Leaf, call: MpiCall, places: tuple[int, Leaf, int], stays: str | None = None
) -> MessageSpan:
    side = started_side(call)
    (envelope,) = envelopes_of(call) or ()
    arguments = _given(call) if side is None else side.arguments
    starter = "" if side is None else side.start
    spelled = call.procedure.spelled
    first, end, last = places
    return MessageSpan(
        envelope.way is Way.IN, spelled, starter, arguments, start, first, end, last,
        is_own=True, stays=stays,
    )  # fmt: skip


def _given(call: MpiCall) -> tuple[Expr, ...]:
    """The arguments of a start up to the communicator."""
    kept = ("buf", "count", "datatype", "dest", "source", "tag", "comm")
    return tuple(call.args[name] for name in kept if name in call.args)


def _times(name: str, leaf: Leaf, call: MpiCall | None) -> int:
    """In how many arguments of a call, and conditions of it, a name is."""
    given = [] if call is None else [actual for _, actual in call.bound()]
    condition = (leaf.what.condition,) if isinstance(leaf.what, Guarded) else ()
    return sum(name in names_in(part) for part in (*given, *condition))
