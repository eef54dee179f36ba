"""The table of what each transformation adds."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import jsonschema

from asphalt.passes import TRANSFERS
from bench.lab.case import load_cases
from bench.lab.rows import as_json, from_json, schema
from bench.lab.steps import FIRST, HAND, KERNELS, ORIGINAL, Stepped, jobs, steps
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
        measured.append(Stepped(job.case, job.what, f"SMPI {job.what.platform}", seconds))
    rows = tuple(row for one in measured for row in one.rows())
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
