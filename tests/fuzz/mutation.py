"""Mutants of asphalt: each has one legality condition switched off.

A fuzzer that is worth its time finds a program that fails with each of them.  A mutant is asked
only about programs that asphalt itself judges by the condition; all others come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

from asphalt.analysis.conditions import (
    available,
    contiguous,
    finality,
    one_decision,
    one_producer,
    one_site,
    own_messages,
    pairing,
    parallel_producers,
    receive_side,
    same_bits,
    send_side,
    site,
    visible_effects,
)
from asphalt.analysis.conditions.one_decision import Decision
from asphalt.analysis.conditions.own_messages import Own
from asphalt.analysis.conditions.receive_side import Landing
from asphalt.analysis.exchange import packing_copy
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.verdicts.verdict import Holds, Refused
from asphalt.ir.tree import Do

OFF = Holds("switched off")
Replacement = Callable[..., Any]


@dataclass(frozen=True)
class Switch:
    """One function of asphalt and what stands for it."""

    module: ModuleType
    name: str
    replacement: Callable[[Replacement], Replacement]


@dataclass(frozen=True)
class Mutant:
    """``codes``: the verdicts of programs that it may treat differently (``proved`` included).

    ``runtime``: what is replaced in the run-time library, where that asks once more.
    """

    name: str
    codes: tuple[str, ...]
    switches: Sequence[Switch]
    runtime: tuple[tuple[str, str], ...] = ()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Asphalt with the condition switched off."""
        with ExitStack() as stack:
            for switch in self.switches:
                original = getattr(switch.module, switch.name)
                new = switch.replacement(original)
                stack.enter_context(patch.object(switch.module, switch.name, new))
            yield


def _holds(codes: Sequence[str]) -> Callable[[Replacement], Replacement]:
    def replacement(original: Replacement) -> Replacement:
        def check(*args: Any) -> Any:
            answer = original(*args)
            refused = isinstance(answer, Refused) and answer.code.id in codes
            return OFF if refused else answer

        return check

    return replacement


def _always(value: Any) -> Callable[[Replacement], Replacement]:
    return lambda original: lambda *args: value


def _apart(original: Replacement) -> Replacement:
    def check(*args: Any) -> Any:
        answer = original(*args)
        return Own(False, OFF) if isinstance(answer, Refused) else answer

    return check


def _without_assumptions(original: Replacement) -> Replacement:
    def check(*args: Any) -> Any:
        answer = original(*args)
        return replace(answer, assumptions=()) if isinstance(answer, Holds) else answer

    return check


def _nest_before(original: Replacement) -> Replacement:
    """The loop nest that writes the buffer, whatever else changes it behind."""

    def definer(exchange: Exchange) -> int | Refused:
        answer = original(exchange)
        if not isinstance(answer, Refused):
            return int(answer)
        siblings = exchange.place.siblings
        buffer = next(iter(exchange.call.bound()))[1]
        name = getattr(buffer, "name", "")
        storage = exchange.names.storage(name) if name else ""
        for position in range(exchange.place.position - 1, -1, -1):
            node = siblings[position]
            if isinstance(node, Do) and examine((node,), exchange.names).may_write(storage):
                return position
        return answer

    return definer


def _condition(
    name: str,
    code: str,
    module: ModuleType,
    functions: Sequence[str] = ("check",),
    runtime: tuple[tuple[str, str], ...] = (),
) -> Mutant:
    switches = [Switch(module, function, _holds((code,))) for function in functions]
    return Mutant(f"{code} {name}", (code,), switches, runtime)


def _blind(code: str) -> Callable[[Replacement], Replacement]:
    """An effect between nest and call is not seen."""

    def replacement(original: Replacement) -> Replacement:
        def refused_for(*args: Any) -> Any:
            answer = original(*args)
            return None if answer is not None and answer.code.id == code else answer

        return refused_for

    return replacement


def _lands(original: Replacement) -> Replacement:
    """Where pieces land is as if nothing touched the receive buffer."""

    def check(*args: Any) -> Any:
        answer = original(*args)
        return Landing(None, OFF) if isinstance(answer, Refused) else answer

    return check


def _effect(name: str, code: str) -> Mutant:
    switches = [
        Switch(visible_effects, "refused_for", _blind(code)),
        Switch(one_producer, "refused_for", _blind(code)),
        Switch(visible_effects, "check_directives", _holds((code,))),
        Switch(visible_effects, "check_tiles", _holds((code,))),
        Switch(parallel_producers, "check_directives", _holds((code,))),
    ]
    return Mutant(f"{code} {name}", (code,), switches)


