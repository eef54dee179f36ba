"""The kernels: every version gives the original's results, and asphalt says what it must."""

from __future__ import annotations

from collections import Counter

import pytest

from asphalt.running.mpi import (
    MPICH,
    MPIS,
    OPENMPI,
    SMPI,
    Mpi,
)
from bench.lab.build import Recipe, build, sources_of
from bench.lab.case import Case, load_cases
from bench.lab.checks import Check
from bench.lab.measure import Simulator
from bench.lab.run import run_program
from bench.lab.transform import HEADER, apply, set_tiling, sites, transform

CASES = load_cases()
COLLECTIVE = tuple(case for case in CASES if "ialltoall" in case.versions)
POINT_TO_POINT = tuple(case for case in CASES if case not in COLLECTIVE)
ALL = (*COLLECTIVE, *(pytest.param(case, marks=pytest.mark.wide) for case in POINT_TO_POINT))
CHANGED = tuple(case for case in CASES if case.transformable)
# under each MPI some of them; all under all are wide, and part of the demo
UNDER = tuple(
    pytest.param(case, mpi, marks=() if case in chosen else pytest.mark.wide)
    for number, mpi in enumerate(MPIS)
    for chosen in (COLLECTIVE[number :: len(MPIS)],)
    for case in CASES
)
CHECKED = ("-O0", "-fcheck=all", "-Wall")


def shared_out(remainder: int) -> list[object]:
    """The kernels that asphalt changes; every second one is for the long suite."""
    return [
        case if number % 2 == remainder else pytest.param(case, marks=pytest.mark.wide)
        for number, case in enumerate(CHANGED)
    ]


def original(case: Case) -> Recipe:
    return Recipe(case, "original", OPENMPI)


def installed(mpi: Mpi) -> Mpi:
    if missing := mpi.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    return mpi


def named(value: object) -> str | None:
    return value.name if isinstance(value, Case | Mpi) else None


def test_there_is_a_kernel_for_each_shape() -> None:
    assert {case.name for case in CASES} == {
        "fft_inplace",
        "fields",
        "fixed_legacy",
        "halo_2d",
        "lu_precondition",
        "lu_wavefront",
        "multigrid_smooth",
        "ocean_gather",
        "ocean_sum",
        "plane_slab",
        "pme_exchange",
        "sample_sort",
        "spectral_transpose",
        "swm",
        "synthetic_fig3",
        "tomcatv",
        "uneven_slabs",
    }


@pytest.mark.parametrize("case", ALL, ids=named)
def test_asphalt_says_what_the_case_expects(case: Case) -> None:
    said = [(str(s["operation"]).upper(), s["verdict"]) for s in sites(sources_of(original(case)))]
    assert said == [(site.operation, site.verdict) for site in case.sites]


@pytest.mark.parametrize("case", ALL, ids=named)
def test_refusals_have_a_code_and_a_reason(case: Case) -> None:
    for site in sites(sources_of(original(case))):
        if site["verdict"] == "refused":
            assert str(site["code"]).startswith("ASP")
            assert site["message"]


@pytest.mark.parametrize("case", ALL, ids=named)
def test_only_the_file_with_the_site_changes(case: Case) -> None:
    files = sources_of(original(case))
    out = apply(files)
    differing = {
        name
        for name, text in files.items()
        if (out / name).exists() and (out / name).read_bytes() != text
    }
    program = next(name for name in files if name.startswith("original."))
    assert differing == ({program} if case.transformable else set())


@pytest.mark.parametrize("case", CHANGED, ids=named)
def test_the_users_lines_are_all_still_there(case: Case) -> None:
    files = sources_of(original(case))
    program = next(name for name in files if name.startswith("original."))
    before = Counter(line.strip() for line in files[program].decode().splitlines())
    after = Counter(line.strip() for line in transform(files)[program].decode().splitlines())
    missing = before - after
    # bounds of the tiled loop, a list of "use mpi, only:", ends of loops that were merged
    assert missing.total() <= 4, missing


@pytest.mark.parametrize("case", CHANGED, ids=named)
def test_the_header_and_the_runtime_are_written(case: Case) -> None:
    files = transform(sources_of(original(case)))
    assert "asphalt_core.f90" in files
    edited = set_tiling(files, 6, 3)[HEADER].decode()
    assert "= 6" in edited
    assert "= 3" in edited


@pytest.mark.parametrize(("case", "mpi"), UNDER, ids=named)
def test_hand_written_results_are_the_originals(case: Case, mpi: Mpi) -> None:
    check = Check(case, "hand", installed(mpi), 3)
    assert check.run() is None


@pytest.mark.wide
@pytest.mark.parametrize("case", POINT_TO_POINT, ids=named)
@pytest.mark.parametrize("mpi", MPIS, ids=named)
def test_transfers_between_two_are_the_originals_on_any_number_of_ranks(
    case: Case, mpi: Mpi
) -> None:
    installed(mpi)
    for ranks in (*case.ranks, *(what.ranks for what in case.simulated if mpi is SMPI)):
        for tiling in case.tiling or (None,):
            assert Check(case, "hand", mpi, ranks, tiling, CHECKED).run() is None


@pytest.mark.parametrize("case", CHANGED, ids=named)
@pytest.mark.parametrize(
    "mpi",
    # under MPICH and SMPI other tests of the quick suite run them
    [mpi if mpi is OPENMPI else pytest.param(mpi, marks=pytest.mark.wide) for mpi in MPIS],
    ids=named,
)
def test_transformed_results_are_the_originals(case: Case, mpi: Mpi) -> None:
    installed(mpi)
    for ranks in (1, 3):
        check = Check(case, "transformed", mpi, ranks, case.tiling[1])
        assert check.run() is None


@pytest.mark.parametrize("case", shared_out(0), ids=named)
def test_every_k_and_d_gives_the_same_results(case: Case) -> None:
    installed(MPICH)
    for tiling in (None, case.tiling[0], case.tiling[2]):
        assert Check(case, "transformed", MPICH, 2, tiling, CHECKED).run() is None


def without_buffers(case: Case, version: str, ranks: int, *flags: str) -> bytes:
    """What a version prints where all sends wait for their receive: what relies on eager sends
    hangs."""
    tiling = case.tiling[1] if case.tiling and version != "original" else None
    program = build(Recipe(case, version, SMPI, tiling=tiling, flags=flags or ("-O3",)))
    platform = Simulator().platform
    command = platform.command(ranks, program, {"smpi/send-is-detached-thresh": "0"})
    return run_program(command, program.parent, 60).output


@pytest.mark.parametrize("case", shared_out(1), ids=named)
def test_no_message_relies_on_buffering(case: Case) -> None:
    installed(SMPI)
    assert without_buffers(case, "transformed", 4) == without_buffers(case, "original", 4)


@pytest.mark.parametrize("case", POINT_TO_POINT, ids=named)
def test_no_transfer_between_two_relies_on_buffering(case: Case) -> None:
    installed(SMPI)
    expected = without_buffers(case, "original", 4, "-O0")
    assert len(expected.splitlines()) == 4
    assert without_buffers(case, "hand", 4, "-O0") == expected


@pytest.mark.wide
@pytest.mark.parametrize("case", POINT_TO_POINT, ids=named)
def test_no_transfer_between_two_relies_on_buffering_on_many_ranks(case: Case) -> None:
    installed(SMPI)
    for ranks in {*case.ranks, *(what.ranks for what in case.simulated)}:
        expected = without_buffers(case, "original", ranks)
        assert without_buffers(case, "hand", ranks) == expected
