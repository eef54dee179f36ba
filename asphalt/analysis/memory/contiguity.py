"""Whether the elements of an array are contiguous in memory, so that no copy of it is passed.

Where they are not, a compiler passes a copy to MPI, which is gone when a non-blocking call returns.
F2018 8.5.7 defines which arrays are contiguous, 9.5.4 which references to them.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.aliasing import second_name
from asphalt.analysis.memory.ranks import gives_array, is_scalar
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.designators import (
    declarations_on_the_way,
    designator_name,
    symbol_named,
    way_to,
)
from asphalt.analysis.names.expression_ranks import rank_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Component, Expr, ImpliedDo, Lit, Op, OpaqueExpr, Ref, Section
from asphalt.ir.source import Span
from asphalt.support.may_must import MayMustAnswer, no, unknown, yes

_CALLERS_DEEP = 4
_ONE = Lit("integer", "1")
_COLON = Section(None, None, None)


def contiguity(name: str, scope: Scope, depth: int = _CALLERS_DEEP) -> MayMustAnswer:
    """Whether the array of a designator (``s``, ``plan%send``) is contiguous."""
    symbol = symbol_named(name, scope)
    if symbol is None or symbol.dims is None:
        return unknown("has a shape that is not known")
    span = symbol.span
    if "contiguous" in symbol.attrs:
        return yes("is CONTIGUOUS", span)
    if "pointer" in symbol.attrs:
        if "%" not in name and second_name(name, scope).no:
            return yes("is only associated by ALLOCATE", span)
        return unknown("is a pointer, which may point to a section with gaps", span)
    kinds = {dim.kind for dim in symbol.dims}
    if "assumed_rank" in kinds:
        return unknown("is of assumed rank", span)
    if "assumed_shape" not in kinds:
        return yes("is an array with storage of its own", span)
    return _as_callers_pass_it(name, scope, depth)


def _as_callers_pass_it(name: str, scope: Scope, depth: int) -> MayMustAnswer:
    """An assumed-shape dummy is as contiguous as its actual arguments, if all callers are in the
    tree."""
    symbol = scope.lookup(name)
    assert symbol is not None
    reason = "is an assumed-shape dummy, which may have gaps"
    if depth == 0 or symbol.origin is not Origin.DUMMY:
        return unknown(reason, symbol.span)
    sites = CallSites(scope.scopes)
    callers = sites.callers(sites.context(scope))
    if isinstance(callers, str):
        return unknown(f"{reason} ({callers})", symbol.span)
    answers: list[tuple[MayMustAnswer, Span | None]] = []
    for caller in callers:
        span = caller.statement.leaf.span
        actual = caller.args.get(name)
        if actual is None:
            return unknown(f"{reason}, and a caller does not pass it", span)
        answers.append((reference_contiguity(actual, caller.context.scope, depth - 1), span))
    if all(answer.no for answer, _ in answers):
        answer, span = answers[0]
        return no(f"is not contiguous in any caller: it {answer.reason}", span)
    for answer, span in answers:
        if not answer.yes:
            where = "by a caller" if span is None else f"in {span.file}:{span.first}"
            return unknown(f"{reason}: what is passed {where} {answer.reason}", span)
    return yes("is contiguous in all callers", symbol.span)


def reference_contiguity(expr: Expr, scope: Scope, depth: int = _CALLERS_DEEP) -> MayMustAnswer:
    """Whether an actual argument is contiguous: a whole array, or a part of one."""
    match expr:
        case Ref() | Component():
            name = designator_name(expr)
            if name is None:
                return _of_an_element(expr, scope)
            symbol = symbol_named(name, scope)
            if symbol is None and isinstance(expr, Component):
                return _of_an_element(expr, scope)
            if symbol is None or (symbol.dims is None and expr.args is not None):
                return unknown("is not known to be a variable")
            gaps = _section_contiguity(expr.args or (), scope)
            return contiguity(name, scope, depth) if gaps.yes else gaps
        case OpaqueExpr() | ImpliedDo():
            return unknown("is not understood")
    return yes("is an expression")


def _of_an_element(expr: Expr, scope: Scope) -> MayMustAnswer:
    """Whether a component is that is no object of its own: one of an element of an array of
    structures (``tiles(t)%field``), or of the structure to which a pointer points.

    Which structure that is does not matter: its array has storage of its own.  Of an array section
    it is not: its elements lie in several structures.
    """
    declared = declarations_on_the_way(expr, scope) if isinstance(expr, Component) else None
    if declared is None or not isinstance(expr, Component):
        return unknown("is a part of a structure that is not known")
    root, way = way_to(expr)
    if "pointer" in declared[-1].decl.attrs:
        return unknown("is a pointer, which may point to a section with gaps")
    if not _is_variable(root, scope) or not all(is_scalar(a, scope) for a in (root, *way[:-1])):
        return unknown("is a part of several structures")
    dims = declared[-1].dims
    if dims is None:
        return unknown("is not known to be an array")
    gaps = _section_contiguity(expr.args or (), scope)
    return yes("is an array with storage of its own") if gaps.yes else gaps


def _section_contiguity(args: tuple[Arg, ...], scope: Scope) -> MayMustAnswer:
    """Whether a section of a contiguous array is: whole dimensions, one range, single subscripts
    (F2018 9.5.4)."""
    complete, ended = True, False
    for arg in args:
        match arg:
            case Section(stride=Lit() as stride) if stride != _ONE:
                return no("is a section with a stride")
            case Section(stride=stride) if stride not in (None, _ONE):
                return unknown("is a section with a stride")
            case Section() if not complete or ended:
                return unknown("is a section with gaps between its columns")
            case Section():
                complete = arg == _COLON
            case _ if may_be_array(arg, scope):
                return unknown("has a subscript that may be a vector")
            case _:
                ended = True
    return yes("has no gaps")


def _is_variable(root: Arg, scope: Scope) -> bool:
    if not isinstance(root, Ref):
        return False
    return name_kind(root.name, root.args is not None, scope) is NameKind.VARIABLE


def may_be_array(expr: Arg, scope: Scope) -> bool:
    """Whether an expression may be an array (as a subscript: F2018 9.5.3.3.2)."""
    if rank_of(expr, scope) == 0:
        return False
    match expr:
        case Lit():
            return False
        case Op(operands=operands):
            return any(may_be_array(operand, scope) for operand in operands)
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            if symbol is not None and symbol.dims is not None and args is None:
                return True
            if gives_array(expr, scope):
                return True
            if args is not None and name_kind(name, True, scope) is NameKind.INQUIRY:
                return False  # but for those that give bounds of all dimensions
            inner = args or ()
            return not is_scalar(expr, scope) and any(may_be_array(a, scope) for a in inner)
        case Component():
            return _may_be_array_component(expr, scope)
    return True


def _may_be_array_component(component: Component, scope: Scope) -> bool:
    """A component is an array if any part of its designator is one without subscripts."""
    root, way = way_to(component)
    declared = declarations_on_the_way(component, scope)
    if not _is_variable(root, scope) or declared is None or may_be_array(root, scope):
        return True
    for part, declaration in zip(way, declared, strict=True):
        if (declaration.dims is None) != (part.args is None):
            return True  # a whole array, a procedure or a substring
        if any(may_be_array(arg, scope) for arg in part.args or ()):
            return True
    return False
