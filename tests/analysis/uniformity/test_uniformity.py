"""What is the same on all ranks, what is not, and what is not known, in small programs."""

from __future__ import annotations

import pytest

from asphalt.analysis.uniformity.uniformity import Level, NotUniform, Uniform
from support.fortran_program import FortranProgram
from support.uniform_units import SITE, Q, Site, U, V, level, main


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = 4\ncall site(n)", U),
        ("n = 4\nm = n*np + 1\ncall site(m/2)", U),
        ("call site(np)", U),
        ("call site(me)", V),
        ("n = me + 1\ncall site(n)", V),
        ("n = mod(np, 3)\ncall site(max(n, 2))", U),
        ("call site(ierr)", Q),
        ("call site(n)", Q),
        ("read(*,*) n\ncall site(n)", Q),
        ("call MPI_Recv(n, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, status, ierr)\ncall site(n)", V),
        ("n = 1\ncall MPI_Allreduce(me, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)\n"
         "call site(n)", U),
        ("call MPI_Reduce(me, n, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)\n"
         "call site(n)", V),
        ("a(me+1) = 1\ncall site(a(1))", V),
        ("a = 3\ncall site(a(2))", U),
        ("a = 3\ncall site(a(me))", V),
        ("n = size(a)\ncall site(n)", U),
        ("n = kind(me) + huge(me)\ncall site(n)", U),
        ("call unknown(n)\ncall site(n)", Q),
        ("n = 1\ncall random_number(x)\ncall site(n + int(x))", Q),
        ("call site(int(MPI_Wtime()))", Q),
        ("do i = 1, np\nn = i\nend do\ncall site(n)", U),
        ("do i = 1, me\nn = i\nend do\ncall site(n)", V),
        ("call MPI_Comm_rank(MPI_COMM_WORLD, n, ierr)\nn = 5\ncall site(n)", U),
        ("n = 5\ncall site(n)\nn = me", U),
        ("n = 5\ndo i = 1, 3\ncall site(n)\nn = me\nend do", V),
    ],
)  # fmt: skip
def test_values(body: str, expected: Level) -> None:
    assert level(main(body, "real :: x").value()) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (me == 0) n = 4\ncall site(n)", V),
        ("n = 1\nif (me == 0) then\nn = 4\nend if\ncall site(n)", V),
        ("n = 1\nif (np > 3) then\nn = 4\nelse\nn = 5\nend if\ncall site(n)", U),
        ("select case (me)\ncase (0)\nn = 1\ncase default\nn = 2\nend select\ncall site(n)", V),
        ("n = 1\nif (me == 0) goto 10\nn = 2\n10 continue\ncall site(n)", V),
        ("n = 1\ndo i = 1, 9\nif (i > me) exit\nn = i\nend do\ncall site(n)", V),
        ("do i = 1, 9\nif (i > me) exit\nend do\ncall site(i)", V),
        ("do i = 1, 9\nm = i\nend do\ncall site(i)", U),
        # the condition of a one-line IF is that of its action, also where it begins a loop
        ("do i = 1, 9\nif (me > 3) m = i\nend do\ncall site(i)", U),
        ("do i = 1, 9\nif (me > 3) m = i\nif (i > me) exit\nend do\ncall site(i)", V),
        ("do i = 1, 9\nif (me > 3) m = i\nend do\ncall site(m)", V),
        ("do while (me < 4)\nn = 2\nend do\ncall site(n)", V),
    ],
)
def test_what_decides_about_an_assignment_counts(body: str, expected: Level) -> None:
    assert level(main(body).value()) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Flow-insensitively, `n` may be what rank 0 read; the broadcast hides it.
        ("if (me == 0) read(*,*) n\ncall MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n"
         "call site(n)", U),
        ("n = me\nif (np > 1) then\ncall MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n"
         "end if\ncall site(n)", Q),
        ("call MPI_Bcast(n, 1, MPI_INTEGER, 0, row, ierr)\ncall site(n)", Q),
    ],
)  # fmt: skip
def test_broadcasts(body: str, expected: Level) -> None:
    assert level(main(body).value()) is expected


SPLIT = "call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, row, ierr)\n"


