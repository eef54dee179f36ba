"""The predefined MPI datatypes and their sizes.

MPI-4.0 tables 3.1 to 3.3 and section 6.9.4 (pairs).  Sizes are those of a default compilation:
flags that change the default kinds (``-fdefault-real-8``) change them too, so emitted code compares
``storage_size`` of the buffer with ``MPI_Type_size`` at run time.
"""

from __future__ import annotations

from asphalt.analysis.mpi.runtime_module import IN_PLACE
from asphalt.analysis.names.symbol import NameLookup, Origin
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.records import record


@record
class PredefinedType:
    """A named datatype of the standard.

    ``family``: integer, real, complex, logical, character, byte, packed, pair, or c (a type of C).
    ``bytes`` None: it depends on the machine.  ``gaps``: its extent may exceed its size.
    """

    name: str
    family: str
    bytes: int | None
    gaps: bool = False

    def may_match(self, other: PredefinedType) -> bool:
        """Whether both may stand for one type of Fortran (MPI-4.0 section 3.3.1)."""
        same_size = None in (self.bytes, other.bytes) or self.bytes == other.bytes
        return self.family == other.family and same_size


def _types(family: str, **sizes: int) -> dict[str, PredefinedType]:
    return {f"mpi_{k}": PredefinedType(f"mpi_{k}", family, size) for k, size in sizes.items()}


PREDEFINED: dict[str, PredefinedType] = {
    **_types(
        "integer",
        integer=4, integer1=1, integer2=2, integer4=4, integer8=8, integer16=16, aint=8, offset=8,
        count=8,
    ),
    **_types("real", real=4, double_precision=8, real2=2, real4=4, real8=8, real16=16),
    **_types("complex", complex=8, double_complex=16, complex4=4, complex8=8, complex16=16),
    **_types("complex", complex32=32),
    **_types("logical", logical=4, logical1=1, logical2=2, logical4=4, logical8=8),
    **_types("character", character=1),
    **_types("byte", byte=1),
    **_types("packed", packed=1),
    **_types("pair", **{"2real": 8, "2double_precision": 16, "2integer": 8}),
    **_types("pair", **{"2complex": 16, "2double_complex": 32, "2int": 8, "float_int": 8}),
    **_types(
        "c",
        char=1, signed_char=1, unsigned_char=1, short=2, unsigned_short=2, int=4, unsigned=4,
        long_long_int=8, long_long=8, unsigned_long_long=8, float=4, double=8, int8_t=1, int16_t=2,
        int32_t=4, int64_t=8, uint8_t=1, uint16_t=2, uint32_t=4, uint64_t=8, c_bool=1,
        c_complex=8, c_float_complex=8, c_double_complex=16, cxx_bool=1, cxx_float_complex=8,
        cxx_double_complex=16,
    ),
    **{
        f"mpi_{k}": PredefinedType(f"mpi_{k}", "c", None)
        for k in ("long", "unsigned_long", "long_double", "wchar", "c_long_double_complex")
    },
    **{
        f"mpi_{k}": PredefinedType(f"mpi_{k}", "pair", None, gaps=True)
        for k in ("double_int", "long_int", "short_int", "long_double_int")
    },
}  # fmt: skip


def mpi_constant(expr: Expr, scope: NameLookup) -> str | None:
    """The folded name of the MPI constant that ``expr`` is, also through named constants."""
    for _ in range(20):
        match expr:
            case Op(op="()", operands=(inner,)):
                expr = inner
            case Component(name="mpi_val", base=base):
                expr = base
            case Ref(name=name, args=None) if name == IN_PLACE:
                return "mpi_in_place"
            case Ref(name=name, args=None):
                symbol = scope.lookup(name)
                if symbol is None:
                    return None
                if symbol.origin is Origin.MPI:
                    return symbol.name
                if symbol.origin is not Origin.PARAMETER or symbol.initial is None:
                    return None
                expr, scope = symbol.initial, symbol.home or scope
            case _:
                return None
    return None


def predefined_type(expr: Expr, scope: NameLookup) -> PredefinedType | None:
    """The predefined datatype that ``expr`` names, also through named constants; None: unknown."""
    name = mpi_constant(expr, scope)
    return None if name is None else PREDEFINED.get(name)
