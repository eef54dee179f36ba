"""What the specification part of one unit says about its names, all its statements combined.

Fortran spreads the description of a variable over a type declaration and DIMENSION, COMMON,
PARAMETER, SAVE, EQUIVALENCE ... statements (F2018 clause 8).  ``own_names`` gathers them into one
``Symbol`` for each name.  What other units contribute (host and use association) is in ``scopes``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from asphalt.analysis.names.implicit import implicit_rule
from asphalt.analysis.names.references import named_by
from asphalt.analysis.names.symbol import NameLookup, Origin, Symbol
from asphalt.config.library_headers import LIBRARY_HEADERS
from asphalt.config.limits import HEADER
from asphalt.ir.expr import Arg, Expr, Lit, Op, Section, TypeSpec
from asphalt.ir.source import OF_THE_PREPROCESSOR, Span, Trivia, TriviaKind
from asphalt.ir.stmt import (
    Decl,
    Dim,
    Entity,
    Include,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    UnitHead,
    Use,
)
from asphalt.ir.tree import Block, Leaf, Node, Unit, leaves
from asphalt.support.word_sets import words


@dataclass(slots=True)
class _Draft:
    """A symbol under construction, while its statements are gathered."""

    spelled: str
    type: TypeSpec | None = None
    dims: tuple[Dim, ...] | None = None
    attrs: set[str] = field(default_factory=set)
    intent: str | None = None
    initial: Expr | None = None
    initial_span: Span | None = None
    block: str | None = None
    equivalenced: bool = False
    span: Span | None = None
    origin: Origin | None = None


@dataclass(slots=True)
class Declarations:
    """The specification part of one unit.

    ``unclear``: names in statements that are not interpreted, and in the files that INCLUDE lines
    behind CONTAINS name.  ``included``: the latter alone: they may be names of procedures of the
    unit.  ``open``: an include file that was not read, or a statement that is not interpreted, may
    declare further names; ``beginnings``: a file of a library that was not read declares names
    that begin like this.  ``tiled``: the unit includes the header with K and D, which may not exist
    yet. ``implicit``: the types of the letters; None: ``implicit none``; absent letters follow the
    host or the default.
    """

    symbols: dict[str, Symbol] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)
    included: frozenset[str] = frozenset()
    open: bool = False
    beginnings: tuple[str, ...] = ()
    mpif: bool = False
    tiled: bool = False
    implicit_none: bool = False
    implicit: dict[str, TypeSpec | None] = field(default_factory=dict)
    private_default: bool = False
    private: set[str] = field(default_factory=set)
    public: set[str] = field(default_factory=set)
    equivalences: list[frozenset[str]] = field(default_factory=list)
    commons: dict[str, list[str]] = field(default_factory=dict)

    def may_declare(self, name: str) -> bool:
        """Whether text that was not read may declare a name."""
        return self.open or name.startswith(self.beginnings)


class IncludeReader(Protocol):
    """Gives the interpreted declarations of an include file; None: it cannot be read."""

    def __call__(self, path: str) -> Iterable[Node] | None: ...


_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_INCLUDE_LINE = re.compile(r"[\s&]*".join("include") + r"\s*(['\"])(.*)\1", re.IGNORECASE)
_CPP_INCLUDE = re.compile(r"\s*#\s*include\s*[\"<]([^\">]*)[\">]")
_ATTRIBUTE_KINDS = words(
    "dimension save external intrinsic pointer target allocatable optional contiguous asynchronous"
    " volatile value protected bind codimension procedure"
)
_MAX_INCLUDE_DEPTH = 20


class _Gatherer:
    def __init__(self, unit: Unit, include: IncludeReader) -> None:
        self.unit = unit
        self.include = include
        self.out = Declarations()
        self.drafts: dict[str, _Draft] = {}
        self.save_all = False
        parent = parent_of(unit)
        # the names of submodules are those of one module (F2018 19.2)
        self.owner = unit.name if parent is None else f"{parent[0]}:{unit.name}"

    def draft(self, name: str, spelled: str | None = None, span: Span | None = None) -> _Draft:
        found = self.drafts.get(name)
        if found is None:
            found = self.drafts[name] = _Draft(spelled or name, span=span)
        return found

    def nodes(self, nodes: Iterable[Node], depth: int = 0) -> None:
        for node in nodes:
            match node:
                case Leaf():
                    self.leaf(node, depth)
                case Block(kind="interface"):
                    self.interface(node)
                case Block(kind="enum"):
                    self.enum(node)
                case Block(kind="type"):
                    pass  # components are not names of the unit
                case _:
                    for leaf in leaves(node):
                        self.leaf(leaf, depth)

    def leaf(self, leaf: Leaf, depth: int) -> None:
        for trivia in leaf.lead:
            self.preprocessor_line(trivia)
        match leaf.what:
            case Decl() as decl:
                self.declaration(decl, leaf.span)
            case Use() as use:
                self.use(use)
            case Include(path=path):
                self.included(path, depth)
            case StatementFunction(name=name):
                self.draft(name, None, leaf.span).origin = Origin.STATEMENT_FUNCTION
            case Opaque(names=names):
                self.out.unclear |= names
            case Raw(code=code):
                self.out.unclear |= set(_WORD.findall(code.lower()))
                self.out.open = True
            case _:
                pass

    def use(self, use: Use) -> None:
        """Several USE statements of a module count as one (F2018 14.2.2)."""
        for number, other in enumerate(self.out.uses):
            if (other.module, other.intrinsic) == (use.module, use.intrinsic):
                self.out.uses[number] = other.with_items_of(use)
                return
        self.out.uses.append(use)

    def included(self, path: str, depth: int) -> None:
        if path.lower().rsplit("/", 1)[-1] in ("mpif.h", "mpif-config.h"):
            self.out.mpif = True
            return
        found = self.include(path) if depth < _MAX_INCLUDE_DEPTH else None
        self.out.tiled = self.out.tiled or path == HEADER
        if found is not None:
            self.nodes(found, depth + 1)
        elif path.lower() in LIBRARY_HEADERS:
            self.out.beginnings += LIBRARY_HEADERS[path.lower()]
        else:
            self.out.open = True

    def preprocessor_line(self, line: Trivia) -> None:
        match = _CPP_INCLUDE.match(line.text) if line.kind in OF_THE_PREPROCESSOR else None
        if match is not None and match[1].lower().endswith("mpif.h"):
            self.out.mpif = True
        elif match is not None and line.kind is TriviaKind.CPP:
            self.out.open = True

    def interface(self, block: Block) -> None:
        if isinstance(block.head.what, UnitHead) and block.head.what.name:
            self.draft(block.head.what.name, None, block.head.span).attrs.add("generic")
        for node in block.body:
            if isinstance(node, Unit):
                name, head = node.name, node.head
                self.draft(name, None, head.span if head else None).attrs.add("external")

    def enum(self, block: Block) -> None:
        value: Expr = Lit("integer", "0")
        for leaf in leaves(block):
            if isinstance(leaf.what, Decl) and leaf.what.kind == "enumerator":
                for entity in leaf.what.entities:
                    value = entity.initial or value
                    draft = self.draft(entity.name, entity.spelled, leaf.span)
                    draft.type = TypeSpec("integer")
                    draft.attrs.add("parameter")
                    draft.initial, draft.initial_span = value, leaf.span
                    value = Op("+", (value, Lit("integer", "1")), "+")

    def declaration(self, decl: Decl, span: Span | None) -> None:
        match decl.kind:
            case "type" | "procedure":
                for entity in decl.entities:
                    self.typed(decl, entity, span)
            case "parameter":
                for entity in decl.entities:
                    draft = self.draft(entity.name, entity.spelled, span)
                    draft.attrs.add("parameter")
                    draft.initial, draft.initial_span = entity.initial, span
            case "common":
                for block, entities in decl.groups:
                    for entity in entities:
                        draft = self.entity(entity, span)
                        draft.block = block
                        self.out.commons.setdefault(block, []).append(entity.name)
            case "equivalence" | "cray_pointer":
                for _, entities in decl.groups or (("", decl.entities),):
                    for entity in entities:
                        draft = self.draft(entity.name, entity.spelled, span)
                        draft.equivalenced = True
                        if decl.kind == "cray_pointer":
                            draft.attrs.add(decl.kind)
                    self.out.equivalences.append(frozenset(e.name for e in entities))
            case "implicit":
                self.implicit(decl.attrs)
            case "public" | "private":
                names = {entity.name for entity in decl.entities}
                (self.out.private if decl.kind == "private" else self.out.public).update(names)
                if not names:
                    self.out.private_default = decl.kind == "private"
            case "intent":
                intent = _intent(decl.attrs) or "inout"
                for entity in decl.entities:
                    self.draft(entity.name, entity.spelled, span).intent = intent
            case "data":
                for entity in decl.entities:
                    self.draft(entity.name, entity.spelled, span).attrs |= {"save", "data"}
            case "save" if not decl.entities and not decl.groups:
                self.save_all = True
            case kind if kind in _ATTRIBUTE_KINDS:
                for entity in decl.entities:
                    self.entity(entity, span).attrs.add(kind)
            case _:
                pass

    def entity(self, entity: Entity, span: Span | None) -> _Draft:
        draft = self.draft(entity.name, entity.spelled, span)
        if entity.dims is not None:
            draft.dims = entity.dims
        return draft

    def typed(self, decl: Decl, entity: Entity, span: Span | None) -> None:
        draft = self.entity(entity, span)
        draft.span = span
        if draft.dims is None:
            draft.dims = decl.dims
        draft.type = _with_length(decl.type, entity.length)
        for attr in decl.attrs:
            if attr.startswith("intent"):
                draft.intent = _intent((attr,))
            else:
                draft.attrs.add(attr)
        if decl.kind == "procedure":
            draft.attrs.add("procedure")
        if entity.initial is not None:
            draft.initial, draft.initial_span = entity.initial, span
            if "parameter" not in draft.attrs:
                draft.attrs.add("save")

    def implicit(self, rules: tuple[str, ...]) -> None:
        self.out.implicit_none |= "none" in rules
        for rule in (one for one in rules if not one.startswith("none")):
            for letter, spec in implicit_rule(rule).items():
                self.out.implicit[letter] = spec

    def finish(self, home: NameLookup) -> Declarations:
        self.heading()
        for name, draft in self.drafts.items():
            self.out.symbols[name] = self.symbol(name, draft, home)
        return self.out

    def heading(self) -> None:
        """The unit's own head: dummies, result; and the procedures that it contains."""
        head = self.unit.head.what if self.unit.head is not None else None
        if isinstance(head, UnitHead) and self.unit.kind in ("subroutine", "function"):
            for name in head.args:
                if name != "*":
                    self.draft(name).origin = Origin.DUMMY
            if self.unit.kind == "function":
                draft = self.draft(head.result or self.unit.name)
                draft.origin = Origin.RESULT
                draft.type = draft.type or head.type
        if self.unit.kind == "module_procedure":
            self.out.open = True  # an interface body in another unit declares the dummy arguments
        for unit in self.unit.contained:
            span = unit.head.span if unit.head is not None else None
            self.draft(unit.name, None, span).origin = Origin.PROCEDURE

    def symbol(self, name: str, draft: _Draft, home: NameLookup) -> Symbol:
        attrs = set(draft.attrs)
        for attr in list(attrs):
            if attr.startswith("bind"):
                attrs.add("bind")
        dims = draft.dims
        overlaid = draft.equivalenced or self.is_overlaid(draft.block)
        if dims is not None and attrs & {"allocatable", "pointer"}:
            dims = tuple(
                replace(d, kind="deferred") if d.kind == "assumed_shape" else d for d in dims
            )
        origin = draft.origin or self.origin_of(draft)
        if draft.origin is Origin.DUMMY and "parameter" not in attrs:
            origin = Origin.DUMMY
        if origin is Origin.MODULE or (self.save_all and origin is Origin.LOCAL):
            attrs.add("save")
        return Symbol(
            name, draft.spelled, draft.type, dims, frozenset(attrs), draft.intent, draft.initial,
            origin, self.owner, draft.block, overlaid, draft.span, home, draft.initial_span,
        )  # fmt: skip

    def is_overlaid(self, block: str | None) -> bool:
        """Whether EQUIVALENCE may reach into a COMMON block through one of its members."""
        return block is not None and any(
            other.block == block and other.equivalenced for other in self.drafts.values()
        )

    def origin_of(self, draft: _Draft) -> Origin:
        if "parameter" in draft.attrs:
            return Origin.PARAMETER
        if draft.block is not None:
            return Origin.COMMON
        if draft.attrs & {"external", "intrinsic", "procedure", "generic"}:
            return Origin.PROCEDURE
        if self.unit.kind in ("module", "submodule"):
            return Origin.MODULE
        return Origin.LOCAL


