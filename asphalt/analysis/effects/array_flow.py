"""Array regions of statements for one array: upward-exposed reads, may and must writes.

Statements are analysed in order.  A loop is the union over its iterations; a read is not exposed if
an earlier iteration certainly wrote the element.  May regions are over-approximated and must
regions under-approximated wherever a subscript or a bound is not affine or isl exceeds its budget
(after Creusillet and Irigoin, Interprocedural array region analyses, 1996: READ/WRITE, IN and MUST
regions).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from asphalt.analysis.effects.message_sides import buffer_sections
from asphalt.analysis.memory.accesses import (
    Access,
    EffectKind,
    Footprint,
    Mode,
    NameSemantics,
    Subscript,
)
from asphalt.analysis.memory.invariant_frame import Frame, Standpoint, loop_variable
from asphalt.analysis.memory.loop_domains import iterations, strided
from asphalt.analysis.memory.loop_scalars import has_default, is_selector, jumps_in
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import IO, Guarded, JumpKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

_UNSEEN = (
    EffectKind.UNKNOWN_CALL,
    EffectKind.OPAQUE,
    EffectKind.POINTER,
    EffectKind.STATE,  # some variable that has no name here changes: maybe one in a subscript
)


@record
class Flow:
    """The regions of statements.

    ``exposed``: a superset of the elements whose earlier value is read; ``maybe``: a superset of
    those that are written; ``surely``: a subset of those that every execution writes.
    """

    exposed: Elements
    maybe: Elements
    surely: Elements

    @staticmethod
    def nothing(rank: int) -> Flow:
        """The array is not accessed."""
        none = Elements.none(rank)
        return Flow(none, none, none)

    @staticmethod
    def anything(rank: int) -> Flow:
        """Nothing is known."""
        whole = Elements.all(rank, exact=False)
        return Flow(whole, whole, Elements.none(rank, exact=False))

    def perhaps(self) -> Flow:
        """The regions of the same statements if they may be skipped."""
        rank = self.maybe.rank
        return Flow(_inexact(self.exposed), _inexact(self.maybe), Elements.none(rank, exact=False))


@record
class ArrayFlow:
    """The array ``storage`` of ``rank`` dimensions (0: a scalar) in the statements of a frame.

    ``shape``: its known bounds; they limit the region of a read of the whole array.
    """

    storage: str
    rank: int
    names: NameSemantics
    frame: Frame
    shape: Shape | None = None
    _footprints: dict[int, Footprint] = field(default_factory=dict, repr=False)

    def of(self, nodes: Iterable[Node], loops: tuple[Do, ...] = ()) -> Flow:
        """The regions of the statements of a list."""
        listed = tuple(nodes)
        footprint = examine(listed, self.names)
        if any(effect.kind in _UNSEEN for effect in footprint.effects):
            return Flow.anything(self.rank)
        if any(_may_go(node) for node in listed) or footprint.depends_on_own_size(self.storage):
            return Flow.anything(self.rank)
        if not footprint.of(self.storage):
            return Flow.nothing(self.rank)
        return self._list(listed, loops)

    def _list(self, nodes: tuple[Node, ...], loops: tuple[Do, ...]) -> Flow:
        none = Elements.none(self.rank)
        exposed, maybe, surely, before = none, none, none, none
        left = False
        for node in nodes:
            flow = self._node(node, loops)
            if left:
                flow = Flow(_inexact(flow.exposed), _inexact(flow.maybe), flow.surely)
            exposed = may_union(exposed, may_minus(flow.exposed, before))
            maybe = may_union(maybe, flow.maybe)
            before = must_union(before, flow.surely)
            surely = _inexact(surely) if left else before
            left = left or may_leave(node)
        return Flow(exposed, maybe, surely)

    def _node(self, node: Node, loops: tuple[Do, ...]) -> Flow:
        match node:
            case Leaf():
                return self._leaf(node, loops)
            case Do():
                return self._loop(node, loops)
            case Branch():
                return self._branch(node, loops)
            case Block(head=head, body=body):
                return self._sequence(self._leaf(head, loops), self._list(body, loops)).perhaps()
        return Flow.anything(self.rank)

    @staticmethod
    def _sequence(first: Flow, second: Flow) -> Flow:
        return Flow(
            may_union(first.exposed, may_minus(second.exposed, first.surely)),
            may_union(first.maybe, second.maybe),
            must_union(first.surely, second.surely),
        )

    def _branch(self, node: Branch, loops: tuple[Do, ...]) -> Flow:
        exposed, maybe = Elements.none(self.rank), Elements.none(self.rank)
        surely: Elements | None = None
        for arm in node.arms:
            head, body = self._leaf(arm.head, loops), self._list(arm.body, loops)
            exposed = may_union(may_union(exposed, head.exposed), body.exposed)
            maybe = may_union(may_union(maybe, head.maybe), body.maybe)
            if arm.body or not is_selector(arm.head):
                surely = body.surely if surely is None else must_common(surely, body.surely)
        flow = Flow(exposed, maybe, Elements.none(self.rank)).perhaps()
        complete = any(has_default(arm.head) for arm in node.arms)
        if node.kind == "where" or not complete or surely is None or may_leave(node):
            return flow
        return Flow(flow.exposed, flow.maybe, _inexact(surely))

    def _loop(self, loop: Do, loops: tuple[Do, ...]) -> Flow:
        head = self._leaf(loop.head, loops)
        inside = (*loops, loop)
        name = loop_variable(loop)
        written = examine(loop.body, self.names).written()
        if name is None or self.names.storage(name) in written:
            body = self._list(loop.body, loops) if name is None else Flow.anything(self.rank)
            return self._sequence(head, body.perhaps())
        flow = self._list(loop.body, inside)
        monomial = (Ref(name, name),)
        affine = Affine(Standpoint(self.frame, loop.head, inside).varying)
        trips = iterations(loop, Standpoint(self.frame, loop.head, loops), affine)
        if trips is None:
            none = Elements.none(self.rank)
            free = Flow(
                may_project(flow.exposed, monomial), may_project(flow.maybe, monomial), none
            )
            return self._sequence(head, free.perhaps())
        constraints, direction = trips
        try:
            surely = flow.surely.restricted(constraints, affine)
        except UndecidedError:
            surely = Elements.none(self.rank, exact=False)
        earlier = self._earlier(surely, monomial, direction, affine)
        exposed = may_project(
            may_restricted(may_minus(flow.exposed, earlier), constraints, affine), monomial
        )
        maybe = may_project(may_restricted(flow.maybe, constraints, affine), monomial)
        whole = Flow(exposed, maybe, must_project(surely, monomial))
        if any(map(may_leave_loop, loop.body)):
            whole = whole.perhaps()
        return self._sequence(head, whole)

    def _earlier(
        self, surely: Elements, variable: tuple[Expr, ...], direction: int, affine: Affine
    ) -> Elements:
        """The elements that iterations before the one of ``variable`` certainly wrote."""
        other: tuple[Expr, ...] = (Ref("earlier iteration", "earlier iteration"),)
        before = surely.renamed(variable, other)
        both = Affine(affine.varying, dict(affine.parameters))
        relation = "<" if direction > 0 else ">"
        order = f"{both.name(other)} {relation} {both.name(variable)}"
        try:
            return before.restricted([order], both).project([other])
        except UndecidedError:
            return Elements.none(self.rank, exact=False)

    def _leaf(self, leaf: Leaf, loops: tuple[Do, ...]) -> Flow:
        if id(leaf) not in self._footprints:
            self._footprints[id(leaf)] = examine((leaf,), self.names)
        here = Standpoint(self.frame, leaf, loops)
        none = Elements.none(self.rank)
        exposed, maybe, surely = none, none, none
        for access in self._accesses(leaf):
            if access.mode is Mode.INQUIRE:
                continue
            touched = self.touched(access, here)
            if not access.sure:
                touched = _inexact(touched)
            if not access.writes:
                exposed = may_union(exposed, touched)
                continue
            maybe = may_union(maybe, touched)
            surely = must_union(surely, self._surely(access, touched, here))
        return Flow(exposed, maybe, surely)

    def _accesses(self, leaf: Leaf) -> tuple[Access, ...]:
        """The accesses of a statement to the array; of a message, with the section that it
        transfers."""
        found = tuple(self._footprints[id(leaf)].of(self.storage))
        scope = self.frame.scope
        call = None if leaf.call is None or not found else mpi_call(leaf.call, scope)
        if call is None or call.binding == "runtime":
            return found
        exact = buffer_sections(leaf, call, scope, self.frame.values)
        own = tuple(access for access in exact if access.storage == self.storage)
        modes = {access.mode for access in own}
        return (*(one for one in found if one.mode not in modes), *own)

    def _surely(self, access: Access, touched: Elements, here: Standpoint) -> Elements:
        nothing = Elements.none(self.rank, exact=False)
        if not access.sure:
            return nothing
        if access.part is not None:
            found = access.part.surely_written(here)
            return found if found.rank == self.rank else nothing
        return touched if access.mode is Mode.WRITE and touched.exact else nothing

    def touched(self, access: Access, here: Standpoint) -> Elements:
        """The elements that an access touches, in terms of its statement."""
        whole = access.mode is Mode.WRITE and access.subscripts is None and access.part is None
        everything = Elements.all(self.rank, exact=whole)
        if access.path:  # a component of some element
            return Elements.all(self.rank, exact=False)
        if access.part is not None:
            found = access.part.touched(here)
            return found if found.rank == self.rank else everything
        if access.subscripts is None:
            return everything if access.writes else self._bounded(everything, here)
        if len(access.subscripts) != self.rank:
            return everything
        return elements_of(access.subscripts, here, self.shape)

    def _bounded(self, everything: Elements, here: Standpoint) -> Elements:
        """The whole array with its declared bounds."""
        colon = Section(None, None, None)
        return elements_of((colon,) * self.rank, here, self.shape) if self.rank else everything


def same_flow(one: Flow, other: Flow) -> bool:
    """Whether two flows are certainly the same."""
    return all(
        a.text == b.text or (a.is_subset(b) and b.is_subset(a))
        for a, b in zip(
            (one.exposed, one.maybe, one.surely),
            (other.exposed, other.maybe, other.surely),
            strict=True,
        )
    )


def elements_of(
    subscripts: tuple[Subscript, ...], here: Standpoint, shape: Shape | None = None
) -> Elements:
    """The elements that subscripts denote; open ends of sections are the bounds of ``shape``."""
    affine = Affine(here.varying)
    constraints: list[str] = []
    exact = True
    for dimension, subscript in enumerate(subscripts):
        index = f"e{dimension}"
        if isinstance(subscript, Section):
            limits = _section(subscript, dimension, index, here, shape, affine)
            exact = exact and limits is not None
            constraints += limits or ()
            continue
        value = here.value(subscript)
        text = None if value is None else affine.text(value)
        if text is None:
            exact = False
        else:
            constraints.append(f"{index} = {text}")
    return Elements.where(len(subscripts), constraints, affine, exact=exact)


def _section(
    section: Section,
    dimension: int,
    index: str,
    here: Standpoint,
    shape: Shape | None,
    affine: Affine,
) -> list[str] | None:
    """The constraints of a triplet; None: a part of it is not affine."""
    step = Poly.constant(1) if section.stride is None else here.value(section.stride)
    if step is None or not step.value:
        return None
    ends = [None if end is None else here.value(end) for end in (section.lower, section.upper)]
    texts: list[str | None] = []
    for end, value, declared in zip(
        (section.lower, section.upper), ends, _declared(shape, dimension, step.value), strict=True
    ):
        known = value if end is not None else declared
        text = None if known is None else affine.text(known)
        if text is None and (end is not None or abs(step.value) != 1):
            return None
        texts.append(text)
    if texts[0] is not None and texts[1] is not None:
        return strided(index, texts[0], texts[1], step.value)
    low, high = texts[:: 1 if step.value > 0 else -1]
    limits = [f"{low} <= {index}"] if low is not None else []
    return limits + ([f"{index} <= {high}"] if high is not None else [])


def _declared(shape: Shape | None, dimension: int, step: int) -> tuple[Poly | None, Poly | None]:
    """The first and last index of a triplet without ends."""
    if shape is None or dimension >= shape.rank:
        return None, None
    lower, extent = shape.lower[dimension], shape.extent[dimension]
    upper = None if extent is None else lower + extent - Poly.constant(1)
    return (lower, upper) if step > 0 else (upper, lower)


_STOPS = (JumpKind.STOP, JumpKind.ERROR_STOP)  # what would follow does not matter any more


def may_leave(node: Node) -> bool:
    """Whether control may leave a statement list from inside of this member of it."""
    return any(
        jump.kind not in _STOPS
        and not (isinstance(node, Do) and jump.kind in _OF_LOOPS and jump.construct is None)
        for jump in jumps_in(node)
    )


_OF_LOOPS = (JumpKind.EXIT, JumpKind.CYCLE)


def may_leave_loop(node: Node) -> bool:
    """Whether a statement of a loop's body may prevent later iterations."""
    return any(
        jump.kind not in _STOPS and (jump.kind is not JumpKind.CYCLE or jump.construct is not None)
        for jump in jumps_in(node)
    )


