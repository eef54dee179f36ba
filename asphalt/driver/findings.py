"""Findings: errors in the use of MPI that are proved, as reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.conditions.call_arguments import of_arguments
from asphalt.analysis.conditions.usage import (
    of_called,
    of_own_rank,
    of_receives,
    of_requests,
)
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.directives.directives import matches
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.messages.all_sends import all_sends, may_receive, operations
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import Store
from asphalt.analysis.requests.interprocedural import ignored_requests
from asphalt.analysis.requests.matching import matching
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.analysis_manager.user_units import user_units
from asphalt.diagnostics.model import FINDING, SiteReport
from asphalt.driver.transfers import mark_report, operations_with_buffers, transfer_operations
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.source import Span


def findings(tree: Tree, effects: Effects, errors: InternalErrors) -> tuple[SiteReport, ...]:
    """The errors in messages and requests of a tree, in the order of files and lines."""
    units = [UnitFacts(located, effects) for located in user_units(tree, transfer_operations())]
    found: list[SiteReport] = []
    sites = CallSites(effects.scopes)
    for facts in units:
        with errors.caught(facts.located):
            found += _reports(facts, _of_unit(facts, sites))
    known = {id(facts.unit) for facts in units}
    for located in user_units(tree, operations_with_buffers()):
        if id(located.unit) not in known:
            facts = UnitFacts(located, effects)
            with errors.caught(located):
                found += _reports(facts, of_arguments(facts, Messages(facts), sites))
    for call in (call for facts in units for call in ignored_requests(facts, sites)):
        spelled = call.operation.call.procedure.spelled
        found.append(_report(call.facts, of_called(call), spelled))
    if may_receive(effects.scopes.program) and is_closed(effects):
        sending = tree.site_units(operations(Store.OUTGOING))
        sent = all_sends((UnitFacts(located, effects) for located in sending), effects)
        for facts in () if sent is None else units:
            with errors.caught(facts.located):
                found += _reports(facts, of_receives(facts, Messages(facts), sent or ()))
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def _of_unit(facts: UnitFacts, sites: CallSites) -> Iterator[Refused]:
    """The errors whatever other procedures do."""
    messages = Messages(facts)
    if any(_has_request(call) for _, call in messages.written_calls()):
        named = matches(facts.unit)
        yield from of_requests(matching(facts.scope, facts.values, facts.reaching, named))
    yield from of_own_rank(facts, messages)
    yield from of_arguments(facts, messages, sites)


def _has_request(call: MpiCall) -> bool:
    return any(parameter.kind == "REQUEST" for parameter in call.procedure.parameters)


def _reports(facts: UnitFacts, found: Iterable[Refused]) -> Iterator[SiteReport]:
    spelled: dict[Span | None, str] = {}
    for refused in found:
        if refused.span is not None:
            calls = () if spelled else Messages(facts).own_calls()
            spelled |= {leaf.span: call.procedure.spelled for leaf, call in calls}
            yield _report(facts, refused, spelled.get(refused.span, ""))


def _report(facts: UnitFacts, refused: Refused, operation: str) -> SiteReport:
    span = refused.span
    assert span is not None
    marks = (
        *refused.marks,
        Mark(span, "offending", refused.message),
        Mark(span, "exchange", "the transfer"),
    )
    return SiteReport(
        f"{facts.unit.name or 'main'}:{span.first}",
        facts.located.path,
        span.first,
        operation,
        facts.unit.name,
        FINDING,
        code=refused.code.id,
        message=refused.message,
        witness=refused.witness or f"line {span.first}",
        marks=tuple(mark_report(mark) for mark in marks),
    )
