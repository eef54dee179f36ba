"""Operators and assignments that may call procedures (F2018 10.1.6, 10.2.1.4, 15.4.3.4).

An operation on operands of intrinsic types cannot be redefined.  Any other may be a function
reference wherever a definition may be visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.expression_ranks import rank_of
from asphalt.analysis.names.known_library_names import LIBRARY_MODULES
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, ArrayConstructor, ImpliedDo, Lit, Op, Ref
from asphalt.ir.stmt import Assign, Decl, UnitHead, Use
from asphalt.ir.tree import Block, Leaf, Node

_KNOWN_MODULES = frozenset(
    {"mpi", "mpi_f08", "iso_c_binding", "iso_fortran_env", "ieee_arithmetic", "ieee_exceptions",
     "ieee_features", "omp_lib", "openacc", *RUNTIME_MODULES,
     *LIBRARY_MODULES}
)  # fmt: skip
_RELATIONAL = ("==", "/=", "<", "<=", ">", ">=")
_WORDS = {".eq.": "==", ".ne.": "/=", ".lt.": "<", ".le.": "<=", ".gt.": ">", ".ge.": ">="}
_DERIVED = frozenset({"type", "class"})
_NUMERIC = frozenset({"integer", "real", "double_precision", "complex", "double_complex"})


def is_intrinsic_operation(op: Op, scope: Scope) -> bool:
    """Whether an operation certainly calls no procedure."""
    if op.op == "()":
        return True
    if op.op.startswith(".") and op.op not in (".and.", ".or.", ".not.", ".eqv.", ".neqv."):
        return False
    if not _is_visible(_definition_of(f"operator({op.op})"), scope):
        return True
    classes = {type_class(operand, scope) for operand in op.operands}
    return len(classes) == 1 and classes <= _classes_of(op.op) and _are_conformable(op, scope)


def _classes_of(operator: str) -> frozenset[str]:
    """The types of operands for which an operator is intrinsic (F2018 10.1.5): a program may define
    it for others."""
    if operator == "//":
        return frozenset({"character"})
    if operator.startswith("."):
        return frozenset({"logical"})
    if operator in _RELATIONAL:
        return frozenset({"numeric", "character"})
    return frozenset({"numeric"})


def _are_conformable(op: Op, scope: Scope) -> bool:
    """Whether the operands certainly have one rank, or are scalars: a program may define the
    product of a matrix and a vector."""
    if len(op.operands) == 1:
        return True
    ranks = {rank_of(operand, scope) for operand in op.operands}
    return None not in ranks and len(ranks - {0}) <= 1


def is_intrinsic_assignment(assign: Assign, scope: Scope) -> bool:
    """Whether an assignment certainly calls no procedure."""
    if not _is_visible(_definition_of("assignment(=)"), scope):
        return True
    classes = {type_class(assign.target, scope), type_class(assign.value, scope)}
    if len(classes) != 1 or None in classes:
        return False
    rank = rank_of(assign.value, scope)
    return rank is not None and rank in (0, rank_of(assign.target, scope))


def finalizers_visible(scope: Scope) -> bool:
    """Whether a type that the unit can access may have a final subroutine."""
    return _is_visible(_finalizes, scope)


def type_class(expr: Arg, scope: Scope) -> str | None:
    """``numeric``, ``logical`` or ``character``; None: another type, or unknown."""
    match expr:
        case Lit(kind=kind):
            return kind if kind in ("logical", "character") else "numeric"
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is None:
                return None
            if symbol.origin is Origin.INTRINSIC:
                return "numeric" if name not in _NOT_NUMERIC else None
            base = symbol.type.base if symbol.type is not None else ""
            if base in _NUMERIC:
                return "numeric"
            return base if base in ("logical", "character") else None
        case Op(op=op, operands=operands):
            classes = {type_class(operand, scope) for operand in operands}
            if op != "()" and not (len(classes) == 1 and classes <= _classes_of(op)):
                return None
            if op in _RELATIONAL:
                return "logical"
            return classes.pop()
        case ArrayConstructor(values=values, type=spec):
            if spec is not None:
                return "numeric" if spec.base in _NUMERIC else spec.base
            classes = {type_class(value, scope) for value in values}
            return classes.pop() if len(classes) == 1 else None
        case ImpliedDo(values=values):
            classes = {type_class(value, scope) for value in values}
            return classes.pop() if len(classes) == 1 else None
    return None


_NOT_NUMERIC = frozenset(
    {"achar", "adjustl", "adjustr", "all", "allocated", "any", "associated", "btest", "char",
     "eoshift", "cshift", "is_contiguous", "lge", "lgt", "lle", "llt", "logical", "max", "maxval",
     "merge", "min", "minval", "new_line", "null", "pack", "parity", "present", "repeat", "reshape",
     "spread", "transfer", "transpose", "trim", "unpack"}
)  # fmt: skip


def definitions_visible(scope: Scope) -> bool:
    """Whether the unit may have access to a defined operator or assignment."""
    return _is_visible(_defines, scope)


def _is_visible(defines: Callable[[Node], bool], scope: Scope) -> bool:
    """Whether a unit may have access to a definition; its scope, which ends with the tree,
    remembers that."""
    if defines not in scope.accessible:
        seen: set[str] = set()
        found = any(host.lacks_host or _defined_in(host, seen, defines) for host in _hosts(scope))
        scope.accessible[defines] = found
    return scope.accessible[defines]


def _hosts(scope: Scope) -> Iterator[Scope]:
    """A scope and those around it."""
    host: Scope | None = scope
    while host is not None:
        yield host
        host = host.host


def _defined_in(scope: Scope, seen: set[str], defines: Callable[[Node], bool]) -> bool:
    if any(defines(node) for node in scope.unit.spec):
        return True
    for use in scope.declared.uses:
        if use.module in _KNOWN_MODULES or use.intrinsic or use.module in seen:
            continue
        if use.only and not any("(" in item.name for item in use.items) and not _types(use, scope):
            continue
        seen.add(use.module)
        module = scope.scopes.module(use.module)
        if module is None or _defined_in(module, seen, defines):
            return True
    return False


def _types(use: Use, scope: Scope) -> bool:
    """Whether an only list may bring in a derived type, or a variable of one, with its type-bound
    operators."""
    module = scope.scopes.module(use.module)
    symbols = [scope.lookup(item.local) for item in use.items]
    if any(s is not None and s.type is not None and s.type.base in _DERIVED for s in symbols):
        return True
    if module is None:
        return None in symbols
    names = {item.name for item in use.items}
    return any(
        isinstance(node, Block)
        and node.kind == "type"
        and isinstance(node.head.what, UnitHead)
        and node.head.what.name in names
        for node in module.unit.spec
    )


def _defines(node: Node) -> bool:
    return any(name.startswith(("operator(", "assignment(")) for name in _generic_specs(node))


@cache
def _definition_of(spec: str) -> Callable[[Node], bool]:
    """Whether a node of a specification part defines ``operator(+)``, say, or ``assignment(=)``."""
    return lambda node: spec in _generic_specs(node)


def _generic_specs(node: Node) -> Iterator[str]:
    """The operators and the assignment, as ``operator(+)``, that an interface block or the bindings
    of a derived type define."""
    if not isinstance(node, Block):
        return
    head = node.head.what
    if isinstance(head, UnitHead) and node.kind == "interface":
        yield _symbolic(head.name)
    for leaf in node.body if node.kind == "type" else ():
        if isinstance(leaf, Leaf) and isinstance(leaf.what, Decl) and "generic" in leaf.what.attrs:
            yield from (_symbolic(name) for name, _ in leaf.what.groups)


def _symbolic(spec: str) -> str:
    """A generic specification with the symbol of a relational operator in place of its word."""
    for word, symbol in _WORDS.items():
        spec = spec.replace(f"({word})", f"({symbol})")
    return spec


def _finalizes(node: Node) -> bool:
    return (
        isinstance(node, Block)
        and node.kind == "type"
        and any(
            isinstance(leaf, Leaf) and isinstance(leaf.what, Decl) and "final" in leaf.what.attrs
            for leaf in node.body
        )
    )
