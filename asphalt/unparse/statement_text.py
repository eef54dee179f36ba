"""Statements to one logical line of Fortran text: no label, no construct name, no line limit."""

from __future__ import annotations

from asphalt.ir.expr import Arg, Expr, Keyword, Lit, Ref, root_name
from asphalt.ir.stmt import (
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    Dim,
    DoHead,
    Entity,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    UnitHead,
    Use,
    UseItem,
    What,
)
from asphalt.unparse.expr_text import ExprPrinter

# attribute statements that are a list of names, with dimensions where they have them
_NAME_LISTS = frozenset(
    (
        *("allocatable", "asynchronous", "contiguous", "dimension", "external", "intrinsic"),
        *("optional", "pointer", "private", "protected", "public", "save", "target"),
        *("value", "volatile"),
    )
)
# construct heads that are a keyword, and those with a list of expressions in parentheses
_BARE_HEADS = {
    "else": "else",
    "case_default": "case default",
    "rank_default": "rank default",
    "class_default": "class default",
    "block": "block",
}
_LIST_HEADS = {
    "select_case": "select case (",
    "select_type": "select type (",
    "select_rank": "select rank (",
    "where": "where (",
    "associate": "associate (",
    "case": "case (",
    "rank": "rank (",
}


def statement_text(what: What, upper: bool = False, upper_names: bool = False) -> str:
    """A statement as one logical line, e.g. ``call f(a, n)``; ``upper``: keywords in upper case,
    ``upper_names``: names that asphalt makes.

    Raises:
        ValueError: the IR does not hold the whole statement (input and output, for instance):
            such a statement is only printed from its own text.
    """
    return _StatementPrinter(upper, upper_names).statement(what)


