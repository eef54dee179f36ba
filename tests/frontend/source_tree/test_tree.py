"""What a tree answers about its files, good and bad."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asphalt.analysis.names.scopes import Origin, scope_of
from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.ir.program import MpiMention, Program
from asphalt.ir.source import Form
from asphalt.ir.stmt import Assign, Call, Decl, Opaque, Plain, Raw
from asphalt.ir.tree import Leaf, Node, Unit, leaves

Load = Callable[..., Tree]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes files (text or bytes) and loads the tree of them."""

    def write_and_load(files: dict[str, str | bytes], *defines: str, **settings: object) -> Tree:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode("latin-1"))
        return load_tree([tmp_path], Settings(defines=defines, jobs=1, **settings))  # type: ignore[arg-type]

    return write_and_load


EXCHANGE = """\
module work
  use mpi
  implicit none
  real :: a(4), b(4)
contains
  subroutine exchange(comm)
    integer :: comm, ierr
    a = 1 ! b is not mentioned here
    call MPI_Alltoall(a, 1, mpi_real, b, 1, mpi_real, comm, ierr)
  end subroutine
  subroutine plain
    print *, 'exchange'
  end subroutine
end module
"""
MAIN = "program main\n  use work, only: exchange\n  call exchange(3)\nend program\n"


def names(tree: Tree, name: str) -> list[str]:
    return [located.unit.name for located in tree.mentions(name)]


def test_files_and_sites(load: Load, tmp_path: Path) -> None:
    tree = load({"work.f90": EXCHANGE, "main.f90": MAIN, "old.f": "      end\n"})
    program: Program = tree
    assert [(Path(f.path).name, f.form, f.has_mpi, f.lines) for f in tree.files] == [
        ("main.f90", Form.FREE, False, 4),
        ("old.f", Form.FIXED, False, 1),
        ("work.f90", Form.FREE, True, 14),
    ]
    assert tree.problems == ()
    (site,) = tree.site_units()
    assert [unit.name for unit in site.chain] == ["work", "exchange"]
    assert any(isinstance(leaf.what, Call) for leaf in leaves(site.unit))
    assert not any(isinstance(leaf.what, Raw) for leaf in leaves(site.chain[0]))
    assert site.unit in tree.file(site.path).units[0].contained
    assert list(tree.site_units({"mpi_bcast"})) == []
    assert program.mpi_calls() == (
        MpiMention(str(tmp_path / "work.f90"), 9, "exchange", "mpi_alltoall"),
    )


def test_definitions(load: Load) -> None:
    tree = load(
        {
            "work.f90": EXCHANGE,
            "main.f90": MAIN,
            "nameless.f": "      CALL F\n      END\n      SUBROUTINE F\n      END\n",
            "twice_a.f90": "subroutine g\nend\n",
            "twice_b.f90": "subroutine g\nend\n",
        }
    )
    module = tree.module("work")
    assert module is not None
    assert module.unit.kind == "module"
    inner = tree.contained(module, "exchange")
    assert inner is not None
    assert [unit.name for unit in inner.chain] == ["work", "exchange"]
    assert tree.contained(module, "nothing") is None
    assert tree.external("exchange") is None
    external = tree.external("f")
    assert external is not None
    assert external.form is Form.FIXED
    assert tree.external("g") is None
    assert tree.module("mpi") is None
    assert [located.unit.name for located in tree.main_programs()] == ["main", ""]


def test_units_of_a_module_are_read_one_by_one(load: Load) -> None:
    text = """module m
contains
subroutine a
  call b
contains
  subroutine c
    x = 'y'
  end
end
subroutine d
end
end module
"""
    tree = load({"m.f90": text})
    module = tree.module("m")
    assert module is not None
    stand_in = module.unit.contained[0]
    (statement,) = leaves_of(stand_in.body)
    assert isinstance(statement.what, Opaque)
    assert statement.what.names >= {"b", "x"}
    outer = tree.contained(module, "a")
    assert outer is not None
    assert any(isinstance(leaf.what, Call) for leaf in leaves(outer.unit))
    inner = tree.contained(outer, "c")
    assert inner is not None
    assert [unit.name for unit in inner.chain] == ["m", "a", "c"]
    assert any(isinstance(leaf.what, Assign) for leaf in leaves(inner.unit))
    assert tree.contained(module, "d") == tree.contained(module, "d")
    assert tree.mention_count("b") == 1


