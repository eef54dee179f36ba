"""Names and types of constants that MPI's modules and ``mpif.h`` declare (MPI-4.0 section A.1.1).

A handle is of derived type with ``mpi_f08`` and an INTEGER with ``mpi`` and ``mpif.h``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from asphalt.support.word_sets import words

_DATATYPES = """
    char short int long long_long_int long_long signed_char unsigned_char unsigned_short unsigned
    unsigned_long unsigned_long_long float double long_double wchar c_bool int8_t int16_t int32_t
    int64_t uint8_t uint16_t uint32_t uint64_t aint count offset c_complex c_float_complex
    c_double_complex c_long_double_complex byte packed
    cxx_bool cxx_float_complex cxx_double_complex cxx_long_double_complex
    integer real double_precision complex logical character
    double_complex integer1 integer2 integer4 integer8 integer16 real2 real4 real8 real16 complex4
    complex8 complex16 complex32 logical1 logical2 logical4 logical8
    float_int double_int long_int 2int short_int long_double_int
    2real 2double_precision 2integer 2complex 2double_complex
    datatype_null
"""
_OPERATIONS = """
    max min sum prod maxloc minloc band bor bxor land lor lxor replace no_op op_null
"""
_OF_TYPE = {
    "mpi_comm": "comm_world comm_self comm_null",
    "mpi_datatype": _DATATYPES,
    "mpi_errhandler": "errors_are_fatal errors_abort errors_return errhandler_null",
    "mpi_file": "file_null",
    "mpi_group": "group_null group_empty",
    "mpi_info": "info_null info_env",
    "mpi_message": "message_null message_no_proc",
    "mpi_op": _OPERATIONS,
    "mpi_request": "request_null",
    "mpi_session": "session_null",
    "mpi_win": "win_null",
}
HANDLES = {
    f"mpi_{word}": handle_type for handle_type, text in _OF_TYPE.items() for word in words(text)
}
"""The types that the handles have with ``mpi_f08``."""
STATUS = "mpi_status_ignore"
"""A scalar of type MPI_Status with ``mpi_f08``, and an array of integers otherwise."""
INTEGERS = frozenset(
    f"mpi_{word}"
    for word in words(
        """
        any_source any_tag proc_null root undefined keyval_invalid bsend_overhead success
        status_size source tag error address_kind count_kind integer_kind offset_kind
        max_processor_name max_library_version_string max_error_string max_datarep_string
        max_info_key max_info_val max_object_name max_port_name version subversion
        comm_type_shared ident congruent similar unequal tag_ub io host wtime_is_global appnum
        universe_size graph cart dist_graph
        thread_single thread_funneled thread_serialized thread_multiple
        lock_exclusive lock_shared mode_nocheck mode_noprecede mode_noput mode_nostore
        mode_nosucceed win_base win_disp_unit win_size win_create_flavor win_model
        mode_append mode_create mode_delete_on_close mode_excl mode_rdonly mode_rdwr
        mode_sequential mode_unique_open mode_wronly seek_cur seek_end seek_set
        order_c order_fortran distribute_block distribute_cyclic distribute_dflt_darg
        distribute_none typeclass_integer typeclass_real typeclass_complex
        """
    )
)
"""Those of type default INTEGER with each binding."""
DECLARED = words(
    """
    mpi_comm_world mpi_comm_self mpi_comm_null mpi_any_source mpi_any_tag mpi_proc_null mpi_integer
    mpi_real mpi_double_precision mpi_complex mpi_double_complex mpi_logical mpi_character mpi_byte
    mpi_integer4 mpi_integer8 mpi_real4 mpi_real8 mpi_packed mpi_request_null
    mpi_status_ignore mpi_statuses_ignore mpi_in_place mpi_bottom mpi_status_size mpi_source mpi_tag
    mpi_error mpi_success mpi_undefined mpi_datatype_null mpi_sum mpi_prod mpi_max mpi_min mpi_land
    mpi_lor mpi_maxloc mpi_minloc mpi_2integer mpi_2real mpi_2double_precision mpi_info_null
    mpi_address_kind mpi_offset_kind mpi_max_processor_name mpi_max_error_string
    """
)
"""Those that each version of ``mpif.h`` declares, and that programs use."""
_REMOVED = words(
    """
    mpi_address mpi_errhandler_create mpi_errhandler_get mpi_errhandler_set mpi_type_extent
    mpi_type_lb mpi_type_ub mpi_type_hvector mpi_type_hindexed mpi_type_struct
    """
)
"""The procedures that MPI-3.0 removed, which libraries may still have."""
_OTHER = words(
    """
    mpi_status mpi_argv_null mpi_argvs_null mpi_errcodes_ignore mpi_unweighted mpi_weights_empty
    mpi_subarrays_supported mpi_async_protects_nonblocking mpi_displacement_current
    mpi_lastusedcode mpi_buffer_automatic
    """
)
_FAMILIES = ("err", "combiner", "comm_type", "mode", "thread", "win", "f", "t", "f08", "abi")
"""What stands behind the prefix of names of constants and extensions of which MPI has many."""


@cache
def _standard_names() -> frozenset[str]:
    text = files("pympistandard").joinpath("data/apis.json").read_text("utf-8")
    constants = HANDLES.keys() | HANDLES.values() | INTEGERS | DECLARED | _OTHER
    return frozenset(json.loads(text)) | constants | _REMOVED


def is_standard_name(name: str) -> bool:
    """Whether a folded name may be one of MPI's (MPI-4.0 section 2.6.2 keeps those with its prefix
    for MPI): of a procedure or a constant, of its profiling interface, or of an extension."""
    if not name.startswith("mpi_"):
        return True
    family = name.startswith(tuple(f"mpi_{word}_" for word in _FAMILIES))
    return family or name in _standard_names()