MUTANTS = (
    _condition("what is not a blocking exchange", "ASP001", site),
    Mutant(
        "ASP002/ASP602 in place",
        ("ASP002",),
        [
            Switch(site, "check", _holds(("ASP002", "ASP003"))),
            Switch(send_side, "check_names", _holds(("ASP602",))),
        ],
    ),
    _condition("text", "ASP004", site, ("check_text",)),
    _condition("skipped", "ASP006", site, ("check_skip",)),
    Mutant(
        "ASP102/ASP103 taking turns",
        ("ASP102", "ASP103"),
        [Switch(one_producer, "check", _holds(("ASP102", "ASP103")))],
    ),
    Mutant(
        "ASP601 changed behind the nest",
        ("ASP601", "ASP101", "ASP402"),
        [
            Switch(one_producer, "definer", _nest_before),
            Switch(send_side, "check", _holds(("ASP601",))),
        ],
    ),
    Mutant(
        "ASP106 interchange",
        ("ASP106", "ASP401", "ASP403", "ASP902"),
        [Switch(one_producer, "carried_by_interchange", _always(None))],
    ),
    Mutant(
        "ASP105 fusion",
        ("ASP105", "proved"),
        [
            Switch(one_producer, "carried_by_fusion", _always(None)),
            Switch(one_producer, "carried_by_interchange", _always(None)),
        ],
    ),
    Mutant(
        "ASP105 scalars between", ("ASP105",), [Switch(one_producer, "_may_move", _always(True))]
    ),
    Mutant(
        "ASP105 the copy is used",
        ("ASP105",),
        [Switch(packing_copy, "_leaves_nothing", _always(True))],
    ),
    _condition("rank decides the way", "ASP201", one_site),
    Mutant(
        "ASP202 control assumed", ("ASP202",), [Switch(one_site, "check", _without_assumptions)]
    ),
    _condition("arguments change", "ASP301", available),
    Mutant(
        "ASP302/ASP708 allocated or pointed elsewhere",
        ("ASP302", "ASP708", "ASP601"),
        [
            Switch(available, "check", _holds(("ASP302",))),
            Switch(visible_effects, "refused_for", _blind("ASP708")),
            Switch(one_producer, "refused_for", _blind("ASP708")),
            Switch(one_producer, "definer", _nest_before),
            Switch(receive_side, "check", _lands),
            Switch(send_side, "check", _holds(("ASP601",))),
        ],
    ),
    _condition("functions in arguments", "ASP303", available),
    Mutant("ASP401 lateness", ("ASP401", "proved"), [Switch(finality, "_lateness", _always(0))]),
    Mutant("ASP405 bounds", ("ASP405",), [Switch(finality, "_stays_in_bounds", _always(()))]),
    Mutant(
        "ASP501/ASP502 landing",
        ("ASP501", "ASP502", "proved"),
        [Switch(receive_side, "check", _always(Landing(None, OFF)))],
    ),
    Mutant(
        "ASP601/ASP602 second names",
        ("ASP602", "ASP601"),
        [
            Switch(one_producer, "definer", _nest_before),
            Switch(send_side, "check", _holds(("ASP601",))),
            Switch(send_side, "check_names", _holds(("ASP602",))),
            Switch(send_side, "check_source", _holds(("ASP602",))),
        ],
    ),
    _effect("input and output", "ASP701"),
    _effect("communication", "ASP702"),
    _effect("unknown calls", "ASP703"),
    _effect("stop", "ASP704"),
    _effect("directives", "ASP705"),
    _effect("state", "ASP707"),
    _condition("contiguous", "ASP801", contiguous),
    _condition("derived types", "ASP802", contiguous),
    _condition(
        "types that differ", "ASP803", contiguous,
        runtime=(("dense = size == bytes .and. extent == bytes .and. lower == 0",
                  "dense = .true."),),
    ),
    Mutant("ASP902 rotation", ("ASP902",), [Switch(pairing, "carried_by_rotation", _always(None))]),
    _condition("backwards", "ASP902", pairing),
    _condition("uneven and backwards", "ASP904", pairing),
    Mutant("ASP903 last digits", ("ASP903",), [Switch(same_bits, "check", _without_assumptions)]),
    Mutant(
        "ASP1001 sizes by rank",
        ("ASP1001", "proved"),
        [Switch(one_decision, "check", _always(Decision((), OFF)))],
    ),
    Mutant(
        "ASP1101 intercommunicators",
        ("ASP1101",),
        [Switch(own_messages, "check", _apart)],
        ((" .or. between_groups) return", ") return"),),
    ),
    Mutant(
        "other messages", ("proved",), [Switch(own_messages, "why_others", _always(None))]
    ),
)  # fmt: skip


def named(name: str) -> Mutant:
    """The mutant whose name begins so."""
    return next(mutant for mutant in MUTANTS if mutant.name.startswith(name))
