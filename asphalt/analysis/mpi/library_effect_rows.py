"""Which MPI procedures touch which part of the library: rows of names, with their sections.

Names are folded, without ``mpi_``; sections are those of MPI-4.0.  ``mpi_library`` reads them; what
follows from the kinds and directions of the arguments is not repeated here.
"""

from __future__ import annotations

from asphalt.analysis.mpi.standard_facts import FactRow
from asphalt.support.word_sets import words

# A message leaves for the rank, with the (first) tag, on the communicator that the call names.
SENDING = (
    FactRow(words("send bsend ssend rsend isend ibsend issend irsend"), "3.2, 3.4, 3.7"),
    FactRow(words("send_init bsend_init ssend_init rsend_init"), "3.9"),
    FactRow(words("psend_init"), "4.2"),
    FactRow(words("sendrecv sendrecv_replace isendrecv isendrecv_replace"), "3.10"),
)

# A message from the rank, with the (last) tag, on the communicator is taken.
RECEIVING = (
    FactRow(words("recv irecv recv_init"), "3.2, 3.7, 3.9"),
    FactRow(words("precv_init"), "4.2"),
    FactRow(words("sendrecv sendrecv_replace isendrecv isendrecv_replace"), "3.10"),
    FactRow(words("mprobe improbe"), "3.8.2"),
)

# It is only right if the receive has been posted before: the order of calls on two ranks matters.
READY = (FactRow(words("rsend irsend rsend_init"), "3.4"),)

# It is complete only when its receive has begun.
SYNCHRONOUS = (FactRow(words("ssend issend ssend_init"), "3.4"),)

# A message is looked at and stays.
PROBING = (FactRow(words("probe iprobe"), "3.8.1"),)

# Prepared operations run from this call on: whose, the request alone knows.
RUNNING_PREPARED = (FactRow(words("start startall"), "3.9"),)

# A part of a prepared message becomes ready, or its arrival is asked for.
PARTS = (FactRow(words("pready pready_list pready_range parrived"), "4.2"),)

# The window is accessed, or an epoch of it is opened or closed.
WINDOW = (
    FactRow(words("put get accumulate get_accumulate fetch_and_op compare_and_swap"), "12.3"),
    FactRow(words("rput rget raccumulate rget_accumulate"), "12.3.5"),
    FactRow(
        words(
            "win_fence win_start win_complete win_post win_wait win_test win_lock win_lock_all"
            " win_unlock win_unlock_all win_flush win_flush_all win_flush_local"
            " win_flush_local_all win_sync"
        ),
        "12.5",
    ),
    FactRow(words("win_attach win_detach win_free"), "12.2"),
)

# Accesses of the calling process to windows are complete on return.
ENDING_ACCESS = (
    FactRow(words("win_fence win_complete win_unlock win_unlock_all"), "12.5"),
    FactRow(words("win_flush win_flush_all win_flush_local win_flush_local_all"), "12.5.4"),
    FactRow(words("win_free"), "12.2.5"),
)

# It changes what a handle stands for although it gets the handle for reading only.
CHANGING_OBJECT = (
    FactRow(words("comm_set_attr comm_delete_attr attr_put attr_delete"), "7.7"),
    FactRow(words("type_set_attr type_delete_attr win_set_attr win_delete_attr"), "7.7"),
    FactRow(words("comm_set_name type_set_name win_set_name"), "7.8"),
    FactRow(words("comm_set_info win_set_info file_set_info"), "7.4.4, 12.2.7, 14.2.8"),
    FactRow(
        words(
            "comm_set_errhandler errhandler_set win_set_errhandler file_set_errhandler"
            " session_set_errhandler"
        ),
        "9.3",
    ),
    FactRow(words("info_set info_delete"), "10"),
    FactRow(words("cancel grequest_complete"), "3.8.4, 13.2"),
)

