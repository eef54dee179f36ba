"""All calls of a procedure, and why they are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.ir.expr import Ref
from asphalt.ir.program import Located

_HELPER = "subroutine helper(x, y)\nreal :: x(4), y(4)\ny = x\nend subroutine\n"
_MAIN = "program main\nreal :: u(4), v(4)\ncall helper(u, v)\nend program\n"
_HOST = "module host\nreal :: a\ncontains\ninclude 'p.inc'\nsubroutine b\nend\nend module\n"
_MADE = "! do not edit\n"  # so that included text is not analysed
_CALLS = f"{_MADE}subroutine inner\nreal :: w(4)\ncall helper(w, w)\nend subroutine\n"


def tree_of(folder: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_tree([folder], Settings(jobs=1, cache=False))


def external(tree: Tree, name: str) -> Located:
    found = tree.external(name)
    assert found is not None
    return found


def callers(tree: Tree, name: str) -> list[str] | str:
    """The names of the units that call an external procedure; a text: why not all are known."""
    sites = CallSites(Scopes(tree))
    found = sites.callers(sites.of(external(tree, name)))
    return found if isinstance(found, str) else [s.context.scope.unit.name for s in found]


def test_callers(tmp_path: Path) -> None:
    assert callers(tree_of(tmp_path, {"a.f90": _HELPER + _MAIN}), "helper") == ["main"]


@pytest.mark.parametrize(
    "host",
    [
        _HOST,
        "subroutine s\nend\ninclude 'p.inc'\n",
        "subroutine s\ninclude 'call.inc'\nend\n",
        "subroutine s\n!$ call hel&\n!$ &per(a, b); a = b\nend\n",
    ],
)
def test_callers_in_text_that_is_not_analysed(host: str, tmp_path: Path) -> None:
    files = {
        "a.f90": _HELPER + _MAIN + host,
        "p.inc": _CALLS,
        "call.inc": f"{_MADE}call helper(q, q)\n",
    }
    found = callers(tree_of(tmp_path, files), "helper")
    assert isinstance(found, str)
    assert "helper" in found


def test_a_line_for_openmp_alone_calls(tmp_path: Path) -> None:
    text = _HELPER + _MAIN + "subroutine s\n!$ call hel&\n!$ &per(a, b)\nend\n"
    assert callers(tree_of(tmp_path, {"a.f90": text}), "helper") == ["main", "s"]


def test_included_text_without_the_name_calls_nothing(tmp_path: Path) -> None:
    files = {"a.f90": _HELPER + _MAIN + _HOST, "p.inc": _CALLS.replace("helper", "other")}
    assert callers(tree_of(tmp_path, files), "helper") == ["main"]


_INNER = f"{_MADE}subroutine helper(x, y)\nreal :: x, y\nn = 3\nend subroutine\n"


@pytest.mark.parametrize("included", [True, False])
def test_a_call_may_mean_an_included_procedure(included: bool, tmp_path: Path) -> None:
    text = (
        "program main\ninteger :: n, k\nn = 1\ncall helper(u, v)\ncontains\ninclude 'p.inc'\nend\n"
    )
    files = {
        "a.f90": text,
        "b.f90": _HELPER,
        "p.inc": _INNER if included else "! nothing\n",
    }
    tree = tree_of(tmp_path, files)
    (main,) = tree.main_programs()
    scope = Scopes(tree).of(main)
    target = procedure_named(Ref("helper", "helper"), scope)
    assert (target is None) == included
    assert (scope.lookup("n") is None) == included  # which the procedure changes
    assert scope.lookup("k") is not None


@pytest.mark.parametrize("included", [True, False])
def test_a_module_may_include_the_procedure_that_a_call_means(
    included: bool, tmp_path: Path
) -> None:
    text = "program main\nuse host\ncall helper(u, v)\nend program\n"
    files = {"a.f90": _HELPER + _HOST + text, "p.inc": _INNER if included else "! nothing\n"}
    tree = tree_of(tmp_path, files)
    (main,) = tree.main_programs()
    target = procedure_named(Ref("helper", "helper"), Scopes(tree).of(main))
    assert (target is None) == included


def test_a_module_that_is_not_there_may_have_the_procedure(tmp_path: Path) -> None:
    main = _MAIN.replace("program main\n", "program main\nuse beyond\n", 1)
    tree = tree_of(tmp_path, {"a.f90": _HELPER + main})
    why = "module beyond is not among the given files"
    assert callers(tree, "helper") == f"a use of helper in main is unclear: {why}"
