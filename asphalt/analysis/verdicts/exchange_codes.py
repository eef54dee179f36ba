"""Why an exchange is not left out, although an earlier one is the same."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

REPEATED = Code(
    "ASP090",
    "an exchange that repeats an earlier one stays",
    "The statement is the same as an earlier one, and would be left out on all ranks together.  "
    "One of these is in the way: something between the two may change what it sends or what it "
    "receives; something between the two, or both before and behind them, is seen from outside "
    "(input, output, a reading of a clock), so that the messages may order it; the program may see "
    "when a message is sent (MPI_ANY_SOURCE, MPI_ANY_TAG, a probe or test, files, windows or "
    "memory that ranks share); it is not proved that what all ranks send there they receive there; "
    "or the exchange changes what it sends.",
    "Nothing has to be done.  If you know that the exchange is not needed, remove it.",
)

CODES = (REPEATED,)