@pytest.mark.parametrize(
    ("body", "comm", "expected"),
    [
        (SPLIT + "call MPI_Comm_size(row, n, ierr)\ncall site(n)", "row", U),
        (SPLIT + "call MPI_Comm_size(row, n, ierr)\ncall site(n)", "mpi_comm_world", Q),
        (SPLIT + "call site(np)", "row", U),
        (SPLIT + SPLIT + "call MPI_Comm_size(row, n, ierr)\ncall site(n)", "row", U),
        # of the communicator that the variable had before
        (SPLIT + "call MPI_Comm_size(row, n, ierr)\n" + SPLIT + "call site(n)", "row", Q),
        ("call MPI_Comm_dup(MPI_COMM_WORLD, row, ierr)\ncall MPI_Comm_size(row, n, ierr)\n"
         "call site(n)", "mpi_comm_world", U),
        ("row = MPI_COMM_WORLD\ncall MPI_Comm_size(row, n, ierr)\ncall site(n)",
         "mpi_comm_world", U),
    ],
)  # fmt: skip
def test_uniform_over_a_communicator(body: str, comm: str, expected: Level) -> None:
    assert level(main(body, comm=comm).value()) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("call site()", U),
        ("do i = 1, 5\ncall site()\nend do", U),
        ("if (np > 1) call site()", U),
        ("if (me == 0) call site()", V),
        ("if (me == 0) then\nn = 1\nelse\ncall site()\nend if", V),
        ("do i = 1, me\ncall site()\nend do", V),
        ("read(*,*) n\nif (n > 0) call site()", Q),
        ("if (me == 0) goto 10\ncall site()\n10 n = 1", V),
        ("if (me == 0) goto 10\nn = 1\n10 continue\ncall site()", U),
        ("10 continue\ncall site()\nif (me == 0) goto 10", V),
        ("do i = 1, 5\nif (me == i) cycle\ncall site()\nend do", V),
        ("do i = 1, 5\ncall site()\nif (me == i) exit\nend do", V),
        ("do i = 1, 5\ndo k = 1, 3\nif (me == i) exit\nend do\ncall site()\nend do", U),
        ("outer: do i = 1, 5\ndo k = 1, 3\nif (me == i) cycle outer\nend do\ncall site()\n"
         "end do outer", V),
        ("if (me == 0) stop\ncall site()", U),
        ("read(*, *, err=10) n\ncall site()\n10 continue", Q),
    ],
)  # fmt: skip
def test_control(body: str, expected: Level) -> None:
    assert main(body).control() is expected
    assert main(body).reached() is expected


def subroutine(body: str, arguments: str = "n") -> str:
    return (
        f"subroutine work({arguments})\nuse mpi\nimplicit none\ninteger :: {arguments}\n"
        "integer :: me, ierr\n"
        f"call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n{body}\nend subroutine\n"
    )


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("call work(4)", U),
        ("call work(np)\ncall work(7)", U),
        ("call work(me)", V),
        ("call work(4)\ncall work(me)", V),
        ("if (me == 0) then\ncall work(4)\nelse\ncall work(5)\nend if", V),
        ("if (me == 0) call work(4)", U),  # whoever comes here has a 4
        ("read(*,*) n\ncall work(n)", Q),
    ],
)
def test_dummies_have_the_values_of_all_callers(calls: str, expected: Level) -> None:
    assert level(main(calls, more=subroutine("call site(n)")).value()) is expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("call work(4)", U),
        ("if (me == 0) call work(4)", V),
        ("do i = 1, np\ncall work(i)\nend do", U),
    ],
)
def test_reached_through_callers(calls: str, expected: Level) -> None:
    site = main(calls, more=subroutine("call site(n)"))
    assert site.control() is U
    assert site.reached() is expected


def test_an_early_return_of_some_ranks() -> None:
    site = main("call work(4)", more=subroutine("if (me == 0) return\ncall site(n)"))
    assert site.control() is V


def test_without_a_main_program_callers_are_unknown() -> None:
    site = Site(FortranProgram(subroutine("call site(n)")))
    assert level(site.value()) is Q
    assert site.control() is U
    assert site.reached() is Q


def test_a_procedure_that_is_passed_on_has_unknown_callers() -> None:
    more = subroutine("call site(n)")
    assert level(main("call work(4)\ncall apply(work)", "external work", more).value()) is Q


