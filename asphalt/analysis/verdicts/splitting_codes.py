"""Why a nest behind a wait, or before a start, is not split into its interior and its edges."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

ORDER = Code(
    "ASP060",
    "the iterations of a nest depend on each other",
    "The interior and the edges would be executed in another order.  But one iteration accesses "
    "what another one writes (a sum, a recurrence, a variable that keeps its value), or a "
    "statement behind the loops reads what the last iteration leaves.",
    "Store what an iteration computes in an element of its own.",
)
STATEMENT = Code(
    "ASP061",
    "a nest does more than compute",
    "The nest contains a statement that cannot be written a second time or executed in another "
    "order: input or output, a call with unknown effects, an exit from the loops, a "
    "construct name, a directive, or a label that does more than end loops at a CONTINUE.",
    "Take such statements out of the nest.",
)
SHAPE = Code(
    "ASP062",
    "the iterations that access a message are not the first or last ones of their loops",
    "The iterations that access a buffer in progress, or define what is sent, are not a small "
    "constant number of the first or last iterations of perfectly nested loops with step 1 and "
    "bounds that do not depend on each other; or asphalt does not know which iterations these are.",
    "Nest the loops over the dimensions that have a halo perfectly, with simple bounds.",
)
DIGITS = Code(
    "ASP063",
    "other bounds of an innermost loop may change the last digits of results",
    "The innermost loop evaluates functions such as SIN or EXP, or a power, and would be split, "
    "shared or cut into tiles, send or receive a block in each iteration, or be inlined with its "
    "procedure.  The compiler may then use the vector versions of these functions for other "
    "elements, which changes last digits.  Or loops that fill rows for it compute products, which "
    "the compiler may round at once with a sum in some parts.  A loop inside of it does not count "
    "if compilers unroll it (few iterations, known at compile time) or vectorise the outer one "
    "(whose variable is in no subscript there but the first).",
    "Compute such functions in a loop of their own, or accept the change with `--assume bits` or "
    "a directive `!$asphalt assume(bits)` among the declarations; for tiles and blocks, also in "
    "front of the call.",
)
LONG = Code(
    "ASP064",
    "a nest is too long to be written more than once",
    "The interior and the edges would each repeat the statements of the nest, which are many.",
    "Put the statements of an iteration into a pure procedure.",
)

CODES = (ORDER, STATEMENT, SHAPE, DIGITS, LONG)