class _StatementPrinter(ExprPrinter):
    def statement(self, what: What) -> str:
        """The text of one statement."""
        word = self.keyword
        match what:
            case Raw(code=code) | Opaque(code=code):
                return code
            case Assign(target=target, value=value, pointer=pointer):
                return f"{self.text(target)} {'=>' if pointer else '='} {self.text(value)}"
            case Call(procedure=procedure, args=args):
                of = root_name(procedure)
                return f"{word('call')} {self.text(procedure)}{self.arguments(args, False, of)}"
            case DoHead():
                return self._do(what)
            case ArmHead():
                return self._arm(what)
            case Guarded(condition=condition, action=action, kind=kind):
                head = self.text(condition)
                head = head if kind == "forall" else f"({head})"
                return f"{word(kind)} {head} {self.statement(action)}"
            case Jump():
                return self._jump(what)
            case Allocation(kind=kind, objects=objects, options=options):
                return f"{word(kind)}({self._allocation(objects, options)})"
            case Decl():
                return self._declaration(what)
            case Use():
                return self._use(what)
            case Include(path=path):
                quote = '"' if "'" in path else "'"
                return f"{word('include')} {quote}{path}{quote}"
            case StatementFunction(name=name, args=dummies, value=value):
                return f"{name}({', '.join(dummies)}) = {self.text(value)}"
            case UnitHead(kind="subroutine", name=name, args=dummies, prefix=prefix):
                head = "".join(f"{word(one)} " for one in prefix)
                return f"{head}{word('subroutine')} {name}({', '.join(dummies)})"
            case Plain(keyword=keyword) if keyword not in ("format", "entry"):
                return word(keyword)
        raise ValueError(f"no Fortran text for {what!r}")

    def _list(self, args: tuple[Arg, ...]) -> str:
        return ", ".join(self.text(arg) for arg in args)

    def _do(self, head: DoHead) -> str:
        do = self.keyword("do") + ("" if head.label is None else f" {head.label}")
        match head:
            case DoHead(kind="forever"):
                return do
            case DoHead(kind="while", condition=condition) if condition is not None:
                return f"{do} {self.keyword('while')} ({self.text(condition)})"
            case DoHead(kind="concurrent", condition=condition) if condition is not None:
                return f"{do} {self.keyword('concurrent')} {self.text(condition)}"
            case DoHead(var=Ref() as var, first=first, last=last, step=step) if first and last:
                bounds = (first, last) if step is None else (first, last, step)
                return f"{do} {self.text(var)} = {self._list(bounds)}"
        raise ValueError(f"no Fortran text for {head!r}")

    def _arm(self, head: ArmHead) -> str:
        match head:
            case ArmHead(kind="if" | "else_if" as kind, exprs=(condition,)):
                opening = self.keyword(kind.replace("_", " "))
                return f"{opening} ({self.text(condition)}) {self.keyword('then')}"
            case ArmHead(kind="elsewhere", exprs=()):
                return self.keyword("elsewhere")
            case ArmHead(kind="elsewhere", exprs=(mask,)):
                return f"{self.keyword('elsewhere')} ({self.text(mask)})"
            case ArmHead(kind="rank", exprs=()):
                return self.keyword("rank (*)")
            case ArmHead(kind="forall", exprs=(header,)):
                return f"{self.keyword('forall')} {self.text(header)}"
            case ArmHead(kind=kind, exprs=()) if kind in _BARE_HEADS:
                return self.keyword(_BARE_HEADS[kind])
            case ArmHead(kind=kind, exprs=exprs) if exprs and kind in _LIST_HEADS:
                items = ", ".join(self._selector(item) for item in exprs)
                return f"{self.keyword(_LIST_HEADS[kind])}{items})"
        raise ValueError(f"no Fortran text for {head!r}")

    def _selector(self, item: Arg) -> str:
        if isinstance(item, Keyword):
            return f"{item.spelled} => {self.text(item.value)}"
        return self.text(item)

    def _jump(self, jump: Jump) -> str:
        labels = ", ".join(str(label) for label in jump.labels)
        match jump:
            case Jump(kind=JumpKind.GOTO):
                return f"{self.keyword('go to')} {labels}"
            case Jump(kind=JumpKind.COMPUTED_GOTO, exprs=(index,)):
                return f"{self.keyword('go to')} ({labels}), {self.text(index)}"
            case Jump(kind=JumpKind.ARITHMETIC_IF, exprs=(value,)):
                return f"{self.keyword('if')} ({self.text(value)}) {labels}"
            case Jump(kind=JumpKind.CYCLE | JumpKind.EXIT, construct=construct):
                return self.keyword(jump.kind.value) + (f" {construct}" if construct else "")
            case Jump(kind=JumpKind.RETURN | JumpKind.STOP | JumpKind.ERROR_STOP, exprs=exprs):
                if len(exprs) < 2:
                    return " ".join((self.keyword(jump.kind.value), *map(self.text, exprs)))
        raise ValueError(f"no Fortran text for {jump!r}")

    def _allocation(self, objects: tuple[Expr, ...], options: tuple[Keyword, ...]) -> str:
        of_type = [f"{self.text(o.value)} :: " for o in options if o.name == "type"]
        rest = [
            f"{self.keyword(option.name)}={self.text(option.value)}"
            for option in options
            if option.name != "type"
        ]
        return "".join(of_type) + ", ".join((*map(self.text, objects), *rest))

    def _use(self, use: Use) -> str:
        items, module = ", ".join(self._use_item(item) for item in use.items), use.module
        if self.upper_names:
            items, module = items.upper(), module.upper()
        head = self.keyword("use, intrinsic :: " if use.intrinsic else "use ") + module
        if use.only:
            return f"{head}, {self.keyword('only:')} {items}".rstrip()
        return f"{head}, {items}" if items else head

    def _use_item(self, item: UseItem) -> str:
        return item.name if item.local == item.name else f"{item.local} => {item.name}"

    def _declaration(self, decl: Decl) -> str:
        entities = ", ".join(self._entity(entity) for entity in decl.entities)
        if decl.kind == "type" and decl.type is not None:
            attributes = [self.type_text(decl.type), *map(self.keyword, decl.attrs)]
            if decl.dims is not None:
                attributes.append(f"{self.keyword('dimension')}{self._dims(decl.dims)}")
            return f"{', '.join(attributes)} :: {entities}"
        if decl.kind == "implicit" and decl.attrs == ("none",):
            return self.keyword("implicit none")
        if decl.kind in _NAME_LISTS and not decl.groups:
            return self.keyword(decl.kind) + (f" :: {entities}" if entities else "")
        if decl.kind == "common" and decl.groups:
            blocks = ", ".join(self._common(*group) for group in decl.groups)
            return f"{self.keyword('common')} {blocks}"
        raise ValueError(f"no Fortran text for {decl!r}")

    def _common(self, block: str, entities: tuple[Entity, ...]) -> str:
        block = block.upper() if self.upper_names else block
        return f"/{block}/ {', '.join(self._entity(entity) for entity in entities)}"

    def _entity(self, entity: Entity) -> str:
        text = self.name(entity.spelled)
        if entity.dims is not None:
            text += self._dims(entity.dims)
        if entity.length is not None:
            length = self.length(entity.length)
            text += f"*{length}" if isinstance(entity.length, Lit) else f"*({length})"
        if entity.initial is not None:
            arrow = "=>" if entity.points_to_initial else "="
            text += f" {arrow} {self.text(entity.initial)}"
        return text

    def _dims(self, dims: tuple[Dim, ...]) -> str:
        return f"({','.join(self._dim(dim) for dim in dims)})"

    def _dim(self, dim: Dim) -> str:
        lower = "" if dim.lower is None else f"{self.text(dim.lower, tight=True)}:"
        match dim.kind:
            case "explicit" if dim.upper is not None:
                return lower + self.text(dim.upper, tight=True)
            case "assumed_size":
                return f"{lower}*"
            case "assumed_shape" | "deferred":
                return lower or ":"
            case "assumed_rank":
                return ".."
        raise ValueError(f"no Fortran text for {dim!r}")
