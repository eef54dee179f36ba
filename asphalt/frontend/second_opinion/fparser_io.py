"""Input/output statements according to fparser: what they read, define and go to.

As in the IR, a statement alone does not determine whether an internal unit is a variable and
whether a format is a namelist: such names are marked with the keywords ``unit`` and ``nml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from asphalt.frontend.second_opinion.fparser_tree import Tree, class_of, expression, parts, ref
from asphalt.frontend.statements.io_statements import IoEffects
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Lit, OpaqueExpr, Ref
from asphalt.ir.stmt import IO

_LABELS = frozenset(("err", "end", "eor"))
_RESULTS = frozenset(("iostat", "iomsg", "size", "newunit", "id"))
_ASKED_ABOUT = frozenset(("unit", "file", "id"))
_STARS = frozenset(("Format", "Io_Unit"))


class _Effects(IoEffects):
    """The effects of a statement in fparser's tree."""

    def items(self, nodes: Iterable[Tree], into: list[Arg]) -> None:
        """Items of a transfer; the variable of an implied DO is defined, its bounds are read."""
        for node in nodes:
            if class_of(node) != "Io_Implied_Do":
                into.append(expression(node))
                continue
            inner, control = node.items
            self.items(parts(inner), into)
            variable, *bounds = control.items
            self.writes.append(ref(variable))
            self.reads += [expression(bound) for bound in bounds if bound is not None]

    def label(self, value: Tree) -> None:
        """A label to go to."""
        self.labels.append(int(str(value)))


def _controls(specs: Tree) -> Iterator[tuple[str, Tree]]:
    """Keywords ('unit' and 'fmt' where they are left out) and values that are no ``*``."""
    for position, spec in enumerate(parts(specs)):
        keyword, value = spec.items
        if class_of(value) not in _STARS or str(value) != "*":
            yield (keyword or ("unit", "fmt")[position]).lower(), value


def _read(node: Tree) -> IO:
    specs, form, items = node.items
    return _transfer("read", specs, form, items)


def _write(node: Tree) -> IO:
    specs, items = node.items
    return _transfer("write", specs, None, items)


def _print(node: Tree) -> IO:
    form, items = node.items
    return _transfer("print", None, form, items)


def _transfer(kind: str, specs: Tree, form: Tree, items: Tree) -> IO:
    effects = _Effects()
    if form is not None and not (class_of(form) in _STARS and str(form) == "*"):
        _form(effects, kind, form, items)
    for keyword, value in _controls(specs):
        if keyword in _LABELS:
            effects.label(value)
        elif keyword in _RESULTS:
            effects.writes.append(expression(value))
        elif keyword == "fmt":
            _form(effects, kind, value, items)
        else:
            _input(effects, kind, keyword, expression(value))
    effects.items(parts(items), effects.writes if kind == "read" else effects.reads)
    return effects.io(kind)


def _form(effects: _Effects, kind: str, node: Tree, items: Tree) -> None:
    """A format; without items it may be a namelist."""
    value = expression(node)
    if not isinstance(value, Lit):
        effects.reads.append(value)
        if items is None and isinstance(value, Ref):
            _namelist(effects, kind, value)


def _input(effects: _Effects, kind: str, keyword: str, value: Expr) -> None:
    effects.reads.append(value)
    if not isinstance(value, Ref | Component | OpaqueExpr):
        return
    if keyword == "unit" and kind == "write":
        effects.writes.append(Keyword("unit", "unit", value))
    elif keyword == "nml":
        _namelist(effects, kind, value)


def _namelist(effects: _Effects, kind: str, group: Expr) -> None:
    into = effects.writes if kind == "read" else effects.reads
    into.append(Keyword("nml", "nml", group))


def _file(kind: str) -> Callable[[Tree], IO]:
    """OPEN, CLOSE, REWIND and so on; ``rewind u`` has the unit as an item of its own."""

    def convert(node: Tree) -> IO:
        effects = _Effects()
        first, specs = node.items
        if first is not None and not isinstance(first, str):
            effects.reads.append(expression(first))
        for keyword, value in _controls(specs):
            if keyword in _LABELS:
                effects.label(value)
            elif keyword in _RESULTS and not (kind == "wait" and keyword == "id"):
                effects.writes.append(expression(value))
            else:
                effects.reads.append(expression(value))
        return effects.io(kind)

    return convert


def _inquire(node: Tree) -> IO:
    effects = _Effects()
    specs, length, items = node.items
    for keyword, value in _controls(specs):
        if keyword in _LABELS:
            effects.label(value)
        elif keyword in _ASKED_ABOUT:
            effects.reads.append(expression(value))
        else:
            effects.writes.append(expression(value))
    if length is not None:
        effects.writes.append(expression(length))
    effects.items(parts(items), effects.reads)
    return effects.io("inquire")


IO_STATEMENTS: MappingProxyType[str, Callable[[Tree], IO]] = MappingProxyType(
    {
        "Read_Stmt": _read,
        "Write_Stmt": _write,
        "Print_Stmt": _print,
        "Inquire_Stmt": _inquire,
        "Open_Stmt": _file("open"),
        "Close_Stmt": _file("close"),
        "Rewind_Stmt": _file("rewind"),
        "Backspace_Stmt": _file("backspace"),
        "Endfile_Stmt": _file("endfile"),
        "Flush_Stmt": _file("flush"),
        "Wait_Stmt": _file("wait"),
    }
)
