"""Why a nest behind a wait, or before a start, is not split into its interior and its edges."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

ORDER = Code(
    "ASP060",
    "the iterations of a nest depend on each other",
    "One iteration reads or writes what another one writes (a sum, a recurrence, a variable that "
    "keeps its value), or something is read behind the loops that the last iteration leaves.  "
    "The interior and the edges would be executed in another order.",
    "Store what an iteration computes in an element of its own.",
)
STATEMENT = Code(
    "ASP061",
    "a nest does more than compute",
    "Input or output, a call that cannot be seen through, a way out of the loops, a construct "
    "name, a directive, or a label that does more than end loops at a CONTINUE: it cannot be "
    "written a second time, or executed in another order.",
    "Take such statements out of the nest.",
)
SHAPE = Code(
    "ASP062",
    "what a nest has to do with a message is not at the ends of its loops",
    "The iterations that meet what is under way, or define what is sent, are not a small constant "
    "number of the first or last iterations of perfectly nested loops with the step 1, whose "
    "bounds do not depend on each other; or it is not known which they are.",
    "Write the loops over the dimensions that have a halo directly inside of each other, with "
    "simple bounds.",
)
DIGITS = Code(
    "ASP063",
    "other bounds of an innermost loop may change last digits",
    "The innermost loop would be split, shared or cut into tiles, so that it gets other bounds, "
    "each of its iterations would send or receive a block, or it would come to the place of a "
    "call with its procedure, and it evaluates functions such as "
    "SIN or EXP, or a power.  A compiler may use their vector versions for other elements than "
    "before, which changes last digits.  A loop inside of it does "
    "not count where it has few iterations, known when compiling, or where the variable of the "
    "outer one is in the second or a later subscript of no array there: compilers unroll such "
    "loops, or vectorise the outer one.",
    "Compute such functions in a loop of their own, or accept it with `--assume bits` or a "
    "directive `!$asphalt assume(bits)` among the declarations; for tiles and blocks, also in "
    "front of the call.",
)
LONG = Code(
    "ASP064",
    "a nest is too long to be written more than once",
    "The interior and the edges have the same statements, and there are many of them.",
    "Put the statements of an iteration into a pure procedure.",
)

CODES = (ORDER, STATEMENT, SHAPE, DIGITS, LONG)