# It changes, or depends on, something of the whole process that no handle names.
ENVIRONMENT = (
    FactRow(words("init init_thread finalize abort session_init session_finalize"), "11.2, 11.3"),
    FactRow(words("pcontrol"), "15.2"),
    FactRow(words("wtime wtick"), "9.6"),
    FactRow(
        words(
            "buffer_attach buffer_detach buffer_flush buffer_iflush comm_attach_buffer"
            " comm_detach_buffer comm_flush_buffer comm_iflush_buffer session_attach_buffer"
            " session_detach_buffer session_flush_buffer session_iflush_buffer"
        ),
        "3.6",
    ),
    FactRow(words("bsend ibsend bsend_init"), "3.4"),
    FactRow(
        words("get_address address"), "5.1.5"
    ),  # from then on the library may be told to use it
    FactRow(words("alloc_mem free_mem"), "9.2"),
    FactRow(words("reduce_local"), "6.9.7"),  # the operation may be a function of the user's
    FactRow(
        words(
            "add_error_class add_error_code add_error_string remove_error_class"
            " remove_error_code remove_error_string"
        ),
        "9.5",
    ),
    FactRow(
        words(
            "comm_call_errhandler win_call_errhandler file_call_errhandler session_call_errhandler"
        ),
        "9.5",
    ),
    FactRow(
        words(
            "comm_create_keyval comm_free_keyval type_create_keyval type_free_keyval"
            " win_create_keyval win_free_keyval keyval_create keyval_free"
        ),
        "7.7",
    ),
    FactRow(
        words(
            "open_port close_port publish_name unpublish_name lookup_name comm_accept"
            " comm_connect comm_join comm_disconnect comm_spawn comm_spawn_multiple"
            " comm_get_parent"
        ),
        "11.8-11.10",
    ),
    FactRow(words("session_get_num_psets session_get_nth_pset session_get_pset_info"), "11.3"),
    FactRow(words("grequest_start register_datarep file_delete"), "13.2, 14.2.3, 14.5.3"),
    FactRow(words("abi_set_fortran_booleans abi_set_fortran_info"), "20"),
)

# The address of a buffer is taken, or its size; its elements are not accessed.
ADDRESS_ONLY = (FactRow(words("get_address address sizeof"), "5.1.5"),)

# It has no answer but from the library itself, which does not change while the program runs, and
# from its arguments.
ASKING = (
    FactRow(
        words("get_version get_library_version get_processor_name error_string error_class"), "9"
    ),
    FactRow(words("initialized finalized is_thread_main query_thread"), "11.2, 11.6"),
    FactRow(words("get_hw_resource_info info_create_env"), "9.1, 10"),
    FactRow(
        words("abi_get_version abi_get_info abi_get_fortran_info abi_get_fortran_booleans"), "20"
    ),
    FactRow(words("aint_add aint_diff dims_create sizeof"), "5.1.5, 8.5.2, 19.1.5"),
    FactRow(words("type_get_value_index type_match_size"), "7.9, 19.1.5"),
    FactRow(
        words("type_create_f90_complex type_create_f90_integer type_create_f90_real"), "19.1.5"
    ),
    FactRow(words("f_sync_reg status_f082f status_f2f08 pack_external_size"), "19.1.17, 5.3"),
    FactRow(
        words(
            "status_get_error status_get_source status_get_tag status_set_cancelled"
            " status_set_elements status_set_elements_x status_set_error status_set_source"
            " status_set_tag test_cancelled"
        ),
        "3.2.5, 3.8.4, 13.3",
    ),
)

# It ends the program: nobody waits for what was started before (9.3.5).
ABORTING = "mpi_abort"

# All operations have to be complete before (11.2.2).
ENDING = "mpi_finalize"

# Processes of another program may take part: their messages stand nowhere in this one.
OTHER_PROGRAMS = (
    FactRow(
        words(
            "comm_spawn comm_spawn_multiple comm_get_parent comm_accept comm_connect comm_join"
            " comm_create_from_group intercomm_create_from_groups"
        ),
        "7.4, 7.6, 11.8-11.10",
    ),
)
