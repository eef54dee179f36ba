"""All codes, from the modules that raise them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asphalt.analysis.conditions import (
    available,
    contiguous,
    finality,
    one_decision,
    one_producer,
    one_site,
    own_messages,
    pairing,
    receive_side,
    send_side,
    site,
    visible_effects,
)
from asphalt.analysis.verdict import Code

_MODULES = (
    site,
    one_producer,
    one_site,
    available,
    finality,
    receive_side,
    send_side,
    visible_effects,
    contiguous,
    pairing,
    one_decision,
    own_messages,
)

ALL_CODES: Mapping[str, Code] = MappingProxyType(
    {code.id: code for module in _MODULES for code in module.CODES}
)
