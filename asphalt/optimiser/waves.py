"""What a unit costs with a nest and the messages around it in tiles.

With tiles, the next rank begins earlier.  The price of a unit cannot show that, since the model
takes all ranks to be at the same statement; so ``gain.waves`` says what a wavefront saves.  A judge
that executes the program measures it.
"""

from __future__ import annotations

from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.analysis.names.designators import symbol_named
from asphalt.analysis.names.scopes import Scopes
from asphalt.gain.model import Model, Price
from asphalt.gain.segments import usual_tile
from asphalt.gain.waves import Wave, saved
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.tiling import pipelining
from asphalt.transforms.tiling.wave_pipelines import Pipeline


class Waves:
    """The prices of one unit."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop

    def prices(self, state: UnitState, step: Pipeline) -> tuple[Price, Price]:
        """What the unit costs before, and with a nest in tiles."""
        before, model = self.shop.price(state.tree), self.shop.model
        if not isinstance(model, Model):
            facts = self.shop.facts(state.tree)
            tiled = self.shop.applied(state, facts, pipelining.TRANSFORMATION, step)
            return before, self.shop.price(tiled.tree)
        wave = self._wave(state, step, model)
        gains = [saved(wave, network) for network in model.networks]
        return before, Price(tuple(b - g for b, g in zip(before.seconds, gains, strict=True)))

    def _wave(self, state: UnitState, step: Pipeline, model: Model) -> Wave:
        """The wave, with the sizes of now: the amount of its work was found with them."""
        facts = self.shop.facts(state.tree)
        plain = Scopes(facts.scope.program).of(facts.located)
        parts = step.send.parts
        assert parts is not None
        symbol = symbol_named(parts.buffer.name, facts.scope)
        element = None if symbol is None else element_bytes(symbol, facts.scope)
        number = constant(step.trips.number.expression(), plain) or 1
        each = constant(parts.each.expression(), plain) or 1
        loops = tuple(loop for group in step.groups for loop in group.loops)
        seconds = model.seconds(state.tree, self.shop.located(state.tree))
        tile = usual_tile(number, step.amount / number)
        return Wave(number, tile, float(each * (element or 1)), seconds(loops) / number)
