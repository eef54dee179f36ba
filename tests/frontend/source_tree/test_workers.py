"""One bad item costs one item."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asphalt.frontend.source_tree.workers import Failed, Workers, shared_workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers(2)
    yield pool
    pool.close()


def task(item: str) -> str:
    match item:
        case "hang":
            while True:
                pass
        case "exit":
            sys.exit(3)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError("bad")
        case "deep":
            return task(item)
    return item.upper()


def where(_item: str) -> str:
    return os.getcwd()


def nested(item: str) -> list[str | Failed]:
    return list(Workers(1).run(task, [item], 5))


def test_results_come_in_order(workers: Workers) -> None:
    items = [f"item{i}" for i in range(50)]
    assert list(workers.run(task, items, 30)) == [item.upper() for item in items]


def test_the_others_go_on(workers: Workers) -> None:
    results = list(workers.run(task, ["a", "hang", "b", "exit", "die", "raise", "deep", "c"], 1))
    assert [r for r in results if isinstance(r, str)] == ["A", "B", "C"]
    reasons = [r.reason for r in results if isinstance(r, Failed)]
    assert [reason.split(":")[0].split(" (")[0] for reason in reasons] == [
        "it takes longer than 1 s",
        "SystemExit",
        "it ended the process that read it",
        "ValueError",
        "RecursionError",
    ]


def test_the_pool_is_used_again_and_after_close(workers: Workers) -> None:
    assert list(workers.run(task, ["a"], 5)) == ["A"]
    assert list(workers.run(task, ["b"], 5)) == ["B"]
    workers.close()
    workers.close()
    assert list(workers.run(task, ["c"], 5)) == ["C"]


def test_no_items_no_process() -> None:
    assert list(Workers().run(task, [], 5)) == []


def test_inside_a_worker_the_work_is_done_in_place(workers: Workers) -> None:
    assert list(workers.run(nested, ["a"], 30)) == [["A"]]


def test_workers_are_shared_where_their_surroundings_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shared_workers(1)
    assert shared_workers(1) is first
    assert shared_workers(2) is not first
    monkeypatch.chdir(tmp_path)
    assert shared_workers(1) is not first
    (folder,) = shared_workers(1).run(where, [""], 30)
    assert folder == str(tmp_path)
    shared_workers(1).close()
