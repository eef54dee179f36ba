"""Mutants of what executes nests in tiles: waves over the ranks, and exchanges written out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from asphalt.analysis.conditions import open_coded
from asphalt.analysis.exchange import open_coded_blocks, open_coded_sites
from asphalt.analysis.exchange.open_coded_exchange import NotAnExchange
from asphalt.analysis.messages.sole_pair import SolePair
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling import equal_parts
from asphalt.analysis.tiling.tiled_groups import Fusion
from asphalt.config.passes import PASSES
from asphalt.ir.expr import Expr
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Node
from asphalt.running.mpi import SMPI
from asphalt.transforms.rewriting.make import add, num
from asphalt.transforms.tiling import wave_pipelines
from asphalt.transforms.tiling.wave_pipelines import Finder
from fuzz.mutation import Replacement
from fuzz.transfer_mutant import Switch, TransferMutant, off


def mutants() -> Iterator[TransferMutant]:
    """All of them."""
    yield from _of_pipelines()
    yield from _of_exchanges()


def _of_pipelines() -> Iterator[TransferMutant]:
    yield TransferMutant("ASP065 other messages", "other_part", off(SolePair, "why_not", None))
    yield TransferMutant("ASP065 counts", "other_count", off(Finder, "_alike", True))
    yield TransferMutant(
        "ASP066 gaps",
        "gaps_in_parts",
        (Switch(equal_parts, "reference_contiguity", _whole),),
        also="ASP021: a message with such a buffer is not cut, since it may be a copy",
    )
    yield TransferMutant("ASP066 columns", "beyond_a_column", off(equal_parts, "_fits", True))
    yield TransferMutant(
        "ASP066 iterations", "fewer_iterations", (Switch(Finder, "_trips", _same_trips),)
    )
    yield TransferMutant("ASP067 later parts", "later_part", off(Fusion, "why_not", None))
    yield TransferMutant("ASP067 values", "carried_on", off(Fusion, "_passes_nothing_on", True))
    yield TransferMutant(
        "ASP068 between", "between_the_messages", (Switch(Finder, "_moved", _all_behind),)
    )
    yield TransferMutant(
        "ASP068 arguments",
        "target_set",
        off(Finder, "_changed", None),
        also="ASP067: each tile reads the arguments of its message",
    )
    yield TransferMutant("ASP068 ways out", "leaves_the_nest", off(Fusion, "why_not_alone", None))
    digits = off(wave_pipelines, "why_other_digits", None)
    yield TransferMutant("ASP063 digits of tiles", "rounding_in_tiles", digits, ((SMPI, "-O3"),))


def _of_exchanges() -> Iterator[TransferMutant]:
    """Of what tiles exchanges that are written out."""

    def mutant(name: str, near: str, *switches: Switch) -> TransferMutant:
        return TransferMutant(name, near, switches, passes=PASSES)

    blocks, sites = open_coded_blocks, open_coded_sites
    yield mutant(
        "ASP073 other messages", "same_tag_elsewhere", *off(open_coded, "why_others", None)
    )
    yield mutant(
        "ASP072 work between", "work_amid", Switch(sites, "sorted_out", _first_alone),
    )  # fmt: skip
    yield mutant("ASP071 what is left", "something_left", *off(sites, "why_incomplete", None))
    yield mutant("ASP070 own blocks", "other_block", *off(blocks, "_wrong_copy", None))
    yield mutant("ASP070 tags", "two_tags", *off(blocks, "_one_tag", 5))
    yield mutant("ASP070 ranks", "rank_less", Switch(blocks, "peers_of", _all_ranks))


def _first_alone(original: Replacement) -> Replacement:
    """Of the assignments between messages and wait, all but the first one are not there."""

    def sorted_out(nodes: tuple[Node, ...], scope: Scope) -> Any:
        found = original(nodes, scope)
        if not isinstance(found, NotAnExchange):
            del found.copies[1:]
        return found

    return sorted_out


def _all_ranks(original: Replacement) -> Replacement:
    """A ring that leaves out a rank comes to all of them."""

    def peers_of(loop: Do, peer: Expr, own: Poly | None) -> Any:
        found = original(loop, peer, own)
        if not isinstance(found, str) or not isinstance(loop.head.what, DoHead):
            return found
        last = loop.head.what.last
        assert last is not None
        longer = DoHead("count", loop.head.what.var, loop.head.what.first, add(last, num(1)))
        return original(replace(loop, head=replace(loop.head, what=longer)), peer, own)

    return peers_of


def _whole(original: Replacement) -> Replacement:
    """Every reference is without gaps."""

    class Whole:
        yes = True

    return lambda *args: Whole()


def _same_trips(original: Replacement) -> Replacement:
    """All loops of a unit have the iterations of its first one that is understood."""

    def trips(self: Finder, loop: Any) -> Any:
        found = original(self, loop)
        if found is None:
            return None
        return self.__dict__.setdefault("first_trips", found)

    return trips


def _all_behind(original: Replacement) -> Replacement:
    """What can neither come before the tiles nor behind them comes behind."""

    def moved(self: Finder, siblings: Any, groups: Any, others: list[int]) -> Any:
        answer = original(self, siblings, groups, others)
        return ((), tuple(others)) if isinstance(answer, str) else answer

    return moved
