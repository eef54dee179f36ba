"""Transfers between two ranks and their completions, as reports: what ``scan --all`` adds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from asphalt.analysis.conditions.point_to_point import verdict
from asphalt.analysis.data_flow.feasible_statements import FeasibleStatements
from asphalt.analysis.directives.directives import matches
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.messages.collectives import nonblocking_form
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.requests.matching import is_blocking_transfer, matching
from asphalt.analysis.requests.operations import deals_with_requests
from asphalt.analysis.verdicts.verdict import Mark, Role
from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.analysis_manager.user_units import user_units
from asphalt.diagnostics.model import MarkReport, SiteReport
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves
from asphalt.optimiser.origins import SourceLine


@cache
def transfer_operations() -> frozenset[str]:
    """The folded names of the MPI procedures for transfers and requests, with their profiling
    names."""
    names = {
        name
        for name, procedure in table().items()
        if is_blocking_transfer(procedure) or deals_with_requests(procedure)
    }
    return frozenset(names | {f"p{name}" for name in names})


@cache
def operations_with_buffers() -> frozenset[str]:
    """The folded names of the MPI procedures to which buffers are passed, with their profiling
    names, and those of ``nonblocking_operations``."""
    names = {
        name
        for name, procedure in table().items()
        if any(parameter.kind == "BUFFER" for parameter in procedure.parameters)
    }
    return nonblocking_operations() | names | {f"p{name}" for name in names}


@cache
def nonblocking_operations() -> frozenset[str]:
    """These, with the collective operations that have a non-blocking form."""
    names = {name for name, procedure in table().items() if nonblocking_form(procedure)}
    return transfer_operations() | names | {f"p{name}" for name in names}


def transfers(tree: Tree, effects: Effects, errors: InternalErrors) -> tuple[SiteReport, ...]:
    """A report on each start, each wait that no start reaches and each blocking transfer of a tree,
    in the order of files and lines."""
    found: list[SiteReport] = []
    for located in user_units(tree, transfer_operations()):
        with errors.caught(located):
            found += _of_unit(located, effects)
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def _of_unit(located: Located, effects: Effects) -> Iterator[SiteReport]:
    scope = effects.scopes.of(located)
    reaching = effects.once_for(scope, FeasibleStatements).reaching
    named = matches(located.unit)
    for found in matching(scope, Values(scope, effects.names(scope)), reaching, named):
        span = found.leaf.span
        if span is None:
            continue
        refused = verdict(found)
        marks = (
            *refused.marks,
            Mark(span, "offending", refused.message),
            Mark(span, "exchange", "the transfer"),
        )
        yield SiteReport(
            f"{located.unit.name or 'main'}:{span.first}",
            located.path,
            span.first,
            found.call.procedure.spelled,
            located.unit.name,
            "refused",
            code=refused.code.id,
            message=refused.message,
            witness=refused.witness or f"line {span.first}",
            marks=tuple(mark_report(mark) for mark in marks),
        )


def mark_report(mark: Mark) -> MarkReport:
    """A place of a verdict, as reports have it."""
    span = mark.span
    return MarkReport(
        span.file, span.first, span.first_col, span.last, span.last_col, mark.role, mark.text
    )


def marks_at(
    given: Tree, place: SourceLine, text: str, role: Role = "exchange"
) -> tuple[MarkReport, ...]:
    """The mark of the statement that begins in a line; (): none does."""
    spans = (leaf.span for leaf in leaves(given.file(place.path)))
    span = next((span for span in spans if span is not None and span.first == place.line), None)
    return () if span is None else (mark_report(Mark(span, role, text)),)
