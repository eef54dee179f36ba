"""One operation, whichever binding and spelling it is called by."""

from __future__ import annotations

import pytest

from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant, mpi_function, predefined_type
from asphalt.analysis.names.scopes import scope_of
from asphalt.ir.expr import AltReturn, Arg, Component, Keyword, Lit, Op, Ref, Section, TypeSpec
from asphalt.ir.stmt import Call, Decl, Entity, Include, What
from asphalt.ir.tree import Unit
from support.ir_program import IMPLICIT_NONE, IrProgram, call, declare, ref, unit, use

ALLTOALL = ("s", "4", "MPI_INTEGER", "r", "4", "MPI_INTEGER", "MPI_COMM_WORLD")


def resolved(statement: Call, *spec: What, others: tuple[Unit, ...] = ()) -> MpiCall | None:
    program = IrProgram(unit("subroutine", "work", (*spec, IMPLICIT_NONE)), *others)
    return mpi_call(statement, scope_of(program.at("work"), program))


def test_use_mpi() -> None:
    found = resolved(call("MPI_AllToAll", *ALLTOALL, "ierr"), use("mpi"))
    assert found is not None
    assert found.operation == "mpi_alltoall"
    assert found.binding == "mpi"
    assert found.error == ref("ierr")
    assert found.args["recvbuf"] == ref("r")
    assert found.args["sendcount"] == Lit("integer", "4")
    assert not found.profiled


def test_mpif_h() -> None:
    found = resolved(call("mpi_alltoall", *ALLTOALL, "ierr"), Include("mpif.h"))
    assert found is not None
    assert found.binding == "mpif.h"


def test_no_interface_at_all_is_the_old_binding() -> None:
    found = resolved(call("mpi_barrier", "comm", "ierr"))
    assert found is not None
    assert found.binding == "mpif.h"


def test_mpi_f08_has_keywords_and_an_optional_error_code() -> None:
    named: tuple[str | Arg, ...] = (
        *ALLTOALL[:3],
        Keyword("comm", "COMM", ref("c")),
        Keyword("recvtype", "recvtype", ref("MPI_INTEGER")),
        Keyword("recvcount", "recvcount", Lit("integer", "4")),
        Keyword("recvbuf", "recvbuf", ref("r")),
    )
    found = resolved(call("MPI_Alltoall", *named), use("mpi_f08"))
    assert found is not None
    assert found.binding == "mpi_f08"
    assert found.error is None
    assert found.args["comm"] == ref("c")
    assert found.args["recvbuf"] == ref("r")


def test_renamed_by_use() -> None:
    renamed = use("mpi", ("exchange", "mpi_alltoall"), "mpi_integer", "mpi_comm_world")
    found = resolved(call("Exchange", *ALLTOALL, "ierr"), renamed)
    assert found is not None
    assert found.operation == "mpi_alltoall"


def test_hidden_behind_modules_of_the_tree() -> None:
    inner = unit("module", "inner", (use("mpi"),))
    outer = unit("module", "outer", (use("inner", ("swap", "mpi_alltoall")),))
    found = resolved(call("swap", *ALLTOALL, "ierr"), use("outer"), others=(inner, outer))
    assert found is not None
    assert found.operation == "mpi_alltoall"
    assert found.binding == "mpi"


def test_a_private_module_gives_no_names() -> None:
    inner = unit("module", "inner", (use("mpi"), Decl("private")))
    found = resolved(call("mpi_barrier", "c", "ierr"), use("inner"), others=(inner,))
    assert found is not None
    assert found.binding == "mpif.h"


def test_profiling_names() -> None:
    found = resolved(call("PMPI_Barrier", "c", "ierr"), use("mpi"))
    assert found is not None
    assert found.operation == "mpi_barrier"
    assert found.profiled


def test_a_procedure_of_the_tree_is_not_mpi() -> None:
    own = unit("subroutine", "mpi_barrier", args=("comm", "ierr"))
    assert resolved(call("mpi_barrier", "c", "ierr"), others=(own,)) is None
    contained = unit("module", "m", contained=(own,))
    assert resolved(call("mpi_barrier", "c", "ierr"), use("m"), others=(contained,)) is None


def test_a_library_for_one_process_in_the_tree_stands_for_mpi() -> None:
    barrier = unit("subroutine", "mpi_barrier", args=("comm", "ierr"))
    init = unit("subroutine", "mpi_init", args=("ierr",))
    assert resolved(call("mpi_barrier", "c", "ierr"), others=(barrier, init)) is not None
    wrapper = unit(
        "subroutine",
        "mpi_barrier",
        body=(call("pmpi_barrier", "comm", "ierr"),),
        args=("comm", "ierr"),
    )
    assert resolved(call("mpi_barrier", "c", "ierr"), others=(wrapper, init)) is None


def test_a_name_the_standard_does_not_have_is_not_mpi() -> None:
    assert resolved(call("mpi_foo", "c"), use("mpi")) is None
    assert resolved(call("dgemm", "c"), use("mpi")) is None


