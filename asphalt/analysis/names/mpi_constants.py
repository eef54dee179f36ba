"""Names of constants that MPI's modules and ``mpif.h`` declare (MPI-4.0 section A.1.1)."""

from __future__ import annotations

from asphalt.support.word_sets import words

INTEGERS = words(
    """
    mpi_comm_world mpi_comm_self mpi_comm_null mpi_any_source mpi_any_tag mpi_proc_null mpi_integer
    mpi_real mpi_double_precision mpi_complex mpi_double_complex mpi_logical mpi_character mpi_byte
    mpi_integer4 mpi_integer8 mpi_real4 mpi_real8 mpi_packed mpi_request_null
    """
)
"""Those of integer type that procedures get as arguments."""
DECLARED = INTEGERS | words(
    """
    mpi_status_ignore mpi_statuses_ignore mpi_in_place mpi_bottom mpi_status_size mpi_source mpi_tag
    mpi_error mpi_success mpi_undefined mpi_datatype_null mpi_sum mpi_prod mpi_max mpi_min mpi_land
    mpi_lor mpi_maxloc mpi_minloc mpi_2integer mpi_2real mpi_2double_precision mpi_info_null
    mpi_address_kind mpi_offset_kind mpi_max_processor_name mpi_max_error_string
    """
)
"""More that each version of ``mpif.h`` declares, and that programs use."""