def test_mentions(load: Load) -> None:
    tree = load({"work.f90": EXCHANGE, "main.f90": MAIN})
    assert names(tree, "exchange") == ["main"]
    assert names(tree, "b") == ["work", "exchange"]
    assert names(tree, "comm") == ["exchange"]
    assert names(tree, "nowhere") == []
    assert names(tree, "chang") == []


def test_mentions_in_disguise(load: Load) -> None:
    tree = load(
        {
            "split.f90": "subroutine a\ncall he&\n&lper\nend\n",
            "fixed.f": "      SUBROUTINE B\n      CALL HEL\n     1PER\n      END\n",
            "blanks.f": "      SUBROUTINE C\n      CALL HEL PER\n      END\n",
            "glued.f": "      SUBROUTINE D\n      CALLHELPER\n      END\n",
            "macro.F90": '#include "names.h"\nsubroutine e\ncall WHO\nend\n',
            "names.h": "#define WHO helper\n",
            "text.F90": 'subroutine f\n#include "body.h"\nend\n',
            "body.h": "call helper\n",
            "include.f90": "subroutine g\ninclude 'decl.inc'\nend\n",
            "decl.inc": "external helper\n",
            "dead.F90": "subroutine h\n#if 0\ncall helper\n#endif\nend\n",
            "no.f90": "subroutine i ! helper\nprint *, 'helper', helpers\nend\n",
            "interface.f90": "subroutine j\ninterface\nsubroutine helper\nend\nend interface\nend",
        }
    )
    assert sorted(names(tree, "helper")) == ["a", "b", "c", "d", "e", "f", "g", "j"]


def test_mentions_from_c(load: Load) -> None:
    tree = load(
        {
            "f.f90": "subroutine helper\nend\n",
            "a.c": "void helper_(void); int main() { helper_(); }",
            "b.cpp": "FC_FUNC(helper, HELPER)();",
            "c.h": "__work_MOD_helper();",
            "d.c": "int helper2_; /* helper */",
        }
    )
    assert [Path(located.path).name for located in tree.mentions("helper")] == [
        "a.c",
        "b.cpp",
        "c.h",
    ]
    assert tree.mention_count("helper") == 3


def test_a_header_that_stands_in_a_fortran_file_is_not_of_another_language(load: Load) -> None:
    files = {"f.F90": 'subroutine f\n#include "body.h"\nend\n', "body.h": "call g(h,h)\nx = h\n"}
    assert names(tree := load(files), "h") == ["f"]
    assert not tree.foreign_files_with("h")
    assert tree.mention_count("h") == 1
    more = load({**files, "a.c": '#include "body.h"\n'})  # the nearest one that may be
    assert [Path(located.path).name for located in more.mentions("h")][-1] == "body.h"
    assert more.foreign_files_with("h")


def test_a_macro_may_put_the_name_of_a_procedure_together(load: Load) -> None:
    files = {"f.f90": "subroutine helper\nend\n", "a.c": "void f() { F77(helper)(); }"}
    assert load(files).mentions("helper") == ()
    tree = load({**files, "b.h": "#define F77(a) a ## _"})
    assert [Path(located.path).name for located in tree.mentions("helper")] == ["a.c"]


def test_lines_for_openmp_compilers_count(load: Load) -> None:
    text = "subroutine a\n!$ call helper(x)\n!$omp parallel private(y)\n!$ call mpi_send(x)\nend\n"
    tree = load({"a.f90": text})
    for name in ("helper", "y"):
        assert names(tree, name) == ["a"]
    assert [(call.operation, call.live) for call in tree.mpi_calls()] == [("mpi_send", False)]


_MADE = "! generated by a script\n"  # so that it is no part of what is analysed


def test_an_included_file_mentions_what_it_includes(load: Load) -> None:
    files = {"a.f90": "subroutine a\ninclude 'outer.inc'\nend\n"}
    files |= {"outer.inc": f"{_MADE}x = 1\ninclude 'inner.inc'\n", "inner.inc": "Call Helper\n"}
    assert [one.unit.name for one in load(dict(files)).mentions("helper")] == ["a", ""]


