"""What stands for a mutant of the passes for transfers between two ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from asphalt.config.passes import TRANSFERS
from asphalt.gain.model import Price
from asphalt.running.mpi import MPICH, SMPI, Mpi
from fuzz.mutation import Replacement

Runs = tuple[tuple[Mpi, str], ...]
USUAL: Runs = ((SMPI, "-O0"), (MPICH, "-O0"))
ON_MPICH: Runs = ((MPICH, "-O0"),)


@dataclass(frozen=True)
class Switch:
    """One function or property of a module or class of asphalt, and what stands for it."""

    owner: object
    name: str
    replacement: Callable[[Replacement], Any]


@dataclass(frozen=True)
class TransferMutant:
    """``runs``: where what comes of it is run, with which level of the compiler, in this order;
    ``gainful``: nothing is left out because it costs more than it gains; ``also``: the other
    condition that forbids the same, so that nothing can fail.  ``passes``: that run.
    """

    name: str
    near: str
    switches: Sequence[Switch]
    runs: Runs = USUAL
    gainful: bool = False
    also: str = ""
    passes: Sequence[str] = TRANSFERS

    @contextmanager
    def active(self, *, off: bool = True) -> Iterator[None]:
        """Asphalt with the condition switched off, or else as the mutant is compared with."""
        costs = _NO_COSTS if self.gainful else ()
        with ExitStack() as stack:
            for switch in (*costs, *(self.switches if off else ())):
                new = switch.replacement(getattr(switch.owner, switch.name))
                stack.enter_context(patch.object(switch.owner, switch.name, new))
            yield


def always(value: Any) -> Callable[[Replacement], Replacement]:
    """A function that only ever returns one value."""
    return lambda original: lambda *args, **named: value


def property_of(value: Any) -> Callable[[Replacement], Any]:
    """A property that always has one value."""
    return lambda original: property(lambda self: value)


def off(owner: object, name: str, value: Any) -> tuple[Switch, ...]:
    """A function that always gives the same answer."""
    return (Switch(owner, name, always(value)),)


_NO_COSTS = (*off(Price, "gains", True), *off(Price, "loses", False))
