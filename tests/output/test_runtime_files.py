"""Which files of the runtime are written, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.limits import HEADER
from asphalt.config.runtime import needed, runtime_modules
from asphalt.output.write import Written, used_runtime, write_in_place, write_tree
from asphalt.unparse.params import HeaderEntry

EXCHANGE = [
    "asphalt_backend_isend",
    "asphalt_choice",
    "asphalt_communicators",
    "asphalt_core",
    "asphalt_exchange",
]
TRANSFERS = ["asphalt_copies", "asphalt_core", "asphalt_transfers"]


@dataclass(frozen=True)
class Changed:
    path: Path
    before: bytes
    after: bytes
    parameters: tuple[HeaderEntry, ...] = ()


def changed(folder: Path, name: str, *modules: str) -> Changed:
    """A file that uses some modules of the runtime after its change."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"subroutine s\nend subroutine s\n")
    uses = "".join(f"  Use {module}, only: one\n" for module in modules)
    after = f"subroutine s\n{uses}end subroutine s ! asphalt_queues\n"
    return Changed(path, path.read_bytes(), after.encode())


def runtime(folder: Path) -> list[str]:
    """The files of the runtime below a folder; all of them as they are shipped."""
    found = sorted(folder.rglob("asphalt_*.f90"))
    for path in found:
        assert path.read_bytes() == runtime_modules()[path.stem].source.read_bytes()
    return [str(path.relative_to(folder).with_suffix("")) for path in found]


def mirrored(tmp_path: Path, *changes: Changed, force: bool = False) -> Written:
    return write_tree([tmp_path / "src"], changes, tmp_path / "out", force=force)


def test_what_a_text_uses() -> None:
    assert used_runtime(b"  use asphalt_core, only: one\n  use :: mpi\n") == {"asphalt_core"}
    assert used_runtime(b"      USE ASPHALT_QUEUES, ONLY: A\n") == {"asphalt_queues"}
    assert used_runtime(b"! use asphalt_core\n  asphalt_core = 1\n") == set()


def test_a_tree_gets_what_it_uses_and_what_that_uses(tmp_path: Path) -> None:
    written = mirrored(tmp_path, changed(tmp_path / "src", "a.f90", "asphalt_exchange"))
    assert runtime(tmp_path / "out") == EXCHANGE
    order = [path.stem for path in written.runtime]
    assert order == [module.name for module in needed(["asphalt_exchange"])]
    assert set(written.runtime) <= set(written.rewritten)


def test_an_exchange_brings_at_most_900_lines(tmp_path: Path) -> None:
    """Comments do not count, nor do empty lines."""
    written = mirrored(tmp_path, changed(tmp_path / "src", "a.f90", "asphalt_exchange"))
    lines = [line.strip() for path in written.runtime for line in path.read_text().splitlines()]
    directives = ("!GCC$", "!DIR$")
    code = [line for line in lines if line and (line[0] != "!" or line.startswith(directives))]
    assert len(code) <= 900


def test_nothing_is_written_where_nothing_uses_it(tmp_path: Path) -> None:
    assert mirrored(tmp_path, changed(tmp_path / "src", "a.f90")).runtime == ()
    assert runtime(tmp_path / "out") == []


def test_what_an_earlier_run_wrote_stays_and_is_of_one_version(tmp_path: Path) -> None:
    mirrored(tmp_path, changed(tmp_path / "src", "a.f90", "asphalt_exchange"))
    old = tmp_path / "out" / "asphalt_choice.f90"
    old.write_bytes(b"! an older one\n" + old.read_bytes())
    written = mirrored(tmp_path, changed(tmp_path / "src", "a.f90", "asphalt_transfers"))
    assert runtime(tmp_path / "out") == sorted({*EXCHANGE, *TRANSFERS})
    assert len(written.runtime) == len({*EXCHANGE, *TRANSFERS})


def test_the_place_is_above_all_changed_files(tmp_path: Path) -> None:
    one = changed(tmp_path / "src", "sub/one/a.f90", "asphalt_core")
    other = changed(tmp_path / "src", "sub/other/b.f90", "asphalt_collectives")
    mirrored(tmp_path, one, other)
    assert runtime(tmp_path / "out") == ["sub/asphalt_collectives", "sub/asphalt_core"]
    # a later run finds them there
    mirrored(tmp_path, changed(tmp_path / "src", "sub/one/a.f90", "asphalt_datatypes"))
    assert runtime(tmp_path / "out/sub") == [
        "asphalt_collectives",
        "asphalt_core",
        "asphalt_datatypes",
    ]


def test_a_runtime_that_is_mirrored_is_the_one_of_the_tree(tmp_path: Path) -> None:
    """Two copies in one build would define a module twice."""
    change = changed(tmp_path / "src", "deep/a.f90", "asphalt_transfers")
    core = runtime_modules()["asphalt_core"].source.read_bytes()
    (tmp_path / "src" / "asphalt_core.f90").write_bytes(b"! an older one\n" + core)
    mirrored(tmp_path, change)
    assert runtime(tmp_path / "out") == TRANSFERS


