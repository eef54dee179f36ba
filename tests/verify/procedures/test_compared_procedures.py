"""Procedures of original and transformed programs, called from Python and compared."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asphalt.analysis.names.scopes import Scopes
from asphalt.cli.main import main
from asphalt.config.errors import AsphaltError, InputError, UsageError
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.project import Project
from asphalt.running.mpi import MPICH, OPENMPI, Mpi
from asphalt.running.process import CommandResult, run
from asphalt.verify import load
from asphalt.verify.procedures.compare import Compared, ComparisonRequest, compare
from asphalt.verify.procedures.draws import Fixed, evaluate
from asphalt.verify.procedures.find import find_procedure
from asphalt.verify.procedures.interface import Interface, interface_of
from asphalt.verify.procedures.roles import MpiRole, handle_storages, roles, size_names
from asphalt.verify.procedures.tally import Tally
from asphalt.verify.procedures.task import Event
from support.places import KERNELS, TESTS
from support.procedures import write

HERE = [mpi for mpi in (OPENMPI, MPICH) if not mpi.missing()]
SETTINGS = Settings(assume=frozenset({"control"}), cache=False, jobs=1)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def tree(source: Path) -> Tree:
    return load_tree([source], SETTINGS)


EXCHANGE = """\
subroutine exchange(comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: comm
  real(8), intent(inout) :: s(:,:,:), r(:,:,:)
  integer :: i, z, p, n, nz, np, ierr
  n = size(s, 1); nz = size(s, 2); np = size(s, 3)
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,z,p) = 2*s(i,z,p) + i*z*p
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine exchange
"""


def interface(tree: Tree, name: str) -> Interface:
    located = find_procedure(tree, name)
    return interface_of(located, Scopes(tree).of(located))


# interfaces


def test_dummies_are_what_the_declarations_say(tree: Tree) -> None:
    found = interface(tree, "shapes::explicit_shape")
    assert [(d.name, d.base, d.intent, d.form) for d in found.dummies] == [
        ("n", "integer", "in", "scalar"),
        ("np", "integer", "in", "scalar"),
        ("comm", "integer", "in", "scalar"),
        ("s", "complex", "in", "explicit"),
        ("r", "complex", "out", "explicit"),
        ("mask", "logical", "inout", "explicit"),
        ("status", "integer", "out", "explicit"),
    ]
    assert found.dummies[3].bounds == ("n", "planes", "0:np - 1")
    assert found.sizes == {"n", "np"}


def test_optional_characters_results_and_handles(tree: Tree) -> None:
    assert [d.name for d in interface(tree, "assumed_shape").dummies if d.optional] == ["flag"]
    assert [d.length for d in interface(tree, "letters").dummies] == ["*", "k", None]
    result = interface(tree, "shapes.doubled").result
    assert result is not None
    assert (result.name, result.intent, result.bounds) == ("doubled", "out", ("2*n",))
    typed = interface(tree, "modern::typed")
    assert (typed.dummies[0].base, typed.dummies[2].form) == ("handle", "assumed_size")


def test_types_may_be_implied(tree: Tree) -> None:
    found = interface(tree, "planes")
    assert [(d.name, d.base, d.intent) for d in found.dummies] == [
        ("np", "integer", "inout"),
        ("me", "integer", "inout"),
        ("x", "real", "inout"),
        ("ierr", "integer", "inout"),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("of_a_type", "is of a derived type"),
        ("growing", "is allocatable"),
        ("inside", "is an internal procedure of a main program"),
        ("typd", "did you mean modern::typed"),
        ("shapes::typed", "there is no procedure"),
        ("a::b::c", "is not a procedure name"),
    ],
)
def test_what_cannot_be_called(tree: Tree, name: str, message: str) -> None:
    with pytest.raises(AsphaltError, match=message):
        interface(tree, name)


def test_two_procedures_of_one_name(tmp_path: Path) -> None:
    for module in ("one", "two"):
        text = f"module {module}\ncontains\nsubroutine s(n)\nend subroutine\nend module\n"
        (tmp_path / f"{module}.f90").write_text(text)
    tree = load_tree([tmp_path], SETTINGS)
    with pytest.raises(UsageError, match=r"several procedures s: one::s .*, two::s"):
        find_procedure(tree, "s")
    assert find_procedure(tree, "two::s").path.endswith("two.f90")
    assert find_procedure(tree, "s", str(tmp_path / "one.f90")).path.endswith("one.f90")


def test_roles_follow_from_calls_and_callers(tree: Tree) -> None:
    scopes = Scopes(tree)

    def of(name: str) -> dict[str, MpiRole]:
        return roles(tree, scopes, scopes.of(find_procedure(tree, name)))

    assert of("planes") == {"np": MpiRole.RANKS, "me": MpiRole.RANK}
    assert of("typed") == {"comm": MpiRole.COMMUNICATOR}
    assert of("explicit_shape") == {"comm": MpiRole.COMMUNICATOR}


def test_handles_in_modules_are_not_compared(tmp_path: Path) -> None:
    """Two communicators that are made one after the other have two numbers."""
    (tmp_path / "m.f90").write_text(
        "module grid\n  use mpi\n  integer :: comm, kind_of_row, me, n\ncontains\n"
        "  subroutine setup\n    integer :: ierr\n"
        "    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)\n"
        "    call MPI_Comm_rank(comm, me, ierr)\n"
        "    call MPI_Type_contiguous(n, MPI_REAL, kind_of_row, ierr)\n"
        "  end subroutine\nend module\n"
    )
    found = load_tree([tmp_path], SETTINGS)
    handles = handle_storages(found, Scopes(found), {str(tmp_path / "m.f90")})
    assert {"grid::comm", "grid::kind_of_row"} <= handles
    assert handles.isdisjoint({"grid::me", "grid::n"})


def test_sizes_of_local_arrays_are_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text(
        "subroutine s(n, m, k)\ninteger n, m, k\nreal a(n)\nreal, allocatable :: b(:)\n"
        "allocate(b(2*m))\nend subroutine\n"
    )
    tree = load_tree([tmp_path], SETTINGS)
    assert size_names(Scopes(tree).of(find_procedure(tree, "s"))) == {"n", "m"}


# values that the user fixes


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("4*ranks", 12), ("n/2 + 1", 4), ("-7/2", -3), ("max(n, rank)", 7),
     ("mod(n, ranks)", 1)],
)  # fmt: skip
def test_expressions(text: str, value: int) -> None:
    assert evaluate(text, {"ranks": 3, "rank": 1, "n": 7}) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n", "NAME=VALUE"),
        ("n=", "NAME=VALUE"),
        ("n=2+", "not an integer expression"),
        ("=3", "NAME=VALUE"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Fixed.of(text)


@pytest.mark.parametrize("text", ["m", "1.5", "f(1)", "n/0", "'a'"])
def test_bad_expressions(text: str) -> None:
    with pytest.raises(UsageError):
        evaluate(text, {"n": 1})


def test_extents_are_a_list() -> None:
    assert Fixed.of("s=n,max(1,2),ranks") == Fixed("s", ("n", "max(1,2)", "ranks"))


# calling


needs_openmpi = pytest.mark.skipif(OPENMPI not in HERE, reason="needs Open MPI")
MODES = {
    "first": {"flag": False, "total": 2**40 + 1},
    "again": {"total": 2**40 + 2},
    "explicit": True,
    "mask": [False, True],
    "status": 2**63 - 1,
    "doubled": [1.0, 2.0, 3.0, -1.0, -2.0, -3.0],
    "name": "xhell",
    "words": ["ef", "cd", "ab"],
    "typed": [111, 112, 121, 122, 131, 132, 141, 142],
    "total": 3.5,
    "planes": {"np": 1, "me": 0, "ierr": 0},
    "ierr": 0,
}


@needs_openmpi
def test_both_versions_can_be_called(source: Path) -> None:
    told = called(source)
    changed = {name for name, value in told["changed"].items() if value}
    assert changed == {"assumed_shape", "modern.typed", "planes"}
    assert told["sites"] == ["assumed_shape"]
    expected = [
        2 * (i * 6 + z) + i * (z + 1) + 2 for z in range(6) for i in range(4)
    ]  # one rank, in the order of the array's elements
    for version in told["versions"]:
        # the second call doubles what the first left
        assert version.pop("r") == [
            2 * value + i * (z + 1) + 2
            for value, (z, i) in zip(
                expected, ((z, i) for z in range(6) for i in range(4)), strict=True
            )
        ]
        assert version == MODES
    wrong = ["is missing", "no argument nothing", "does not fit", "rank 3, not 2",
             "is float64, not float32", "order='F'"]  # fmt: skip
    assert all(words in message for words, message in zip(wrong, told["refusals"], strict=True)), (
        told["refusals"]
    )


@needs_openmpi
@pytest.mark.wide
def test_another_tree_can_stand_for_the_transformed_one(source: Path, tmp_path: Path) -> None:
    """A mistake in what apply wrote shows."""
    tree = tmp_path / "out"
    assert main(["apply", str(source), "--assume", "control", "--output", str(tree)]) == 0
    emitted = tree / "shapes.f90"
    text = emitted.read_text()
    assert text.count("2*s(i,z,p)") == 1
    emitted.write_text(text.replace("2*s(i,z,p)", "3*s(i,z,p)"))
    original, transformed = called(source, tree)["versions"]
    assert original.pop("r") != transformed.pop("r")
    assert original == transformed


def called(source: Path, changed: Path | None = None) -> dict[str, Any]:
    """What ``called_procedures`` prints, from a process of its own."""
    program = TESTS / "support" / "called_procedures.py"
    words = [str(source), *([str(changed)] if changed else [])]
    found = subprocess.run(
        [sys.executable, str(program), *words], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert isinstance(told, dict)
    return told


@needs_openmpi
@pytest.mark.parametrize("ranks", [2, *(pytest.param(n, marks=pytest.mark.wide) for n in (3, 4))])
def test_one_procedure_has_the_same_results_for_any_k_and_d(ranks: int, tmp_path: Path) -> None:
    """Random arrays of random sizes, on all ranks and on some: every bit, through ``load``."""
    (tmp_path / "exchange.f90").write_text(EXCHANGE)
    outcome = on_ranks(ranks, tmp_path / "exchange.f90", "25")
    assert (outcome.status, outcome.stdout) == (0, b"25 draws equal\n"), outcome.stderr.decode()


@needs_openmpi
@pytest.mark.wide
def test_a_mistake_is_a_difference_on_ranks(tmp_path: Path) -> None:
    """The same, where what apply wrote computes something else."""
    (tmp_path / "exchange.f90").write_text(EXCHANGE)
    changed = tmp_path / "out"
    file = str(tmp_path / "exchange.f90")
    assert main(["apply", file, "--assume", "control", "--output", str(changed)]) == 0
    emitted = changed / "exchange.f90"
    text = emitted.read_text()
    assert text.count("2*s(i,z,p)") == 1
    emitted.write_text(text.replace("2*s(i,z,p)", "3*s(i,z,p)"))
    outcome = on_ranks(3, tmp_path / "exchange.f90", "25", str(changed))
    assert outcome.status not in (0, None)
    assert b"different: n=" in outcome.stderr


def on_ranks(ranks: int, source: Path, *words: str) -> CommandResult:
    """What ``called_on_ranks`` does."""
    program = TESTS / "support" / "called_on_ranks.py"
    command = [
        *OPENMPI.command(ranks, sys.executable),
        str(program),
        str(source),
        "exchange",
        *words,
    ]
    return run(command, source.parent, 300.0)


def test_a_module_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "user.f90").write_text(
        "subroutine s(n)\nuse other\ninteger :: n\nend subroutine s\n"
    )
    (tmp_path / "other.f90").write_text("module other\nend module other\n")
    project = Project(tmp_path / "user.f90", settings=SETTINGS)
    with pytest.raises(InputError, match=r"uses module other.*other\.f90 defines"):
        compare(project, ComparisonRequest("s", None), [OPENMPI], [1], [(1, None)], tmp_path, print)


# random inputs


def compared(
    project: Project,
    wanted: ComparisonRequest,
    mpi: Mpi,
    work: Path,
    tiles: Sequence[int] = (2,),
    ranks: int = 3,
) -> Compared:
    choices = [(tile, None) for tile in tiles]
    return compare(project, wanted, [mpi], [ranks], choices, work, lambda _: None)


class Broken(Project):
    """A project whose transformation makes a mistake."""

    mistake = (b"", b"")

    def transform(
        self, tile: int | None = None, depth: int | None = None, trial: bool = False
    ) -> tuple[Change, ...]:
        """The changes, with the mistake."""
        changes = super().transform(tile, depth, trial)
        broken = tuple(replace(c, after=c.after.replace(*self.mistake)) for c in changes)
        assert any(c.after != b.after for c, b in zip(changes, broken, strict=True))
        return broken


@pytest.mark.parametrize("mpi", HERE[:1], ids=str)
def test_a_mistake_in_a_common_block_is_found(source: Path, mpi: Mpi, tmp_path: Path) -> None:
    """Tiles are sent from the wrong place, and what is received is in COMMON."""

    class Shifted(Broken):
        mistake = (
            b"ASPHALT_X%BEGIN(MPI_COMM_WORLD, S,",
            b"ASPHALT_X%BEGIN(MPI_COMM_WORLD, S(2,1,1),",
        )

    project = Shifted(source, settings=SETTINGS)
    wanted = ComparisonRequest("planes", None, draws=2, flags=("-O0",))
    found = compared(project, wanted, mpi, tmp_path, ranks=2)
    assert [row.passed for row in found.rows] == [False]
    assert found.rows[0].tiled
    assert found.rows[0].difference is not None
    message = found.rows[0].difference.message
    assert "COMMON /buffer/" in message or "x(1,1) is " in message


@pytest.mark.wide
@pytest.mark.parametrize("mpi", HERE, ids=str)
@pytest.mark.parametrize("name", ["assumed_shape", "explicit_shape", "typed", "planes"])
def test_all_kinds_of_arguments_on_three_ranks(
    source: Path, name: str, mpi: Mpi, tmp_path: Path
) -> None:
    sizes = {
        "assumed_shape": ("s=n,nz,ranks", "r=n,nz,ranks"),
        "explicit_shape": ("np=ranks",),
    }.get(name, ())
    fixed = tuple(Fixed.of(text.replace("n,nz", "5,7")) for text in sizes)
    wanted = ComparisonRequest(name, None, fixed=fixed)
    found = compared(Project(source, settings=SETTINGS), wanted, mpi, tmp_path, (1, 3))
    tiles = 1 if name == "explicit_shape" else 2  # it has an operation that is not cut into tiles
    assert [row.difference for row in found.rows] == [None] * tiles
    assert found.remarks == (f"{mpi}, 3 ranks: 10 draws compared",)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", HERE, ids=str)
@pytest.mark.parametrize(
    ("kernel", "file", "procedure", "first", "flags"),
    [
        ("spectral_transpose", "original.f90", "spectral::forward", ("cut_grid(ranks)",), ()),
        ("fft_inplace", "original.f90", "forward", ("deal(ranks)",), ()),
        ("uneven_slabs", "original.f90", "run", (), ()),
        ("plane_slab", "original.f90", "driven_planes::run", (), ()),
        ("fixed_legacy", "original.f", "exchng", (), ("-std=legacy",)),
    ],
)
def test_kernels(
    kernel: str,
    file: str,
    procedure: str,
    first: tuple[str, ...],
    flags: tuple[str, ...],
    mpi: Mpi,
    tmp_path: Path,
) -> None:
    folder = KERNELS / kernel
    work = next(path for path in folder.iterdir() if path.stem == "work")
    project = Project(
        folder / file, work, KERNELS / "common" / "results.f90", settings=Settings(cache=False)
    )
    wanted = ComparisonRequest(procedure, None, first=first, draws=4, flags=("-O2", *flags))
    found = compared(project, wanted, mpi, tmp_path, (1, 3))
    assert [row.difference for row in found.rows] == [None, None]


ORDER = ["checked", "original", "K=2 D=default"]


def ended(status: int | None, errors: str = "") -> CommandResult:
    return CommandResult(status, b"", errors.encode())


def test_an_original_that_ends_early_throws_the_draw_away() -> None:
    tally = Tally(3)
    log = [Event("begin", 0, "checked", "n=1"), Event("begin", 0, "original", "n=1")]
    log += [Event("done", 0, "original"), Event("begin", 1, "checked", "n=2")]
    tally.add([log, log[:1]], ended(2, "Fortran runtime error: Index '9'\n"), ORDER, 0)
    assert (tally.compared, tally.next, tally.wants_more) == (1, 2, True)
    assert tally.last_reason == "the original was ended: Fortran runtime error: Index '9' [n=2]"
    assert not tally.differences


def test_a_transformed_procedure_that_ends_early_is_different() -> None:
    tally = Tally(3)
    log = [Event("begin", 0, "original", "n=1")]
    hung = [*log, Event("begin", 0, "K=2 D=default", "n=1")]
    tally.add([log, hung], ended(1, "Timeout (0:00:30)!\n"), ORDER, 0)
    assert not tally.wants_more
    found = tally.differences["K=2 D=default"]
    assert found.hang
    assert found.message.endswith("the transformed procedure did not end in time [n=1]")


def test_draws_end_where_the_original_always_hangs() -> None:
    tally = Tally(10)
    while tally.wants_more:
        log = [Event("begin", tally.next, "original")]
        tally.add([log], ended(None), ORDER, tally.next)
    assert len(tally.thrown) == 3


def test_ranks_that_cannot_start_are_a_mistake() -> None:
    with pytest.raises(UsageError, match="could not start: no such library"):
        Tally(1).add([[]], ended(1, "no such library\n"), ORDER, 0)
    refused = Event("refused", 0, "original", "--set: m means nothing")
    with pytest.raises(UsageError, match="--set: m means nothing"):
        Tally(1).add([[refused]], ended(2), ORDER, 0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tile": -2}, r"^tile=-2: tile is an integer from 0 to"),
        ({"depth": 0}, r"^depth=0: depth is an integer from 1 to"),
        ({"tile": True}, r"^tile=True: "),
        ({"flags": "-O2 -g"}, r"^flags='-O2 -g': flags is a list of words, e.g. \['-O2', '-g'\]"),
    ],
)
def test_arguments_of_load(source: Path, values: dict[str, Any], message: str) -> None:
    """The argument is named; nothing is built before."""
    with pytest.raises(UsageError, match=message):
        load(source, "modern::typed", **values)


# the command


def test_bad_usage(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(source / "shapes.f90")

    def told(*arguments: str) -> str:
        assert main(["verify", "--no-cache", "--jobs", "1", *arguments]) == 2
        return capsys.readouterr().err

    assert "did you mean modern::typed" in told(f"{file}:typd")
    assert "no such file" in told(f"{file}x:typed")
    assert "has no such argument" in told(f"{file}:typed", "--set", "q=1")
    for option in (("--run", "x"), ("--tree", "."), ("--any-order",), ("--race",), ("--exe", "x")):
        assert f"{option[0]}: only for whole programs" in told(f"{file}:typed", *option)
    assert "has 3 dimensions" in told(f"{file}:typed", "--set", "s=1,2")
    assert "--mpi smpi" in told(f"{file}:typed", "--mpi", "smpi")
    assert "write NAME(ARGUMENTS)" in told(f"{file}:typed", "--first", "a b")


def test_without_mpi4py(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["verify", "--no-cache", f"{source / 'shapes.f90'}:typed"]) == 2
    assert "pip install 'mpi4py>=4' 'numpy>=1.26'" in capsys.readouterr().err


@pytest.mark.wide
@pytest.mark.skipif(not HERE, reason="needs an MPI")
def test_the_table(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--np", "3", "--tile", "2", "--draws", "3", "--assume", "control"]
    arguments += ["--mpi", "all", "--flags=-O0"]
    target = f"{source / 'shapes.f90'}:modern::typed"
    assert main(["verify", "--no-cache", "--jobs", "1", target, *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("equal") == len(HERE)
    for mpi in HERE:
        assert f"{mpi}, 3 ranks: 3 draws compared\n" in captured.err