def own_names(unit: Unit, home: NameLookup, include: IncludeReader) -> Declarations:
    """The names that ``unit`` declares itself; ``home`` becomes the home of each symbol."""
    gatherer = _Gatherer(unit, include)
    gatherer.nodes(unit.spec)
    for line in _lines_after_spec(unit):
        gatherer.preprocessor_line(line)
    if any(
        isinstance(leaf.what, Plain) and leaf.what.keyword == "entry"
        for node in (*unit.spec, *unit.body)
        for leaf in leaves(node)
    ):
        # The dummies of an ENTRY are not in the IR: any name that looks local may be one.
        out = gatherer.finish(home)
        local = {n for n, s in out.symbols.items() if s.origin is Origin.LOCAL}
        out.unclear |= local
        out.open = True
        return out
    return gatherer.finish(home)


def parent_of(unit: Unit) -> tuple[str, str | None] | None:
    """The module and the submodule between them, if any, of which a unit is a submodule."""
    what = None if unit.head is None else unit.head.what
    return what.parent if isinstance(what, UnitHead) else None


def separate_interface(name: str, unit: Unit) -> Unit | None:
    """The interface body with which a module or submodule declares a separate module procedure
    (F2018 15.6.2.5)."""
    if unit.kind not in ("module", "submodule"):
        return None
    for node in unit.spec:
        for body in node.body if isinstance(node, Block) and node.kind == "interface" else ():
            if isinstance(body, Unit) and body.name == name:
                what = None if body.head is None else body.head.what
                if isinstance(what, UnitHead) and "module" in what.prefix:
                    return body
    return None