_INCLUDED = f"{_MADE}subroutine inner\ncall he&\n&lper\ncall MPI_Barrier(c)\nend subroutine\n"
_AROUND = (
    "module m\nreal :: a\ncontains\ninclude 'p.inc'\nsubroutine b\nend\nend\n",
    "module m\nreal :: a\ncontains\nsubroutine b\nend\ninclude 'p.inc'\nend\n",
    "module m\nreal :: a\ncontains\ninclude 'p.inc'\nend\n",
    "program m\na = 1\ncontains\ninclude 'p.inc'\nend\n",
    "subroutine b\nend\ninclude 'p.inc'\nsubroutine c\nend\n",
    "subroutine b\nend\ninclude 'p.inc'\n",
    "include 'p.inc'\nsubroutine b\nend\n",
    "include 'p.inc'\n",
    "subroutine b\n!$ include 'p.inc'\nend\n",
)


@pytest.mark.parametrize("text", _AROUND)
def test_included_procedures_mention_what_they_call(load: Load, tmp_path: Path, text: str) -> None:
    tree = load({"a.f90": text, "p.inc": _INCLUDED})
    (located,) = tree.mentions("helper")
    assert located.is_unread
    assert located.path == str(tmp_path / "a.f90")
    assert tree.mention_count("helper") == 1
    assert tree.mentions("nowhere") == ()
    assert [call.operation for call in tree.mpi_calls()] == ["mpi_barrier"]
    assert [note.line for note in tree.notes] == [tree.mpi_calls()[0].line]
    assert (str(tmp_path / "a.f90"), "p.inc") in tree._digest.includes


def test_an_included_procedure_in_a_missing_file_may_mention_any_name(load: Load) -> None:
    tree = load({"a.f90": _AROUND[0], "b.f90": "subroutine c\ninclude 'p.inc'\nend\n"})
    assert [located.is_unread for located in tree.mentions("helper")] == [True]


def test_included_statements_count_as_text_that_is_not_analysed(load: Load) -> None:
    calling = f"{_MADE}call helper\n"
    tree = load({"a.f90": "subroutine a\ninclude 'b.inc'\nend\n", "b.inc": calling})
    assert [located.is_unread for located in tree.mentions("helper")] == [False, True]
    tree = load({"b.inc": "external helper\n"})
    assert [located.is_unread for located in tree.mentions("helper")] == [False]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.f90", "subroutine a\n!$ call hel&\n!$ &per(x)\nend\n"),
        ("a.f90", "subroutine a\n!$ call hel&\n! comment\n\n!$ &per(x)\nend\n"),
        ("a.f90", "subroutine a\n!$omp parallel private(hel&\n!$omp&per)\nend\n"),
        ("a.f", "      subroutine a\n!$    call hel\n!$   &per(x)\n      end\n"),
        ("a.f", "      subroutine a\nc$    call hel\nc$   1per(x)\n      end\n"),
    ],
)
def test_a_name_that_two_lines_for_openmp_hold_is_one(load: Load, name: str, text: str) -> None:
    assert names(load({name: text}), "helper") == ["a"]


def test_a_file_that_cannot_be_read_mentions_what_it_holds(load: Load, tmp_path: Path) -> None:
    tree = load({"bad.f90": "subroutine a\nif (x) then\nb = 1\nend subroutine\n"})
    (located,) = tree.mentions("b")
    assert located.path == str(tmp_path / "bad.f90")
    (statement,) = located.unit.body
    assert isinstance(statement.what, Opaque)  # type: ignore[union-attr]
    assert tree.mentions("c") == ()


