"""Mutants of what divides nests among messages or takes messages later, and of values that only one
statement reads."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from asphalt.analysis.data_flow.temporaries import Temporaries
from asphalt.running.mpi import SMPI
from asphalt.transforms.loops import sharing
from asphalt.transforms.motion import later_receives
from fuzz.transfer_mutant import Switch, TransferMutant, off


def mutants() -> Iterator[TransferMutant]:
    """All of them."""
    yield from _of_sharing()
    yield TransferMutant("taking: order", "result_needed", _unordered(later_receives), gainful=True)
    yield TransferMutant(
        "data: what only one statement reads", "read_before",
        off(Temporaries, "_is_not_read", True),
    )  # fmt: skip
    yield TransferMutant(
        "data: what is defined first", "read_before",
        off(Temporaries, "_is_defined_first", True),
    )  # fmt: skip


def _of_sharing() -> Iterator[TransferMutant]:
    def mutant(name: str, near: str, *switches: Switch) -> TransferMutant:
        return TransferMutant(f"sharing: {name}", near, switches, gainful=True)

    yield mutant("order", "changed_between", *_unordered(sharing))
    variable = (*off(sharing, "is_local", True), *off(sharing, "is_dead_after", True))
    yield mutant("variables", "turn_read_behind", *variable)
    digits = off(sharing, "why_other_digits", None)
    yield TransferMutant(
        "sharing: digits", "rounded_in_parts", digits, ((SMPI, "-O3"),), gainful=True
    )


def _unordered(module: object) -> tuple[Switch, ...]:
    """For one transformation, any two statements may change places."""
    order = SimpleNamespace(why_not=lambda *statements: None)
    free = SimpleNamespace(of=lambda facts: order)
    return (Switch(module, "Independence", lambda original: free),)
