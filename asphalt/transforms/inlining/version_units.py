"""The text of versions of a procedure: copies of it that execute a part of its statements each.

A version has the declarations of its original, in the same scope, but for local variables that
only the other version uses.  It gets no binding label, and INTENT(OUT) becomes INTENT(INOUT): what
one version defines stays as it is in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.inlining.codes import ARGUMENT, TEXT, RefusedError
from asphalt.analysis.inlining.version_calls import NewNames
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.program import Located, Program
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Decl, Plain, UnitHead, Use, UseItem
from asphalt.ir.tree import File, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.make import Maker
from asphalt.transforms.rewriting.publishing import with_public_names
from asphalt.transforms.rewriting.tidying import without_unused
from asphalt.unparse.statement_text import statement_text

_PREFIXES = frozenset({"pure", "recursive", "non_recursive", "impure"})
_STRUCTURED = frozenset({"type", "class"})
LONGEST_NAME = 63


def check_head(located: Located, scope: Scope) -> None:
    """Check that a procedure can stand a second time under another name.

    Raises:
        RefusedError: it cannot.
    """
    unit = located.unit
    head = unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    if located.part is not None:
        raise RefusedError(TEXT, f"{unit.name} stands in an included file")
    if any(is_conditional(entry) for leaf in _behind_head(unit) for entry in leaf.lead):
        raise RefusedError(TEXT, f"the preprocessor selects statements of {unit.name}")
    if not set(_prefix(head.what)) <= _PREFIXES:
        raise RefusedError(TEXT, f"{unit.name} is {' '.join(head.what.prefix)}")
    if unit.contained:
        raise RefusedError(TEXT, f"{unit.name} has internal procedures")
    for leaf in (head, unit.end, *(leaf for node in unit.spec for leaf in leaves(node))):
        if leaf.frozen or leaf.joined or ";" in leaf.trail.split("!")[0]:
            raise RefusedError(TEXT, f"a declaration of {unit.name} shares its line, or is a macro")
        if isinstance(leaf.what, Decl) and leaf.what.kind == "intent":
            raise RefusedError(TEXT, f"{unit.name} has an INTENT statement")
    for dummy in head.what.args:
        symbol = scope.lookup(dummy)
        structured = symbol is not None and symbol.type is not None
        structured = structured and symbol.type.base in _STRUCTURED  # type: ignore[union-attr]
        if symbol is None or "external" in symbol.attrs or "procedure" in symbol.attrs:
            raise RefusedError(ARGUMENT, f"{dummy} of {unit.name} may be a procedure")
        if symbol.intent == "out" and (structured or symbol.attrs & {"allocatable", "pointer"}):
            raise RefusedError(ARGUMENT, f"{dummy} of {unit.name} is INTENT(OUT) and is reset")


def _behind_head(unit: Unit) -> Iterator[Leaf]:
    """The statements of a procedure, but for the first one."""
    own = leaves(unit)
    next(own)
    return own


def _prefix(head: UnitHead) -> tuple[str, ...]:
    """The prefixes of a procedure without its binding label."""
    return tuple(one for one in head.prefix if not one.startswith("bind("))


def version(
    facts: UnitFacts,
    name: str,
    body: tuple[Node, ...],
    comments: tuple[str, ...],
    more: tuple[str, ...] = (),
) -> Unit:
    """A version of the procedure of ``facts``, with another name and other statements; ``more``:
    local variables that are dummy arguments of it."""
    unit = facts.unit
    head = unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    make = Maker(len(head.head.expandtabs(8)), 2, True, facts.eol)
    if not facts.free:
        make = Maker(max(0, make.column - 6), 2, False, facts.eol)
    dummies = tuple(_spelled(dummy, facts.scope) for dummy in (*head.what.args, *more))
    what = replace(head.what, name=name, args=dummies, prefix=_prefix(head.what))
    lead = (Trivia(TriviaKind.BLANK, facts.eol), *map(make.comment, comments))
    made = replace(
        unit,
        name=name.lower(),
        head=replace(rewrite(head, what), lead=lead, trail=facts.eol, macros=()),
        spec=tuple(_kept(node) for node in unit.spec),
        body=body,
        end=replace(
            rewrite(unit.end, Plain(f"end subroutine {name}")),
            lead=_own(unit.end.lead),
            trail=facts.eol,
        ),
    )
    local = [s.name for s in facts.scope.own.values() if s.origin is Origin.LOCAL]
    local = [name for name in local if name not in more]
    located = replace(facts.located, chain=(*facts.located.chain[:-1], made))
    return without_unused(located, local, facts.effects.scopes.program)


def _spelled(name: str, scope: Scope) -> str:
    symbol = scope.lookup(name)
    return name if symbol is None else symbol.spelled


def _own(lead: tuple[Trivia, ...]) -> tuple[Trivia, ...]:
    return tuple(entry for entry in lead if entry.kind in (TriviaKind.BLANK, TriviaKind.COMMENT))


def _kept(node: Node) -> Node:
    """A declaration, in which INTENT(OUT) has become INTENT(INOUT)."""
    what = node.what if isinstance(node, Leaf) else None
    if not isinstance(node, Leaf) or not isinstance(what, Decl) or "intent(out)" not in what.attrs:
        return node
    attrs = tuple("intent(inout)" if one == "intent(out)" else one for one in what.attrs)
    return rewrite(node, replace(what, attrs=attrs))


def is_free(unit: Unit, callee: Located, program: Program) -> bool | None:
    """Whether nothing has the name of a version of a procedure yet; False: the same version has it;
    None: something else has it."""
    if len(callee.chain) > 1:
        beside = callee.chain[-2].contained
    else:
        beside = tuple(one.unit for one in program.mentions(unit.name) if len(one.chain) == 1)
    same = [one for one in beside if one.name == unit.name]
    if same:
        return False if same_text(same[0], unit) else None
    return None if any(True for _ in program.mentions(unit.name)) else True


def spelled(callee: Located) -> str:
    """The name of a procedure in the case in which it is written."""
    head = callee.unit.head
    name = callee.unit.name
    return name.upper() if head is not None and name.upper() in (head.body or "") else name


def same_text(one: Unit, two: Unit) -> bool:
    """Whether two procedures consist of the same statements, in the same spelling."""
    return _statements(one) == _statements(two)


def _statements(unit: Unit) -> list[str]:
    texts = (leaf.body or statement_text(leaf.what) for leaf in leaves(unit))
    return ["".join(text.replace("&", "").lower().split()) for text in texts]


def with_units(file: File, chain: tuple[str, ...], made: tuple[Unit, ...]) -> File:
    """The file with units behind one of it, in the same scope; ``chain``: the names of that unit
    and its hosts, the outermost first."""
    return replace(file, units=_behind(file.units, chain, made))


def _behind(
    units: tuple[Unit, ...], chain: tuple[str, ...], made: tuple[Unit, ...]
) -> tuple[Unit, ...]:
    name, *inner = chain
    position = next(n for n, unit in enumerate(units) if unit.name == name)
    host = units[position]
    if not inner:
        return (*units[: position + 1], *made, *units[position + 1 :])
    host = replace(host, contained=_behind(host.contained, tuple(inner), made))
    return (*units[:position], host, *units[position + 1 :])


def beside(file: File, callee: Located, made: tuple[Unit, ...], names: NewNames) -> File:
    """The file with versions beside their original, public where callers need that."""
    file = with_units(file, tuple(unit.name for unit in callee.chain), made)
    if names.published is None or not made:
        return file
    return with_public_names(file, {names.published: tuple(unit.name for unit in made)})


def with_listed(unit: Unit, names: NewNames, called: tuple[str, ...]) -> Unit:
    """A caller whose USE statement lists the procedures ``called``, if that has to list them."""
    listed = names.listed
    if listed is None:
        return unit
    now = next(node for node in unit.spec if _is(node, listed))
    assert isinstance(now, Leaf)
    assert isinstance(now.what, Use)
    known = {item.name for item in now.what.items}
    items = tuple(UseItem(n, n) for n in map(str.lower, called) if n not in known)
    longer = rewrite(now, replace(now.what, items=(*now.what.items, *items)))
    return replace(unit, spec=tuple(longer if node is now else node for node in unit.spec))


def _is(node: Node, listed: Leaf) -> bool:
    """Whether a statement is the USE statement ``listed``, or has become of it."""
    mine, theirs = (one.what if isinstance(one, Leaf) else None for one in (node, listed))
    if not isinstance(mine, Use) or not isinstance(theirs, Use) or not isinstance(node, Leaf):
        return False
    begins = mine.items[: len(theirs.items)] == theirs.items and mine.only
    return node is listed or (mine.module == theirs.module and begins)
