"""The meaning of the statements of a unit.

``f(x) = y`` is a statement function or the first assignment to an array: only the declarations
determine which.  The border between specification and body in the tree of the file is a hint; it is
moved here if the unit's declarations contradict it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace

from asphalt.frontend.lexical.tokens import names_cut, names_in_text, with_line
from asphalt.frontend.statements.attributes import declared_dims
from asphalt.frontend.statements.conditional_compilation import with_conditional_statements
from asphalt.frontend.statements.cut_tokens import assigns, whole_tokens
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import Arg, Keyword, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import (
    IO,
    Decl,
    Guarded,
    Include,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    Use,
    What,
)
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, with_meaning


@record
class IoNames:
    """The namelist groups that a unit declares and the types of its variables."""

    groups: dict[str, tuple[Ref, ...]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def io_names(spec: Iterable[Node]) -> IoNames:
    """The names that an interpreted specification part declares."""
    found = IoNames()
    for node in spec:
        match node:
            case Leaf(what=Decl(kind="namelist", groups=groups)):
                for group, entities in groups:
                    members = tuple(Ref(one.name, one.spelled) for one in entities)
                    found.groups[group] = (*found.groups.get(group, ()), *members)
            case Leaf(what=Decl(kind="type", type=spec_, entities=entities)) if spec_ is not None:
                found.types.update({one.name: spec_.base for one in entities})
    return found


def with_names(what: What, code: str, names: IoNames) -> What:
    """``what`` with the marked names resolved.

    A READ of a namelist that is declared elsewhere is ``Opaque``: what it defines is unknown.
    """
    match what:
        case Guarded(action=action):
            inner = with_names(action, code, names)
            return inner if isinstance(inner, Opaque) else replace(what, action=inner)
        case IO(reads=reads, writes=writes) if any(
            isinstance(part, Keyword) for part in (*reads, *writes)
        ):
            unknown = sorted(_unknown_groups(writes, names))
            if unknown:
                reason = f"the namelist {unknown[0]} is declared elsewhere"
                return Opaque(code, reason, names_in_text(code))
            return replace(
                what,
                reads=tuple(_resolved(reads, names)),
                writes=tuple(_resolved(writes, names)),
            )
    return what


def _unknown_groups(args: Iterable[Arg], names: IoNames) -> Iterator[str]:
    for arg in args:
        match arg:
            case Keyword(name="nml", value=Ref(name=group)) if (
                group not in names.groups and group not in names.types
            ):
                yield group


def _resolved(args: Iterable[Arg], names: IoNames) -> Iterator[Arg]:
    for arg in args:
        match arg:
            case Keyword(name="nml", value=Ref(name=group)) if group in names.groups:
                yield from names.groups[group]
            case Ref(name=group, args=None) if group in names.groups:
                pass  # the name of a group is no variable
            case Keyword(name="nml", value=Ref(name=variable)) if variable in names.types:
                pass  # a format after all
            case Keyword(name="unit", value=Ref(name=variable)) if variable in names.types:
                if names.types[variable] == "character":
                    yield arg.value
            case _:
                yield arg


__all__ = ["interpret_spec", "interpret_unit", "statement"]

_DEFINITIONS = frozenset(("type", "interface", "enum"))


def interpret_unit(unit: Unit, deep: bool = False) -> Unit:
    """The unit with every ``Raw`` statement of its own interpreted; with ``deep`` also those of the
    units that it contains.

    Never raises: a statement that cannot be interpreted is ``Opaque``.
    """
    unit = _divided(unit)
    names = io_names(unit.spec)

    def of_body(leaf: Leaf, block: str) -> Leaf:
        if not isinstance(leaf.what, Raw):
            return leaf
        return _interpreted(leaf, leaf.what, False, block, names)

    unit = with_conditional_statements(unit, lambda leaf: of_body(leaf, ""))
    return replace(
        unit,
        head=_head(unit),
        body=tuple(_node(node, of_body) for node in unit.body),
        contains=None if unit.contains is None else _plain(unit.contains),
        contained=tuple(interpret_unit(inner, deep=True) for inner in unit.contained)
        if deep
        else unit.contained,
        end=_plain(unit.end),
    )


def interpret_spec(unit: Unit) -> Unit:
    """The unit with its head and its specification part interpreted, its body as it was."""
    unit = _divided(unit)
    return replace(unit, head=_head(unit))


def _head(unit: Unit) -> Leaf | None:
    return None if unit.head is None else _plain(unit.head)


def _plain(leaf: Leaf, block: str = "") -> Leaf:
    if not isinstance(leaf.what, Raw):
        return leaf
    return _interpreted(leaf, leaf.what, False, block)


def _of_spec(leaf: Leaf, block: str) -> Leaf:
    if not isinstance(leaf.what, Raw):
        return leaf
    return _interpreted(leaf, leaf.what, True, block)


def _interpreted(
    leaf: Leaf, raw: Raw, in_spec: bool, block: str, names: IoNames | None = None
) -> Leaf:
    code = whole_tokens(raw.code, in_spec, block) if raw.fixed else raw.code
    what = statement(with_line(code, leaf.line), in_spec, block)
    if raw.fixed and isinstance(what, Decl) and what.kind != "parameter" and assigns(code):
        what = Opaque(code, "a declaration, or an assignment", names_in_text(code))
    if names is not None:
        what = with_names(what, code, names)
    if code == raw.code:
        return with_meaning(leaf, what)
    return replace(leaf, what=what, cut=leaf.cut | names_cut(code, leaf.body or ""))


def _node(node: Node, interpreted: Callable[[Leaf, str], Leaf], block: str = "") -> Node:
    """A node with all its leaves interpreted; ``block`` is the definition that it stands in."""

    def all_of(nodes: tuple[Node, ...], inside: str = "") -> tuple[Node, ...]:
        return tuple(_node(child, interpreted, inside) for child in nodes)

    match node:
        case Leaf():
            return interpreted(node, block)
        case Do(head=head, body=body, end=end):
            last = None if end is None else interpreted(end, "")
            return Do(interpreted(head, ""), all_of(body), last)
        case Branch(kind=kind, arms=arms, end=end):
            inner = tuple(Arm(interpreted(arm.head, ""), all_of(arm.body)) for arm in arms)
            return Branch(kind, inner, interpreted(end, ""))
        case Block(kind=kind, head=head, body=body, end=end):
            hint = kind if kind in _DEFINITIONS else ""
            return Block(kind, _plain(head), all_of(body, hint), _plain(end))
        case Unit():
            return interpret_unit(node, deep=True)


def _divided(unit: Unit) -> Unit:
    """The unit with its specification interpreted, and the border to the body where it belongs."""
    shaped: dict[str, bool] = {}  # the names declared so far, and whether with dimensions
    spec: list[Node] = []
    for index, raw in enumerate(unit.spec):
        node = _node(raw, _of_spec)
        if not _specifies(node, shaped, unknown=True):
            return replace(unit, spec=tuple(spec), body=(*unit.spec[index:], *unit.body))
        _note(node, shaped)
        spec.append(node)
    ahead: list[Node] = []
    moved = 0
    for raw in unit.body:
        if not (isinstance(raw, Leaf) or (isinstance(raw, Block) and raw.kind in _DEFINITIONS)):
            break
        node = _node(raw, _of_spec)
        if not _specifies(node, shaped, unknown=False):
            break
        _note(node, shaped)
        ahead.append(node)
        if _only_specifies(node):
            moved = len(ahead)
    return replace(unit, spec=(*spec, *ahead[:moved]), body=unit.body[moved:])


def _only_specifies(node: Node) -> bool:
    """No execution part can have begun before this node (DATA, FORMAT and ENTRY may stand in one;
    what is Opaque or comes from an INCLUDE may be executable)."""
    match node:
        case Leaf(what=Decl(kind=kind)):
            return kind != "data"
        case Leaf(what=StatementFunction() | Use()) | Block():
            return True
    return False


def _note(node: Node, shaped: dict[str, bool]) -> None:
    if isinstance(node, Leaf) and isinstance(node.what, Decl):
        for name, dims in declared_dims(node.what).items():
            shaped[name] = shaped.get(name, False) or dims is not None


def _specifies(node: Node, shaped: dict[str, bool], unknown: bool) -> bool:
    """The node belongs to a specification part.

    ``unknown``: what ``f(x) = y`` is where the unit does not declare f.
    """
    match node:
        case Leaf(what=StatementFunction(name=name)):
            return not shaped[name] if name in shaped else unknown
        case Leaf(what=Decl() | Use() | Include() | Opaque()):
            return True
        case Leaf(what=Plain(keyword=keyword)):
            return keyword in ("format", "entry")
        case Block(kind=kind):
            return kind in _DEFINITIONS
    return False
