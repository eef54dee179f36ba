"""The producers of the first exchange of a program given as text."""

from __future__ import annotations

from asphalt.analysis.conditions import one_producer
from asphalt.analysis.exchange.producer import Producer, ProducerPhase, make_producer, tilable_loops
from asphalt.analysis.exchange.site import Exchange, exchanges
from asphalt.analysis.tiling.geometry import layout_of
from asphalt.analysis.tiling.layout import Layout, Misfit
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.tree import Do
from support.analysed import Analysed


def exchange_of(*texts: str, chain: tuple[str, ...] = ()) -> Exchange:
    """The first exchange of a unit (by default of the first)."""
    unit = Analysed(*texts, chain=chain)
    return exchanges(unit.located, unit.effects)[0]


def phases_of(exchange: Exchange) -> list[ProducerPhase]:
    """Every way to see a nest in front of the call as a phase: all loops that may be tiled."""
    return [
        ProducerPhase(position, loops)
        for position, node in enumerate(exchange.place.siblings[: exchange.place.position])
        if isinstance(node, Do)
        for loops in tilable_loops(node)
    ]


def together(exchange: Exchange, *variables: str) -> Producer:
    """The producer whose phases are tiled along these variables, one a nest, in order."""
    phases: list[ProducerPhase] = []
    for variable in variables:
        found = [
            phase
            for phase in phases_of(exchange)
            if phase.variable == variable and (not phases or phase.position > phases[-1].position)
        ]
        phases.append(found[0])
    producer = make_producer(exchange, tuple(phases), ())
    assert producer is not None
    return producer


def found_producers(exchange: Exchange) -> list[Producer]:
    """The producers that condition 1 proposes."""
    position = one_producer.definer(exchange)
    assert isinstance(position, int)
    found = one_producer.producers(exchange, position)
    return [producer for producer in found if not isinstance(producer, Refused)]


def layout(*texts: str) -> Layout | Misfit:
    """The layout of the most promising producer."""
    return layout_of(found_producers(exchange_of(*texts))[0])