@pytest.mark.parametrize(("more", "expected"), [("", U), ("call gen(me)", V), ("call gen(4)", U)])
def test_a_generic_name_is_followed(more: str, expected: Level) -> None:
    text = (
        "module m\nimplicit none\ninterface gen\nmodule procedure work\nend interface\ncontains\n"
        "subroutine work(n)\ninteger :: n\ncall site(n)\nend subroutine\nend module\n"
    )
    main_unit = (
        "program p\nuse m\nuse mpi\nimplicit none\ninteger :: me, ierr\n"
        f"call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\ncall work(4)\n{more}\nend program\n"
    )
    assert level(Site(FortranProgram(main_unit, SITE, text)).value()) is expected


@pytest.mark.parametrize(
    "declaration",
    [
        "interface operator(.w.)\nmodule procedure work\nend interface",
        "type t\ncontains\nprocedure, nopass :: work\nend type",
        "type t\ncontains\nprocedure, nopass :: b => work\nend type",
        "procedure(work), pointer :: q => work",
    ],
)
def test_a_procedure_with_other_names_has_unknown_callers(declaration: str) -> None:
    text = (
        f"module m\nimplicit none\n{declaration}\ncontains\nsubroutine work(n)\n"
        "integer :: n\ncall site(n)\nend subroutine\nend module\n"
    )
    program = FortranProgram("program p\nuse m\ncall work(4)\nend program\n", SITE, text)
    assert level(Site(program).value()) is Q


def test_a_variable_that_a_procedure_defines() -> None:
    text = "subroutine work(n)\ninteger :: n, k\n{}\nend subroutine\n"
    body = "n = 1\ncall work(n)\ncall site(n)"
    assert level(main(body, more=text.format("n = 2")).value()) is U
    assert level(main(body, more=text.format("k = n")).value()) is U
    assert level(main(body, more=text.format("read(*,*) n")).value()) is Q
    early = subroutine("if (me == 0) return\nn = 2")
    assert level(main(body, more=early).value()) is V


def test_functions_of_the_tree() -> None:
    text = "integer function twice(k)\ninteger, intent(in) :: k\ntwice = 2*k\nend function\n"
    declared = "integer, external :: twice"
    assert level(main("call site(twice(np))", declared, text).value()) is U
    assert level(main("call site(twice(me))", declared, text).value()) is V
    assert level(main("call site(other(np))", "integer, external :: other").value()) is Q


DOT = (
    "module sums\nuse mpi\nimplicit none\ncontains\n"
    "integer function total(x) result(s)\ninteger, intent(in) :: x(:)\ninteger :: part, ierr\n"
    "part = sum(x)\n{}\nend function\n"
    "subroutine summed(x, s)\ninteger, intent(in) :: x(:)\ninteger, intent(out) :: s\n"
    "integer :: part, ierr\npart = sum(x)\n{}\nend subroutine\nend module\n"
)
ALLREDUCE = "call MPI_Allreduce(part, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)"


@pytest.mark.parametrize(
    ("text", "uniform"),
    [
        (ALLREDUCE, True),
        (f"s = part\n{ALLREDUCE}\ns = 2*s + 1", True),
        (ALLREDUCE.replace("part, s", "MPI_IN_PLACE, part") + "\ns = part", True),
        (f"{ALLREDUCE}\nif (s > 3) s = part", False),
        (f"if (size(x) > 3) then\n{ALLREDUCE}\nelse\ns = 0\nend if", False),
        (f"s = 0\nif (size(x) > 3) return\n{ALLREDUCE}", False),
        ("call MPI_Scan(part, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)", False),
        ("call MPI_Recv(s, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)", False),
    ],
)
def test_what_a_procedure_gives_depends_on_what_makes_its_result(text: str, uniform: bool) -> None:
    caller = (
        "program p\nuse mpi\nuse sums\ninteger :: me, n, ierr, a(10)\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\na = me\n{}\ncall site(n)\nend program\n"
    )
    for call in ("n = total(a(1:me))", "call summed(a(1:me), n)"):
        site = Site(FortranProgram(caller.format(call), SITE, DOT.format(text, text)))
        assert isinstance(site.value(), Uniform) is uniform


