"""The interface of a procedure: its dummy arguments, from the symbol index."""

from __future__ import annotations

from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.config.errors import InputError
from asphalt.ir.expr import Section, TypeSpec, names_in
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Dim, UnitHead
from asphalt.unparse.expr_text import expr_text

_BASES = {
    "integer": "integer",
    "real": "real",
    "double_precision": "real",
    "complex": "complex",
    "double_complex": "complex",
    "logical": "logical",
    "character": "character",
}
_REFUSED = {
    "allocatable": "is allocatable: a NumPy array cannot hold its value after a call",
    "pointer": "is a pointer: a NumPy array cannot hold its target after a call",
    "external": "is a procedure",
    "procedure": "is a procedure",
    "codimension": "is a coarray",
}


@record
class Dummy:
    """A dummy argument, or a function result (with the name of the function).

    ``base``: integer, real, complex, logical, character, or ``handle`` for a typed MPI handle.
    ``intent``: in, out or inout (also if none is declared).  ``form``: scalar, explicit,
    assumed_size or assumed_shape.  ``bounds``: the dimensions as declared.  ``sizes``: the names in
    declared bounds and lengths that the caller provides.  ``length``: of characters, as declared;
    ``*``: that of the actual argument.
    """

    name: str
    base: str
    intent: str
    optional: bool
    form: str
    bounds: tuple[str, ...]
    sizes: frozenset[str]
    length: str | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.bounds)

    @property
    def changes(self) -> bool:
        """Whether a call may change it."""
        return self.intent != "in"

    def __str__(self) -> str:
        return f"{self.name}({','.join(self.bounds)})" if self.bounds else self.name


@record
class Interface:
    """A procedure that can be called from outside: its module, dummy arguments, and result.

    ``module`` None: an external procedure.
    """

    name: str
    module: str | None
    path: str
    line: int
    dummies: tuple[Dummy, ...]
    result: Dummy | None

    def __str__(self) -> str:
        return f"{self.module}::{self.name}" if self.module else self.name

    @property
    def arguments(self) -> tuple[Dummy, ...]:
        """The dummy arguments, followed by the result."""
        return self.dummies if self.result is None else (*self.dummies, self.result)

    @property
    def sizes(self) -> frozenset[str]:
        """The dummy arguments that declared bounds and lengths depend on."""
        return frozenset(name for dummy in self.arguments for name in dummy.sizes)


def interface_of(located: Located, scope: Scope) -> Interface:
    """The interface of a module procedure or an external procedure.

    Raises ``InputError`` with the reason if it cannot be called from outside.
    """
    unit = located.unit
    head = unit.head.what if unit.head is not None else None
    if unit.head is None or unit.head.span is None or not isinstance(head, UnitHead):
        raise InputError(located.path, None, f"the head of {unit.name} could not be read")
    line = unit.head.span.first
    hosts = located.chain[:-1]
    if hosts and hosts[-1].kind == "program":
        raise InputError(
            located.path,
            line,
            f"{unit.name} is an internal procedure of a main program: move it into a module, or "
            "verify the whole program",
        )
    if hosts and (len(hosts) > 1 or hosts[-1].kind != "module"):
        raise InputError(
            located.path,
            line,
            f"{unit.name} is an internal procedure of the {hosts[-1].kind} {hosts[-1].name}, which "
            "alone can call it: verify that procedure",
        )
    if "*" in head.args:
        raise InputError(located.path, line, f"{unit.name} has alternate returns")
    if not hosts and "bind" in scope.declared.symbols.get(unit.name, _NOTHING).attrs:
        raise InputError(located.path, line, f"{unit.name} has a binding label")
    dummies = tuple(_dummy(name, scope, located, line) for name in head.args)
    result = None
    if unit.kind == "function":
        result = _dummy(head.result or unit.name, scope, located, line, result=unit.name)
    module = hosts[-1].name if hosts else None
    return Interface(unit.name, module, located.path, line, dummies, result)


_NOTHING = Symbol("", "", None, None, frozenset(), None, None, Origin.LOCAL, "")


def symbol_of(name: str, scope: Scope) -> Symbol | None:
    """The symbol of a dummy argument or result, with its implicit type if undeclared."""
    found = scope.resolve(name)
    return found if isinstance(found, Symbol) else None


def _dummy(
    name: str, scope: Scope, located: Located, line: int, result: str | None = None
) -> Dummy:
    what = f"the result of {result}" if result else f"argument {name} of {scope.unit.name}"

    def refuse(reason: str) -> InputError:
        return InputError(located.path, line, f"{what} {reason}, so it cannot be called from here")

    symbol = symbol_of(name, scope)
    if symbol is None or symbol.type is None:
        if symbol is not None and symbol.attrs & {"external", "procedure"}:
            raise refuse("is a procedure")
        raise refuse("has a declaration that could not be read")
    for attribute, reason in _REFUSED.items():
        if attribute in symbol.attrs:
            raise refuse(reason)
    base = _base(symbol, scope)
    if base is None:
        raise refuse("is of a derived type, which NumPy does not have")
    dims = symbol.dims or ()
    if any(dim.kind == "assumed_rank" for dim in dims):
        raise refuse("is of assumed rank")
    if base == "handle" and dims:
        raise refuse("is an array of MPI handles")
    length = _length(symbol.type) if base == "character" else None
    if length == ":":
        raise refuse("has a deferred length")
    exprs = [*(part for dim in dims for part in (dim.lower, dim.upper)), symbol.type.length]
    names = frozenset(name for expr in exprs if expr is not None for name in names_in(expr))
    return Dummy(
        name=result or name,
        base=base,
        intent="out" if result else (symbol.intent or _without_intent(symbol)),
        optional="optional" in symbol.attrs,
        form=_form(dims),
        bounds=tuple(_bound(dim) for dim in dims),
        sizes=frozenset(n for n in names if _is_dummy(n, scope)),
        length=length,
    )


def _without_intent(symbol: Symbol) -> str:
    return "in" if "value" in symbol.attrs else "inout"


def _base(symbol: Symbol, scope: Scope) -> str | None:
    assert symbol.type is not None
    if symbol.type.base == "type" and symbol.type.name is not None:
        meant = scope.lookup(symbol.type.name.lower())
        own = meant is not None and meant.origin is Origin.MPI
        return "handle" if own and meant is not None and meant.name != "mpi_status" else None
    return _BASES.get(symbol.type.base)


def _form(dims: tuple[Dim, ...]) -> str:
    kinds = {dim.kind for dim in dims}
    for form in ("assumed_size", "assumed_shape"):
        if form in kinds:
            return form
    return "explicit" if dims else "scalar"


def _bound(dim: Dim) -> str:
    lower = "" if dim.lower is None else f"{expr_text(dim.lower)}:"
    if dim.kind == "assumed_size":
        return f"{lower}*"
    return lower + expr_text(dim.upper) if dim.upper is not None else lower or ":"


def _length(spec: TypeSpec) -> str:
    if spec.length is None:
        return "1"
    return ":" if isinstance(spec.length, Section) else expr_text(spec.length)


def _is_dummy(name: str, scope: Scope) -> bool:
    symbol = scope.declared.symbols.get(name)
    return symbol is not None and symbol.origin is Origin.DUMMY
