"""What is kept on disk rests on all the code that it was made by."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import asphalt
from asphalt.frontend.source_tree import source_digest as digests
from asphalt.frontend.source_tree.source_digest import imported_files, source_digest

ROOT = Path(asphalt.__file__).parent
SUMMARIES = "asphalt.analysis_manager.summary_store"
FRONTEND = ("asphalt.ir", "asphalt.frontend")


def _loaded(*modules: str) -> set[Path]:
    """The files of asphalt that Python loads for some modules, in a process of its own."""
    program = (
        f"import {', '.join(modules)}, sys\n"
        "for name, module in sys.modules.items():\n"
        "    if name.startswith('asphalt.'): print(module.__file__)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {Path(line) for line in run.stdout.split()}


def _closure(path: Path) -> set[Path]:
    """The files that a file imports, directly or not, by Python's own parser."""
    found: set[Path] = set()
    new = [path]
    while new:
        path = new.pop()
        if path in found:
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("asphalt."):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                new += [one for name in (str(node.module), *names) for one in _file(name)]
    return found


def _file(name: str) -> list[Path]:
    stem = ROOT.joinpath(*name.split(".")[1:])
    own = [one for one in (stem.with_suffix(".py"), stem / "__init__.py") if one.is_file()]
    packages = [one / "__init__.py" for one in stem.parents if ROOT in one.parents]
    return [*own, *(one for one in packages if one.is_file())]


def test_summaries_rest_on_what_the_analysis_of_effects_imports() -> None:
    module = importlib.import_module("asphalt.analysis.effects.procedure_effects")
    closure = _closure(Path(str(module.__file__)))
    assert closure <= imported_files(SUMMARIES)
    assert ROOT / "analysis/symbolic/index_sets.py" in closure


def test_summaries_rest_on_what_python_loads_for_them() -> None:
    assert _loaded("asphalt.analysis.effects.procedure_effects") <= imported_files(SUMMARIES)


def test_parses_rest_on_the_whole_frontend_and_what_it_loads() -> None:
    names = [
        module.name
        for package in FRONTEND
        for module in pkgutil.walk_packages([str(_file(package)[0].parent)], f"{package}.")
    ]
    assert len(names) > 50
    assert _loaded(*names) <= imported_files(*FRONTEND)


def test_unimported_modules_are_no_part() -> None:
    assert not any("cli" in path.parts for path in imported_files(SUMMARIES))


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for path in imported_files(SUMMARIES):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(digests, "_ROOT", tmp_path)
    source_digest.cache_clear()
    yield tmp_path
    source_digest.cache_clear()


@pytest.mark.parametrize(
    "path", ["analysis/symbolic/index_sets.py", "ir/tree.py", "analysis_manager/summary_store.py"]
)
def test_an_edit_changes_the_digest(copied: Path, path: str) -> None:
    before = source_digest(SUMMARIES)
    source_digest.cache_clear()
    assert source_digest(SUMMARIES) == before
    source_digest.cache_clear()
    with (copied / path).open("a") as file:
        file.write("# edited\n")
    assert source_digest(SUMMARIES) != before


def test_names_that_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_ROOT", tmp_path)
    texts = {
        "a/__init__.py": "",
        "a/root.py": "from asphalt.a import (\n  one,  # why\n  two,\n)\nimport asphalt.b.three\n",
        "a/one.py": "def f():\n    from asphalt.b import four as five\n",
        "a/two.py": "import sys\nfrom pathlib import Path\n",
        "a/six.py": "",
        "b/__init__.py": "",
        "b/three.py": "",
        "b/four.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in imported_files("asphalt.a.root")}
    assert found == set(texts) - {"a/six.py"}
