"""Why a collective operation stays one, or the receives of a loop stay in it."""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.verdicts.verdict import Code, Mark, Refused
from asphalt.ir.tree import Leaf

BLOCKS = Code(
    "ASP080",
    "the blocks of a collective operation are not known",
    "The operation would become messages, one for each block, if it were known which elements of a "
    "buffer belong to a block: the buffer may have other names or another type than the datatype, "
    "does not begin with a plane of its array, a block is not made of whole planes (of a "
    "broadcast and of MPI_ALLTOALLW: the buffer has one dimension, and no planes), or arrays of "
    "counts and displacements are not whole arrays with an element for each rank.",
    "Let the buffer be an array whose last dimension is that of the blocks, and pass it from its "
    "beginning.",
)
LOOP = Code(
    "ASP081",
    "no loop works on one block of a collective operation after the other",
    "The statements before or behind the operation that use its buffer are not one loop whose "
    "iterations each use the one block that its variable says; the loop does not count by 1 from "
    "one default integer to another, has a label or a name, or does no work.",
    "Let a loop over the ranks fill or use one block in each iteration, and nothing else use the "
    "buffer beside it.",
)
BESIDE = Code(
    "ASP082",
    "something stands between a collective operation and the loop over its blocks",
    "A statement between the loop and the operation, or in the loop, communicates, cannot be seen "
    "through, has an effect that can be seen, or touches what is on its way; of a broadcast, the "
    "loop changes what this rank still sends on.",
    "Move it in front of the first loop or behind the last one.",
)
ORDER = Code(
    "ASP083",
    "the iterations of a loop over blocks keep their order",
    "Each rank would begin with another block, lest all wait for the same rank.  An iteration "
    "needs what another one has computed, as in a sum, or something is read behind the loop that "
    "its last iteration leaves.",
    "Store what an iteration computes in an element of its own.",
)
DECIDED = Code(
    "ASP084",
    "what a loop receives is not known before it",
    "All receives of the loop would be posted before it, if the number of its iterations, the "
    "conditions around the receives, and their counts, ranks and tags were known then.  The loop, "
    "or what it receives, changes one of them, or a procedure is called to evaluate it.",
    "Compute counts, ranks and conditions before the loop.",
)
PLACE = Code(
    "ASP085",
    "a receive of a loop keeps its place among other messages",
    "A receive takes a message from any source or with any tag, another one of the loop may get "
    "its message, or the loop has something in it that has to stay where it is: a directive, "
    "input or output, a call that cannot be seen through.",
    "Name source and tag of each receive, and give different messages different tags.",
)
COPIES = Code(
    "ASP086",
    "posting the receives of a loop before it is not worth the copies",
    "Each message would be received into a copy of its own and copied to its buffer later.  There "
    "is no work in the loop that could hide that, or a message is longer than the memory for "
    "copies.",
    "Let the loop compute with what it receives; raise `--clone-limit` for longer messages.",
)

CODES = (BLOCKS, LOOP, BESIDE, ORDER, DECIDED, PLACE, COPIES)
DECOMPOSITION = (BLOCKS, LOOP, BESIDE, ORDER)
EXPANSION = (DECIDED, PLACE, COPIES)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a loop is none over blocks, or receives stay in theirs; ``leaf``: where;
    ``lifted_by``: what would have to be assumed."""

    code: Code
    message: str
    leaf: Leaf | None = None
    lifted_by: str | None = None


def refused_at(obstacle: Obstacle, message: str, leaf: Leaf) -> Refused:
    """The refusal of what ``leaf`` does; the witness is the place of the obstacle."""
    place = leaf.span if obstacle.leaf is None or obstacle.leaf.span is None else obstacle.leaf.span
    marks = () if place is None else (Mark(place, "offending", obstacle.message),)
    witness = None if place is None else f"{place.file}:{place.first}"
    return Refused(obstacle.code, message, leaf.span, witness, marks, lifted_by=obstacle.lifted_by)
