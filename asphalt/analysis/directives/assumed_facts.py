"""Which assumptions about procedures hold where: those accepted for all, and those of
directives."""

from __future__ import annotations

from asphalt.analysis.directives.directives import Assume, Directive, directives
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.tree import Unit


class Assumed:
    """The accepted assumptions about procedures and variables of one program.

    ``pure``: folded names of procedures that are accepted everywhere.  ``fatal``: no error handler
    of the program returns.
    """

    def __init__(self, pure: frozenset[str] = frozenset(), fatal: bool = False) -> None:
        self._pure = pure
        self.fatal = fatal
        self._directives: dict[int, tuple[Unit, tuple[Directive, ...]]] = {}

    def pure(self, name: str, scope: Scope) -> bool:
        """Whether calls of ``name`` in a unit count as pure.

        A directive holds in its unit and in the units that this one contains.
        """
        if name in self._pure:
            return True
        return any(
            directive.clause == Assume("pure", name)
            for unit in scope.located.chain
            for directive in self.of(unit)
        )

    def of(self, unit: Unit) -> tuple[Directive, ...]:
        """The directives of a unit."""
        known = self._directives.get(id(unit))
        if known is None:  # the unit is kept, so that nothing else can get its id
            known = self._directives[id(unit)] = (unit, directives(unit))
        return known[1]
