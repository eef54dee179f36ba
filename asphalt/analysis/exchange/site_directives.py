"""The directives that belong to one exchange site, and their meaning for it.

They stand in front of its call, in front of a statement of its producer, or among the declarations
of its unit or a host of it.  The nearer one takes precedence.
"""

from __future__ import annotations

from asphalt.analysis.directives.directives import (
    Assume,
    Clause,
    Depth,
    Directive,
    Skip,
    Tile,
    directives,
)
from asphalt.analysis.exchange.site import Exchange
from asphalt.config.assumptions import BITS, CONTROL
from asphalt.ir.records import record
from asphalt.ir.tree import Unit, leaves


@record
class SiteDirectives:
    """The directives of one site: those in front of its statements, and those of its units."""

    near: tuple[Directive, ...]
    far: tuple[Directive, ...]

    @property
    def skip(self) -> Directive | None:
        """The directive that skips the site."""
        return next((d for d in (*self.near, *self.far) if isinstance(d.clause, Skip)), None)

    @property
    def tile(self) -> tuple[int, Directive] | None:
        """The iterations per tile, with the directive that sets them."""
        for found in (*self.near, *self.far):
            if isinstance(found.clause, Tile):
                return found.clause.iterations, found
        return None

    @property
    def depth(self) -> tuple[int, Directive] | None:
        """The number of tiles in flight, with the directive that sets it."""
        for found in (*self.near, *self.far):
            if isinstance(found.clause, Depth):
                return found.clause.tiles, found
        return None

    @property
    def assumed(self) -> frozenset[str]:
        """The accepted assumptions, by name."""
        found = (d.clause for d in (*self.near, *self.far))
        return frozenset(clause.assumption for clause in found if isinstance(clause, Assume))

    def check(self) -> None:
        """Raise InputError for directives of one site that contradict each other."""
        refuse_contradictions(self.near)
        skip = self.skip
        other = next((d for d in self.near if not isinstance(d.clause, Skip)), None)
        if skip is not None and other is not None:
            raise other.error(
                f"this directive is for a site that {skip.file}:{skip.line} skips; remove one"
            )


def site_directives(exchange: Exchange, start: int | None = None) -> SiteDirectives:
    """The directives of a site; ``start``: where its producer begins among the siblings of the
    call, None: that is not known."""
    place = exchange.place
    first = place.position if start is None else start
    nodes = place.siblings[first : place.position + 1]
    own = {id(leaf) for node in nodes for leaf in leaves(node)}
    found = [d for unit in reversed(exchange.located.chain) for d in directives(unit)]
    return SiteDirectives(
        tuple(d for d in found if d.leaf is not None and id(d.leaf) in own),
        tuple(d for d in found if d.leaf is None),
    )


def for_one_exchange(unit: Unit) -> tuple[Directive, ...]:
    """The directives of a unit that have a meaning only for one exchange."""
    return tuple(
        directive
        for directive in directives(unit)
        if directive.leaf is not None
        and (
            isinstance(directive.clause, Skip | Tile | Depth)
            or directive.clause in (Assume(CONTROL.word), Assume(BITS.word))
        )
    )


def refuse_contradictions(together: tuple[Directive, ...]) -> None:
    """Raise InputError where directives for the same place contradict or repeat each other."""
    said: dict[object, Directive] = {}
    for directive in together:
        key = _subject(directive.clause)
        first = said.setdefault(key, directive)
        if first is not directive:
            how = "the same" if first.clause == directive.clause else "something else"
            raise directive.error(
                f"{first.file}:{first.line} says {how} for the same place already; remove one"
            )
    skip = next((d for d in together if isinstance(d.clause, Skip)), None)
    other = next((d for d in together if not isinstance(d.clause, Skip)), None)
    if skip is not None and other is not None:
        raise other.error(
            f"{skip.file}:{skip.line} skips what this directive is for; remove one of them"
        )


def _subject(clause: Clause) -> object:
    """The subject of a clause: clauses with the same subject exclude each other."""
    return clause if isinstance(clause, Assume) else type(clause)
