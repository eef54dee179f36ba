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


_DRIVER = "subroutine driver(n)\nreal :: u(4), v(4)\ncall helper(u, v)\nend subroutine\n"
_MAIN_IN_C = """#include <stdio.h>
#include "names.h"
/* int main(void) calls driver */
int main ( int argc, char** argv )
{
   int n = 4;
   driver_(&n);
   return 0;
}
"""
_IN_C = {
    "a.f90": _HELPER + _DRIVER,
    "main.c": _MAIN_IN_C,
    "names.h": "void driver_(int *n);\n",
}


def test_with_a_main_program_in_c_all_callers_are_known(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, _IN_C)
    assert callers(tree, "helper") == ["driver"]
    assert callers(tree, "driver") == f"{tmp_path / 'main.c'} may call driver"


@pytest.mark.parametrize(
    "name", ["helper", "HELPER", "helper_", "helper__", "_helper", "host_mp_helper_"]
)
def test_what_c_names_it_may_call(name: str, tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {**_IN_C, "b.c": f"void g(void) {{ {name}(x, y); }}\n"})
    assert callers(tree, "helper") == f"{tmp_path / 'b.c'} may call helper"


@pytest.mark.parametrize(
    "files",
    [
        # no procedure of the tree is called by the main program: it is that of a tool
        {"main.c": "int main(void) { return 0; }\n", "b.c": "void f(void) { driver_(0); }\n"},
        # the main program of a test that is not always compiled
        {"main.c": f"#ifdef TEST\n{_MAIN_IN_C}#endif\n"},
        {"main.c": f"#if 1\n#if 2\n#endif\n{_MAIN_IN_C}#endif\n"},
        {"main.c": f"/*\n{_MAIN_IN_C.replace('/*', '').replace('*/', '')}*/ int n = driver_;\n"},
        {"main.c": _MAIN_IN_C.replace(" main ", " Main ")},
        {"main.c": _MAIN_IN_C.replace("{", ";", 1)},
        {"main.c": "#define main driven\n" + _MAIN_IN_C},
        {"names.h": "#define main driven\nvoid driver_(int *n);\n"},
        {"main.c": f"class Tool {{\n{_MAIN_IN_C}}};\n"},
        # several main programs
        {"b.c": "int main(argc, argv) int argc; char **argv; { return 0; }\n"},
        {"b.cu": _MAIN_IN_C},
        # names that do not stand in the files
        {"b.c": "#define CALL(a) hel ## a\nvoid g(void) { CALL(per_)(x, y); }\n"},
        {"b.c": 'void g(void) { void *f = dlsym(0, "hel" "per_"); }\n'},
        {"b.c": '#include "mangled.h"\nvoid g(void) { CALL_OF_G(x, y); }\n'},
        {"b.c": "#include <mangled.h>\nvoid g(void) { CALL_OF_G(x, y); }\n"},
        {"b.c": "#include MANGLED\nvoid g(void) { CALL_OF_G(x, y); }\n"},
    ],
)
def test_without_a_sure_main_program_in_c_callers_may_be_anywhere(
    files: dict[str, str], tmp_path: Path
) -> None:
    tree = tree_of(tmp_path, {**_IN_C, **files})
    assert callers(tree, "helper") == "helper may have callers outside of the tree"


def test_a_macro_that_adds_underscores_puts_no_other_name_together(tmp_path: Path) -> None:
    mangled = "#define F77(name) name##_\nvoid F77(driver)(int *n);\n"
    tree = tree_of(tmp_path, {**_IN_C, "names.h": mangled})
    assert callers(tree, "helper") == ["driver"]


_STATE = "module state\ninteger :: k\ncommon /block/ m\nend module\n"


@pytest.mark.parametrize(
    ("name", "c", "state", "defined"),
    [
        ("k", "", _STATE, 1),
        ("m", "", _STATE, 1),
        ("k", "__state_MOD_k = 2;", _STATE, None),
        ("k", "state_mp_k_ = 2;", _STATE, None),
        ("m", "block_.m = 2;", _STATE, None),
        ("k", "", _STATE.replace(":: k", ", bind(c, name='kk') :: k"), None),
        ("m", "", _STATE.replace("common", "bind(c, name='b') :: /block/\ncommon"), None),
    ],
)
def test_definitions_with_a_main_program_in_c(
    name: str, c: str, state: str, defined: int | None, tmp_path: Path
) -> None:
    sets = f"subroutine driver\nuse state\n{name} = 1\nend subroutine\n"
    files = {**_IN_C, "a.f90": state + sets, "b.c": f"void g(void) {{ {c} }}\n"}
    tree = tree_of(tmp_path, files)
    sites = CallSites(Scopes(tree))
    symbol = sites.of(external(tree, "driver")).scope.lookup(name)
    assert symbol is not None
    found = sites.shared_definitions(symbol)
    assert (None if isinstance(found, str) else len(found)) == defined


@pytest.mark.parametrize("use", ["use state", "use state, only: m", "use more"])
def test_definitions_of_a_common_variable_of_a_module(use: str, tmp_path: Path) -> None:
    more = "module more\nuse state\nend module\n"
    sets = f"subroutine driver\n{use}\nm = 1\nend subroutine\n"
    main = "program main\nuse state\nm = 2\ncall driver\nend program\n"
    other = "subroutine other\ninteger m\nm = 3\nend subroutine\n"  # it is another variable
    tree = tree_of(tmp_path, {"a.f90": _STATE + more + sets + main + other})
    sites = CallSites(Scopes(tree))
    symbol = sites.of(external(tree, "driver")).scope.lookup("m")
    assert symbol is not None
    found = sites.shared_definitions(symbol)
    assert not isinstance(found, str)
    assert {context.scope.unit.name for context, _ in found} == {"main", "driver"}


def test_a_common_variable_of_a_module_with_another_name(tmp_path: Path) -> None:
    main = "program main\nuse state, mm => m\nmm = 2\nend program\n"
    inside = "contains\nsubroutine s\nm = 1\nend subroutine\nend module\n"
    tree = tree_of(tmp_path, {"a.f90": _STATE.replace("end module\n", inside) + main})
    sites, module = CallSites(Scopes(tree)), tree.module("state")
    assert module is not None
    symbol = sites.of(module).scope.lookup("m")
    assert symbol is not None
    assert sites.shared_definitions(symbol) == "m has another name in main"
