"""Times the stages of asphalt on a tree: ``python -m bench.lab.stages TREE`` prints them as JSON.

It is a process of its own, so that caches are empty; with one worker, processor time is the time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.project import Project

STAGES = ("scan", "parse", "analyse", "emit")


def stages(root: Path) -> dict[str, float]:
    """Seconds of processor time: files read and searched for MPI, units with exchanges parsed,
    exchanges judged, changed files written as text."""
    settings = Settings(cache=False, jobs=1, passes=(Pass.PREPUSH,))
    began = time.process_time()
    tree = load_tree((root,), settings)
    assert tree.files
    scanned = time.process_time()
    for located in tree.site_units(all_to_all_operations()):
        assert located.unit.body
    parsed = time.process_time()
    tree.close()
    again = time.process_time()
    project = Project(root, settings=settings)
    project.sites()
    analysed = time.process_time()
    project.transform()
    emitted = time.process_time()
    return {
        "scan": scanned - began,
        "parse": parsed - scanned,
        "analyse": max(0.0, (analysed - again) - (parsed - began)),
        "emit": emitted - analysed,
    }


if __name__ == "__main__":
    print(json.dumps(stages(Path(sys.argv[1]))))