def test_a_call_among_the_declarations_gives_dummies_values_too() -> None:
    """The calls that are looked for stand among the statements."""
    more = (
        "module sizes\ncontains\npure integer function twice(k)\ninteger, intent(in) :: k\n"
        "twice = 2*k\nend function\nsubroutine work(me)\ninteger, intent(in) :: me\n"
        "integer :: b(twice(me)), c(twice(3))\nc = twice(4)\ncall site({})\n"
        "end subroutine\nend module\n"
    )
    caller = (
        "program p\nuse mpi\nuse sizes\ninteger :: me, ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\ncall work(me)\nend program\n"
    )
    assert level(Site(FortranProgram(caller, SITE, more.format("size(b)"))).value()) is V
    assert level(Site(FortranProgram(caller, SITE, more.format("size(c)"))).value()) is U


def test_an_elemental_function_has_the_shape_of_its_argument() -> None:
    text = (
        "module ones\ncontains\n{} integer function one(k)\ninteger, intent(in) :: k\none = 1\n"
        "end function\nend module\n"
    )
    caller = (
        "program p\nuse mpi\nuse ones\ninteger :: me, ierr, a(10)\na = 1\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\ncall site({})\nend program\n"
    )
    mapped = FortranProgram(caller.format("sum(one(a(1:me)))"), SITE, text.format("elemental"))
    assert level(Site(mapped).value()) is V
    single = FortranProgram(caller.format("one(me)"), SITE, text.format("pure"))
    assert level(Site(single).value()) is U


def test_an_entry_shares_the_result_of_its_function() -> None:
    text = (
        "integer function twice(k)\ninteger, intent(in) :: k\ninteger :: other\ntwice = 2\nreturn\n"
        "entry other(k)\nother = k\nend function\n"
    )
    assert level(main("call site(twice(np))", "integer, external :: twice", text).value()) is Q


def test_recursion_ends() -> None:
    text = (
        "recursive subroutine work(n)\ninteger, intent(in) :: n\n"
        "if (n > 0) call work(n - 1)\ncall site(n)\nend subroutine\n"
    )
    assert level(main("call work(np)", more=text).value()) is U
    assert level(main("call work(me)", more=text).value()) is V


MODULE = (
    "module m\nimplicit none\ninteger :: n = 3, other\ncontains\n"
    "subroutine setup(me)\ninteger, intent(in) :: me\n{}\nend subroutine\nend module\n"
)


def module_program(setup: str, body: str) -> Site:
    text = (
        "program p\nuse mpi\nuse m\nimplicit none\ninteger :: me, ierr\n"
        f"call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n{body}\nend program\n"
    )
    return Site(FortranProgram(text, SITE, MODULE.format(setup)))


@pytest.mark.parametrize(
    ("setup", "body", "expected"),
    [
        ("other = 1", "call site(n)", U),
        ("n = 7", "call setup(me)\ncall site(n)", U),
        ("n = me", "call setup(me)\ncall site(n)", V),
        ("n = 7", "if (me == 0) call setup(me)\ncall site(n)", V),
        ("if (me == 0) return\nn = 7", "call setup(me)\ncall site(n)", V),
        ("read(*,*) n", "call setup(me)\ncall site(n)", Q),
        ("other = 1", "n = me\ncall site(n)", V),
        ("n = 1", "call site(other)", Q),
    ],
)
def test_module_variables(setup: str, body: str, expected: Level) -> None:
    assert level(module_program(setup, body).value()) is expected


TYPES = (
    "module types\nimplicit none\ntype inner\ninteger :: k, me\nend type\n"
    "type grid\ninteger :: n, me, list(4)\ninteger, pointer :: p\ntype(inner) :: i\nend type\n"
    "end module\n"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("g%n = 4\ng%me = me\ncall site(g%n)", U),
        ("g%n = 4\ng%me = me\ncall site(g%me)", V),
        ("g%n = 4\ng%i%k = g%n\ng%i%me = me\ncall site(g%i%k)", U),
        ("g%i%me = me\nh = g\ncall site(h%i%me)", V),
        ("g%i%me = me\ng%i%k = 1\nh = g\ncall site(h%i%k)", U),
        ("g%list = 1\ng%list(me) = 2\ncall site(g%list(1))", V),
        ("g%list = 1\ncall site(g%list(me))", V),
        ("allocate(g%p)\ng%p = 4\ncall site(g%p)", Q),
        ("g%i = inner(4, np)\ncall site(g%i%k)", U),
        ("g%i = inner(4, me)\ncall site(g%i%k)", V),
        ("call fill(g, me)\ncall site(g%n)", U),
        ("call fill(g, me)\ncall site(g%me)", V),
    ],
)
def test_components_are_variables_of_their_own(body: str, expected: Level) -> None:
    fill = (
        "subroutine fill(t, me)\nuse types\ntype(grid) :: t\ninteger :: me\nt%n = 3\nt%me = me\n"
        "end subroutine\n"
    )
    site = main(body, "type(grid) :: g, h", TYPES + fill)
    assert level(site.value()) is expected


