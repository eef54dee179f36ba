"""Exchanges whose send buffer other procedures fill: the procedures are inlined at their calls.

    call transform(a)                     do k = 1, planes          ! transform
    call transpose(a, b)            -->     ...
                                          end do
                                          do k = 1, planes          ! transpose, which packs,
                                            s(:,k,:) = a(:,k,:)
                                          end do
                                          call MPI_Alltoall(s, ...) ! exchanges
                                          ...                       ! and unpacks

One procedure after the other is expanded until a site stands in one procedure with the loops that
compute what it sends, and only if it is transformed then.  The procedures themselves remain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.conditions import one_producer, site
from asphalt.analysis.conditions.called_producers import producing_call
from asphalt.analysis.data_flow.unit import UnitFacts, with_places
from asphalt.analysis.exchange.site import (
    StatementPosition,
    all_to_all_operations,
    exchanges,
    statements,
)
from asphalt.analysis.inlining.procedure import is_movable
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.generic_names import generic_names
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.diagnostics.site_names import site_name
from asphalt.driver.configurations import without_conditionals
from asphalt.driver.given_lines import given_place
from asphalt.driver.left_behind import left_behind
from asphalt.driver.sites import Site, SiteJudge
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, File, Leaf
from asphalt.optimiser.acceptance import Key, key_of
from asphalt.optimiser.origins import SourceLine
from asphalt.transforms.inlining import inline
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.publishing import of_other_files, with_public_names
from asphalt.transforms.rewriting.tidying import without_unused
from asphalt.unparse.unparse import unparse

_ELSEWHERE = frozenset({one_producer.NO_LOOP.id, one_producer.ONLY_COPY.id, site.WRAPPER.id})
"""The codes of refusals that another procedure may be the reason for."""
_MOST = 8  # procedures that are inlined for one exchange
_LEVELS = 3  # of calls, from the exchange upwards
_Chain = tuple[str, ...]


@record
class Sites:
    """The sites of a tree in which calls have been inlined, with their places as they were
    given."""

    tree: Tree
    sites: tuple[Site, ...]


@record
class _Opened:
    """An exchange, number ``number`` of those that a unit leads to, with what it now stands for:
    line and operation of a call in the file as it was given, and the inlined procedures."""

    path: str
    chain: _Chain
    number: int
    line: int
    operation: str
    inlined: tuple[Located, ...]
    assumed: tuple[str, ...]


@dataclass
class CalledExchanges:
    """The exchanges of a tree that are refused where they stand, and may be transformed where
    their procedures are called."""

    analyses: Analyses
    settings: Settings
    _on_the_way: set[Key] = field(default_factory=set)

    def opened(self, sites: tuple[Site, ...]) -> Sites:
        """The sites, with procedures inlined where this makes one that is transformed."""
        given = self.analyses.tree
        tree, found = given, list[_Opened]()
        for located, leaf in self._candidates(sites):
            with self.analyses.errors.caught(located):
                number = next(n for n, (own, _) in enumerate(self.leads(located)) if own is leaf)
                if (more := _Attempt(self, tree, located, number).opened()) is not None:
                    tree, one = more
                    found.append(one)
        judged = self._judged(tree, found) if found else None
        return judged or Sites(given, sites)

    def _candidates(self, sites: tuple[Site, ...]) -> list[tuple[Located, Leaf]]:
        """The exchanges that may be refused because of another procedure, and the calls of their
        procedures, each with its unit."""
        level = [
            (one.exchange.located, one.exchange.leaf)
            for one in sites
            if isinstance(one.judgement, Refused)
            and one.judgement.code.id in _ELSEWHERE
            and one.exchange.open_coded is None
        ]
        for located, leaf in level:  # the exchange itself may be in a procedure
            scope = self.analyses.scopes.of(located)
            target = None if leaf.call is None else invoked(leaf.call, scope)
            if target is not None:
                self._on_the_way.add(key_of(target[0]))
        found: dict[int, tuple[Located, Leaf]] = {}
        for _ in range(_LEVELS):
            found.update({id(leaf): (located, leaf) for located, leaf in level})
            units = {key_of(located): located for located, _ in level}
            callees = [one for key, one in units.items() if key not in self._on_the_way]
            self._on_the_way |= set(units)
            level = [call for one in callees for call in self._calls(one)]
        return list(found.values())

    def _calls(self, callee: Located) -> Iterator[tuple[Located, Leaf]]:
        """The calls of a subroutine that statements may replace, each with its unit."""
        tree, scopes, key = self.analyses.tree, self.analyses.scopes, key_of(callee)
        names = (callee.unit.name, *generic_names(callee))
        callers = {id(one.unit): one for name in names for one in tree.mentions(name)}
        for caller in callers.values() if callee.unit.kind == "subroutine" else ():
            if caller.is_unread or caller.unit.kind == "module":
                continue
            scope = scopes.of(caller)
            found = [
                leaf
                for leaf, _ in statements(caller.unit.body)
                if (call := leaf.call) is not None
                and isinstance(call.procedure, Ref)
                and call.procedure.name in names
                and (target := invoked(call, scope)) is not None
                and key_of(target[0]) == key
            ]
            if found and is_movable(callee, caller, scopes):
                yield from ((caller, leaf) for leaf in found)

    def leads(
        self, located: Located, scopes: Scopes | None = None
    ) -> list[tuple[Leaf, StatementPosition]]:
        """The statements of a unit that exchange, or call procedures that do and are on the way to
        a refused exchange."""
        scope = (scopes or self.analyses.scopes).of(located)
        return [
            (leaf, place)
            for leaf, place in statements(located.unit.body)
            if leaf.call is not None and self._leads_on(leaf.call, scope)
        ]

    def _leads_on(self, call: Call, scope: Scope) -> bool:
        mpi = mpi_call(call, scope)
        if mpi is not None:
            return mpi.procedure.name in all_to_all_operations()
        found = invoked(call, scope)
        return found is not None and key_of(found[0]) in self._on_the_way

    def _judged(self, tree: Tree, opened: list[_Opened]) -> Sites | None:
        """All sites of the tree with inlined procedures; None: one of its exchanges is not
        transformed after all."""
        analyses = self.analyses.edited(tree)
        by_leaf: dict[int, _Opened] = {}
        for one in opened:
            leads = self.leads(_unit(tree, one.path, one.chain), analyses.scopes)
            by_leaf[id(leads[one.number][0])] = one
        sites: list[Site] = []
        for found in SiteJudge(tree, analyses, self.settings).sites():
            own = by_leaf.pop(id(found.exchange.leaf), None)
            if own is not None:
                if not is_accepted(found):
                    return None
                sites.append(replace(found, report=_of_call(found.report, own)))
            else:
                sites.append(self._as_given(found, tree))
        left = self._left(opened, analyses)
        sites = [one for one in sites if key_of(one.exchange.located) not in left]
        order = sorted(sites, key=lambda one: (one.report.file, one.report.line))
        return None if by_leaf else Sites(tree, tuple(order))

    def _left(self, opened: list[_Opened], analyses: Analyses) -> frozenset[Key]:
        """The inlined procedures that nothing calls any more."""
        inlined = {key_of(one): one for each in opened for one in each.inlined}
        left: frozenset[Key] = frozenset()
        for _ in inlined:
            waiting = (one for key, one in inlined.items() if key not in left)
            more = [
                key_of(one)
                for one in waiting
                if left_behind(one, self.analyses, analyses, left) is not None
            ]
            if not more:
                break
            left |= set(more)
        return left

    def _as_given(self, found: Site, tree: Tree) -> Site:
        """A site with the lines of the tree as it was given."""
        report, given = found.report, self.analyses.tree

        def line(number: int, path: str = report.file) -> int:
            return given_place(SourceLine(path, number), tree, given).line

        def at(number: int) -> str:
            return f"line {line(number)}"

        placed = replace(
            report,
            line=line(report.line),
            message=with_places(report.message, at),
            witness=None if report.witness is None else with_places(report.witness, at),
            marks=tuple(
                replace(m, line=line(m.line, m.file), end_line=line(m.end_line, m.file))
                for m in report.marks
            ),
        )
        return found if placed == report else replace(found, report=placed)


def is_accepted(found: Site) -> bool:
    """Whether a site is transformed, with what the user accepts."""
    plan = found.judgement
    return isinstance(plan, Plan) and set(plan.assumptions) <= set(found.report.accepted)


def _of_call(report: SiteReport, own: _Opened) -> SiteReport:
    """The report on an exchange as that on the call in which it stood."""
    names = ", ".join(dict.fromkeys(one.unit.name for one in own.inlined))
    evidence = f"inlined, so that one procedure computes and exchanges: {names}"
    return replace(
        report,
        line=own.line,
        operation=own.operation,
        evidence=(evidence, *report.evidence),
        assumptions=tuple(dict.fromkeys((*report.assumptions, *own.assumed))),
        accepted=tuple(dict.fromkeys((*report.accepted, *own.assumed))),
        marks=(),
    )


def _unit(tree: Tree, path: str, chain: _Chain) -> Located:
    return next(
        one for one in tree.units_of(path) if tuple(unit.name for unit in one.chain) == chain
    )


@dataclass
class _Attempt:
    """The attempt to transform one exchange of a unit, itself or in a procedure that it calls."""

    owner: CalledExchanges
    tree: Tree
    given: Located
    number: int
    inlined: list[Located] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    brought: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        """The file of the unit."""
        return self.given.path

    @property
    def chain(self) -> _Chain:
        """The names of the unit and its hosts."""
        return tuple(unit.name for unit in self.given.chain)

    def opened(self) -> tuple[Tree, _Opened] | None:
        """The tree with procedures inlined, and what has become of the exchange; None: it would
        not be transformed."""
        settings = self.owner.settings
        name = site_name(Path(self.path), self.given.unit.name, 1, 1)
        leads = self.owner.leads(self.given)
        first, number_of_leads = leads[self.number], len(leads)
        if not self._is_filled_here(first):
            return None
        text = without_conditionals(self.tree, self.path)
        if text != self.tree.content(self.path):
            self.tree = self.tree.edited({self.path: text})
        while len(self.inlined) <= _MOST:
            analyses = self.owner.analyses.edited(self.tree)
            located = _unit(self.tree, self.path, self.chain)
            effects, _ = analyses.of()
            leads = self.owner.leads(located, analyses.scopes)
            if len(leads) != number_of_leads:
                return None  # it has several exchanges, or what fills the buffer has one
            leaf, place = leads[self.number]
            found = next((e for e in exchanges(located, effects) if e.leaf is leaf), None)
            if found is not None:
                judged = SiteJudge(self.tree, analyses, settings).site(name, found)
                if isinstance(judged.judgement, Plan):
                    return self._done(first[0], judged) if is_accepted(judged) else None
                producing = producing_call(found)
                if producing is None:
                    return None
                here = statements(located.unit.body)
                leaf, place = next((own, at) for own, at in here if own is producing)
            if not self._inline(analyses, located, leaf, place):
                return None
        return None

    def _is_filled_here(self, lead: tuple[Leaf, StatementPosition]) -> bool:
        """Whether a loop or a call in front of an exchange, or of the call that leads to it, writes
        what it reads."""
        leaf, place = lead
        effects, _ = self.owner.analyses.of()
        names = effects.names(effects.scopes.of(self.given))
        read = examine((leaf,), names).read()
        before = place.siblings[: place.position]
        return any(
            read & examine((node,), names).written()
            for node in before
            if isinstance(node, Do) or (isinstance(node, Leaf) and node.call is not None)
        )

    def _inline(
        self, analyses: Analyses, located: Located, leaf: Leaf, place: StatementPosition
    ) -> bool:
        """Inline the procedure of a call; False: it stays."""
        effects, uniformity = analyses.of(any_sizes=True)
        file = self.tree.file(self.path)
        accepted = self.owner.settings.assume
        facts = UnitFacts(located, effects, file.eol, uniformity, accepted)
        call = leaf.call
        target = None if call is None else invoked(call, facts.scope)
        if target is None:
            return False
        sites = CallSites(effects.scopes)
        step = inline.at_call(facts, leaf, place, target, sites, after_procedure=True)
        if isinstance(step, Refused):
            return False
        needed = step.plan.needed
        if of_other_files(needed.shown, located, effects.scopes, self.tree):
            return False
        self.brought |= {new.lower() for new, _ in (*needed.variables, *needed.constants)}
        self.assumed += step.assumed
        self.inlined.append(target[0])
        file = replace_unit(file, facts.unit, inline.apply(facts, step))
        self._write(with_public_names(file, needed.shown))
        return True

    def _write(self, file: File) -> None:
        self.tree = self.tree.edited({self.path: unparse(file).encode("latin-1")})

    def _done(self, first: Leaf, judged: Site) -> tuple[Tree, _Opened]:
        """The tree without declarations that are not needed, and the exchange as reports name
        it."""
        located = _unit(self.tree, self.path, self.chain)
        kept = without_unused(located, self.brought, self.tree)
        if kept is not located.unit:
            self._write(replace_unit(self.tree.file(self.path), located.unit, kept))
        operation = judged.exchange.operation
        called = None if first.call is None else first.call.procedure
        if isinstance(called, Ref) and self.inlined and first.line != judged.report.line:
            operation = f"{called.spelled} ({operation})"
        return self.tree, _Opened(
            self.path,
            self.chain,
            self.number,
            first.line,
            operation,
            tuple(self.inlined),
            tuple(dict.fromkeys(self.assumed)),
        )
