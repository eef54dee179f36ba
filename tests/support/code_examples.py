"""The example programs of all codes."""

from __future__ import annotations

from asphalt.diagnostics.catalogue import ALL_CODES, STEP_CODES
from asphalt.diagnostics.examples import examples_of

REFUSED = [path for code in ALL_CODES if (path := examples_of(code).refused) is not None]
ACCEPTED = [examples_of(code).accepted for code in ALL_CODES]
OF_STEPS = {p for c in STEP_CODES for p in (examples_of(c).refused, examples_of(c).accepted)}