COMMON = "subroutine setup(me)\ninteger :: me, n, k\ncommon /sizes/ n, k\n{}\nend subroutine\n"


@pytest.mark.parametrize(
    ("setup", "body", "expected"),
    [
        ("k = 1", "n = 4\ncall site(n)", U),
        ("n = 4", "call setup(me)\ncall site(n)", U),
        ("n = me", "call setup(me)\ncall site(n)", V),
        ("n = 4", "if (me == 0) call setup(me)\ncall site(n)", V),
        ("k = 4", "call setup(me)\ncall site(n)", Q),
        ("read(*,*) n", "call setup(me)\ncall site(n)", Q),
    ],
)
def test_variables_in_common(setup: str, body: str, expected: Level) -> None:
    declared = "common /sizes/ n, k"
    assert level(main(body, declared, COMMON.format(setup)).value()) is expected


def test_common_that_is_laid_out_otherwise_is_unknown() -> None:
    other = COMMON.format("n = 4").replace("/ n, k", "/ k, n")
    assert level(main("call setup(me)\ncall site(n)", "common /sizes/ n, k", other).value()) is Q
    longer = COMMON.format("n = 4").replace("/ n, k", "/ n(2), k").replace("me, n, k", "me, k, n")
    assert level(main("call setup(me)\ncall site(n)", "common /sizes/ n, k", longer).value()) is Q


def test_values_from_data_statements() -> None:
    assert level(main("call site(n)", "data n /4/").value()) is U


def test_a_module_variable_under_another_name_is_unknown() -> None:
    renaming = "subroutine s\nuse m, only: x => n\nx = 1\nend subroutine\n"
    program = FortranProgram(
        "program p\nuse m\ncall site(n)\ncall s\nend program\n",
        MODULE.format("other = 1"),
        renaming,
    )
    assert level(Site(program).value()) is Q


def test_internal_procedures_define_variables_of_their_host() -> None:
    text = (
        "program p\nuse mpi\nimplicit none\ninteger :: n, me, ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\nn = 1\ncall inner\ncall site(n)\ncontains\n"
        "subroutine inner\nn = {}\nend subroutine\nend program\n"
    )
    assert level(Site(FortranProgram(SITE, text.format("me"))).value()) is V
    assert level(Site(FortranProgram(SITE, text.format("2"))).value()) is U


def test_what_may_have_another_name_is_unknown() -> None:
    assert level(main("n = 4\ncall site(n)", "equivalence (n, m)").value()) is Q
    assert level(main("n = 4\ncall site(n)", "common n").value()) is Q
    assert level(main("q = 4\ncall site(q)", "integer, pointer :: q").value()) is Q


def test_a_statement_that_is_not_understood_may_define_what_it_names() -> None:
    assert level(main("n = 4\nif (np > 1) n @ 5\ncall site(n)").value()) is Q


def test_dummy_communicators() -> None:
    text = (
        "subroutine work(comm)\nuse mpi\nimplicit none\ninteger :: comm, n, ierr\n"
        "call MPI_Comm_size(comm, n, ierr)\ncall site(n)\nend subroutine\n"
    )
    assert level(Site(FortranProgram(SITE, text), "comm").value()) is U
    assert level(main("call work(MPI_COMM_WORLD)", more=text, comm="comm").value()) is U
    size_of_row = text.replace("n, ierr\n", "n, m, ierr\n").replace("work(comm)", "work(comm, n)")
    size_of_row = size_of_row.replace("call MPI_Comm_size(comm, n", "call MPI_Comm_size(comm, m")
    body = SPLIT + "call MPI_Comm_size(row, n, ierr)\ncall work(row, n)"
    assert level(main(body, more=size_of_row, comm="comm").value()) is U


