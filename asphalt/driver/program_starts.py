"""Reports on operations that the program starts itself, and that get no more work beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.inlining.runtime_names import clashing_name
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.diagnostics.model import MarkReport, SiteReport
from asphalt.driver.transfers import marks_at, transfer_operations
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.tree import Leaf
from asphalt.optimiser.acceptance import unit_at
from asphalt.optimiser.blocking import calls_that_stay
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Staying
from asphalt.optimiser.program_starts import staying_in
from asphalt.optimiser.second_reader import disagreement


def own_report(one: Staying, given: Tree) -> SiteReport:
    """What is told of one, by the lines of the tree as it was ``given``."""
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
        witness=f"line {place.line}",
        marks=tuple(marks),
    )


def own_operations(
    analyses: Analyses,
    told: Collection[tuple[str, int]],
    accepted: frozenset[str],
    passes: Collection[str],
    wrong: Mapping[tuple[str, str], int],
) -> Iterator[SiteReport]:
    """A report for each operation of a tree that is not ``told`` of yet, by its file and line: the
    optimiser leaves its unit alone.  ``wrong``: the line of an error in the messages of a unit, by
    file and name."""
    for located in user_units(analyses.tree, transfer_operations()):
        for one in _of_unit(analyses, located, accepted, passes, wrong):
            if (one.place.path, one.place.line) not in told:
                yield own_report(one, analyses.tree)


def _of_unit(
    analyses: Analyses,
    located: Located,
    accepted: frozenset[str],
    passes: Collection[str],
    wrong: Mapping[tuple[str, str], int],
) -> Iterable[Staying]:
    effects, uniformity = analyses.of(any_sizes=True)
    eol = analyses.tree.file(located.path).eol
    facts = UnitFacts(located, effects, eol, uniformity, accepted)
    line = wrong.get((located.path, located.unit.name))
    chain = tuple(unit.name for unit in located.chain)
    untouched = None if line is None else f"line {line} has an error in its messages"
    untouched = untouched or disagreement(analyses.tree, located.path, chain)
    untouched = untouched or clashing_name(facts.scope)

    def place(leaf: Leaf) -> SourceLine:
        return SourceLine(located.path, line_of(leaf))

    def calls() -> tuple[str, ...]:
        return calls_that_stay(analyses, located, accepted)

    return staying_in(facts, passes, place, calls, untouched=untouched)
