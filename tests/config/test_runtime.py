"""The modules of the runtime, as their sources describe them."""

from __future__ import annotations

import re

import pytest

from asphalt.config.runtime import needed, offering, runtime_modules
from support.places import RUNTIME

MODULES = runtime_modules()


def test_a_file_is_a_module_and_all_are_known() -> None:
    found = {path.stem for path in RUNTIME.glob("*.f90")} - {"asphalt_charge"}
    assert found == MODULES.keys()
    for module in MODULES.values():
        (own,) = re.findall(r"^module (\w+)", module.source.read_text(), re.MULTILINE)
        assert own == module.name == module.source.stem


def test_what_a_module_uses_comes_first() -> None:
    order = list(MODULES)
    for number, module in enumerate(MODULES.values()):
        assert module.uses <= set(order[:number])
        code = re.sub(r"!.*", "", module.source.read_text()).partition("\nend module")[0]
        assert module.uses == {*re.findall(r"^ *use (asphalt_\w+)", code, re.MULTILINE)}


def test_a_name_is_defined_once_and_what_is_offered_is_there() -> None:
    assert not offering().keys() & MODULES.keys()  # a module must not have the name of a procedure
    for name, modules in offering().items():
        defined = rf"(?:subroutine|function|type ::|type, extends\(\w+\) ::|::) {name}\b"
        codes = [MODULES[module].source.read_text() for module in modules]
        assert [bool(re.search(defined, re.sub(r"public ::.*", "", c))) for c in codes] == [
            number == 0 for number in range(len(codes))
        ], name
        for module in modules[1:]:
            assert modules[0] in MODULES[module].uses


def test_only_names_with_the_prefix_are_for_transformed_code() -> None:
    assert offering()["asphalt_sync"] == ("asphalt_core",)
    assert offering()["asphalt_blocks"] == ("asphalt_decomposition",)
    assert "is_dense" not in offering()
    assert MODULES["asphalt_communicators"].names == frozenset()


@pytest.mark.parametrize("name", MODULES)
def test_a_page_at_the_top_says_what_a_module_offers(name: str) -> None:
    page = MODULES[name].source.read_text().split(f"\nmodule {name}\n")[0]
    assert all(line.startswith("!") for line in page.splitlines())
    for offered in MODULES[name].names:
        further = re.search(r" and so\s+(?:! +)?on\b|this\s+(?:! +)?module offers, too", page)
        assert offered in page or further, offered
    assert f"`{name}`" in (RUNTIME / "README.md").read_text()


def _code(modules: list[str]) -> int:
    """The lines of some modules and of what they use, without blank lines and comments."""
    lines = [
        line.strip() for one in needed(modules) for line in one.source.read_text().splitlines()
    ]
    return sum(line != "" and not re.match(r"!(?!GCC\$|DIR\$)", line) for line in lines)


def test_the_modules_that_a_tree_needs_are_few() -> None:
    assert [one.name for one in needed(["asphalt_exchange"])] == [
        "asphalt_core",
        "asphalt_backend_isend",
        "asphalt_choice",
        "asphalt_communicators",
        "asphalt_exchange",
    ]
    assert needed([]) == ()
    assert _code(["asphalt_exchange"]) < 900  # a site of MPI_ALLTOALL
    assert _code(["asphalt_transfers"]) < 400  # halos
    assert _code(list(MODULES)) > 2000
