"""Writing: atomic files, mirrored trees, the ledger, the order of modules."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.output.atomic import link_atomically, write_atomically
from asphalt.output.included import included_files
from asphalt.output.ledger import add_to_ledger, fingerprint, read_ledger
from asphalt.output.mirror import Mirror, base_of, plan_mirror
from asphalt.output.modules import compile_order, is_fortran, prerequisites
from asphalt.output.write import write_tree


def names(mirror: Mirror) -> set[str]:
    return {str(entry.destination.relative_to(mirror.output)) for entry in mirror.entries}


# one file


def test_a_file_is_written_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.f90"
    assert write_atomically(path, b"x\r\n", 0o640)
    assert path.read_bytes() == b"x\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == ["a.f90"]


def test_equal_content_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_bytes(b"x\n")
    os.utime(path, (1, 1))
    assert not write_atomically(path, b"x\n", 0o600)
    assert path.stat().st_mtime == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / "link").symlink_to("precious")
    assert write_atomically(tmp_path / "link", b"new", 0o644)
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert not (tmp_path / "link").is_symlink()


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "a", b"new", 0o644)
    assert os.listdir(tmp_path) == ["a"]


def test_a_killed_run_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    """The process is killed at a write of its own choosing; no file is ever half of each."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from asphalt.output.atomic import write_atomically
        print("go", flush=True)
        version = 0
        while True:
            version += 1
            write_atomically(Path(sys.argv[1]), b"%d " % version * 200_000, 0o644, durable=False)
            print(version, flush=True)
        """
    )
    path = tmp_path / "a.f90"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    words = path.read_bytes().split()
    assert len(words) == 200_000
    assert len(set(words)) == 1


def test_links(tmp_path: Path) -> None:
    assert link_atomically(tmp_path / "sub" / "link", "../a")
    assert os.readlink(tmp_path / "sub" / "link") == "../a"
    assert not link_atomically(tmp_path / "sub" / "link", "../a")
    assert link_atomically(tmp_path / "sub" / "link", "../b")
    assert os.listdir(tmp_path / "sub") == ["link"]


# the ledger


def test_the_ledger_knows_the_last_two_contents(tmp_path: Path) -> None:
    assert read_ledger(tmp_path) == {}
    for content in (b"1", b"2", b"3"):
        add_to_ledger(tmp_path, {"a.f90": fingerprint(content)})
    add_to_ledger(tmp_path, {"b.f90": fingerprint(b"b")})
    assert read_ledger(tmp_path) == {
        "a.f90": {fingerprint(b"2"), fingerprint(b"3")},
        "b.f90": {fingerprint(b"b")},
    }


def test_a_damaged_ledger_knows_nothing(tmp_path: Path) -> None:
    add_to_ledger(tmp_path, {"a.f90": fingerprint(b"1")})
    (tmp_path / ".asphalt" / "written.json").write_text("{")
    assert read_ledger(tmp_path) == {}


def test_runs_side_by_side_lose_no_entry(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from asphalt.output.ledger import add_to_ledger\n"
        "for i in range(20): add_to_ledger(Path(sys.argv[1]), {f'{sys.argv[2]}{i}': 'x'})"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abc"
    ]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert len(read_ledger(tmp_path)) == 60


# which file goes where


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/a.f90", "src/sub/b.f", "src/Makefile", "src/.git/config", "lib/c.f90"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "src" / "empty").mkdir()
    return tmp_path


def test_a_tree_is_mirrored_whole(tree: Path) -> None:
    mirror = plan_mirror([tree / "src"], {tree / "src/a.f90": b"new"}, tree / "out")
    assert names(mirror) == {"a.f90", "sub/b.f", "Makefile"}
    contents = {entry.source.name: entry.content() for entry in mirror.entries}
    assert contents == {"a.f90": b"new", "b.f": b"src/sub/b.f", "Makefile": b"src/Makefile"}
    assert tree / "out" / "empty" in mirror.directories


def test_several_paths_keep_their_place_to_each_other(tree: Path) -> None:
    mirror = plan_mirror([tree / "src", tree / "lib" / "c.f90"], {}, tree.parent / "out")
    assert names(mirror) == {"src/a.f90", "src/sub/b.f", "src/Makefile", "lib/c.f90"}
    assert base_of([tree / "src" / "a.f90", tree / "src" / "sub"]) == tree / "src"


def test_a_root_is_kept(tree: Path) -> None:
    mirror = plan_mirror([tree / "src" / "a.f90"], {}, tree / "out", tree)
    assert names(mirror) == {"src/a.f90"}
    with pytest.raises(UsageError, match="outside --root"):
        plan_mirror([tree / "src" / "a.f90"], {}, tree / "out", tree / "lib")


@pytest.mark.parametrize("output", ["src", "src/out", "src/sub/../out", "link/out"])
def test_an_output_in_the_input_is_refused(tree: Path, output: str) -> None:
    (tree / "link").symlink_to("src")
    with pytest.raises(UsageError, match="lies in the input"):
        plan_mirror([tree / "src"], {}, tree / output)


def test_a_named_file_is_not_overwritten(tree: Path) -> None:
    with pytest.raises(UsageError, match="--in-place"):
        plan_mirror([tree / "src" / "a.f90"], {}, tree / "src")
    mirror = plan_mirror([tree / "src" / "a.f90"], {}, tree / "src" / "out")
    assert names(mirror) == {"a.f90"}


def test_symbolic_links(tree: Path) -> None:
    source = tree / "src"
    (source / "inner.f90").symlink_to("a.f90")
    (source / "inner").symlink_to("sub")
    (source / "outer.f90").symlink_to("../lib/c.f90")
    (source / "outer").symlink_to("../lib")
    (source / "dangling").symlink_to("nowhere/at/all")
    mirror = plan_mirror([source], {}, tree / "out")
    entries = {entry.source.name: entry for entry in mirror.entries}
    assert entries["inner.f90"].link == "a.f90"
    assert entries["inner"].link == "sub"
    assert entries["outer.f90"].link is None
    assert entries["outer.f90"].content() == b"lib/c.f90"
    assert entries["outer"].link == str(tree / "lib")
    assert entries["dangling"].link == "nowhere/at/all"


def test_a_path_that_is_no_file_is_reported(tree: Path) -> None:
    os.mkfifo(tree / "src" / "pipe")
    mirror = plan_mirror([tree / "src"], {}, tree / "out")
    assert "pipe" not in names(mirror)
    assert [problem.file for problem in mirror.problems] == [str(tree / "src" / "pipe")]


# the order of modules


def sources(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.f90"
        path.write_text(text, encoding="latin-1")
        paths.append(path)
    return paths


def test_modules_come_before_their_users(tmp_path: Path) -> None:
    paths = sources(
        tmp_path,
        main="program p\n  USE Alpha, only: x\n  use mpi\nend program\n",
        alpha="MODULE alpha ! caf\xe9\n  use, intrinsic :: iso_c_binding; use :: beta\nend\n",
        beta="module BETA\r\ncontains\r\nmodule procedure q\r\nend procedure\r\nend module\r\n",
        gamma="submodule (alpha:other) gamma\nend submodule\n",
        later="submodule ( ALPHA ) Other\nend submodule\n",
    )
    order = [path.stem for path in compile_order(paths)]
    assert order.index("beta") < order.index("alpha") < order.index("main")
    assert order.index("alpha") < order.index("later") < order.index("gamma")
    assert prerequisites(paths)[paths[0]] == (paths[1],)


def test_a_byte_order_mark_hides_no_module(tmp_path: Path) -> None:
    user, module = tmp_path / "a_user.f90", tmp_path / "module.f90"
    user.write_bytes(b"\xef\xbb\xbfuse alpha\nend\n")
    module.write_bytes(b"\xef\xbb\xbfmodule alpha\nend\n")
    assert compile_order((user, module)) == (module, user)


def test_modules_in_a_circle_keep_the_given_order(tmp_path: Path) -> None:
    paths = sources(tmp_path, a="module a\nuse b\nend\n", b="module b\nuse a\nend\n")
    assert compile_order(paths) == tuple(paths)


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "outer.h").write_text("#include <inner.h>\n#include <outer.h>\n")
    (tmp_path / "inc" / "inner.h").write_text("x = 1\n")
    (tmp_path / "beside.inc").write_text("  INCLUDE 'mpif.h'\n! include 'comment.inc'\n")
    (source,) = sources(
        tmp_path, a="include 'beside.inc'\n#include \"outer.h\"\nx = include('beside.inc')\n"
    )
    found = included_files(source, [str(tmp_path / "inc")])
    assert [path.name for path in found] == ["beside.inc", "outer.h", "inner.h"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.f90", True), ("a.F", True), ("a.f08", True), ("a.c", False), ("a.inc", False)],
)
def test_suffixes(name: str, expected: bool) -> None:
    assert is_fortran(Path(name)) is expected


def test_what_single_files_include_is_mirrored_with_them(tmp_path: Path) -> None:
    (tmp_path / "src" / "inc").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    source = tmp_path / "src" / "a.F90"
    source.write_text('#include "inc/b.h"\ninclude "far.inc"\nend\n')
    (tmp_path / "src" / "inc" / "b.h").write_text('#include "c.h"\n')
    (tmp_path / "src" / "inc" / "c.h").write_text("! c\n")
    (tmp_path / "other" / "far.inc").write_text("! far\n")
    out = tmp_path / "out"
    written = write_tree([source], [], out, include_dirs=[str(tmp_path / "other")])
    names = {str(path.relative_to(out)) for path in written.files}
    assert names == {"a.F90", "inc/b.h", "inc/c.h"}
    assert (out / "inc" / "c.h").read_text() == "! c\n"
    assert len(write_tree([source], [], tmp_path / "alone").files) == 1
