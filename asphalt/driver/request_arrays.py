"""Arrays of requests in the units that the optimiser has changed, when it is done with all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.diagnostics.change import Change
from asphalt.driver.units_ahead import unit_of
from asphalt.optimiser.acceptance import Key
from asphalt.transforms.nonblocking.request_arrays import gathered
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse


def with_request_arrays(
    analyses: Analyses, changes: Iterable[Change], units: Iterable[Key]
) -> tuple[Change, ...]:
    """The changes with the requests of these units in arrays.  ``analyses``: of the tree with the
    changes."""
    by_path = {str(change.path): change for change in changes}
    for path, chain in units:
        tree = analyses.tree
        located = unit_of(tree, path, chain)
        if located is None:
            continue
        effects, uniformity = analyses.of(any_sizes=True)
        file = tree.file(path)
        with analyses.errors.caught(located):
            unit = gathered(UnitFacts(located, effects, file.eol, uniformity), file.macros)
            if unit is located.unit:
                continue
            content = unparse(replace_unit(file, located.unit, unit)).encode("latin-1")
            by_path[path] = replace(by_path[path], after=content)
            analyses = analyses.followed_by(tree.edited({path: content}))
    return tuple(by_path[path] for path in sorted(by_path))
