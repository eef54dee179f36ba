"""Reports on operations that the program starts itself, and that get no more work beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.diagnostics.model import MarkReport, SiteReport
from asphalt.driver.transfers import marks_at, transfer_operations
from asphalt.frontend.source_tree.tree import Tree
from asphalt.optimiser.acceptance import Key, key_of, unit_at
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Staying, Tried
from asphalt.optimiser.program_starts import staying_in

_NOTHING = Tried()


def own_report(one: Staying, given: Tree) -> SiteReport:
    """The report on one operation, with the lines of the tree as it was ``given``."""
    place = one.place
    own = unit_at(given, place)
    unit = "" if own is None else own.unit.name
    marks: list[MarkReport] = []
    for other, role, text in one.marks:
        marks += marks_at(given, other, text, role)
    marks += marks_at(given, place, "the transfer")
    return SiteReport(
        f"{unit or 'main'}:{place.line}",
        place.path,
        place.line,
        one.operation,
        unit,
        "refused",
        code=one.code.id,
        message=one.message,
        witness=one.witness or f"line {place.line}",
        marks=tuple(marks),
    )


def own_operations(
    analyses: Analyses,
    reported: Collection[tuple[str, int]],
    options: Options,
    tries: Mapping[Key, Tried],
) -> Iterator[SiteReport]:
    """A report on each operation of a tree that the optimiser left alone and that is not
    ``reported`` yet, by its file and line.  ``tries``: of units."""
    for located in user_units(analyses.tree, transfer_operations()):
        found: list[SiteReport] = []
        with analyses.errors.caught(located):
            tried = tries.get(key_of(located), _NOTHING)
            for one in staying_in(analyses, located, options, tried):
                if (one.place.path, one.place.line) not in reported:
                    found.append(own_report(one, analyses.tree))
        yield from found
