"""Values that are the same on all ranks of one communicator, asked about on another one."""

from __future__ import annotations

import pytest

from asphalt.analysis.uniformity.uniformity import Level
from support.fortran_program import FortranProgram
from support.uniform_units import SITE, Q, Site, U, level, main

WORLD = "mpi_comm_world"


def most(comm: str, into: str = "n") -> str:
    return f"call MPI_Allreduce(me, {into}, 1, MPI_INTEGER, MPI_MAX, {comm}, ierr)\n"


SPLIT = "call MPI_Comm_split(MPI_COMM_WORLD, me/2, 0, row, ierr)\n"
PART = "call MPI_Comm_split(row, mod(me, 2), 0, part, ierr)\n"
DIMS = "call MPI_Dims_create(np, 2, dims, ierr)\n"
CART = "call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., row, ierr)\n"
FREE = "call MPI_Comm_free(row, ierr)\n"
DECLARED = "integer :: part, dims(2), group\nlogical :: periods(2)\n"


@pytest.mark.parametrize(
    ("body", "comm", "expected"),
    [
        (CART + most("row"), "row", U),
        (CART + most("row") + FREE, "row", U),
        (SPLIT + most("row"), "row", U),
        (SPLIT + most("row"), WORLD, Q),
        (SPLIT + most(WORLD), "row", U),
        (SPLIT + PART + most("row"), "part", U),
        (SPLIT + PART + most("part"), "row", Q),
        (SPLIT + PART + most("part"), WORLD, Q),
        ("row = MPI_COMM_SELF\n" + most("row"), WORLD, Q),
        # a variable that is given another communicator
        (SPLIT + most("row") + SPLIT.replace("/2", "/3"), "row", Q),
        (SPLIT + most("row") + "row = MPI_COMM_WORLD\n", "row", Q),
        ("row = MPI_COMM_WORLD\n" + most("row") + "row = MPI_COMM_WORLD\n", WORLD, U),
        ("do i = 1, 2\n" + SPLIT + most("row") + "end do\n", "row", Q),
        ("10 continue\n" + SPLIT + most("row") + "if (np > n) goto 10\n", "row", Q),
        ("call MPI_Bcast(row, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n" + most("row"), "row", Q),
        ("call MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1, 0, row, ierr)\n"
         + most("row"), "row", Q),
        ("call MPI_Comm_create(MPI_COMM_WORLD, group, row, ierr)\n" + most("row"), "row", U),
        ("call MPI_Comm_create(MPI_COMM_WORLD, group, row, ierr)\n" + most("row"), WORLD, Q),
    ],
)  # fmt: skip
def test_what_all_ranks_of_a_communicator_get(body: str, comm: str, expected: Level) -> None:
    site = main(f"group = MPI_GROUP_NULL\n{body}call site(n)", DECLARED, comm=comm)
    assert level(site.value()) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dims = 0\n" + DIMS + CART, U),
        ("dims = 0\nperiods = .false.\n" + DIMS + CART, U),
        ("dims = 0\n" + DIMS + CART + FREE + "dims = 1\n", U),
        (DIMS + CART, Q),
        ("dims = 2\n" + CART, Q),
        ("dims = 2\n" + DIMS + CART, Q),
        ("dims = 0\n" + DIMS + "dims(1) = 1\n" + CART, Q),
        ("dims = 0\n" + DIMS + "if (np > 4) dims = 1\n" + CART, Q),
        ("dims = 0\nif (np > 4) dims = 2\n" + DIMS + CART, Q),
        ("if (np > 1) then\ndims = 0\nend if\n" + DIMS + CART, Q),
        ("dims = 0\n" + DIMS.replace("np", "4") + CART, Q),
        ("np = np/2\ndims = 0\n" + DIMS + CART, Q),
        ("dims = 0\n" + DIMS.replace("2", "1") + CART, Q),
        ("dims = 0\n" + DIMS + CART.replace("MPI_COMM_WORLD", "MPI_COMM_SELF"), Q),
        ("dims = 0\n" + DIMS + "call set(dims)\n" + CART, Q),
    ],
)
def test_a_grid_of_all_ranks_is_all_ranks(body: str, expected: Level) -> None:
    site = main(f"{body}{most('row')}call site(n)", DECLARED)
    assert level(site.value()) is expected


def test_a_condition_that_differs_over_another_communicator() -> None:
    """A collective operation on a row, and one on all ranks, behind what the row has in common."""
    body = f"{SPLIT}{most('row')}if (n > 1) call site()"
    assert main(body, comm="row").control() is U
    assert main(body).control() is Q


MODULE = (
    "module grid\nuse mpi\nimplicit none\ninteger :: comm{}, other\ncontains\n"
    "subroutine setup(k)\ninteger, intent(in) :: k\ninteger :: ierr\n"
    "call MPI_Comm_split(MPI_COMM_WORLD, k, 0, comm, ierr)\nend subroutine\n"
    "subroutine leave()\ninteger :: ierr\ncall MPI_Comm_free(comm, ierr)\nend subroutine\n"
    "end module\n"
)


