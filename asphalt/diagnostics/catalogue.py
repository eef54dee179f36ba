"""All codes, from the modules that raise them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asphalt.analysis.conditions import (
    available,
    call_arguments,
    contiguous,
    finality,
    one_decision,
    one_producer,
    one_site,
    open_coded,
    own_messages,
    pairing,
    point_to_point,
    receive_side,
    same_bits,
    send_side,
    site,
    usage,
    visible_effects,
)
from asphalt.analysis.inlining import codes as inlining
from asphalt.analysis.verdicts import (
    block_codes,
    exchange_codes,
    pipelining_codes,
    splitting_codes,
    store_codes,
)
from asphalt.analysis.verdicts.verdict import Code
from asphalt.config import assumptions

_MODULES = (
    site,
    open_coded,
    one_producer,
    one_site,
    available,
    finality,
    receive_side,
    same_bits,
    send_side,
    visible_effects,
    contiguous,
    pairing,
    one_decision,
    own_messages,
    point_to_point,
    usage,
    call_arguments,
)
_STEPS = (inlining, splitting_codes, pipelining_codes, store_codes, block_codes, exchange_codes)

STEP_CODES: Mapping[str, Code] = MappingProxyType(
    {code.id: code for module in _STEPS for code in module.CODES}
)
"""The codes of refused steps, rather than refused exchanges."""

ALL_CODES: Mapping[str, Code] = MappingProxyType(
    {code.id: code for module in _MODULES for code in module.CODES} | dict(STEP_CODES)
)

ASSUMPTIONS: Mapping[str, Code] = MappingProxyType(
    {
        assumptions.CONTROL.word: one_site.NOT_PROVED,
        assumptions.BITS.word: same_bits.LAST_DIGITS,
        assumptions.PURE.word: visible_effects.UNKNOWN,
        assumptions.FATAL.word: point_to_point.ERROR_READ,
        assumptions.TIMERS.word: visible_effects.MPI_CODE,
    }
)
"""The kinds of assumptions that a proof may lack, with the code of a site that needs one."""


def _titles() -> dict[int, str]:
    """The requirement of each condition, from the first line of its module."""
    found = {}
    for module in _MODULES:
        head, colon, title = (module.__doc__ or "").splitlines()[0].partition(": ")
        kind, _, number = head.partition(" ")
        if colon and kind == "Condition":
            found[int(number)] = title.rstrip(".")
    return dict(sorted(found.items()))


CONDITIONS: Mapping[int, str] = MappingProxyType(_titles())
"""The requirement of each condition; 0 is about the site itself."""
