"""What keeps the blocks of collective operations together, and receives in their loops: each code
has a program that gets it, and the user is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts import block_codes
from asphalt.analysis.verdicts.verdict import Code
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.diagnostics.examples import examples_of
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.project import Project
from asphalt.transforms.buffers import receive_queues
from asphalt.transforms.decomposition import decomposition


@pytest.mark.parametrize("code", block_codes.CODES, ids=lambda code: code.id)
def test_each_code_has_its_programs(code: Code) -> None:
    module = decomposition if code in block_codes.DECOMPOSITION else receive_queues
    programs = examples_of(code.id)
    assert programs.refused is not None
    assert programs.accepted is not None
    facts = _facts(programs.refused)
    assert module.check(facts) == ()
    (found,) = module.refusals(facts)
    assert found.code is code
    assert found.witness is not None
    file, _, line = found.witness.rpartition(":")
    assert file == str(programs.refused)
    assert int(line) > 0
    assert [mark.role for mark in found.marks] == ["offending"]
    assert len(module.check(_facts(programs.accepted))) == 1


def _facts(path: Path) -> UnitFacts:
    tree = load_tree([path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    return UnitFacts(tree.units_of(str(path))[0], effects, "\n", uniformity)


def test_it_is_reported() -> None:
    refused = examples_of(block_codes.ORDER.id).refused
    assert refused is not None
    settings = Settings(cache=False, jobs=1, passes=("nonblocking", "motion", "decomposition"))
    (report,) = Project(refused, settings=settings).not_overlapped(())
    assert (report.operation, report.code) == ("MPI_Alltoall", "ASP083")
    assert "no computation to overlap" in report.message
    assert "cannot be reordered" in report.message
    assert report.witness == f"{refused}:20"
    order, window, before = (mark for mark in report.marks if mark.role == "offending")
    assert "cannot be reordered" in order.text
    assert window.text == "line 22 reads r"
    assert before.text == "line 17 defines s"
    assert (order.line, window.line, before.line) == (20, 20, 17)
    without = Settings(cache=False, jobs=1, passes=("nonblocking", "motion"))
    (report,) = Project(refused, settings=without).not_overlapped(())
    assert report.code == "ASP026"