def with_interface(unit: Unit, body: Unit, hosts: Iterable[Unit]) -> Unit:
    """A ``module procedure`` with the head and the declarations of its interface body; as it is if
    the body has names of its own, or some that the unit or its ``hosts`` below declare anew."""
    what = None if body.head is None else body.head.what
    dummies = {what.result or body.name, *what.args} if isinstance(what, UnitHead) else set()
    named: set[str] = set()
    for leaf in (leaf for node in body.spec for leaf in leaves(node)):
        match leaf.what:
            case Decl(kind="implicit", attrs=("none", *_)) | Decl(kind="import"):
                continue
            case Decl(entities=entities, groups=()) if entities:
                named |= named_by(leaf.what) or set()
                if all(entity.name in dummies for entity in entities):
                    continue
        return unit
    hidden = any(_may_declare(one, named - dummies) for one in (unit, *hosts))
    whole = replace(unit, kind=body.kind, head=body.head, spec=(*body.spec, *unit.spec))
    return unit if hidden else whole


def _may_declare(unit: Unit, names: set[str]) -> bool:
    own = {inner.name for inner in unit.contained}
    for what in (leaf.what for node in unit.spec for leaf in leaves(node)):
        found = named_by(what)
        if found is None or (isinstance(what, Use) and not what.only):
            return bool(names)
        is_type = isinstance(what, Decl) and what.kind == "type"
        own |= {e.name for e in what.entities} if isinstance(what, Decl) and is_type else found
    return not names.isdisjoint(own)


