"""Whether a called procedure certainly gives an argument its value.

call share(n)                    ! all ways through share lead to MPI_Bcast(x, ...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asphalt.analysis.call_graph.definitions import VariableDefinition
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.ir.stmt import Opaque, Plain, Raw

if TYPE_CHECKING:
    from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites

_OTHER_NAMES = frozenset({"pointer", "target", "volatile", "allocatable", "value"})
_Path = tuple[str, ...]


class SureDefinitions:
    """The answers for one program, each found once."""

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites
        self._known: dict[tuple[object, str, _Path], bool] = {}

    def __call__(self, definition: VariableDefinition, path: _Path) -> bool:
        """Whether the call that a definition is defines the component ``path`` of the variable,
        whenever it returns."""
        callee, own = definition.callee, definition.path
        called = callee is not None and definition.call is definition.statement.what
        if callee is None or not called or definition.scalar is None or own != path[: len(own)]:
            return False
        inside, rest = self._sites.of(callee), path[len(own) :]
        symbol = inside.scope.lookup(definition.dummy)
        if symbol is None or symbol_key(symbol, inside.scope) != definition.scalar:
            return False  # a shorter string, or the parent of an extended type: a part of it
        asked = (inside.key, definition.dummy, rest)
        if asked not in self._known:
            self._known[asked] = False  # where the procedure calls itself
            self._known[asked] = self._is_defined(inside, definition.dummy, rest)
        return self._known[asked]

    def _is_defined(self, inside: CallingContext, dummy: str, path: _Path) -> bool:
        symbol, statements = inside.scope.lookup(dummy), inside.flow.statements
        if symbol is None or symbol.origin is not Origin.DUMMY or symbol.is_array:
            return False
        if symbol.equivalenced or symbol.attrs & _OTHER_NAMES or "*" in inside.defined:
            return False
        if any(_is_unclear(statement.what) for statement in statements):
            return False
        _, hidden = self._sites.reaching(inside).at(
            [one for one in inside.defined.get(dummy) if one.path == path[: len(one.path)]],
            len(statements),
            path,
        )
        return hidden


def _is_unclear(what: object) -> bool:
    """Whether a statement may be another way into the procedure."""
    return isinstance(what, Opaque | Raw) or (isinstance(what, Plain) and what.keyword == "entry")
