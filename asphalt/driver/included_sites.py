"""Reports on operations in text that other files include and that is not edited, at their own
lines."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from asphalt.analysis.conditions.point_to_point import STAYS
from asphalt.analysis.conditions.site import TEXT
from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.analysis.mpi.procedures import procedure
from asphalt.diagnostics.model import SiteReport
from asphalt.frontend.source_tree.program_tree import included_calls
from asphalt.frontend.source_tree.tree import Tree


def included_operations(tree: Tree, operations: Collection[str]) -> tuple[SiteReport, ...]:
    """A report for each call of some MPI procedures in a file that another one includes, that
    holds more than declarations, and that is not analysed there."""
    exchanges = all_to_all_operations()
    found: dict[tuple[str, int, str], SiteReport] = {}
    for mention in included_calls(tree):
        call, name = mention.call, mention.call.operation
        called = procedure(name)
        if name not in operations or called is None:
            continue
        place = f"{Path(mention.including).name}:{mention.line}"
        found.setdefault(
            (call.path, call.line, name),
            SiteReport(
                f"{call.unit or 'main'}:{call.line}",
                call.path,
                call.line,
                called.spelled,
                call.unit,
                "refused",
                TEXT.id if name in exchanges else STAYS.id,
                _reason(place, mention.why),
            ),
        )
    return tuple(found[key] for key in sorted(found))


def _reason(place: str, why: str | None) -> str:
    part = f"its file is only a part of another one, in which {place} includes it"
    return part if why is None else f"{part}, and it is not edited there: {why}"