def included_behind_contains(unit: Unit) -> Iterator[str]:
    """The files that INCLUDE lines between the procedures of a unit name: they may hold whole
    procedures (the lines are part of the text before the next procedure or END)."""
    heads = (inner.head for inner in unit.contained) if unit.contains is not None else ()
    for leaf in (*heads, *((unit.end,) if unit.contains is not None else ())):
        for trivia in leaf.lead if leaf is not None else ():
            match = _INCLUDE_LINE.match(trivia.text.strip())
            if match is not None and trivia.kind is TriviaKind.CPP:
                yield match[2]


def _lines_after_spec(unit: Unit) -> Iterable[Trivia]:
    """The lines between the last declaration and the next statement."""
    following = next(
        (leaf for node in unit.body for leaf in leaves(node)), unit.contains or unit.end
    )
    return following.lead


def _intent(attrs: tuple[str, ...]) -> str | None:
    text = "".join(attrs).replace(" ", "").removeprefix("intent").strip("()")
    return text if text in ("in", "out", "inout") else None


def _with_length(spec: TypeSpec | None, length: Arg | None) -> TypeSpec | None:
    if spec is None or length is None:
        return spec
    if spec.base == "character":
        return replace(spec, length=length)
    return None if isinstance(length, Section) else replace(spec, kind=_expr(length), star=True)


def _expr(arg: Arg) -> Expr | None:
    return arg if isinstance(arg, Lit | Op) else None