def test_only_the_analysis_makes_a_proof() -> None:
    site = main("n = 4\ncall site(n)")
    found = site.value()
    assert isinstance(found, Uniform)
    with pytest.raises(TypeError):
        Uniform(found.expr, "because I say so", None)  # type: ignore[arg-type]


def test_evidence_names_the_reason() -> None:
    found = main("n = me + 1\nm = 2*n\ncall site(m)").value()
    assert isinstance(found, NotUniform)
    assert "MPI_Comm_rank" in found.evidence
    assert found.evidence.startswith("m; n; ")
    uniform = main("call site(np)").value()
    assert isinstance(uniform, Uniform)
    assert "MPI_Comm_size" in uniform.evidence


MODULE_OF_ALLOCATIONS = """
module al
contains
subroutine again(x, k)
integer, allocatable :: x(:)
integer :: k
if (k == 1) then
deallocate(x)
allocate(x(2))
end if
end subroutine
subroutine fill(x)
integer :: x(:)
x = 1
end subroutine
end module
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("allocate(x(np))\nn = size(x)\ncall site(n)", U),
        ("allocate(x(np))\nx = 0\nx(2) = me\ncall site(ubound(x, 1))", U),
        ("allocate(x(me))\ncall site(size(x))", V),
        ("if (me == 1) then\nallocate(x(2))\nelse\nallocate(x(3))\nend if\ncall site(size(x))", V),
        ("allocate(x(3))\nif (me == 1) x = [1, 2]\ncall site(size(x))", Q),
        ("allocate(x(3))\nif (me == 1) x = [1, 2]\ncall site(ubound(x, 1))", Q),
        ("allocate(x(3), y(3 - mod(me, 2)))\ny = 1\nx = y\ncall site(size(x))", Q),
        ("allocate(x(3), y(3 - mod(me, 2)))\ncall move_alloc(y, x)\ncall site(size(x))", Q),
        ("allocate(x(3))\ncall again(x, me)\ncall site(size(x))", Q),
        ("allocate(x(3))\ncall fill(x)\ncall site(size(x))", U),
        ("allocate(x(3))\ncall unknown(x)\ncall site(size(x))", Q),
        ("allocate(x(3), source=y)\ncall site(size(x))", U),
        ("allocate(x, source=y)\ncall site(size(x))", Q),
        ("call site(size(x))", Q),
        # what an array has decides whether it is allocated anew
        (
            "allocate(x(np))\nif (size(x) < 4) then\ndeallocate(x)\nallocate(x(4))\nend if\n"
            "call site(size(x))",
            U,
        ),
        (
            "allocate(x(np))\nif (size(x) < me) then\ndeallocate(x)\nallocate(x(4))\nend if\n"
            "call site(size(x))",
            V,
        ),
        # the shape is in the value of an array, too
        ("allocate(x(np))\nx = 1\ncall site(sum(x))", U),
        ("allocate(x(2 + mod(me, 2)))\nx = 1\ncall site(sum(x))", V),
        ("allocate(x(2 + mod(me, 2)))\nx = 1\ncall site(sum(x(:)))", V),
        ("allocate(x(2 + mod(me, 2)))\nx = 1\ncall site(sum(x(1:2)))", U),
        ("allocate(s)\ns = 3\ndeallocate(s)\nallocate(s, source=me)\ncall site(s)", V),
        ("g%x = [1]\nallocate(g%x(me + 2))\ng%x = 1\ncall site(sum(g%x))", Q),
    ],
)
def test_shapes_of_allocatables(body: str, expected: Level) -> None:
    declared = (
        "integer, allocatable :: x(:), y(:), s\ntype t\ninteger, allocatable :: x(:)\nend type\n"
        "type (t) :: g"
    )
    text = (
        f"program p\nuse mpi\nuse al\nimplicit none\n{declared}\ninteger :: n, me, np, ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n"
        f"call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)\n{body}\nend program\n"
    )
    program = FortranProgram(text, SITE, MODULE_OF_ALLOCATIONS)
    assert level(Site(program).value()) is expected


def test_an_internal_procedure_may_allocate() -> None:
    text = (
        "program p\nuse mpi\nimplicit none\ninteger, allocatable :: x(:)\ninteger :: me, ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\nallocate(x(3))\ncall inner\n"
        "call site(size(x))\ncontains\nsubroutine inner\n{}\nend subroutine\nend program\n"
    )
    again = "if (me == 1) then\ndeallocate(x)\nallocate(x(2))\nend if"
    assert level(Site(FortranProgram(SITE, text.format(again))).value()) is Q
    assert level(Site(FortranProgram(SITE, text.format("x = 0"))).value()) is U


@pytest.mark.parametrize(
    ("declaration", "body", "expected"),
    [
        ("character(:), allocatable :: c", "c = 'xxx'\ncall site(len(c))", Q),
        ("character(:), allocatable :: c", "c = 'xxx'\ncall site(len_trim(c))", Q),
        ("character(8) :: c", "call site(len(c))", U),
        ("character :: c*5", "call site(len(c))", U),
        ("character(8) :: c", "call site(len(trim(c)))", Q),
        ("character(*), parameter :: c = 'abc'", "call site(len(c))", U),
        ("character(8) :: c", "call site(storage_size(c))", Q),
        ("integer(8) :: c", "call site(storage_size(c))", U),
    ],
)
def test_lengths_of_characters(declaration: str, body: str, expected: Level) -> None:
    assert level(main(body, declaration).value()) is expected


def test_assumed_lengths_are_unknown() -> None:
    text = "subroutine work(c)\ncharacter({}) :: c\ncall site(len(c))\nend subroutine\n"
    assert level(main("call work('abc')", more=text.format("*")).value()) is Q
    assert level(main("call work('abc')", more=text.format("len=3")).value()) is U


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = 3\nassociate (q => n)\nif (me == 1) q = 2\nend associate\ncall site(n)", Q),
        ("n = 3\nassociate (q => n + 0)\nm = q\nend associate\ncall site(n)", U),
        ("associate (q => n)\nq = me\nend associate\nn = 3\ncall site(n)", U),
        ("a = 1\nassociate (q => a(2))\nq = me\nend associate\ncall site(a(2))", Q),
        ("g%n = 3\nassociate (q => g%n)\nq = me\nend associate\ncall site(g%n)", Q),
        ("g%n = 3\nassociate (q => g)\nq%n = me\nend associate\ncall site(g%n)", Q),
        ("g%n = 3\nassociate (q => g%me)\nq = me\nend associate\ncall site(g%n)", U),
        ("g%n = 3\nselect type (q => g)\ntype is (grid)\nq%n = me\nend select\ncall site(g%n)", Q),
        ("n = 4\nassociate (n => me)\ncall site(n)\nend associate", Q),
        ("n = 3\ncall inner\ncall site(n)\ncontains\nsubroutine inner\nassociate (q => n)\n"
         "q = me\nend associate\nend subroutine", Q),
    ],
)  # fmt: skip
def test_what_a_construct_gives_another_name_is_unknown(body: str, expected: Level) -> None:
    assert level(main(body, "type(grid) :: g", TYPES).value()) is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", U),
        ("MPI_Bcast(n, one, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", U),
        ("MPI_Bcast(n, 1, MPI_INTEGER4, 0, MPI_COMM_WORLD, ierr)", U),
        ("MPI_Bcast(n, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Bcast(n, m, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Bcast(n, 1, MPI_BYTE, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Bcast(n, 4, MPI_BYTE, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Bcast(n, 1, MPI_INTEGER2, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Bcast(n, 1, row, 0, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Allreduce(me, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)", U),
        ("MPI_Allreduce(me, n, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)", Q),
        ("MPI_Allgather(me, 1, MPI_INTEGER, n, 0, MPI_INTEGER, MPI_COMM_WORLD, ierr)", Q),
    ],
)
def test_only_a_collective_that_fills_a_scalar_hides_what_was_before(
    call: str, expected: Level
) -> None:
    body = f"read(*,*) m, n\ncall {call}\ncall site(n)"
    assert level(main(body, "integer, parameter :: one = 1").value()) is expected


BOUND = """
module types
implicit none
type grid
integer :: n
contains
procedure :: set
procedure :: next
end type
interface assignment(=)
module procedure give
end interface
interface operator(.plus.)
module procedure plus
end interface
contains
subroutine set(self)
class(grid), intent(inout) :: self
end subroutine
integer function next(self, k)
class(grid), intent(inout) :: self
integer, intent(inout) :: k
end function
subroutine give(g, k)
type(grid), intent(out) :: g
integer, intent(in) :: k
end subroutine
integer function plus(i, k)
integer, intent(in) :: i, k
end function
end module
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("g%n = 3\ncall site(g%n + 1)", U),
        ("g%n = 3\ncall g%set()\ncall site(g%n)", Q),
        ("n = 3\nm = g%next(n)\ncall site(n)", Q),
        ("g%n = 3\nif (g%next(m) > 0) k = 1\ncall site(g%n)", Q),
        ("g = 3\ncall site(g%n)", Q),
        ("call site(1 .plus. 2)", Q),
    ],
)
def test_procedures_behind_types_and_operators(body: str, expected: Level) -> None:
    assert level(main(body, "type(grid) :: g", BOUND).value()) is expected


