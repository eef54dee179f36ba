"""What the statements of a pipeline need: the header, K, bounds of a tile, a request for each."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.config.limits import HEADER
from asphalt.ir.expr import Expr, Op, TypeSpec, names_in
from asphalt.ir.insertion import last_declaration
from asphalt.ir.stmt import Decl, Dim, Entity, Include
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.checked_sizes import are_intrinsic, can_check
from asphalt.transforms.rewriting.declare import column_of, expressions_of, insert_behind
from asphalt.transforms.rewriting.make import Maker, both, compare, fn, num
from asphalt.transforms.rewriting.new_names import REQUEST
from asphalt.transforms.tiling.message_tiles import Emission


def takes_tiles(facts: UnitFacts) -> bool:
    """Whether the statements of tiles, and what they need, can stand in a unit."""
    return can_check(facts) and are_intrinsic(("min",), facts)


def declared(emission: Emission, unit: Unit) -> Unit:
    """The unit with the header, and with what the statements of a pipeline need."""
    facts = emission.facts
    form, eol = facts.located.form, facts.eol
    make = Maker(column_of(unit, form), 2, facts.free, eol)
    bounds = None if emission.first == num(1) else emission.first
    dims = (Dim("explicit", bounds, emission.last),)
    arrays = tuple(Entity(name, name, dims) for name in emission.requests.values())
    numbers = tuple(Entity(v.name, v.name) for v in (emission.lo, emission.hi))
    tile = (Entity(emission.tile.name, emission.tile.name),)
    unit = _without_requests(unit)
    header = () if _has_header(unit) else (make.leaf(Include(HEADER)),)
    new = (
        *header,
        make.leaf(
            Decl("type", TypeSpec("integer", _checked(emission)), (), None, tile),
            "does not compile with K < 0, D < 1, or no iteration",
        ),
        make.leaf(Decl("type", TypeSpec("integer"), (), None, numbers)),
        make.leaf(Decl("type", TypeSpec("integer"), (), None, arrays)),
    )
    unit = insert_behind(unit, last_declaration(unit), new)
    starters = {emission.receive.starter, emission.send.starter}
    return added(unit, form, eol, {"asphalt_segment", "asphalt_wait", *starters}, ())


def _has_header(unit: Unit) -> bool:
    """Whether a unit includes the header already, for other nests."""
    return any(
        isinstance(leaf.what, Include) and leaf.what.path == HEADER
        for node in unit.spec
        for leaf in leaves(node)
    )


def _checked(emission: Emission) -> Expr:
    """A kind that exists exactly if K, D and the number of iterations are in range."""
    checks = both(compare(emission.k, ">=", num(0)), compare(emission.d, ">=", num(1)))
    if emission.number != num(1):
        checks = both(checks, compare(emission.last, ">=", emission.first))
    return fn("merge", fn("kind", num(0)), Op("-", (num(1),)), checks)


def _without_requests(unit: Unit) -> Unit:
    """The unit without the requests of whole messages, which nothing uses any more."""
    used = {
        name
        for node in unit.body
        for leaf in leaves(node)
        for expr in expressions_of(leaf.what)
        for name in names_in(expr)
    }
    spec: list[Node] = []
    for node in unit.spec:
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(node, Leaf) and isinstance(what, Decl) and not what.groups:
            kept = tuple(
                e for e in what.entities if e.name in used or not e.name.startswith(REQUEST)
            )
            if not kept and what.entities and not node.lead:
                continue
            if kept and len(kept) != len(what.entities):
                node = rewrite(node, replace(what, entities=kept))
        spec.append(node)
    return replace(unit, spec=tuple(spec))