def _may_go(node: Node) -> bool:
    """Whether a statement may branch to a label."""
    actions = (w.action if isinstance(w := leaf.what, Guarded) else w for leaf in leaves(node))
    return any(jump.labels for jump in jumps_in(node)) or any(
        isinstance(what, IO) and what.labels for what in actions
    )


def _inexact(elements: Elements) -> Elements:
    return Elements(elements.rank, elements.text, elements.parameters, exact=False)


def may_union(one: Elements, other: Elements) -> Elements:
    """A superset of the union."""
    try:
        return one.union(other)
    except UndecidedError:
        return Elements.all(one.rank, exact=False)


def may_minus(elements: Elements, gone: Elements) -> Elements:
    """A superset of the difference."""
    try:
        return elements.minus(gone)
    except UndecidedError:
        return _inexact(elements)


def may_restricted(elements: Elements, constraints: list[str], affine: Affine) -> Elements:
    """A superset of the elements for which the constraints hold."""
    try:
        return elements.restricted(constraints, affine)
    except UndecidedError:
        return _inexact(elements)


def may_project(elements: Elements, variable: tuple[Expr, ...]) -> Elements:
    """A superset of the union over all values of a variable."""
    try:
        return elements.project([variable])
    except UndecidedError:
        return Elements.all(elements.rank, exact=False)


def must_union(one: Elements, other: Elements) -> Elements:
    """A subset of the union."""
    try:
        return one.union(other)
    except UndecidedError:
        return _inexact(one)


def must_common(one: Elements, other: Elements) -> Elements:
    """A subset of the intersection."""
    try:
        return one.intersection(other)
    except UndecidedError:
        return Elements.none(one.rank, exact=False)


def must_project(elements: Elements, variable: tuple[Expr, ...]) -> Elements:
    """A subset of the union over all values of a variable."""
    try:
        return elements.project([variable])
    except UndecidedError:
        return Elements.none(elements.rank, exact=False)