def test_a_function_in_the_condition_of_a_one_line_if() -> None:
    text = "logical function changed(k)\ninteger :: k\nk = {}\nchanged = .true.\nend function\n"
    body = "n = 1\nif (changed(n)) m = 2\ncall site(n)"
    declared = "logical, external :: changed"
    assert level(main(body, declared, text.format("2")).value()) is U
    assert level(main(body, declared, text.format("k\nread(*,*) k")).value()) is Q
    inside = "logical function changed(k)\ninteger :: k\ncall site(k)\nend function\n"
    assert level(main("if (changed(me)) m = 2", declared, inside).value()) is V


def test_a_function_in_an_expression_that_is_not_understood() -> None:
    text = "integer function f(k)\ninteger :: k\n{}\nf = 1\nend function\n"
    declared = "integer, external :: f"
    body = "n = 1\na(1:2) = [(f(n), m = 1, 2)]\ncall site(n)"
    assert level(main(body, declared, text.format("k = 2")).value()) is Q
    body = "n = 1\na(1:2) = [f(n), 1]\ncall site(n)"
    assert level(main(body, declared, text.format("k = 2")).value()) is U
    calls = "m = f(3)\na(1:2) = [(f(me), n = 1, 2)]"
    assert level(main(calls, declared, text.format("call site(k)")).value()) is not U
    calls = "m = f(3)\na(1:2) = [f(me), 1]"
    assert level(main(calls, declared, text.format("call site(k)")).value()) is not U


