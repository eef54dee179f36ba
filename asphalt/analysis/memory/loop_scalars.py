"""Values of variables that are live across the iterations of a loop, or after it.

A variable is *private* to the iterations of a loop if each of them defines it before reading it.
An array counts if an assignment to the whole of it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from asphalt.analysis.memory.accesses import (
    Access,
    Footprint,
    Mode,
    NameKind,
    NameSemantics,
)
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.ir.expr import Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Jump, JumpKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves


@record
class _Flow:
    """What a statement list does to one variable.

    ``exposed``: it may read the value that the variable had before.  ``defined``: it certainly
    defines the variable.
    """

    exposed: bool
    defined: bool


_WAYS_OUT = (JumpKind.RETURN, JumpKind.EXIT, JumpKind.CYCLE)
Covers = Callable[[Node, str], bool]


def upward_exposed(
    nodes: Iterable[Node], storage: str, names: NameSemantics, covers: Covers
) -> bool:
    """Whether ``nodes`` may read the value that ``storage`` had before them (an upward-exposed
    use).

    ``covers(node, storage)`` says that a node certainly defines all of an array.
    """
    listed = tuple(nodes)
    if _has_gotos(listed) or examine(listed, names).depends_on_own_size(storage):
        return True
    return _list(listed, storage, names, covers).exposed


def _has_gotos(nodes: tuple[Node, ...]) -> bool:
    """With GOTO, the textual order is not the order of execution: nothing is concluded."""
    return any(jump.labels for node in nodes for jump in jumps_in(node))


def jumps_in(node: Node) -> Iterable[Jump]:
    """The jumps in a statement or construct, those under a one-line IF included."""
    for leaf in leaves(node):
        what = leaf.action
        if isinstance(what, Jump):
            yield what


def _list(nodes: tuple[Node, ...], storage: str, names: NameSemantics, covers: Covers) -> _Flow:
    defined = False
    for node in nodes:
        flow = _node(node, storage, names, covers)
        if flow.exposed and not defined:
            return _Flow(True, False)
        defined = defined or flow.defined
    return _Flow(False, defined)


def _node(node: Node, storage: str, names: NameSemantics, covers: Covers) -> _Flow:
    match node:
        case Leaf():
            return _leaf(node, storage, names)
        case Do(head=head, body=body):
            entry = _leaf(head, storage, names)
            if entry.exposed or entry.defined:
                return entry
            inside = _list(body, storage, names, covers)
            return _Flow(inside.exposed, covers(node, storage) and not inside.exposed)
        case Branch(arms=arms):
            flows = []
            for arm in arms:
                entry = _leaf(arm.head, storage, names)
                if entry.exposed:
                    return _Flow(True, False)
                if arm.body or not is_selector(arm.head):
                    flows.append(_list(arm.body, storage, names, covers))
            complete = any(has_default(arm.head) for arm in arms)
            return _Flow(
                any(flow.exposed for flow in flows),
                complete and all(flow.defined for flow in flows) and not _leaves_construct(node),
            )
        case Block(head=head, body=body):
            if _leaf(head, storage, names).exposed:  # ASSOCIATE gives it another name
                return _Flow(True, False)
            flow = _list(body, storage, names, covers)
            return _Flow(flow.exposed, flow.defined and not _leaves_construct(node))
    return _Flow(True, False)


def _leaves_construct(node: Node) -> bool:
    """Whether an EXIT names a construct, which may be this one: it skips the rest of it."""
    return any(j.kind is JumpKind.EXIT and j.construct is not None for j in jumps_in(node))


def has_default(head: Leaf) -> bool:
    """Whether an arm is executed where no other is; a masked ELSEWHERE is not."""
    what = head.what
    kinds = ("else", "case_default", "elsewhere")
    return isinstance(what, ArmHead) and what.kind in kinds and not what.exprs


def is_selector(head: Leaf) -> bool:
    """Whether an arm is only the head of a SELECT construct."""
    return isinstance(head.what, ArmHead) and head.what.kind.startswith("select_")


def _leaf(leaf: Leaf, storage: str, names: NameSemantics) -> _Flow:
    footprint = examine((leaf,), names)
    reads = any(
        a.mode is not Mode.WRITE and a.mode is not Mode.INQUIRE for a in footprint.of(storage)
    )
    if reads:
        return _Flow(True, False)
    whole = any(_defines_all(access) for access in footprint.of(storage))
    return _Flow(False, whole and isinstance(leaf.what, Assign | DoHead | Call))


def surely_defined(
    body: tuple[Node, ...], storages: Collection[str], whole: Footprint, names: NameSemantics
) -> frozenset[str]:
    """Those of some scalars that a procedure body, whose footprint is ``whole``, defines before it
    reads them, on all paths."""
    asked = frozenset(storages)
    if not asked or any(j.kind in _WAYS_OUT or j.labels for node in body for j in jumps_in(node)):
        return frozenset()
    sizes = {access.storage for access in whole.accesses if access.asks_for_a_size}
    resized = {access.storage for access in whole.accesses if access.may_resize}
    return _SureDefinitions(asked, names).of_list(body).defined - (sizes & resized)


@record
class _Flows:
    """What a statement list does to several variables, as ``_Flow`` has it for one."""

    exposed: frozenset[str]
    defined: frozenset[str]


@record
class _SureDefinitions:
    """The flows of ``asked`` scalars, for all of which each statement is examined once."""

    asked: frozenset[str]
    names: NameSemantics

    def of_list(self, nodes: tuple[Node, ...]) -> _Flows:
        exposed, defined = set[str](), set[str]()
        for node in nodes:
            flows = self._of_node(node)
            exposed |= flows.exposed - defined
            defined |= flows.defined
        return _Flows(frozenset(exposed), frozenset(defined - exposed))

    def _of_node(self, node: Node) -> _Flows:
        match node:
            case Leaf():
                return self._of_leaf(node)
            case Do(head=head, body=body):
                entry, inside = self._of_leaf(head), self.of_list(body)
                return _Flows(entry.exposed | (inside.exposed - entry.defined), entry.defined)
            case Branch(arms=arms):
                exposed = set[str]()
                flows: list[_Flows] = []
                for arm in arms:
                    exposed |= self._of_leaf(arm.head).exposed
                    if arm.body or not is_selector(arm.head):
                        flows.append(self.of_list(arm.body))
                exposed = exposed.union(*(flow.exposed for flow in flows))
                complete = any(has_default(arm.head) for arm in arms)
                if not complete or _leaves_construct(node):
                    return _Flows(frozenset(exposed), frozenset())
                defined = self.asked.intersection(*(flow.defined for flow in flows))
                return _Flows(frozenset(exposed), defined - exposed)
            case Block(head=head, body=body):
                above, inside = self._of_leaf(head).exposed, self.of_list(body)
                defined = frozenset() if _leaves_construct(node) else inside.defined - above
                return _Flows(above | inside.exposed, defined)
        return _Flows(self.asked, frozenset())

    def _of_leaf(self, leaf: Leaf) -> _Flows:
        exposed, defined = set[str](), set[str]()
        may_define = isinstance(leaf.what, Assign | DoHead | Call)
        for access in examine((leaf,), self.names).accesses:
            if access.storage not in self.asked:
                continue
            if access.mode not in (Mode.WRITE, Mode.INQUIRE):
                exposed.add(access.storage)
            elif _defines_all(access) and may_define:
                defined.add(access.storage)
        return _Flows(frozenset(exposed), frozenset(defined - exposed))


def _defines_all(access: Access) -> bool:
    return access.mode is Mode.WRITE and access.sure and _is_whole(access)


def _is_whole(access: Access) -> bool:
    colon = Section(None, None, None)
    return access.subscripts is None or all(s == colon for s in access.subscripts)


@record
class ListLevel:
    """A statement list among the nested ones from a unit's body to a statement.

    ``position`` is that of the statement, or of the construct that contains it; ``repeated``: a
    loop of the unit encloses the list.
    """

    nodes: tuple[Node, ...]
    position: int
    repeated: bool


def live_after(
    levels: tuple[ListLevel, ...], storage: str, names: NameSemantics, covers: Covers
) -> bool:
    """Whether a local variable may be live after a statement.

    ``levels`` lead to the statement, the outermost first.
    """
    if _has_gotos(levels[0].nodes):
        return True
    for level in reversed(levels):
        following = level.nodes[level.position + 1 :]
        flow = _list(following, storage, names, covers)
        if flow.exposed:
            return True
        if flow.defined and not any(True for node in following for _ in jumps_in(node)):
            return False
        if level.repeated:
            again = level.nodes[: level.position + 1]
            if _list(again, storage, names, covers).exposed:
                return True
    return False


def is_copy(loop: Do, names: NameSemantics, beside_scalars: bool = False) -> bool:
    """Whether a nest only copies: every assignment is ``array(...) = array(...)``, and it calls
    nothing.  ``beside_scalars``: it may set scalars, too, such as those in its subscripts."""
    actions = [leaf.action for leaf in leaves(loop)]
    assigns = [what for what in actions if isinstance(what, Assign)]
    if beside_scalars:
        assigns = [a for a in assigns if not isinstance(a.target, Ref) or a.target.args is not None]
    if not assigns or any(isinstance(what, Call) for what in actions):
        return False
    return all(
        isinstance(a.target, Ref)
        and isinstance(a.value, Ref)
        and a.target.args is not None
        and a.value.args is not None
        and names.kind(a.value.name, True) is NameKind.VARIABLE
        for a in assigns
    )