def test_a_file_of_the_program_is_not_replaced(tmp_path: Path) -> None:
    change = changed(tmp_path / "src", "a.f90", "asphalt_transfers")
    own = tmp_path / "src" / "asphalt_copies.f90"
    own.write_text("module mine\nend module mine\n")
    with pytest.raises(UsageError, match=r"asphalt_copies\.f90"):
        mirrored(tmp_path, change)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match=r"asphalt_copies\.f90: was not written by asphalt"):
        write_in_place([tmp_path / "src"], [change])
    assert change.path.read_bytes() == change.before
    assert "module mine" in own.read_text()


def test_in_place(tmp_path: Path) -> None:
    change = changed(tmp_path / "src", "sub/a.f90", "asphalt_transfers")
    written = write_in_place([tmp_path / "src"], [change])
    assert runtime(tmp_path / "src") == [f"sub/{name}" for name in TRANSFERS]
    assert [path.stem for path in written.runtime] == [
        module.name for module in needed(["asphalt_transfers"])
    ]
    assert change.path.read_bytes() == change.after


def entry(site: str, *chosen: str) -> HeaderEntry:
    """The entry of a site that some backends may serve."""
    return HeaderEntry(site, "MPI_Alltoall", "a.f90:1", "z", 0, 4, backends=chosen)


PERSISTENT = ["asphalt_backend_persistent", "asphalt_datatypes", "asphalt_persistent"]


def put_in(folder: Path, name: str, *chosen: str) -> Changed:
    """A file with an exchange of some backends."""
    given = changed(folder, name, "asphalt_exchange")
    return Changed(given.path, given.before, given.after, (entry(Path(name).stem, *chosen),))


def test_a_backend_that_no_header_names_goes(tmp_path: Path) -> None:
    source = tmp_path / "src"
    kept = ("persistent", "isend")
    mirrored(tmp_path, put_in(source, "a.f90", *kept))
    assert runtime(tmp_path / "out") == sorted([*EXCHANGE, *PERSISTENT])
    written = mirrored(tmp_path, put_in(source, "a.f90", "isend"))
    assert runtime(tmp_path / "out") == EXCHANGE
    assert sorted(path.stem for path in written.runtime) == EXCHANGE
    said = [problem.message for problem in written.problems]
    assert said == ["was removed: no header names its backend any more"] * len(PERSISTENT)
    assert not mirrored(tmp_path, put_in(source, "a.f90", "isend")).problems


def test_a_backend_that_another_header_names_stays(tmp_path: Path) -> None:
    source = tmp_path / "src"
    both = [put_in(source, name, "persistent", "isend") for name in ("one/a.f90", "two/b.f90")]
    mirrored(tmp_path, *both)
    written = mirrored(tmp_path, put_in(source, "one/a.f90", "isend"))
    assert runtime(tmp_path / "out") == sorted([*EXCHANGE, *PERSISTENT])
    assert not written.problems
    (tmp_path / "out" / "two" / HEADER).unlink()
    mirrored(tmp_path, put_in(source, "one/a.f90", "isend"))
    assert runtime(tmp_path / "out") == EXCHANGE


def test_what_others_use_of_a_backend_that_goes_stays(tmp_path: Path) -> None:
    source = tmp_path / "src"
    others = changed(source, "b.f90", "asphalt_transfers")
    mirrored(tmp_path, put_in(source, "a.f90", "persistent", "isend"), others)
    before = runtime(tmp_path / "out")
    mirrored(tmp_path, put_in(source, "a.f90", "isend"))
    needs = {one.name for one in needed(["asphalt_exchange", "asphalt_transfers"])}
    assert needs <= set(before)
    assert runtime(tmp_path / "out") == sorted(needs)


def test_an_edited_backend_stays_and_is_told(tmp_path: Path) -> None:
    source = tmp_path / "src"
    mirrored(tmp_path, put_in(source, "a.f90", "persistent", "isend"))
    edited = tmp_path / "out" / "asphalt_backend_persistent.f90"
    edited.write_text(edited.read_text() + "! mine\n")
    written = mirrored(tmp_path, put_in(source, "a.f90", "isend"))
    assert edited.read_text().endswith("! mine\n")
    assert edited not in written.runtime
    messages = {Path(one.file).stem: one.message for one in written.problems}
    assert messages["asphalt_backend_persistent"].startswith("was edited, so it stays")


def test_in_place_a_backend_that_no_header_names_goes(tmp_path: Path) -> None:
    first = put_in(tmp_path, "a.f90", "persistent", "isend")
    write_in_place([tmp_path], [first])
    second = put_in(tmp_path, "b.f90", "isend")
    assert not write_in_place([tmp_path], [second]).problems
    assert runtime(tmp_path) == sorted([*EXCHANGE, *PERSISTENT])
    (tmp_path / HEADER).unlink()
    third = put_in(tmp_path, "c.f90", "isend")
    assert len(write_in_place([tmp_path], [third]).problems) == len(PERSISTENT)
    assert runtime(tmp_path) == EXCHANGE
