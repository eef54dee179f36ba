"""Calls of procedures that only wrap an exchange are exchanges themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.driver.sites import Site
from asphalt.project import Project
from support.judging import SETTINGS
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

CALL = "call MPI_Alltoall(s, n, MPI_DOUBLE_PRECISION, r, n, MPI_DOUBLE_PRECISION, comm, ierr)\n"
DECLARE = """\
real(8), intent(in) :: s(*)
real(8), intent(inout) :: r(*)
integer, intent(in) :: n, comm
"""
SHAPED = DECLARE.replace("(*)", "(:,:,:)")
PROGRAM = """\
{module}program exchange
  use mpi
  {use}
  implicit none
  integer, parameter :: m = 3, nz = 8
  integer :: i, z, p, me, np, ierr
  real(8), allocatable :: a(:,:,:), b(:,:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(a(m,nz,np), b(m,nz,np))
  do z = 1, nz
    do p = 1, np
      do i = 1, m
        a(i,z,p) = dble(i*z) + p*me
      end do
    end do
  end do
  {call}
  do i = 0, np - 1
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (i == me) print '(i0,*(es10.2))', me, b
  end do
  call MPI_Finalize(ierr)
end program exchange
{beside}"""


def wrapper(
    body: str = CALL,
    declare: str = f"{DECLARE}integer :: ierr\n",
    dummies: str = "s, r, n, comm",
    name: str = "swap",
) -> str:
    return (
        f"  subroutine {name}({dummies})\n    use mpi\n    implicit none\n"
        + "".join(
            line if line.startswith("#") else f"    {line}"
            for line in (declare + body).splitlines(keepends=True)
        )
        + f"  end subroutine {name}\n"
    )


def program(
    *wrappers: str,
    call: str = "call swap(a, b, m*nz, MPI_COMM_WORLD)",
    head: str = "",
    external: bool = False,
) -> str:
    text = "".join(wrappers)
    if external:
        return PROGRAM.format(module="", use="", call=call, beside=text)
    module = f"module swapping\n  implicit none\n{head}contains\n{text}end module swapping\n"
    return PROGRAM.format(module=module, use="use swapping", call=call, beside="")


def sites(folder: Path, text: str, suffix: str = ".f90") -> list[Site]:
    path = folder / f"exchange{suffix}"
    path.write_text(text)
    project = Project(path, settings=SETTINGS)
    assert project.problems == ()
    return [site for site in project.sites() if site.exchange.wrapper is not None]


NESTED = wrapper(
    "call swap(x, y, count, MPI_COMM_WORLD, ierr)\n",
    "real(8) :: x(*), y(*)\ninteger, intent(in) :: count\ninteger, intent(out) :: ierr\n",
    "count, x, y, ierr",
    "outer",
)
WITH_ERROR = wrapper(
    declare=f"{DECLARE}integer, intent(out) :: ierr\n", dummies="s, r, n, comm, ierr"
)
INTERFACE = "  interface swap\n    module procedure swap_real\n  end interface swap\n"

SHARED = program(
    wrapper(
        CALL.replace(" n,", " length,").replace("comm, ierr", "world, code"),
        DECLARE.replace("integer, intent(in) :: n, comm\n", ""),
        "s, r",
    ),
    head="  integer :: length, world, code\n",
    call="call swap(a, b)",
).replace("  do z", "  length = m*nz\n  world = MPI_COMM_WORLD\n  code = 5\n  do z", 1)
SHARED = SHARED.replace("me, b\n", "me + code, b\n")
HOSTED = SHARED[SHARED.index("program exchange") :].replace("  use swapping\n", "")
HOSTED = HOSTED.replace("me, np, ierr", "me, np, ierr, length, world, code").replace(
    "end program",
    "contains\n"
    + SHARED[SHARED.index("  subroutine") : SHARED.index("end module")]
    + "end program",
)

PROVED = {
    "module": program(wrapper()),
    "variables-of-the-module": SHARED,
    "variables-of-the-host": HOSTED,
    "external": program(wrapper(), external=True),
    "error-check": program(wrapper(CALL + "if (ierr /= 0) stop 'failed'\n")),
    "error-check-over-lines": program(
        wrapper(CALL + "if (MPI_SUCCESS .ne. ierr) then\n  print *, ierr\n  stop 1\nend if\n")
    ),
    "error-code": program(WITH_ERROR, call="call swap(a, b, m*nz, MPI_COMM_WORLD, ierr)"),
    "keywords": program(wrapper(), call="call swap(comm=MPI_COMM_WORLD, n=m*nz, r=b, s=a)"),
    "count-computed": program(
        wrapper(
            "k = per\nk2 = k*planes\n" + CALL.replace(" n,", " k2,"),
            DECLARE.replace("n, comm", "per, planes, comm") + "integer :: ierr, k, k2\n",
            "s, r, per, planes, comm",
        ),
        call="call swap(a, b, m, nz, MPI_COMM_WORLD)",
    ),
    "count-is-the-size": program(
        wrapper(
            "integer_ = size(s,1)*size(s,2)\n".replace("integer_", "n")
            + CALL.replace("comm", "MPI_COMM_WORLD"),
            SHAPED.replace("integer, intent(in) :: n, comm\n", "") + "integer :: ierr, n\n",
            "s, r",
        ),
        call="call swap(a, b)",
    ),
    "first-elements": program(
        wrapper(CALL.replace("(s,", "(s(1,1,1),"), f"{SHAPED}integer :: ierr\n")
    ),
    "asks-for-the-size": program(
        wrapper("call MPI_Comm_size(comm, np, ierr)\n" + CALL, f"{DECLARE}integer :: ierr, np\n")
    ),
    "another-name": program(wrapper(), call="call other(a, b, m*nz, MPI_COMM_WORLD)").replace(
        "  use swapping\n", "  use swapping, only: other => swap\n"
    ),
    "handles-of-mpi-f08": program(
        wrapper(declare=DECLARE.replace("n, comm", "n\ntype(MPI_Comm), intent(in) :: comm")
                + "integer :: ierr\n")
    ).replace("use mpi\n", "use mpi_f08\n"),
    "internal": program(call="call swap(a, b, m*nz, MPI_COMM_WORLD)", external=True).replace(
        "end program", f"contains\n{wrapper()}end program"
    ),
    "no-mpi-in-between": program(
        wrapper(),
        wrapper("call swap(s, r, n, comm)\n", DECLARE, name="between").replace("    use mpi\n", ""),
        call="call between(a, b, m*nz, MPI_COMM_WORLD)",
    ),
    "two-levels": program(
        WITH_ERROR, NESTED, call="call outer(m*nz, a, b, ierr)"
    ),
}  # fmt: skip

REFUSED = {
    "counts-its-calls": wrapper(CALL, f"{DECLARE}integer, save :: calls = 0\ninteger :: ierr\n")
    .replace("    call MPI", "    calls = calls + 1\n    call MPI"),
    "prints": wrapper(CALL + "print *, n\n"),
    "works-on-the-result": wrapper(CALL + "r(1) = 0\n"),
    "prepares": wrapper(
        "r(1:n) = 0\n" + CALL
    ),
    "barrier": wrapper("call MPI_Barrier(comm, ierr)\n" + CALL),
    "only-sometimes": wrapper(f"if (n > 0) then\n  {CALL}end if\n"),
    "if-of-its-own": wrapper(f"if (n > 0) {CALL}"),
    "again": wrapper(f"do i = 1, 2\n  {CALL}end do\n", f"{DECLARE}integer :: ierr, i\n"),
    "checks-something-else": wrapper(CALL + "if (n /= 0) print *, n\n"),
    "acts-on-success": wrapper(CALL + "if (ierr == 0) print *, n\n"),
    "returns-early": wrapper("if (n == 0) return\n" + CALL),
    "own-constant": wrapper(CALL.replace(" n,", " k,"), f"{DECLARE}integer :: ierr, k\n"),
    "size-of-another-shape": wrapper(
        "k = size(x)\n" + CALL.replace("(s, n", "(x, k").replace("r, n", "r, k"),
        "real(8), intent(in) :: x(24)\nreal(8) :: r(*)\ninteger, intent(in) :: n, comm\n"
        "integer :: ierr, k\n",
        "x, r, n, comm",
    ),
    "count-changed": wrapper("n = 2*n\n" + CALL, DECLARE.replace("intent(in) :: n", ":: n")
                             + "integer :: ierr\n"),
    "from-the-second-element": wrapper(CALL.replace("(s,", "(s(2),")),
    "pointer": wrapper(CALL, f"{SHAPED}integer :: ierr\n".replace(
        "real(8), intent(in)", "real(8), pointer, intent(in)")),
    "not-blocking": wrapper(
        "integer :: request\n" + CALL.replace("MPI_Alltoall", "MPI_Ialltoall").replace(
            "comm, ierr", "comm, request, ierr")
        + "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
    ).replace("    integer :: request\n", ""),
    "preprocessor": wrapper(
        "#define SWAP MPI_Alltoall\n" + CALL.replace("MPI_Alltoall", "SWAP")
    ),
    "another-entry": wrapper(CALL + "return\nentry swop(s, r, n, comm)\nr(1) = 0\n"),
    "saves-everything": wrapper("k = k + 1\n" + CALL, f"save\n{DECLARE}integer :: ierr, k\n"),
    "module-variable": wrapper("calls = calls + 1\n" + CALL),
    "optional": wrapper(CALL, f"{DECLARE}integer :: ierr\n".replace(
        "intent(in) :: n", "optional, intent(in) :: n")),
    "two-exchanges": wrapper(CALL + CALL),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVED)
def test_the_call_of_a_wrapper_is_proved(name: str, tmp_path: Path) -> None:
    found = sites(tmp_path, PROVED[name])
    site = next(site for site in found if site.report.unit == "exchange")
    assert (site.report.verdict, site.report.code) == ("proved", None), site.report
    called = {"two-levels": "outer", "another-name": "other", "no-mpi-in-between": "between"}.get(
        name, "swap"
    )
    assert site.report.operation == f"{called} (MPI_Alltoall)"
    assert [mark.role for mark in site.report.marks][-1] in ("path", "use")


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_more_is_listed_with_the_way_to_mpi(name: str, tmp_path: Path) -> None:
    text = program(REFUSED[name], head="  integer :: calls = 0\n")
    if name == "pointer":
        text = text.replace("real(8), allocatable :: a(:,:,:), b", "real(8), pointer :: a(:,:,:)\n"
                            "  real(8), allocatable :: b")  # fmt: skip
    found = sites(tmp_path, text, ".F90" if name == "preprocessor" else ".f90")
    for site in found:
        report = site.report
        assert (report.verdict, report.code) == ("refused", "ASP008"), report
        assert report.witness is not None
        assert report.witness.startswith("the path to MPI: ")
        assert report.witness.count(" -> ") >= 1
        assert any(mark.role == "path" for mark in report.marks)

    assert found


UNSHARED = {
    "not-used": ("use swapping\n", "use swapping, only: swap, length, world\n"),
    "renamed": ("use swapping\n", "use swapping, mine => code\n"),
    "pointer": ("length, world, code\n", "length, world\n  integer, pointer :: code\n"),
    "volatile": ("length, world, code\n", "length, world\n  integer, volatile :: code\n"),
    "element": ("world, code)", "world, codes(1))"),
    "saved": ("intent(inout) :: r(*)\n", "intent(inout) :: r(*)\n    integer, save :: code\n"),
    "communicator-not-used": ("use swapping\n", "use swapping, only: swap, length, code\n"),
    "length-not-used": ("use swapping\n", "use swapping, only: swap, code, world\n"),
}


@pytest.mark.parametrize("name", UNSHARED)
def test_a_variable_of_the_wrapper_that_the_caller_does_not_see(name: str, tmp_path: Path) -> None:
    """The tiled exchange would not define its error code, or could not read its arguments."""
    text = SHARED.replace("integer :: length", "integer :: codes(2)\n  integer :: length")
    old, new = UNSHARED[name]
    assert old in text
    (site,) = sites(tmp_path, text.replace(old, new))
    assert (site.report.verdict, site.report.code) == ("refused", "ASP008"), site.report
    unknown = {"length-not-used": "sendcount", "communicator-not-used": "comm"}.get(name, "ierror")
    assert site.report.message == f"the {unknown} of the exchange is not known in the caller"


def test_types_of_handles_must_be_the_same(tmp_path: Path) -> None:
    """The caller's constant is an integer, that of the wrapper is not."""
    body = CALL.replace("comm", "MPI_COMM_WORLD")
    text = program(wrapper(body, f"{DECLARE.replace('n, comm', 'n')}integer :: ierr\n", "s, r, n"),
                   call="call swap(a, b, m*nz)")  # fmt: skip
    assert sites(tmp_path, text)[0].report.verdict == "proved"
    inner, outer = text.split("program exchange", 1)
    mixed = inner.replace("use mpi\n", "use mpi_f08\n") + "program exchange" + outer
    assert sites(tmp_path, mixed)[0].report.code == "ASP008"


def test_what_cannot_be_named_by_the_caller(tmp_path: Path) -> None:
    text = program(wrapper(), call="call swap(a, b, m*nz, world)")
    text = text.replace("  use mpi\n  use swapping", "  use swapping\n  use world_only")
    only = (
        "module world_only\n  use mpi, only: world => MPI_COMM_WORLD, MPI_Init, MPI_Comm_rank, &\n"
    )
    only += "    MPI_COMM_WORLD, MPI_Comm_size, MPI_Barrier, MPI_Finalize\nend module world_only\n"
    (site,) = sites(tmp_path, only + text)
    assert site.report.code == "ASP008"
    assert site.report.message == "MPI_DOUBLE_PRECISION is not known in exchange"


def generic(*more: str, call: str = "call swap(a, b, m*nz, MPI_COMM_WORLD)") -> str:
    names = ", ".join(["swap_planes", *(f"swap_{number}" for number in range(len(more)))])
    head = INTERFACE.replace("swap_real", names)
    others = [wrapper(declare=text, name=f"swap_{number}") for number, text in enumerate(more)]
    planes = wrapper(declare=f"{SHAPED}integer :: ierr\n", name="swap_planes")
    return program(planes, *others, head=head, call=call)


SHAPED_ERROR = f"{SHAPED}integer :: ierr\n"
OTHERS = {
    "rank": SHAPED_ERROR.replace("(:,:,:)", "(:,:)"),
    "type": SHAPED_ERROR.replace("real(8)", "complex(8)"),
    "kind": SHAPED_ERROR.replace("real(8)", "real(4)"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_generic_name_that_is_certain(other: str, tmp_path: Path) -> None:
    (site,) = (s for s in sites(tmp_path, generic(OTHERS[other])) if s.report.unit == "exchange")
    assert (site.report.verdict, site.report.code) == ("proved", None), site.report


def test_double_precision_is_a_real_of_eight_bytes(tmp_path: Path) -> None:
    text = generic(SHAPED_ERROR.replace("real(8)", "real"))
    text = text.replace("real(8), allocatable :: a", "double precision, allocatable :: a")
    (site,) = (s for s in sites(tmp_path, text) if s.report.unit == "exchange")
    assert site.report.verdict == "proved"
    assert site.exchange.through[0].unit.name == "swap_planes"


@pytest.mark.parametrize(
    ("other", "is_certain"), [("integer", True), ("real(16)", False)], ids=["type", "kind"]
)
def test_kinds_that_an_option_of_the_compiler_sets(
    other: str, is_certain: bool, tmp_path: Path
) -> None:
    """No procedure of the name takes a default REAL without ``-fdefault-real-8``: kinds rule out
    none then, types do."""
    text = generic(SHAPED_ERROR.replace("real(8)", other))
    text = text.replace("real(8), allocatable :: a", "real, allocatable :: a")
    (site,) = (s for s in sites(tmp_path, text) if s.report.unit == "exchange")
    assert ("may mean several procedures" not in site.report.message) is is_certain


def test_a_generic_name_that_is_not_certain(tmp_path: Path) -> None:
    unknown = SHAPED_ERROR.replace("real(8)", "real(wp)")
    text = generic(unknown).replace("  interface", "  integer, external :: wp\n  interface", 1)
    text = text.replace("external :: wp", "parameter :: wp = selected_real_kind(p=12)")
    found = [s for s in sites(tmp_path, text) if s.report.unit == "exchange"]
    for site in found:
        assert site.report.code == "ASP008"
        assert "generic" in site.report.message
    assert found


def test_a_generic_name_with_another_interface_elsewhere(tmp_path: Path) -> None:
    more = "module more\n  interface swap\n    procedure swap_more\n  end interface swap\n"
    more += "contains\n  subroutine swap_more(x)\n    real :: x\n    x = 0\n"
    more += "  end subroutine swap_more\nend module more\n"
    found = [s for s in sites(tmp_path, more + generic()) if s.report.unit == "exchange"]
    assert [site.report.code for site in found] == ["ASP008"]


def test_a_producer_is_no_wrapper(tmp_path: Path) -> None:
    body = "do i = 1, n\n  s(i) = i\nend do\n" + CALL
    text = program(wrapper(body, DECLARE.replace("in)", "inout)", 1) + "integer :: ierr, i\n"))
    assert sites(tmp_path, text) == []


def test_both_callers_count(tmp_path: Path) -> None:
    """Ranks in another call of the wrapper are in the same collective."""
    first = "call swap(a, b, m*nz, MPI_COMM_WORLD)"
    text = program(wrapper(), call=f"if (me == 0) then\n{first}\nelse\n{first}\nend if")
    for site in sites(tmp_path, text):
        assert site.report.verdict == "refused"


def test_the_caller_must_know_the_buffers(tmp_path: Path) -> None:
    text = program(wrapper(), call="call swap(a, a, m*nz, MPI_COMM_WORLD)")
    (site,) = sites(tmp_path, text)
    assert site.report.code == "ASP602"


def built(mpi: Mpi, folder: Path, text: str, tile: int | None) -> Path:
    folder.mkdir()
    source = folder / "exchange.f90"
    source.write_text(text)
    if tile is None:
        return build(mpi, [source], folder)
    (change,) = Project(source, settings=SETTINGS).transform(tile=tile, depth=2)
    source.write_bytes(change.after)
    (folder / "asphalt_params.inc").write_text(
        "".join(
            f"integer, parameter :: asphalt_{kind}_{parameter.site} = {value}\n"
            for parameter in change.parameters
            for kind, value in (("k", tile), ("d", 2))
        )
    )
    return build(mpi, [*RUNTIME, source], folder)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("name", ["two-levels", "count-is-the-size", "variables-of-the-module"])
def test_the_tiled_exchange_brings_the_same(mpi: Mpi, name: str, tmp_path: Path) -> None:
    original = built(mpi, tmp_path / "original", PROVED[name], None)
    tiled = built(mpi, tmp_path / "tiled", PROVED[name], 3)
    for ranks in (1, 3):
        before, after = run(mpi, original, ranks), run(mpi, tiled, ranks)
        assert (before.code, after.code) == (0, 0), after.stderr
        assert sorted(before.stdout.splitlines()) == sorted(after.stdout.splitlines())


def test_levels_are_not_counted(tmp_path: Path) -> None:
    """Nor do wrappers that call each other go round for ever."""
    chain = [wrapper()]
    for number in range(1, 8):
        inner = "swap" if number == 1 else f"swap{number - 1}"
        chain.append(wrapper(f"call {inner}(s, r, n, comm)\n", DECLARE, name=f"swap{number}"))
    text = program(*chain, call="call swap7(a, b, m*nz, MPI_COMM_WORLD)")
    called = {site.report.unit: site.report for site in sites(tmp_path, text)}
    assert called["exchange"].verdict == "proved"
    chain[1] = wrapper(
        "if (n < 0) call swap7(s, r, n, comm)\ncall swap(s, r, n, comm)\n", DECLARE, name="swap1"
    )
    text = (
        program(*chain, call="call swap7(a, b, m*nz, MPI_COMM_WORLD)")
        .replace("subroutine swap", "recursive subroutine swap")
        .replace("end recursive", "end")
    )
    called = {site.report.unit: site.report for site in sites(tmp_path, text)}
    assert called["exchange"].code == "ASP008"


def test_a_branch_of_the_preprocessor_in_a_wrapper_is_a_condition(tmp_path: Path) -> None:
    body = f"#ifdef PARALLEL\n{CALL}#else\n{CALL}#endif\n"
    (tmp_path / "exchange.F90").write_text(program(wrapper(body)))
    (change,) = Project(tmp_path, settings=SETTINGS).transform()
    assert change.after.count(b"#if !defined(PARALLEL)\n") > 0
    swap = b"  call swap(a, b, m*nz, MPI_COMM_WORLD)\n"  # in all configurations
    assert b"  if (.not. asphalt_x%finished(a, b)) &\n#endif\n" + swap in change.after
    assert change.after.count(swap) == 1
