"""The table of what each transformation adds."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from asphalt.config.passes import TRANSFERS
from bench.full import RESULTS
from bench.lab.case import load_cases
from bench.lab.platforms import FREE
from bench.lab.rows import Row, as_json, from_json, schema
from bench.lab.step_targets import step_targets
from bench.lab.steps import (
    BY_PEOPLE,
    FIRST,
    HAND,
    KERNELS,
    ORIGINAL,
    Stepped,
    jobs,
    steps,
    without_messages,
)
from bench.lab.steps_page import write


def test_each_step_has_one_transformation_more_than_the_one_before() -> None:
    found = [set(step.passes) for step in steps()]
    assert found[0] == set(FIRST)
    assert all(len(more - less) == 1 and less < more for less, more in pairwise(found))
    assert steps()[-1].passes == TRANSFERS
    assert all(list(step.passes) == sorted(step.passes, key=TRANSFERS.index) for step in steps())


def test_the_page_has_a_row_for_each_kernel(tmp_path: Path) -> None:
    wanted = jobs(load_cases())
    assert {job.case.name for job in wanted} == set(KERNELS)
    measured = []
    for job in wanted:
        seconds = {ORIGINAL: 2.0, HAND: 1.0} | {step.version: 1.6 for step in steps()}
        title, free = f"SMPI {job.what.platform}", {ORIGINAL: 1.5, HAND: 0.5}
        measured.append(Stepped(job.case, job.what, title, seconds, free))
    rows = tuple(row for one in measured for row in one.rows())
    assert len({row.key for row in rows}) == len(rows)
    text = as_json(rows)
    jsonschema.validate(json.loads(text), schema())
    assert from_json(text) == rows
    picture, page = write(measured, tmp_path / "steps.md", tmp_path / "images")
    assert picture.exists()
    lines = page.read_text().splitlines()
    for kernel in KERNELS:
        told = [line for line in lines if line.startswith(f"| {kernel} |")]
        assert len(told) == len([job for job in wanted if job.case.name == kernel])
        assert all(line.count("1.25") == len(steps()) and "| 2.00 |" in line for line in told)
    header = lines.index(next(line for line in lines if line.startswith("| kernel |")))
    assert lines[header + 1].startswith("| --- |")
    assert lines[header + 2].startswith("| lu_wavefront |")
    (told,) = (line for line in lines if line.startswith("`multigrid_smooth` takes "))
    for platform in {job.what.platform for job in wanted}:
        assert f" 1.000 (SMPI {platform})" in told


def _rows(last: float, hand: float = 1.0) -> list[Row]:
    """All kernels on one network: 2 s before, 1.6 s with all transformations but the last one."""
    found = []
    for kernel in KERNELS:
        seconds = {ORIGINAL: 2.0, HAND: hand} | {step.version: 1.6 for step in steps()}
        seconds[steps()[-1].version] = last
        found += [
            Row(kernel, version, "SMPI net", 16, None, None, time, time / 2, None)
            for version, time in seconds.items()
        ]
    return found


@pytest.mark.parametrize(
    ("last", "hand", "met"),
    [
        (1.4, 1.39, [True, True, True]),
        (1.41, 1.41, [False, True, True]),
        (1.3, 1.2, [True, False, True]),
        (1.61, 1.6, [False, True, False]),
    ],
)
def test_what_is_demanded(last: float, hand: float, met: list[bool]) -> None:
    assert [target.met for target in step_targets(_rows(last, hand))] == met


def test_what_could_be_hidden_at_most_stands_beside_what_was() -> None:
    rows = _rows(1.4, 1.3)
    free = [
        Row(kernel, version, without_messages("SMPI net"), 16, None, None, time, time, None)
        for kernel in KERNELS
        for version, time in ((ORIGINAL, 1.0), (HAND, 0.9))
    ]
    assert step_targets(rows)[0].found == "30.0 % (hand 35.0 %)"
    told = "30.0 % (hand 35.0 %; hand, if messages took no time, 55.0 %)"
    assert step_targets([*rows, *free])[0].found == told


def test_what_is_not_measured_is_not_met() -> None:
    rows = [row for row in _rows(1.0) if row.kernel != KERNELS[0]]
    assert [target.met for target in step_targets(rows)] == [None, True, True]
    assert [target.met for target in step_targets([])] == [None, None, None]


def test_all_that_there_is_was_measured() -> None:
    rows = from_json((RESULTS / "steps.json").read_text(encoding="utf-8"))
    wanted = {ORIGINAL, HAND, *(step.version for step in steps())}
    for kernel in KERNELS:
        for platform in {row.platform for row in rows if not row.platform.endswith(FREE.title)}:
            for where, expected in ((platform, wanted), (without_messages(platform), BY_PEOPLE)):
                here = {r.version for r in rows if (r.kernel, r.platform) == (kernel, where)}
                assert here == set(expected), (kernel, where)