def test_mpi_calls_in_disguise(load: Load) -> None:
    tree = load(
        {
            "rename.f90": "module m\nuse mpi, only: everyone => mpi_alltoall\nend\n",
            "renamed.f90": "subroutine a\nuse m\ncall everyone(x)\nend\n",
            "other.f90": "subroutine b\ncall everyone(x)\nend\n",
            "dead.F90": "subroutine c\n#ifdef X\nif (y) call mpi_send(&\n x)\n#endif\nend\n",
            "profiled.f90": "subroutine d\ncall PMPI_Send(x)\nend\n",
            "fixed.f": "      SUBROUTINE E\n      IF(Y)CALL MP I_BCAST(X)\n      END\n",
            "broken.f90": "subroutine f\ncall mpi_recv(x)\nendif\nend\n",
            "include.f90": "subroutine g\ninclude 'body.inc'\nend\n",
            "body.inc": "call mpi_wait(x)\n",
            "cpp.F90": 'subroutine h\n#include "body.inc"\nend\n',
            "macro.F90": "subroutine i\ncall SEND(x)\nend\n#define Y\n",
            "comment.f90": "! call mpi_probe(x)\nsubroutine j\nprint *, ' call mpi_test(x)'\nend\n",
            "where.f90": "subroutine k\ncall_mpi_send = 1\nend\n",
        },
        "SEND=MPI_Isend",
    )
    assert sorted((m.unit, m.operation, m.line, m.live) for m in tree.mpi_calls()) == [
        ("", "mpi_recv", 2, True),
        ("a", "mpi_alltoall", 3, True),
        ("c", "mpi_send", 3, False),
        ("d", "mpi_send", 2, True),
        ("e", "mpi_bcast", 2, True),
        ("g", "mpi_wait", 3, True),
        ("h", "mpi_wait", 3, True),
        ("i", "mpi_isend", 2, True),
    ]
    assert sorted(located.unit.name for located in tree.site_units()) == list("adeghi")
    assert not any("body.inc" in p.message for p in tree.notes)


def test_includes(load: Load, tmp_path: Path) -> None:
    tree = load(
        {
            "a.f": "      SUBROUTINE A\n      INCLUDE 'x.inc'\n      CALL MPI_TEST(C)\n      END\n",
            "x.inc": "      INTEGER N\n      INCLUDE 'sub.inc'\n",
            "dir/sub.inc": "      COMMON /B/ N",
            "bad.inc": "      N = 1\n",
            "itself.inc": "      INCLUDE 'itself.inc'\n",
        },
        include_dirs=(str(tmp_path / "dir"),),
    )
    (site,) = tree.site_units()
    found = tree.include(site, "x.inc")
    assert found is not None
    assert [leaf.what.kind for leaf in leaves_of(found) if isinstance(leaf.what, Decl)] == [
        "type",
        "common",
    ]
    assert tree.include(site, "mpif.h") == ()
    for name in ("bad.inc", "itself.inc", "nowhere.inc"):
        assert tree.include(site, name) is None


def leaves_of(nodes: tuple[Node, ...]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in leaves(node)]


def test_the_second_time_comes_from_the_cache(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"work.f90": EXCHANGE, "main.f90": MAIN}
    first = load(files)
    expected = (list(first.site_units()), first.mentions("exchange"), first.mpi_calls())
    first.close()
    monkeypatch.setattr(
        "asphalt.frontend.source_tree.workers.Workers._started", None
    )  # no work is to be done
    again = load(files)
    assert (list(again.site_units()), again.mentions("exchange"), again.mpi_calls()) == expected
    assert again.digest == first.digest
    with pytest.raises(TypeError):
        list(load({"work.f90": EXCHANGE + "! changed\n"}).site_units())
    with pytest.raises(TypeError):
        list(load(files, "NEW").site_units())


def test_a_header_that_changes_makes_the_file_change(load: Load, tmp_path: Path) -> None:
    text = 'subroutine a\n#include "h.h"\n#ifdef ON\ncall mpi_send(x)\n#endif\nend\n'
    off = load({"a.F90": text, "h.h": "! nothing\n"})
    assert [call.live for call in off.mpi_calls()] == [False]
    on = load({"a.F90": text, "h.h": '#include "n.h"\n', "n.h": "#define ON\n"})
    assert [call.live for call in on.mpi_calls()] == [True]
    assert on.digest != off.digest