def test_a_reserved_name_from_an_unknown_module_is_of_an_unknown_binding() -> None:
    found = resolved(call("mpi_barrier", "c", "ierr"), use("elsewhere"))
    assert found is not None
    assert found.binding == "unknown"
    found = resolved(call("mpi_barrier", "c", "ierr"), use("elsewhere"), use("mpi"))
    assert found is not None
    assert found.binding == "mpi"
    assert resolved(call("exchange", "c", "ierr"), use("elsewhere")) is None
    found = resolved(call("mpi_barrier", "c", "ierr"), use("elsewhere", "x"))
    assert found is not None
    assert found.binding == "mpif.h"


@pytest.mark.parametrize(
    "args",
    [
        (*ALLTOALL[:5], "ierr"),
        (*ALLTOALL, "ierr", "more"),
        (*ALLTOALL, Keyword("err", "err", Ref("e", "e"))),
        (*ALLTOALL, Keyword("comm", "comm", Ref("e", "e"))),
        (Section(None, None, None), *ALLTOALL[1:], "ierr"),
        (*ALLTOALL, AltReturn(10)),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[str | Arg, ...]) -> None:
    assert resolved(call("mpi_alltoall", *args), use("mpi")) is None


def test_a_component_is_not_mpi() -> None:
    bound = Component(ref("x"), "mpi_barrier", "mpi_barrier")
    assert resolved(Call(bound, ()), use("mpi")) is None


def test_what_is_read_and_written() -> None:
    statement = call("mpi_recv", "b", "n", "MPI_REAL", "p", "7", "c", "MPI_STATUS_IGNORE", "e")
    program = IrProgram(unit("subroutine", "work", (use("mpi"), IMPLICIT_NONE)))
    scope = scope_of(program.at("work"), program)
    found = mpi_call(statement, scope)
    assert found is not None
    assert found.defined(scope) == (ref("b"), ref("e"))
    assert ref("n") in found.used(scope)
    assert ref("b") not in found.used(scope)
    assert ref("MPI_REAL") not in found.used(scope)


def test_in_place_reads_the_receive_buffer() -> None:
    statement = call("mpi_alltoall", "MPI_IN_PLACE", *ALLTOALL[1:], "e")
    program = IrProgram(unit("subroutine", "work", (use("mpi"), IMPLICIT_NONE)))
    scope = scope_of(program.at("work"), program)
    found = mpi_call(statement, scope)
    assert found is not None
    assert found.in_place(scope)
    assert not found.anywhere(scope)
    assert ref("r") in found.used(scope)


def test_bottom_is_anywhere() -> None:
    program = IrProgram(unit("subroutine", "work", (use("mpi"), IMPLICIT_NONE)))
    scope = scope_of(program.at("work"), program)
    found = mpi_call(call("mpi_bcast", "MPI_BOTTOM", "1", "t", "0", "c", "e"), scope)
    assert found is not None
    assert found.anywhere(scope)


def test_predefined_types_also_under_a_users_name() -> None:
    alias = Decl(
        "type",
        TypeSpec("integer"),
        ("parameter",),
        entities=(Entity("real_t", "real_t", initial=ref("MPI_DOUBLE_PRECISION")),),
    )
    kinds = unit("module", "kinds", (use("mpi"), alias))
    work = unit(
        "subroutine",
        "work",
        (use("kinds", "real_t"), use("mpi", "mpi_2real"), IMPLICIT_NONE, declare("integer", "t")),
    )
    program = IrProgram(work, kinds)
    scope = scope_of(program.at("work"), program)
    found = predefined_type(ref("real_t"), scope)
    assert found is not None
    assert (found.name, found.family, found.bytes) == ("mpi_double_precision", "real", 8)
    pair = predefined_type(Op("()", (ref("MPI_2REAL"),)), scope)
    assert pair is not None
    assert pair.family == "pair"
    assert predefined_type(ref("t"), scope) is None
    assert predefined_type(ref("mpi_real"), scope) is None  # not in the only list
    assert predefined_type(Lit("integer", "17"), scope) is None


def test_the_value_of_a_typed_handle() -> None:
    program = IrProgram(unit("subroutine", "work", (use("mpi_f08"), IMPLICIT_NONE)))
    scope = scope_of(program.at("work"), program)
    value = Component(ref("MPI_COMM_WORLD"), "mpi_val", "MPI_VAL")
    assert mpi_constant(value, scope) == "mpi_comm_world"


def test_functions() -> None:
    program = IrProgram(unit("subroutine", "work", (use("mpi"), IMPLICIT_NONE)))
    scope = scope_of(program.at("work"), program)
    assert mpi_function(Ref("mpi_wtime", "MPI_Wtime", ()), scope) == "mpi_wtime"
    assert mpi_function(Ref("mpi_barrier", "mpi_barrier", ()), scope) is None
    assert mpi_call(call("mpi_wtime"), scope) is None
