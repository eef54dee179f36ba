"""Condition 4: a known iteration writes an element last, and that iteration sends it."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import loop_bounds, loop_variable
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.geometry import send_view, send_writes
from asphalt.analysis.tiling.layout import Guard, Layout, Misfit
from asphalt.analysis.tiling.tile_window import PlaneWindow
from asphalt.analysis.tiling.tiled_dimension import exactly, gaps
from asphalt.analysis.verdicts.verdict import Code, Holds, Refused
from asphalt.ir.expr import Ref, Section
from asphalt.ir.records import record

LATE = Code(
    "ASP401",
    "an element changes after it would have been sent",
    "An iteration writes an element of the send buffer that belongs to the plane of an earlier "
    "iteration, which is not known to be a constant number of iterations back; if it were, "
    "asphalt would send the plane so much later.  Where each rank begins with another block "
    "(slabs), an iteration may write only its own plane.",
    "Write each plane in one iteration only, or in this one and the next.",
    4,
)
SUBSCRIPTS = Code(
    "ASP402",
    "the elements that an iteration completes are not known",
    "No subscript of the send buffer follows the loop over the planes, and none is a sum of loop "
    "variables times sizes that divide each other (as `s(i + n*(k - 1) + n*m*p)` is); or the nest "
    "accesses the buffer under another shape.",
    "Declare the send buffer with one dimension for the planes and one for the ranks.",
    4,
)
STRIDED = Code(
    "ASP403",
    "a tile is not the same part of each block",
    "The dimension of the loop is not the outermost one within a block, so that a tile is a set "
    "of strided runs of each block.  These must begin equally far apart for all ranks, which they "
    "do not where the ranks are spread over more than one dimension; and the loop must not be "
    "inside of a loop over a slower dimension of the block, or the nest would go through memory "
    "in long steps.",
    "Use one dimension for the ranks, and tile the outermost loop of the nest.",
    4,
)
BLOCKS = Code(
    "ASP404",
    "the blocks of the exchange do not fit the dimensions of the buffer",
    "The number of elements for each rank is neither the size of the leading dimensions of the "
    "send buffer nor a whole number of its planes.",
    "Let the last dimension be that of the ranks, or that of the planes that are distributed over "
    "the ranks.",
    4,
)
BOUNDS = Code(
    "ASP405",
    "a subscript may be out of the bounds of its dimension",
    "It is not proved that a subscript of the send buffer is within the bounds of its dimension; "
    "outside of them, the element belongs to another plane.",
    "Let the loop bounds be the declared bounds of the dimension.",
    4,
)

CODES = (LATE, SUBSCRIPTS, STRIDED, BLOCKS, BOUNDS)
_MOST_LATE = 16  # what is final later than that is hardly worth sending in tiles
_MISFITS = {"subscripts": SUBSCRIPTS, "strided": STRIDED, "blocks": BLOCKS, "shape": SUBSCRIPTS}


@record
class Final:
    """A layout with the run-time guards under which elements are final."""

    layout: Layout
    holds: Holds


def misfit(reason: Misfit) -> Refused:
    """The refusal of a buffer whose layout does not fit."""
    return Refused(_MISFITS[reason.kind], reason.reason, reason.leaf.span)


def check(producer: Producer, layout: Layout) -> Final | Refused:
    """Whether every element is final in the iteration that sends it (Danalis 2007, section 3)."""
    view = send_view(producer, layout)
    shape = view.shape
    writes = send_writes(producer, view)
    most = 0
    for write in writes:
        if write.subscripts is None or len(write.subscripts) != shape.rank:
            message = f"{layout.send.buffer} is written as a whole, or under another shape"
            return Refused(SUBSCRIPTS, message, write.leaf.span)
        late = _lateness(producer, write, layout)
        if isinstance(late, Refused):
            return late
        most = max(most, late)
    layout = _later(producer, layout, shape, most)
    guards = list(layout.guards)
    for write in writes:
        answer = _stays_in_bounds(producer, write, layout, shape)
        if isinstance(answer, Refused):
            return answer
        guards += [guard for guard in answer if guard not in guards and not _surely_inside(guard)]
    evidence = (
        f"iteration {producer.packing.variable} is the last to write plane "
        f"{_plane(producer, layout)} of {layout.send.buffer}"
    )
    if layout.window is not None:
        evidence += "; what no iteration completes goes with the first or the last tile"
    return Final(replace(layout, guards=tuple(guards)), Holds(evidence))


def check_counted(producer: Producer, layout: Layout) -> Final:
    """Finality where a counter runs through the send buffer, or subscripts do as one would."""
    assert producer.counter is not None
    counter = producer.counter.variable
    how = "its subscripts count" if counter is None else f"{counter.spelled} counts"
    evidence = (
        f"{how} the elements of {layout.send.buffer}: iteration {producer.packing.variable} "
        "alone writes its part of every block"
    )
    return Final(layout, Holds(evidence))


def _lateness(producer: Producer, write: Access, layout: Layout) -> int | Refused:
    """For how many iterations after its own a plane may still be written by one access."""
    region, tiled = producer.region, producer.packing.tiled
    for relation in _wrong_iterations(producer, layout):
        wrong = region.write_elsewhere(write, tiled, layout.dimension, layout.offset, relation)
        if wrong is None:
            continue
        contiguous = layout.uneven is None and layout.strides is None
        if layout.pattern is TileShape.EVERY_BLOCK and contiguous:
            for distance in range(1, _MOST_LATE + 1):
                further = region.write_elsewhere(
                    write, tiled, layout.dimension, layout.offset, relation, distance
                )
                if further is None:
                    return distance
        return _late(producer, write, layout, wrong.point)
    return 0


def _later(producer: Producer, layout: Layout, shape: Shape, late: int) -> Layout:
    """The layout where planes are final ``late`` iterations after their own."""
    if late == 0:
        return layout
    left_out = gaps(producer, shape, layout.dimension, layout.offset)
    assert left_out is not None
    exact = exactly(producer, shape, layout.dimension, layout.offset)
    guards = tuple(guard for guard in layout.guards if guard not in exact)
    return replace(layout, guards=guards, window=PlaneWindow(left_out.before, late))


def _wrong_iterations(producer: Producer, layout: Layout) -> tuple[str, ...]:
    """How the variable of a writing iteration must not compare to that of the sending one.

    An earlier iteration may write the plane; where every rank begins with another block, no
    iteration is an earlier one.
    """
    later = ">" if producer.direction > 0 else "<"
    return ("<", ">") if layout.pattern is TileShape.SLAB else (later,)


def _plane(producer: Producer, layout: Layout) -> str:
    """The plane that an iteration completes, in terms of its variable."""
    variable = producer.packing.variable
    late = 0 if layout.window is None else layout.window.late * producer.direction
    offset = (layout.offset - Poly.constant(late)).value
    if offset == 0:
        return variable
    if offset is None:
        return f"{variable} + offset"
    return f"{variable}{offset:+d}"


def _late(producer: Producer, write: Access, layout: Layout, point: object) -> Refused:
    name = layout.send.buffer
    variable = producer.packing.variable
    message = f"{name} changes after the iteration that completes its plane"
    witness = None
    if isinstance(point, dict):
        element = ",".join(str(point[key]) for key in sorted(point) if key.startswith("subscript "))
        witness = (
            f"iteration {variable}={point[variable]} writes {name}({element}), which was sent "
            f"with iteration {variable}={point['sent with']}"
        )
    return Refused(LATE, message, write.leaf.span, witness)


def _stays_in_bounds(
    producer: Producer, write: Access, layout: Layout, shape: Shape
) -> tuple[Guard, ...] | Refused:
    """The guards that keep the subscripts of a write within the bounds of their dimensions.

    A subscript of the last dimension cannot reach another plane: beyond it the array ends, unless
    the buffer is only a part of it.
    """
    assert write.subscripts is not None
    guards: tuple[Guard, ...] = ()
    for dimension in range(shape.rank if layout.send.tail else shape.rank - 1):
        subscript = write.subscripts[dimension]
        extent, lower = shape.extent[dimension], shape.lower[dimension]
        if extent is None:
            continue
        upper = lower + extent - Poly.constant(1)
        exact = dimension == layout.dimension and layout.window is None
        if exact and not isinstance(subscript, Section):
            value = producer.region.value(subscript, write.loops)
            variable = Ref(producer.packing.variable, producer.packing.variable)
            follows = value is not None and value - Poly.atom(variable) == layout.offset
            if follows and dimension < shape.rank - 1:
                continue  # the loop runs over exactly this dimension
        violation = producer.region.out_of_bounds(write, dimension, lower, upper)
        if violation is None:
            continue
        simple = _guarded(producer, write, dimension, lower, upper)
        if simple is None or _surely_outside(simple):
            name = layout.send.buffer
            message = f"subscript {dimension + 1} of {name} may be out of bounds"
            witness = None
            if violation.point:
                values = ", ".join(f"{k}={v}" for k, v in violation.point.items())
                witness = f"with {values}"
            return Refused(BOUNDS, message, write.leaf.span, witness)
        guards += simple
    return guards


def _surely_inside(guard: Guard) -> bool:
    return (value := (guard.right - guard.left).value) is not None and value >= 0


def _surely_outside(guards: tuple[Guard, ...]) -> bool:
    return any(((g.right - g.left).value or 0) < 0 for g in guards)


def _guarded(
    producer: Producer, write: Access, dimension: int, lower: Poly, upper: Poly
) -> tuple[Guard, ...] | None:
    """Run-time guards for a subscript that is a loop variable plus an invariant."""
    assert write.subscripts is not None
    subscript = write.subscripts[dimension]
    if isinstance(subscript, Section):
        return _section_guarded(producer, write, subscript, lower, upper)
    value = producer.region.value(subscript, write.loops)
    if value is None:
        return None
    for loop in write.loops:
        name = loop_variable(loop)
        if name is None:
            continue
        atom = Ref(name, name)
        rest = value - Poly.atom(atom)
        if any(isinstance(a, Ref) and a.name in _variables(write) for a in rest.atoms):
            continue
        bounds = loop_bounds(loop, producer.region)
        if bounds is None:
            return None
        low, high = (bounds.first, bounds.last)[:: bounds.direction]
        return (Guard(lower, "<=", low + rest), Guard(high + rest, "<=", upper))
    if any(isinstance(a, Ref) and a.name in _variables(write) for a in value.atoms):
        return None
    return (Guard(lower, "<=", value), Guard(value, "<=", upper))


def _section_guarded(
    producer: Producer, write: Access, section: Section, lower: Poly, upper: Poly
) -> tuple[Guard, ...] | None:
    """Run-time guards for a section with invariant bounds; a missing bound is that of the
    dimension."""
    if section.stride is not None:
        return None
    guards: tuple[Guard, ...] = ()
    for end, below in ((section.lower, True), (section.upper, False)):
        value = None if end is None else producer.region.value(end, write.loops)
        if end is None:
            continue
        if value is None or any(
            isinstance(a, Ref) and a.name in _variables(write) for a in value.atoms
        ):
            return None
        guards += (Guard(lower, "<=", value) if below else Guard(value, "<=", upper),)
    return guards


def _variables(write: Access) -> set[str | None]:
    return {loop_variable(loop) for loop in write.loops}
