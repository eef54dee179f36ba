"""The notebooks run from the first to the last cell, and what they show is there."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support.places import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWN = {
    "1": ["can be prepushed along z", "the producer: this nest defines s", "asphalt_x%next_tile"],
    "2": ["Slowdown: 4 ranks", "on entry", "asphalt_k_transpose"],
    "3": ["transformed transposes::transpose", "array"],
    "4": ["timers", "MPI_Wtime", "asphalt_wait", "Timeline: 4 ranks"],
}


def test_there_are_four() -> None:
    assert [path.name[0] for path in NOTEBOOKS] == list(SHOWN)


# what the first one does, the second and the fourth do, too
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.wide if path.name.startswith("1") else ())
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = nbformat.read(path, 4)
    nbformat.validate(found)
    code = [cell for cell in found.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    client = NotebookClient(found, timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    shown = "".join(str(output) for cell in code for output in cell.outputs)
    assert [text for text in SHOWN[path.name[0]] if text not in shown] == []
    assert "stderr" not in {output.get("name") for cell in code for output in cell.outputs}
