"""The names of the modules that come with the compiler, the MPI library and OpenMP."""

from __future__ import annotations

from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.ir.expr import Lit, TypeSpec
from asphalt.support.word_sets import words

MPI_MODULES = frozenset({"mpi", "mpi_f08"})

# F2018 16.10.2 and 18.2: named constants that are kinds, in bytes a number as gfortran, flang,
# ifort and nvfortran count them.
KINDS = {
    "iso_fortran_env": {
        "int8": 1, "int16": 2, "int32": 4, "int64": 8, "real32": 4, "real64": 8, "real128": 16,
    },
    "iso_c_binding": {
        "c_int": 4, "c_short": 2, "c_long": 8, "c_long_long": 8, "c_signed_char": 1, "c_size_t": 8,
        "c_int8_t": 1, "c_int16_t": 2, "c_int32_t": 4, "c_int64_t": 8, "c_int_least8_t": 1,
        "c_int_least16_t": 2, "c_int_least32_t": 4, "c_int_least64_t": 8, "c_intmax_t": 8,
        "c_intptr_t": 8, "c_ptrdiff_t": 8, "c_float": 4, "c_double": 8, "c_float_complex": 4,
        "c_double_complex": 8, "c_bool": 1, "c_char": 1,
    },
}  # fmt: skip

# The integer kinds that mpif.h and the MPI modules declare (MPI-4.0 section 2.5.6 to 2.5.8).
MPI_KINDS = {
    "mpi_address_kind": 8, "mpi_offset_kind": 8, "mpi_count_kind": 8, "mpi_integer_kind": 4,
}  # fmt: skip

# F2018 16.10.2: integer constants whose values are the compiler's own.
_CONSTANTS = {
    "iso_fortran_env": words(
        "atomic_int_kind atomic_logical_kind character_storage_size current_team error_unit"
        " file_storage_size initial_team input_unit iostat_end iostat_eor"
        " iostat_inquire_internal_unit numeric_storage_size output_unit parent_team"
        " stat_failed_image stat_locked stat_locked_other_image stat_stopped_image stat_unlocked"
        " stat_unlocked_failed_image"
    ),
}

_OTHER = {
    "iso_fortran_env": words(
        "character_kinds compiler_options compiler_version event_type integer_kinds lock_type"
        " logical_kinds real_kinds team_type"
    ),
    "iso_c_binding": words(
        "c_alert c_associated c_backspace c_carriage_return c_f_pointer c_f_procpointer"
        " c_form_feed c_funloc c_funptr c_horizontal_tab c_int_fast8_t c_int_fast16_t"
        " c_int_fast32_t c_int_fast64_t c_int128_t c_loc c_long_double c_long_double_complex"
        " c_new_line c_null_char c_null_funptr c_null_ptr c_ptr c_sizeof c_float128"
        " c_float128_complex c_vertical_tab"
    ),
}
_PREFIXES = {
    "omp_lib": ("omp_",),
    "omp_lib_kinds": ("omp_",),
    "openacc": ("acc_", "openacc_"),
    "ieee_arithmetic": ("ieee_",),
    "ieee_exceptions": ("ieee_",),
    "ieee_features": ("ieee_",),
}


def is_intrinsic_module(name: str) -> bool:
    """Whether the names of module ``name`` (folded, not an MPI module) are known."""
    return name in KINDS or name in _PREFIXES


def intrinsic_module_name(module: str, name: str) -> Symbol | None:
    """The symbol of ``name`` in an intrinsic module; None: the module has no such name."""
    kind = KINDS.get(module, {}).get(name)
    if kind is not None:
        return Symbol(
            name, name, TypeSpec("integer"), None, frozenset({"parameter"}), None,
            Lit("integer", str(kind)), Origin.PARAMETER, module,
        )  # fmt: skip
    if name in _CONSTANTS.get(module, ()):
        return Symbol(
            name, name, TypeSpec("integer"), None, frozenset({"parameter"}), None, None,
            Origin.PARAMETER, module,
        )  # fmt: skip
    if name in _OTHER.get(module, ()) or name.startswith(_PREFIXES.get(module, ("\0",))):
        return Symbol(
            name, name, None, None, frozenset({"intrinsic"}), None, None, Origin.INTRINSIC, module
        )
    return None
