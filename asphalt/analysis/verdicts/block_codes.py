"""Why a collective operation is not decomposed, or receives of a loop are not posted before it."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code, Mark, Refused
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

BLOCKS = Code(
    "ASP080",
    "the blocks of a collective operation are not known",
    "asphalt could replace the operation by one message for each block, but does not know which "
    "elements of a buffer belong to a block.  One of these holds: the buffer may have other "
    "names; its type is not that of the datatype; it does not begin with a plane of its array; a "
    "block is not made of whole planes (for a broadcast and MPI_ALLTOALLW: the buffer has one "
    "dimension, and no planes); the counts or displacements are not whole arrays with one element "
    "for each rank.",
    "Let the buffer be an array whose last dimension is that of the blocks, and pass it from its "
    "beginning.",
)
LOOP = Code(
    "ASP081",
    "no loop fills or uses the blocks of a collective operation one by one",
    "One of these holds: the statements before or behind the operation that access its buffer are "
    "not one loop whose iterations each access one block, that with the number of the iteration; "
    "the loop does not count by 1 between two default integers; it has a label or a name; it does "
    "no work.",
    "Let a loop over the ranks fill or use one block in each iteration, and no other statement "
    "there access the buffer.",
)
BESIDE = Code(
    "ASP082",
    "a statement stands between a collective operation and the loop over its blocks",
    "A statement between the loop and the operation, or in the loop, communicates, calls a "
    "procedure with unknown effects, has a visible side effect, or accesses a buffer "
    "of a message in progress.  Or, for a broadcast, the loop changes what this rank still has to "
    "send on.",
    "Move it in front of the first loop or behind the last one.",
)
ORDER = Code(
    "ASP083",
    "the iterations of a loop over blocks cannot be reordered",
    "Each rank would begin with another block, so that not all ranks wait for the same one.  But "
    "an iteration uses what another one computes, as in a sum, or a statement behind the loop "
    "reads what its last iteration leaves.",
    "Store what an iteration computes in an element of its own.",
)
DECIDED = Code(
    "ASP084",
    "what a loop receives is not known before the loop",
    "asphalt would post all receives of the loop before it.  That requires the trip count, the "
    "conditions around the receives, and their counts, ranks and tags to be known there.  But the "
    "loop, or a message that it receives, changes one of them, or evaluating one calls a "
    "procedure.",
    "Compute counts, ranks and conditions before the loop.",
)
PLACE = Code(
    "ASP085",
    "a receive of a loop cannot move past other messages",
    "One of these holds: a receive accepts any source or any tag; another receive of the loop may "
    "match its message; the loop contains a statement that cannot move: a directive, input or "
    "output, or a call with unknown effects.",
    "Name source and tag of each receive, and give different messages different tags.",
)
COPIES = Code(
    "ASP086",
    "posting the receives of a loop before it is not worth the copies",
    "Each message would be received into its own copy of the buffer and copied later.  But the "
    "loop has no computation that could hide that, or a message is larger than the memory for "
    "copies.",
    "Let the loop compute with what it receives; raise `--clone-limit` for longer messages.",
)

CODES = (BLOCKS, LOOP, BESIDE, ORDER, DECIDED, PLACE, COPIES)
DECOMPOSITION = (BLOCKS, LOOP, BESIDE, ORDER)
EXPANSION = (DECIDED, PLACE, COPIES)


@record
class Obstacle:
    """Why a loop does not work block by block, or its receives cannot move; ``leaf``: where;
    ``lifted_by``: the assumption that would lift it."""

    code: Code
    message: str
    leaf: Leaf | None = None
    lifted_by: str | None = None


def refused_at(obstacle: Obstacle, message: str, leaf: Leaf) -> Refused:
    """The refusal of the transformation of ``leaf``; the witness is the place of the obstacle."""
    place = leaf.span if obstacle.leaf is None or obstacle.leaf.span is None else obstacle.leaf.span
    marks = () if place is None else (Mark(place, "offending", obstacle.message),)
    witness = None if place is None else f"{place.file}:{place.first}"
    return Refused(obstacle.code, message, leaf.span, witness, marks, lifted_by=obstacle.lifted_by)
