"""Whether a variable may have a second name, so that an access by one changes the other.

Second names come from EQUIVALENCE, pointers, and addresses that C_LOC, LOC or MPI take.  An
attribute alone does not give one: a target to which nothing points has one name, and so has a
pointer that is only associated by ALLOCATE (F2018 10.2.2, 15.5.2.4).

asphalt examines the statements of the unit that declares the variable.  What other units do with a
module variable or a dummy argument is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_function
from asphalt.analysis.mpi.library_effects import Until, library_row
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.intrinsics import is_intrinsic
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Keyword,
    Ref,
    Unstructured,
    names_in,
    walk,
)
from asphalt.ir.source import Span
from asphalt.ir.stmt import (
    ArmHead,
    Assign,
    Call,
    Decl,
    Opaque,
    Raw,
    What,
)
from asphalt.ir.tree import Leaf, leaves
from asphalt.support.may_must import MayMustAnswer, no, unknown, yes

ADDRESS_FUNCTIONS = ("c_loc", "c_funloc", "loc")  # the intrinsic ones and a common extension
_POINTING = ("c_f_pointer", "move_alloc")  # intrinsic procedures that give a pointer a target
_TEMPORARY = (Until.RETURN, Until.COMPLETION)


def second_name(name: str, scope: Scope) -> MayMustAnswer:
    """Whether this unit may access the variable by another name."""
    key = f"second name of {name}"
    cached = scope.findings.get(key)
    if cached is None:
        scope.findings[key] = unknown("is part of a recursive question")
        cached = scope.findings[key] = _second_name(name, scope)
    return cached


def _second_name(name: str, scope: Scope) -> MayMustAnswer:
    symbol = scope.lookup(name)
    if symbol is None:
        return unknown("is not known")
    if symbol.equivalenced:
        return yes("is in an EQUIVALENCE statement", symbol.span)
    if "volatile" in symbol.attrs:
        return unknown("has the attribute volatile", symbol.span)
    kind = next((a for a in ("pointer", "target") if a in symbol.attrs), None)
    if kind is None:
        return no("has no attribute that would give it another name", symbol.span)
    if symbol.origin is not Origin.LOCAL or symbol.home is not scope:
        return unknown(f"has the attribute {kind}, and other units may see it", symbol.span)
    shown = _shared(name, symbol, scope)
    if shown is not None:
        what, span = shown
        return unknown(f"has the attribute {kind}, and {what}", span or symbol.span)
    if kind == "pointer":
        return no("is only associated by ALLOCATE", symbol.span)
    return no("is a target that nothing points to", symbol.span)


def distinct(one: str, two: str, scope: Scope) -> bool:
    """Whether two variables are certainly distinct arrays.

    Both are declared, and neither is a pointer or shares its storage.  (A target has storage of its
    own unless it is a dummy that may be argument associated with the same actual argument as the
    other.)
    """
    symbols = [scope.lookup(name) for name in (one, two)]
    if any(s is None or s.equivalenced or "pointer" in s.attrs for s in symbols):
        return False
    first, second = symbols
    assert first is not None
    assert second is not None
    blocks = first.common_block is not None and first.common_block == second.common_block
    if _may_share(first, second) or _may_share(second, first):
        return False
    return first.identity != second.identity and not blocks


def _may_share(one: Symbol, two: Symbol) -> bool:
    """Whether callers may pass one target twice, or one that the procedure can access itself, and
    the procedure may use both names (F2018 15.5.2.13, item 4b)."""
    shapes = {dim.kind for dim in one.dims or ()}
    dummy = one.origin is Origin.DUMMY or "dummy" in one.attrs
    passed = dummy and (not shapes or bool(shapes & {"assumed_shape", "assumed_rank"}))
    both = "target" in one.attrs and "target" in two.attrs
    return both and passed and "contiguous" not in one.attrs and two.origin is not Origin.LOCAL


def address_taken(name: str, scope: Scope) -> MayMustAnswer:
    """Whether this unit passes the address of a variable to C, or to MPI for later use."""
    for leaf in _own_leaves(scope):
        for what in actions(leaf.what):
            for call in calls_of(what, scope):
                found = _address_in_call(call, name, scope)
                if found is not None:
                    return unknown(found, leaf.span)
    return no("does not pass its address on")


def _address_in_call(call: Call, name: str, scope: Scope) -> str | None:
    if not any(root_of(arg) == name for arg in call.args):
        return None
    if isinstance(call.procedure, Ref) and _original(call.procedure, scope) in ADDRESS_FUNCTIONS:
        return f"{call.procedure.spelled.upper()} takes its address"
    mpi = mpi_call(call, scope)
    return None if mpi is None else _kept_by_mpi(mpi, name)


def _kept_by_mpi(mpi: MpiCall, name: str) -> str | None:
    """Whether MPI may use the address after the operation is complete."""
    transfers = {t.argument: t.until for t in library_row(mpi.procedure).transfers}
    for parameter, actual in mpi.bound():
        if parameter.kind != "BUFFER" or root_of(actual) != name:
            continue
        if transfers.get(parameter.name) not in _TEMPORARY:
            return f"{mpi.procedure.spelled} keeps its address"
    return None


def _shared(name: str, symbol: Symbol, scope: Scope) -> tuple[str, Span | None] | None:
    """The first statement of the unit that may give one of its variables another name."""
    if named_inside(name, scope):
        inside = (leaf for unit in scope.unit.contained for leaf in leaves(unit))
        using = next((leaf.span for leaf in inside if name in _words(leaf)), None)
        return "an internal procedure uses it", using
    for node in scope.unit.spec:
        for leaf in leaves(node):
            if isinstance(leaf.what, Decl) and _points_to(leaf.what, name):
                return "a pointer is initially associated with it", leaf.span
    pointer = "pointer" in symbol.attrs
    for leaf in _own_leaves(scope):
        for what in actions(leaf.what):
            reason = _shares(what, name, pointer, scope)
            if reason is not None:
                return reason, leaf.span
    return None


def _points_to(decl: Decl, name: str) -> bool:
    return any(
        entity.initial is not None
        and entity.points_to_initial
        and (
            name in names_in(entity.initial) or (entity.name == name and not _null(entity.initial))
        )
        for entity in decl.entities
    )


def _shares(what: What, name: str, pointer: bool, scope: Scope) -> str | None:
    """Why a statement may give a variable another name; None: it does not."""
    match what:
        case Opaque(names=names) if name in names:
            return "a statement that is not understood mentions it"
        case Raw(code=code) if name in code.lower():
            return "a statement that is not understood mentions it"
        case Assign(target=target, value=value, pointer=True):
            if name in names_in(value):
                return "a pointer assignment has it as its target"
            if pointer and root_of(target) == name and not _null(value):
                return "a pointer assignment associates it"
        case ArmHead(kind="associate" | "select_type" | "select_rank", exprs=exprs) if any(
            name in names_in(e) for e in exprs
        ):
            return "ASSOCIATE gives it another name"
    if any(
        isinstance(p, Unstructured) and name in p.names
        for e in expressions_of(what)
        for p in walk(e)
    ):
        return "an expression that is not understood mentions it"
    for call in calls_of(what, scope):
        for position, arg in enumerate(call.args):
            if root_of(arg) == name:
                reason = _shares_argument(call, position, arg, scope)
                if reason is not None:
                    return reason
    return None


def _shares_argument(call: Call, position: int, arg: Arg, scope: Scope) -> str | None:
    """Why a procedure that has a variable as an actual argument may keep a pointer to it."""
    procedure = call.procedure
    mpi = mpi_call(call, scope)
    if mpi is not None:
        root = root_of(arg)
        return None if root is None else _kept_by_mpi(mpi, root)
    if not isinstance(procedure, Ref):
        return "it is an actual argument of a type-bound procedure"
    symbol = scope.lookup(procedure.name)
    if symbol is not None and symbol.origin is Origin.INTRINSIC:
        original = _original(procedure, scope)
        if original in ADDRESS_FUNCTIONS:
            return f"{procedure.spelled.upper()} takes its address"
        if original in _POINTING:
            return f"{procedure.spelled.upper()} changes what it points to"
        return None
    located = procedure_named(procedure, scope)
    inner = None if located is None else scope.scopes.of(located)
    if inner is None or inner.head is None:
        return f"it is an actual argument of {procedure.spelled}, whose source is missing"
    dummies = inner.dummies
    named = arg.name if isinstance(arg, Keyword) else None
    if named is None and position < len(dummies):
        named = dummies[position]
    dummy = None if named is None else inner.lookup(named)
    if dummy is None or dummy.attrs & {"pointer", "target"}:
        return f"{procedure.spelled} may point to it"
    return None


def calls_of(what: What, scope: Scope) -> Iterator[Call]:
    """The procedure references of a statement: a CALL, and functions in its expressions."""
    if isinstance(what, Call):
        yield what
    for expr in expressions_of(what):
        for part in walk(expr):
            if isinstance(part, Ref) and part.args is not None and _is_function(part, scope):
                yield Call(Ref(part.name, part.spelled), part.args)
            elif isinstance(part, Component) and part.args is not None:
                yield Call(part, ())


def _is_function(ref: Ref, scope: Scope) -> bool:
    symbol = scope.lookup(ref.name)
    if symbol is None or symbol.origin is Origin.INTRINSIC:
        return True
    if mpi_function(ref, scope) is not None:
        return False
    if is_intrinsic(ref.name) and symbol.dims is None and symbol.origin is not Origin.DUMMY:
        return True
    return symbol.dims is None and (symbol.type is None or symbol.type.base != "character")


def _original(procedure: Ref, scope: Scope) -> str:
    """The name of a procedure where it is declared, which USE may have given another one."""
    symbol = scope.lookup(procedure.name)
    return procedure.name if symbol is None else symbol.name


def _own_leaves(scope: Scope) -> Iterator[Leaf]:
    for node in scope.unit.body:
        yield from leaves(node)


def root_of(arg: Arg) -> str | None:
    """The variable that an actual argument is, or of which it is a part."""
    match arg:
        case Keyword(value=value):
            return root_of(value)
        case Ref(name=name):
            return name
        case Component(base=base):
            return root_of(base)
    return None


def _null(expr: Expr) -> bool:
    return isinstance(expr, Ref) and expr.name == "null" and not expr.args


def _words(leaf: Leaf) -> frozenset[str]:
    raw = leaf.what.code if isinstance(leaf.what, Raw) else ""
    text = (leaf.body or raw).lower()
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return leaf.cut.union(words)