def test_without_cache_nothing_is_written(load: Load, tmp_path: Path) -> None:
    import os

    tree = load({"work.f90": EXCHANGE}, cache=False)
    assert len(list(tree.site_units())) == 1
    assert os.listdir(os.environ["XDG_CACHE_HOME"]) == []


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"subroutine a\ncall mpi_send(x)\n", 1, "missing"),
        (b"subroutine a\ncall mpi_send(x)\nend do\nend\n", 3, "END DO"),
        (b"subroutine a\nx = '\0'\ncall mpi_send\nend\n", 2, "not a text file"),
        (b"", None, "empty"),
        (b" \n\n", None, "empty"),
        (b"#if 1\ncall mpi_send\nend\n", 1, "unterminated"),
        (b"#include <gone.h>\ncall mpi_send\nend\n", 1, "gone.h is not found"),
        (b"call mpi_send(x)\n", 1, "no program unit"),
        (b"C     fixed\nC     form\nC     here\n      call mpi_send\n      end\n", 1, "fixed form"),
    ],
)
def test_bad_input_is_one_problem_and_the_rest_is_done(
    load: Load, tmp_path: Path, content: bytes, line: int | None, message: str
) -> None:
    tree = load({"bad.f90": content, "work.f90": EXCHANGE})
    (problem,) = (*tree.problems, *tree.notes)
    assert problem.file == str(tmp_path / "bad.f90")
    assert problem.line == line
    assert message in problem.message
    assert "exchange" in [located.unit.name for located in tree.site_units()]


def test_bad_paths(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    tree = load_tree([tmp_path / "gone", empty])
    assert [(p.file, p.line) for p in tree.problems] == [
        (str(empty), None),
        (str(tmp_path / "gone"), None),
    ]
    assert tree.files == ()
    with pytest.raises(InputError):
        tree.file("gone")


def test_the_error_of_a_file_has_its_line(load: Load, tmp_path: Path) -> None:
    tree = load({"bad.f90": "subroutine a\nend if\nend\n"})
    with pytest.raises(InputError) as caught:
        tree.file(str(tmp_path / "bad.f90"))
    assert caught.value.line == 2


def test_a_named_file_is_read_even_without_mpi(tmp_path: Path) -> None:
    path = tmp_path / "bad.f90"
    path.write_text("subroutine a\nend if\nend\n")
    assert [p.line for p in load_tree([path]).problems] == [2]
    assert load_tree([tmp_path]).problems == ()


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfsubroutine a\ncall mpi_send(x)\nend\n",
        b"subroutine a\r\ncall mpi_send(x)\r\nend\r\n",
        b"subroutine a ! \xe9t\xe9\ncall mpi_send(x)\nend",
    ],
)
def test_odd_but_good_text(load: Load, content: bytes) -> None:
    tree = load({"a.f90": content})
    assert tree.problems == ()
    (site,) = tree.site_units()
    assert site.unit.name == "a"


def test_what_hangs_the_reader_is_one_problem(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def hang(unit: object, deep: bool = False) -> object:
        while True:
            pass

    monkeypatch.setattr("asphalt.frontend.source_tree.parts.interpret_unit", hang)
    monkeypatch.setattr("asphalt.frontend.source_tree.reading.TIME_LIMIT", 0.5)
    monkeypatch.chdir(tmp_path)  # elsewhere there are other workers, which know the new function
    tree = load({"work.f90": EXCHANGE})
    (site,) = tree.site_units()
    assert all(isinstance(leaf.what, Opaque | Plain) for leaf in leaves(site.unit))
    assert any("mpi_alltoall" in what.names for what in opaque(site.unit))
    assert "longer than 0.5 s" in tree.problems[0].message
    tree.close()


def opaque(unit: Unit) -> list[Opaque]:
    return [leaf.what for leaf in leaves(unit) if isinstance(leaf.what, Opaque)]


def test_the_index_is_there_for_interfaces(load: Load, tmp_path: Path) -> None:
    tree = load({"work.f90": EXCHANGE})
    found = tree.index(str(tmp_path / "work.f90"))
    assert [unit.name for unit in found.units] == ["work", "exchange", "plain"]
    assert found.called == {"mpi_alltoall"}


def test_a_free_form_text_under_a_suffix_of_fixed_form(tmp_path: Path) -> None:
    text = "subroutine {}(a, comm)\nuse mpi\ncall MPI_Barrier(comm, &\n  a)\nend\n"
    for name in "ab":
        (tmp_path / f"{name}.F").write_text(text.format(name))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    assert [entry.form for entry in tree.files] == [Form.FREE, Form.FREE]
    assert len(tree.mpi_calls()) == 2
    (note,) = tree.notes
    assert note.message.startswith("read as free form")
    assert note.message.endswith("(and in 1 more places)")
    fixed = Settings(cache=False, jobs=1, forms=(("b.F", Form.FIXED),))
    assert [entry.form for entry in load_tree([tmp_path], fixed).files] == [Form.FREE, Form.FIXED]


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        ('#include "macros.h"', True),
        ('#ifdef MORE\n#include "lost.h"\n#endif', True),
        ('contains\n#include "procedures.F90"', True),
        ('#include "lost.h"', False),
        ('#include "nested.h"', False),
    ],
)
def test_text_that_the_preprocessor_includes_is_known(
    tmp_path: Path, lines: str, known: bool
) -> None:
    """Only a file that is not found may declare an intrinsic function anew."""
    (tmp_path / "macros.h").write_text("#define N 3\n")
    (tmp_path / "nested.h").write_text('#include "lost.h"\n')
    (tmp_path / "procedures.F90").write_text("subroutine one\nend subroutine\n")
    (tmp_path / "m.F90").write_text(f"module m\nimplicit none\n{lines}\nend module\n")
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (module,) = (one for one in tree.units_of(str(tmp_path / "m.F90")) if len(one.chain) == 1)
    found = scope_of(module, tree).lookup("dble")
    assert (found is not None and found.origin is Origin.INTRINSIC) is known


