"""The type and the shape of an expression, as far as its cost depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asphalt.analysis.cost.classes import FAMILY
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.derived_types import component_declarations, has_binding
from asphalt.analysis.names.designators import way_to
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
)
from asphalt.ir.stmt import Dim
from asphalt.support.word_sets import words

_INTEGER_FUNCTIONS = words(
    """
    int nint floor ceiling size lbound ubound count maxloc minloc findloc iand ior ieor ishft ishftc
    ibset ibclr ibits not len len_trim index scan verify ichar iachar kind idint ifix idnint rank
    selected_int_kind selected_real_kind popcnt poppar leadz trailz shape exponent huge_integer
    command_argument_count shiftl shiftr shifta storage_size bit_size
    """
)
_LOGICAL_FUNCTIONS = words(
    """
    all any allocated associated present btest lge lgt lle llt logical is_contiguous
    bge bgt ble blt is_iostat_end is_iostat_eor same_type_as extends_type_of
    """
)
_REAL_FUNCTIONS = words(
    "real dble float sngl aimag dimag dreal dprod norm2 mpi_wtime mpi_wtick cabs cdabs zabs dfloat"
)
_COMPLEX_FUNCTIONS = words("cmplx dcmplx conjg dconjg")
_TEXT_FUNCTIONS = words("trim adjustl adjustr repeat char achar")
SCALAR_RESULT = words(
    """
    size lbound ubound count dot_product norm2 present allocated associated kind len huge tiny
    epsilon precision range digits storage_size
    """
)
"""Intrinsic functions of arrays with a scalar result (``lbound`` and ``ubound``: cheap anyway)."""
REDUCTIONS = words(
    "sum product maxval minval any all count maxloc minloc iall iany iparity findloc"
)
ELEMENTWISE_OF_ALL = words("max min merge dim sign mod modulo atan2 cmplx")
_ORDER = ("logical", "integer", "unknown", "real", "complex")
_BASES = {"double_precision": "real", "double_complex": "complex"}


@dataclass(frozen=True)
class Surroundings:
    """The scope of an expression, and the selectors of the names of enclosing ASSOCIATE
    constructs."""

    scope: Scope
    selectors: Mapping[str, Expr] = field(default_factory=dict)

    def symbol(self, name: str) -> Symbol | None:
        """The meaning of a name; None: unknown."""
        return self.scope.lookup(name)


def symbol_of(designator: Arg, around: Surroundings) -> Symbol | None:
    """The symbol of a variable, or one with the declaration of a component; None: unknown."""
    match designator:
        case Ref(name=name):
            return around.symbol(name)
        case Component():
            base, way = way_to(designator)
            root = around.symbol(base.name) if isinstance(base, Ref) else None
            path = tuple(part.name for part in way)
            declared = None if root is None else component_declarations(root, path)
            if root is None or not declared:
                return None
            last = declared[-1]
            return replace(
                root,
                type=last.decl.type,
                dims=last.dims,
                attrs=frozenset(last.decl.attrs),
                origin=Origin.LOCAL,
            )
    return None


def dims_of(designator: Arg, around: Surroundings) -> tuple[Dim, ...] | None:
    """The declared dimensions of a variable or component; None: it has none, or is unknown."""
    symbol = symbol_of(designator, around)
    return None if symbol is None else symbol.dims


def is_intrinsic_function(ref: Ref, around: Surroundings) -> bool:
    """Whether a reference with a list is one to an intrinsic function."""
    if ref.args is None:
        return False
    kind = name_kind(ref.name, True, around.scope)
    if kind in (NameKind.PURE_FUNCTION, NameKind.INQUIRY):
        return True
    symbol = around.symbol(ref.name)
    return symbol is not None and symbol.origin is Origin.INTRINSIC


def is_array(ref: Ref | Component, around: Surroundings) -> bool:
    """Whether a designator with a list is an element or a section of an array."""
    if dims_of(ref, around) is not None:
        return True
    if isinstance(ref, Ref) and ref.name in around.selectors:
        return True
    # a name that is not known is taken for an array: a function would be charged by itself
    return symbol_of(ref, around) is None and not (
        isinstance(ref, Ref) and is_intrinsic_function(ref, around)
    )


def is_user_function(expr: Arg, around: Surroundings) -> bool:
    """Whether an expression is a reference to a function that is not intrinsic."""
    match expr:
        case Ref(args=None):
            return False
        case Ref(name=name):
            symbol = around.symbol(name)
            if symbol is None or is_intrinsic_function(expr, around):
                return False
            if symbol.dims is not None or symbol.origin in (Origin.MPI, Origin.PARAMETER):
                return False
            text = symbol.type is not None and symbol.type.base == "character"
            return not text or symbol.origin is Origin.PROCEDURE
        case Component(args=tuple()):
            symbol = symbol_of(expr, around)
            if symbol is None:
                return _is_bound(expr, around)
            return symbol.dims is None and "procedure" in symbol.attrs
    return False


def _is_bound(function: Component, around: Surroundings) -> bool:
    """Whether a component with a list is a reference of a function that is bound to its type."""
    base, way = way_to(function)
    root = around.symbol(base.name) if isinstance(base, Ref) else None
    if root is None:
        return False
    declared = component_declarations(root, tuple(part.name for part in way[:-1])) or ()
    if len(declared) < len(way) - 1:
        return False
    spec, home = (declared[-1].decl.type, declared[-1].home) if declared else (root.type, root.home)
    if spec is None or spec.name is None or not isinstance(home, Scope):
        return False
    return has_binding(spec.name.lower(), home, function.name)


def base_of(expr: Arg, around: Surroundings) -> str:
    """integer, real, complex, logical, character, type or unknown."""
    match expr:
        case Lit(kind=kind):
            return "integer" if kind == "boz" else kind
        case Keyword(value=value):
            return base_of(value, around)
        case Ref(name=name, args=args) if args is not None and is_intrinsic_function(expr, around):
            return _function_base(name, args, around)
        case Ref(name=name, args=None) if name in around.selectors:
            return base_of(around.selectors[name], around)
        case Ref() | Component():
            symbol = symbol_of(expr, around)
            if symbol is None or symbol.type is None:
                return "unknown"
            return _BASES.get(symbol.type.base, symbol.type.base)
        case Op(op="==" | "/=" | "<" | "<=" | ">" | ">=" | ".and." | ".or." | ".not."):
            return "logical"
        case Op(op=".eqv." | ".neqv."):
            return "logical"
        case Op(op="//"):
            return "character"
        case Op(operands=operands):
            return wider(tuple(base_of(operand, around) for operand in operands))
        case ArrayConstructor(values=values, type=spec):
            own = wider(tuple(base_of(value, around) for value in values))
            return own if spec is None else _BASES.get(spec.base, spec.base)
        case ImpliedDo(values=values):
            return wider(tuple(base_of(value, around) for value in values))
        case OpaqueExpr(text=text):
            return "character" if text[:1] in "'\"" else "real"
    return "unknown"


def wider(bases: tuple[str, ...]) -> str:
    """The type of an operation, from those of its operands."""
    known = [base for base in bases if base in _ORDER]
    return max(known, key=_ORDER.index) if known else "unknown"


def _function_base(name: str, args: tuple[Arg, ...], around: Surroundings) -> str:
    if name in _INTEGER_FUNCTIONS:
        return "integer"
    if name in _LOGICAL_FUNCTIONS:
        return "logical"
    if name in _REAL_FUNCTIONS:
        return "real"
    if name in _COMPLEX_FUNCTIONS:
        return "complex"
    if name in _TEXT_FUNCTIONS:
        return "character"
    if name == "transfer" and len(args) > 1:
        return base_of(args[1], around)
    first = base_of(args[0], around) if args else "unknown"
    if first == "complex" and name == "abs":
        return "real"
    if name in FAMILY and first == "unknown":
        return "real"
    return first


def is_valued_as_array(expr: Arg, around: Surroundings) -> bool:
    """Whether an expression has a rank above 0."""
    match expr:
        case Section():
            return True
        case Keyword(value=value):
            return is_valued_as_array(value, around)
        case Ref(name=name, args=None):
            if name in around.selectors:
                return is_valued_as_array(around.selectors[name], around)
            symbol = around.symbol(name)
            return symbol is not None and symbol.dims is not None
        case Component(base=base, args=None):
            return dims_of(expr, around) is not None or is_valued_as_array(base, around)
        case Ref(name=name, args=tuple(args)) if is_intrinsic_function(expr, around):
            if name in SCALAR_RESULT:
                return False
            if name in REDUCTIONS:
                return len(args) > 1 and not is_valued_as_array(args[1], around) and _is_dim(args)
            if name in ("matmul", "transpose", "reshape", "spread", "pack", "unpack", "shape"):
                return True
            if name == "transfer":
                return len(args) > 2 or is_valued_as_array(args[1], around)
            return any(is_valued_as_array(arg, around) for arg in args)
        case Ref(args=tuple(args)):
            if is_user_function(expr, around):
                return False  # it charges itself; where it gives an array, others give the extents
            return any(is_valued_as_array(arg, around) for arg in args)
        case Component(base=base, args=tuple(args)):
            inner = is_valued_as_array(base, around)
            return inner or any(is_valued_as_array(arg, around) for arg in args)
        case Op(operands=operands):
            return any(is_valued_as_array(operand, around) for operand in operands)
        case ArrayConstructor():
            return True
        case OpaqueExpr(text=text):
            return text.startswith(("[", "(/"))  # of derived or character type
    return False


def _is_dim(args: tuple[Arg, ...]) -> bool:
    second = args[1]
    return not (isinstance(second, Keyword) and second.name != "dim")