@pytest.mark.parametrize(
    ("text", "body", "expected"),
    [
        ("c = c + 1\nn = c", "if (me == 1) call work(m)\ncall work(n)", V),
        ("c = c + 1\nn = c", "call work(m)\ncall work(n)", U),
        ("n = c", "if (me == 1) call work(m)\ncall work(n)", U),
    ],
)
def test_saved_variables_depend_on_how_often_a_procedure_was_called(
    text: str, body: str, expected: Level
) -> None:
    more = f"subroutine work(n)\ninteger :: n\ninteger, save :: c = 0\n{text}\nend subroutine\n"
    assert level(main(f"{body}\ncall site(n)", more=more).value()) is expected


@pytest.mark.parametrize(
    "call",
    [
        "MPI_Get_address(n, address, ierr)",
        "MPI_Win_create(n, address, 4, MPI_INFO_NULL, MPI_COMM_WORLD, k, ierr)",
        "MPI_Recv_init(n, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, k, ierr)",
        "MPI_Bcast_init(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, k, ierr)",
    ],
)
def test_mpi_may_define_later_what_it_knows_the_address_of(call: str) -> None:
    declared = "integer(MPI_ADDRESS_KIND) :: address = 4"
    body = f"call {call}\nn = 3\ncall site(n)"
    assert level(main(body, declared).value()) is Q
    assert level(main(body.replace("call site(n)", "call site(np)"), declared).value()) is U


def test_the_shape_of_a_function_result_counts() -> None:
    text = (
        "module sizes\ninteger :: k\ncontains\nfunction f()\ninteger :: f({})\nf = 1\n"
        "end function\nend module\n"
    )
    caller = (
        "program p\nuse mpi\nuse sizes\nimplicit none\ninteger :: ierr\n"
        "call MPI_Comm_rank(MPI_COMM_WORLD, k, ierr)\ncall site(sum(f()))\nend program\n"
    )
    assert level(Site(FortranProgram(caller, SITE, text.format("k"))).value()) is V
    assert level(Site(FortranProgram(caller, SITE, text.format("3"))).value()) is U