@pytest.mark.parametrize(
    ("calls", "initial", "expected"),
    [
        ("call setup(me/2)\n{}call leave()", "", U),
        ("call setup(me/2)\n{}call leave()", " = MPI_COMM_NULL", U),
        ("call setup(me/2)\n{}call leave()", " = 0", U),
        ("{}call setup(me/2)\ncall leave()", " = 0", Q),  # a communicator, for some libraries
        ("if (me > 2) call setup(me/2)\n{}call leave()", " = -1", Q),
        ("call setup(me/2)\n{}call leave()\ncall setup(me/3)", "", Q),
        ("do i = 1, 2\ncall setup(me/i)\n{}call leave()\nend do", "", Q),
        ("call setup(me/2)\n{}comm = other", "", Q),
    ],
)
def test_a_communicator_in_a_module(calls: str, initial: str, expected: Level) -> None:
    caller = (
        "program p\nuse mpi\nuse grid\ninteger :: me, n, i, ierr\n"
        f"call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n{calls.format(most('comm'))}\n"
        "call site(n)\nend program\n"
    )
    site = Site(FortranProgram(caller, SITE, MODULE.format(initial)), "comm")
    assert level(site.value()) is expected


TYPE = (
    "module grids\nuse mpi\nimplicit none\ntype grid\ninteger :: comm{}, n(3), row\nend type\n"
    "contains\nsubroutine setup(g, k)\ntype(grid), intent(out) :: g\ninteger, intent(in) :: k\n"
    "integer :: ierr\ncall MPI_Comm_split(MPI_COMM_WORLD, k, 0, g%comm, ierr)\ng%n = 3\n"
    "end subroutine\n"
    "subroutine change(g)\ntype(grid), intent(inout) :: g\n{}\nend subroutine\nend module\n"
)


@pytest.mark.parametrize(
    ("initial", "change", "calls", "expected"),
    [
        ("", "g%n(2) = 1", "", U),
        (" = MPI_COMM_NULL", "g%n(2) = 1", "", U),
        (" = MPI_COMM_WORLD", "g%n(2) = 1", "", Q),
        (" = 0", "g%n(2) = 1", "", U),
        ("", "g%comm = g%row", "", Q),
        ("", "g%n(2) = 1", "call setup(g, me/3)", Q),
        ("", "g%n(2) = 1", "h = g\n", U),
        ("", "g%n(2) = 1", "g = h\n", Q),
    ],
)
def test_a_communicator_in_a_structure(
    initial: str, change: str, calls: str, expected: Level
) -> None:
    caller = (
        "program p\nuse mpi\nuse grids\ntype(grid) :: g, h\ninteger :: me, n, ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\ncall setup(g, me/2)\n"
        f"{most('g%comm')}call change(g)\n{calls}\ncall site(n)\nend program\n"
    )
    site = Site(FortranProgram(caller, SITE, TYPE.format(initial, change)), "g%comm")
    assert level(site.value()) is expected


SOLVE = (
    "subroutine solve(comm, n)\nuse mpi\nimplicit none\ninteger, intent(in) :: comm\n"
    "integer, intent(inout) :: n\ninteger :: me, m, ierr{}\n"
    "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n{}\nend subroutine\n"
)
TWICE = SPLIT + PART + "call solve(row, n)\ncall solve(part, n)"


@pytest.mark.parametrize(
    ("saved", "text", "calls", "expected"),
    [
        ("", "call MPI_Allreduce(me, m, 1, MPI_INTEGER, MPI_MAX, comm, ierr)\ncall site(m)",
         TWICE, U),
        # what the last execution left, on another communicator
        ("\nsave m", "call site(m)\ncall MPI_Allreduce(me, m, 1, MPI_INTEGER, MPI_MAX, comm, ierr)",
         TWICE, Q),
        ("", "call site(n)\ncall MPI_Allreduce(me, n, 1, MPI_INTEGER, MPI_MAX, comm, ierr)",
         "n = 1\n" + TWICE, Q),
        ("", "call site(n)\ncall MPI_Allreduce(me, n, 1, MPI_INTEGER, MPI_MAX, comm, ierr)",
         f"n = 1\n{SPLIT}do i = 1, 2\ncall solve(row, n)\nend do", U),
    ],
)  # fmt: skip
def test_each_execution_has_its_own_communicator(
    saved: str, text: str, calls: str, expected: Level
) -> None:
    site = main(calls, DECLARED, SOLVE.format(saved, text), comm="comm")
    assert level(site.value()) is expected


def test_a_communicator_of_the_host() -> None:
    text = (
        "program p\nuse mpi\nimplicit none\ninteger :: comm, me, ierr, n\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n{}\ncall work()\n{}\ncontains\n"
        "subroutine start()\ncall MPI_Comm_split(MPI_COMM_WORLD, me/2, 0, comm, ierr)\n"
        "end subroutine\n"
        "subroutine work()\n"
        "call MPI_Allreduce(me, n, 1, MPI_INTEGER, MPI_MAX, comm, ierr)\ncall site(n)\n"
        "end subroutine\nend program\n"
    )
    once = Site(FortranProgram(text.format("call start()", ""), SITE), "comm")
    assert level(once.value()) is U
    twice = Site(
        FortranProgram(text.format("call start()", "call start()\ncall work()"), SITE), "comm"
    )
    assert level(twice.value()) is Q
