"""x"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asphalt.analysis.symbols import Scope
from asphalt.ir.stmt import Call

if TYPE_CHECKING:
    from asphalt.analysis.callee import Callee


def library_procedure(call: Call, scope: Scope) -> Callee | None:
    return None
