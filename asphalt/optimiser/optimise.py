"""The optimiser: transformations of transfers between two ranks, applied until none finds a step.

Danalis et al., ICS 2009, figure 2.  After every step the file is unparsed, read again and analysed
anew, so that each step is proved for the text that will stand there.  First loops that only
communicate are unrolled, procedures that exchange messages are inlined and branches of constants
decided, which is kept only if it brings more transfers beside work.  Then four kinds of steps:
the receives of a loop that works on what they bring are posted before it, other blocking transfers
become non-blocking, branches are split behind what starts a transfer, and code motion fills the
overlap windows that come of it.  The second and the third gain nothing by themselves: a transfer
whose window stays empty is left blocking, and everything is done again without it; branches are
split only if windows get more work by it.  Then, waits for several operations are split into waits
for one each, and nests behind a wait into interior and edges, one after the other; a split is kept
if code motion then finds more work for a window.  What a branch keeps back goes into its arms, one
copy for each path, if one of them has work to pass.  Waits leave loops, with what needs them, where
each iteration has a request and buffers of its own.  Then an interior is shared by the windows that
it could stand in.  Last, sends leave from copies.  All of it is tried with loops that begin behind
their first work, too, where they end with receives; and what is made of it, where they end with
what takes messages that were posted ahead.
And all of that again, with what came of it, until nothing more is found.

Nothing of that is kept that loses: ``gain`` says what a unit costs on a fast and on a slow network,
and what a renamed buffer, messages that are received or sent through copies, split nests, and
all of it together may not cost more than the unit did without it.  (Danalis et al.
report that their greedy order once cloned a buffer at a loss, section 6.)
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.outcome import FIXPOINT as FIXPOINT
from asphalt.optimiser.outcome import Done as Done
from asphalt.optimiser.outcome import Dropped as Dropped
from asphalt.optimiser.outcome import Optimised as Optimised
from asphalt.optimiser.preparation import Driver
from asphalt.optimiser.program_starts import staying
from asphalt.optimiser.rounds import optimised
from asphalt.optimiser.unit_state import Workshop
from asphalt.support.garbage_collection import rare_collections

_EVERYTHING = Options()
_ALONE = Context()


def optimise(
    tree: Tree, located: Located, options: Options = _EVERYTHING, context: Context = _ALONE
) -> Optimised:
    """The best that the passes make of a unit of a tree."""
    shop = Workshop(tree, *key_of(located), options, context)
    unchanged = Driver(shop).why_unchanged()
    if unchanged is not None:
        return Optimised(located.path, located.unit.name, None, (), (), (), unchanged)
    with rare_collections():
        found = optimised(shop)
        return replace(found, staying=staying(shop, found), whole=shop.whole)
