"""Redundant communication removal: an exchange that repeats an earlier one is left out.

Before::

    call exchange(h)
    do j = 1, ny
      dh(:, j) = slope(h(:, j-1), h(:, j+1))
    end do
    call exchange(h)

After::

    call exchange(h)
    do j = 1, ny
      dh(:, j) = slope(h(:, j-1), h(:, j+1))
    end do

What the second exchange would bring is there already (Choi and Snyder, ICPP 1997, section 2).  The
statement is a call of MPI_SENDRECV, or of a procedure that sends and receives and completes all
that it starts.  Conditions:

- Both statements are the same, stand in one list, and the second is executed only behind the first.
- It is a *whole* exchange: what all ranks send in one execution, they receive in the same one.  All
  ranks reach it equally often; no other call of the program has its tags; the partners, tags and
  communicators of a rank, and the conditions of its messages, do not change from the first message
  of the program to the last one.
- It is *idempotent*: it changes nothing that it sends.
- Nothing between the two may change, on any rank, what it reads or writes: all ranks execute the
  same text, so that what is changed on one rank only may be changed.
- It orders nothing that is seen from outside.  Between the two there is no output, no reading of a
  clock, no call whose effects are not seen.  Nor is there input or output both before and behind
  them, without a barrier or a reduction of all ranks between: two exchanges order what a rank does
  and what the neighbours of its neighbours do later, one does not.  The program has no
  MPI_ANY_SOURCE or MPI_ANY_TAG, polls nothing, and ranks share no files, windows or memory.

A program in which every send is received, as MPI demands, remains one; a rank only waits less often
for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.repetition.repeated_exchanges import Repeated, repeated_in
from asphalt.analysis.verdicts.exchange_codes import REPEATED
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Node, Unit, leaves
from asphalt.transforms.rewriting.checked_sizes import can_check, with_checked_sizes
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list, why_not_removable
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation


@record
class LeftOut(Step):
    """An exchange to leave out; ``path``: to its list, and its position there.  ``text``: its
    statement, or the name of the procedure.  ``sizes``: named constants that must be positive."""

    path: tuple[int, ...]
    text: str
    sizes: frozenset[str]


def check(facts: UnitFacts) -> Iterator[Found]:
    """The exchanges of a unit that repeat an earlier one: a step, or why one stays."""
    said = TransferDirectives(facts.located)
    for path, siblings in lists_in(facts.unit.body):
        for found in repeated_in(path, siblings, facts):
            if said.skipped(found.leaf) is None:
                yield _judged(found, siblings, facts)


def _judged(found: Repeated, siblings: tuple[Node, ...], facts: UnitFacts) -> Found:
    position = found.path[-1]
    following = siblings[position + 1] if position + 1 < len(siblings) else None
    first = facts.at(found.first)
    why = found.why_not or why_not_removable(found.leaf, following)
    if why is None and found.sizes and not can_check(facts):
        why = f"it needs {', '.join(sorted(found.sizes))} > 0"
    what = found.leaf.what
    assert isinstance(what, Call)
    name = getattr(what.procedure, "spelled", "the exchange")
    body = found.leaf.body
    if why is not None:
        message = f"{name} repeats the exchange of {first}, and stays: {why}"
        return Refused(REPEATED, message, found.leaf.span, first)
    return LeftOut(
        line_of(found.leaf),
        f"{name} of {facts.at(found.leaf)} is left out: {first} has exchanged the same",
        (
            "all that is sent in it is received in it, on all ranks",
            f"nothing has changed what it sends or receives since {first}",
        ),
        found.path,
        name if body is None or "\n" in body else body,
        found.sizes,
        assumed=found.assumed,
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit without one exchange."""
    assert isinstance(step, LeftOut)
    position = step.path[-1]

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        node, before, after = nodes[position], nodes[:position], nodes[position + 1 :]
        make = maker_at(node, facts.located.form, facts.eol)
        told = make.comment(f"asphalt: {step.text} is left out, for it repeats an earlier one")
        return (*before, in_front(after[0], (*next(leaves(node)).lead, told)), *after[1:])

    unit = replace(facts.unit, body=rewrite_list(facts.unit.body, step.path, change))
    return with_checked_sizes(unit, step.sizes, facts)


TRANSFORMATION = Transformation(
    "redundant communication removal",
    Pass.REMOVAL,
    Phase.EXCHANGES,
    "An exchange that repeats an earlier one is left out on all ranks.",
    check,
    apply,
)