def test_statements_that_others_include_are_theirs(tmp_path: Path) -> None:
    """What a file of statements holds is in the procedures that include it; if nothing includes
    it, it is text that is not analysed."""
    (tmp_path / "part.F90").write_text("call MPI_Recv(a, n, MPI_REAL, left, 1, comm, s, e)\n")
    (tmp_path / "lost.F90").write_text("call MPI_Probe(left, 1, comm, s, e)\n")
    (tmp_path / "all.F90").write_text('subroutine all\nuse mpi\n#include "part.F90"\nend\n')
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))

    def held(name: str) -> list[tuple[str, bool]]:
        return [(Path(one.path).stem, one.is_unread) for one in tree.mentions(name)]

    assert held("mpi_recv") == [("all", False)]
    assert held("mpi_probe") == [("lost", True)]
    calls = [(Path(call.path).stem, call.operation, call.live) for call in tree.mpi_calls()]
    assert calls == [("all", "mpi_recv", True), ("lost", "mpi_probe", True)]


def test_files_that_others_include_are_not_read_alone(tmp_path: Path) -> None:
    call = "call MPI_Barrier(comm, a)\n"
    for name in ("first", "second", "third", "fourth"):
        (tmp_path / f"{name}.F90").write_text(f"subroutine {name}(a, comm)\nuse mpi\n{call}end\n")
    (tmp_path / "all.F90").write_text(
        "module m\ncontains\n#include \"first.F90\"\n include 'second.F90'\n"
        '#ifdef MORE\n#include "third.F90"\n#endif\nend module\n'
    )

    def read(*paths: Path, defines: tuple[str, ...] = ()) -> set[str]:
        settings = Settings(defines, cache=False, jobs=1)
        units = load_tree(paths, settings).site_units()
        return {Path(one.path).stem for one in units}

    assert read(tmp_path) == {"all", "third", "fourth"}
    assert read(tmp_path, defines=("MORE",)) == {"all", "fourth"}
    assert read(tmp_path, tmp_path / "first.F90") == {"all", "first", "third", "fourth"}


def test_removed_calls_of_mpi_stay_where_a_file_is_read_without_them(tmp_path: Path) -> None:
    source = tmp_path / "a.F90"
    source.write_text(
        "subroutine a(n)\n  integer :: n\n  call mpi_barrier(n, n)\n"
        "#ifdef MORE\n  call mpi_bcast(n, 1, n, 0, n, n)\n#endif\nend subroutine a\n"
    )
    tree = load_tree([tmp_path], Settings(jobs=1, cache=False))
    text = source.read_bytes()
    without = text[: text.index(b"#ifdef")] + b"\n\n  n = 1\nend subroutine a\n"
    found = tree.edited({str(source): without}).mpi_calls()
    assert sorted((m.operation, m.line, m.live, m.removed) for m in found) == [
        ("mpi_barrier", 3, True, False),
        ("mpi_bcast", 5, False, True),
    ]
