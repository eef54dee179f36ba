"""Inlining: a procedure that communicates is expanded at its call.

Before::

    call exchange(v, k, 1)

After::

    ! asphalt: exchange of halo.f stands here
    if (1 == 1) then
      if (north /= -1) call MPI_Recv(dum, 5*n, ..., north, 1, comm, status, ierr)
      ...

The other transformations then see both in one procedure (Danalis et al., ICS 2009, section 6).
Only procedures that communicate are candidates (conditions: ``asphalt/analysis/inlining``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import ClassVar

from asphalt.analysis.call_graph.call_sites import CallSites, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.vector_rounding import inexact, repeated
from asphalt.analysis.exchange.site import StatementPosition, statements
from asphalt.analysis.inlining.codes import TEXT, RefusedError
from asphalt.analysis.inlining.plan import Inlining, closes_a_loop, planned
from asphalt.analysis.inlining.procedure import is_candidate
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.assumptions import BITS
from asphalt.ir.expr import Arg, Expr, Ref, Section, TypeSpec, names_in
from asphalt.ir.insertion import last_declaration, last_use
from asphalt.ir.mapped import NotMappedError, mapped, mapped_expr, mapped_what
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import OF_THE_PREPROCESSOR, Trivia, TriviaKind
from asphalt.ir.stmt import (
    Allocation,
    Assign,
    Call,
    Decl,
    Dim,
    Entity,
    Guarded,
    Include,
    Plain,
    What,
)
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import body_comment, comments_inside, in_front
from asphalt.transforms.rewriting.declare import insert_behind
from asphalt.transforms.rewriting.edit import map_leaves, rewrite_list
from asphalt.transforms.rewriting.indentation import further_in
from asphalt.transforms.rewriting.make import Maker, maker_at, var
from asphalt.transforms.rewriting.step import Found, Step

_KEPT = ("asynchronous", "target", "allocatable")


@record
class Inline(Step):
    """A call to be replaced; ``nodes``: the statements of the procedure in terms of the caller."""

    names_readings: ClassVar[bool] = True

    plan: Inlining
    nodes: tuple[Node, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """Each call of a procedure of the tree that communicates: a step, or why it is not inlined."""
    return tuple(judged(facts))


def judged(facts: UnitFacts) -> Iterator[Inline | Refused]:
    """The same, found one by one."""
    return (found for _, found in _judged(facts))


def refusals(facts: UnitFacts, callee: Located) -> tuple[Refused, ...]:
    """Why calls of one procedure are not inlined."""
    key = unit_key(callee)
    return tuple(
        found
        for called, found in _judged(facts)
        if isinstance(found, Refused) and unit_key(called) == key
    )


def _judged(facts: UnitFacts) -> Iterator[tuple[Located, Inline | Refused]]:
    """Each call, with the procedure."""
    scopes = facts.effects.scopes
    sites = CallSites(scopes)
    for leaf, place in statements(facts.unit.body):
        what = leaf.action
        target = invoked(what, facts.scope) if isinstance(what, Call) else None
        if target is None or not is_candidate(target[0], scopes):
            continue
        yield target[0], at_call(facts, leaf, place, target, sites)


def at_call(
    facts: UnitFacts,
    leaf: Leaf,
    place: StatementPosition,
    target: tuple[Located, Call],
    sites: CallSites,
    after_procedure: bool = False,
    reserved: frozenset[str] = frozenset(),
) -> Inline | Refused:
    """The step for a call of a procedure (``target``: with all arguments), or why it is none.

    ``after_procedure``: new variables are named after the procedure; ``reserved``: none has one of
    these names.
    """
    callee, call = target
    plan = planned(facts, leaf, place, call, callee, sites, after_procedure, reserved)
    return plan if isinstance(plan, Refused) else _exact(facts, inlined(facts, plan))


def _exact(facts: UnitFacts, found: Inline | Refused) -> Inline | Refused:
    """The step, if what the procedure evaluates has the same last digits in the caller: compilers
    vectorise a loop otherwise where more is known of its bounds."""
    if isinstance(found, Refused):
        return found
    callee, call = found.plan.callee, found.plan.call
    scope = facts.effects.scopes.of(callee)
    around = any(isinstance(node, Do) for node in found.plan.place.around)
    digits = inexact(repeated(callee.unit.body, scope, around), scope, facts.effects)
    if digits is None:
        return found
    if is_accepted_at(BITS, call, facts):
        return replace(found, assumed=(BITS.word,))
    message = (
        f"{callee.unit.name} is not inlined: it evaluates {digits}, in loops that compilers may "
        "vectorise otherwise there"
    )
    return Refused(DIGITS, message, call.span, lifted_by=BITS.word)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one call replaced, and with what its new statements need; other calls may have
    been replaced before."""
    assert isinstance(step, Inline)
    plan = step.plan
    now = next(place for leaf, place in statements(facts.unit.body) if leaf is plan.call)
    form = facts.located.form
    make = maker_at(plan.call, form, facts.eol)
    declared = _Declarations(facts, plan)
    before = [make.assign(var(name), value) for name, value in plan.before]
    before += [make.leaf(what) for what in declared.allocations()]
    after = [make.leaf(what) for what in declared.deallocations(step.nodes)]
    nodes: tuple[Node, ...] = (*before, *_placed(step.nodes, make), *after)
    own_lead, comments = plan.call.lead, _comments(plan, make)
    if isinstance(plan.call.what, Guarded):
        nodes = tuple(further_in(n, make.step, make.free) for n in nodes)
        nodes = (make.branch(plan.call.what.condition, nodes),)
    if plan.call.label is not None:
        labelled = replace(plan.call, what=Plain("continue"), body=None, lead=(), trail=facts.eol)
        last = closes_a_loop(plan.call, facts.unit)
        nodes = (*nodes, labelled) if last else (labelled, *nodes)
    nodes = (in_front(nodes[0], (*own_lead, *comments)), *nodes[1:])

    def change(siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        here = now.position
        return (*siblings[:here], *nodes, *siblings[here + 1 :])

    unit = replace(facts.unit, body=rewrite_list(facts.unit.body, now.path, change))
    return declared.added(unit)


def inlined(facts: UnitFacts, plan: Inlining) -> Inline | Refused:
    """The step for a call that can be replaced, or why some of its text cannot."""
    name = plan.callee.unit.name
    try:
        declared = _Declarations(facts, plan)
        rewritten = _Rewritten(facts, plan, declared.allocated())
        nodes = tuple(map_leaves(node, rewritten.leaf) for node in plan.body)
        declared.statements()
    except NotMappedError as kept:
        message = f"{name} is not inlined: {kept} would have to be written anew"
        return Refused(TEXT, message, plan.call.span)
    except RefusedError as refused:
        message = f"{name} is not inlined: {refused.message}"
        return Refused(refused.code, message, plan.call.span)
    evidence = [
        f"{name} does not call itself, keeps no variable, and is left at its end only",
        "each dummy is what is passed for it, under another name or with other bounds",
    ]
    if plan.before:
        evidence.append("what is computed for the call is computed once, before")
    does = f"{name} ({_origin(plan)}) is inlined at its call in {facts.at(plan.call)}"
    return Inline(line_of(plan.call), does, tuple(evidence), plan, nodes)


def _origin(plan: Inlining) -> str:
    return PurePath(plan.callee.file).name


def stands_in(content: bytes, callee: Located) -> bool:
    """Whether a comment in a file says that a procedure was inlined there."""
    name, file = (text.encode("latin-1") for text in (callee.unit.name, PurePath(callee.file).name))
    return (b"asphalt: %s of %s stands here" % (name, file)) in content


def _comments(plan: Inlining, make: Maker) -> tuple[Trivia, ...]:
    own = plan.call.trail.strip()
    kept = (make.comment(own.lstrip("!").strip()),) if own.startswith("!") else ()
    return (*kept, make.comment(body_comment(plan.callee.unit.name, plan.callee.file)))


@record
class _Rewritten:
    """Statements of the procedure with the caller's names.  An assignment to all of an automatic
    array that is ``allocated`` becomes one to its elements, which never allocates it anew (F2018
    10.2.1.3)."""

    facts: UnitFacts
    plan: Inlining
    allocated: Mapping[str, int]

    def leaf(self, leaf: Leaf) -> Leaf:
        what = mapped_what(leaf.what, self.plan.change, lambda n: self.plan.labels.get(n, n))
        what = self._with_elements(what)
        if what != leaf.what or leaf.macros:  # which another file may not have
            inside = comments_inside(leaf, self.facts.free, self.facts.eol)
            leaf = replace(leaf, what=what, body=None, lead=(*leaf.lead, *inside), macros=())
        label = None if leaf.label is None else self.plan.labels.get(leaf.label)
        if label is not None:
            head = leaf.head.replace(str(leaf.label), str(label), 1)
            leaf = replace(leaf, label=label, head=head)
        return self._with_ends(leaf)

    def _with_elements(self, what: What) -> What:
        """An assignment to a whole array that is allocated for the call, by its elements."""
        match what:
            case Guarded(action=action, kind="if"):
                return replace(what, action=self._with_elements(action))
            case Assign(target=Ref(name=name, args=None) as target) if name in self.allocated:
                all_ = (Section(None, None, None),) * self.allocated[name]
                return replace(what, target=replace(target, args=all_))
        return what

    def _with_ends(self, leaf: Leaf) -> Leaf:
        """The leaf with the line endings of the caller's file."""
        eol = self.facts.eol

        def text(own: str) -> str:
            return own.replace("\r\n", "\n").replace("\n", eol)

        lead = tuple(replace(entry, text=text(entry.text)) for entry in leaf.lead)
        body = None if leaf.body is None else text(leaf.body)
        return replace(leaf, lead=lead, body=body, head=text(leaf.head), trail=text(leaf.trail))


def _placed(nodes: tuple[Node, ...], make: Maker) -> tuple[Node, ...]:
    """The statements as far in as the call was."""
    first = next((leaf for node in nodes for leaf in leaves(node)), None)
    if first is None:
        return nodes
    # what stood before the first statement may belong to the declarations: comments stay
    kept = tuple(e for e in first.lead if e.kind not in OF_THE_PREPROCESSOR)
    while kept and kept[0].kind is TriviaKind.BLANK:
        kept = kept[1:]
    nodes = (_with_lead(nodes[0], kept), *nodes[1:])
    begins = len(first.head.rsplit("\n", 1)[-1].expandtabs(8))
    columns = make.column - (begins if make.free else max(0, begins - 6))
    if first.name is not None or (make.free and first.label is not None):
        columns = 0
    return tuple(
        further_in(_guarded(node, make.step, make.free), columns, make.free) for node in nodes
    )


def _guarded(node: Node, step: int, free: bool) -> Node:
    """What stood behind a RETURN, further in than the arm that it is in now."""
    if not isinstance(node, Branch) or (node.end.span and node.arms[-1].head.span):
        return node
    *others, last = node.arms
    body = tuple(further_in(_guarded(inner, step, free), step, free) for inner in last.body)
    return replace(node, arms=(*others, replace(last, body=body)))


def _with_lead(node: Node, lead: tuple[Trivia, ...]) -> Node:
    """The node with another lead of its first statement."""
    first = next(iter(leaves(node)))

    def change(leaf: Leaf) -> Leaf:
        return replace(leaf, lead=lead) if leaf is first else leaf

    return map_leaves(node, change)


class _Declarations:
    """What the caller declares for the statements of the procedure."""

    def __init__(self, facts: UnitFacts, plan: Inlining) -> None:
        self.facts = facts
        self.plan = plan
        self.make = maker_at(_first(facts.unit), facts.located.form, facts.eol)

    def statements(self) -> tuple[What, ...]:
        """The declarations, in order."""
        needed = self.plan.needed
        header: tuple[What, ...] = (Include("mpif.h"),) if needed.header else ()
        constants = (
            self._declaration(new, symbol, ("parameter",)) for new, symbol in needed.constants
        )
        variables = (
            self._declaration(new, symbol, tuple(a for a in _KEPT if a in symbol.attrs))
            for new, symbol in needed.variables
        )
        files = (Include(path) for path in needed.includes)
        return (*header, *files, *constants, *self._commons(), *_together(variables))

    def _commons(self) -> Iterator[Decl]:
        for block, members in self.plan.needed.commons.items():
            yield from _together(self._declaration(new, symbol, ()) for new, symbol in members)
            entities = tuple(Entity(new.lower(), new) for new, _ in members)
            yield Decl("common", groups=((block, entities),))

    def added(self, unit: Unit) -> Unit:
        """The unit with the declarations."""
        uses = tuple(self.make.leaf(use) for use in self.plan.needed.uses)
        if uses:
            unit = insert_behind(unit, last_use(unit), uses)
        declarations = tuple(self.make.leaf(what) for what in self.statements())
        return insert_behind(unit, last_declaration(unit), declarations) if declarations else unit

    def allocated(self) -> dict[str, int]:
        """The ranks of the arrays that are allocated for the call."""
        own = ((new, one) for new, one in self.plan.needed.variables if self._is_allocated(one))
        return {new.lower(): len(symbol.dims or ()) for new, symbol in own}

    def allocations(self) -> Iterator[What]:
        """Arrays whose extents the unit does not know on entry are allocated for the call."""
        for new, symbol in self.plan.needed.variables:
            if self._is_allocated(symbol):
                dims = self._dims(symbol) or ()
                yield Allocation("allocate", (Ref(new.lower(), new, tuple(map(_bounds, dims))),))

    def deallocations(self, nodes: tuple[Node, ...]) -> Iterator[What]:
        """The statements that deallocate what would be deallocated on return."""
        for new, symbol in self.plan.needed.variables:
            if self._is_allocated(symbol):
                yield Allocation("deallocate", (var(new),))
            elif "allocatable" in symbol.attrs and not _deallocated(nodes, new.lower()):
                condition = Ref("allocated", "allocated", (var(new),))
                yield Guarded(condition, Allocation("deallocate", (var(new),)))

    def _declaration(self, new: str, symbol: Symbol, attrs: tuple[str, ...]) -> Decl:
        dims = self._dims(symbol)
        if self._is_allocated(symbol):
            attrs = (*attrs, "allocatable")
            dims = tuple(Dim("deferred") for _ in dims or ())
        initial = None
        if "parameter" in attrs and symbol.initial is not None:
            initial = mapped_expr(symbol.initial, self.plan.change)
        return Decl(
            "type",
            self._type(symbol),
            attrs,
            None,
            (Entity(new.lower(), new, dims, None, initial),),
        )

    def _type(self, symbol: Symbol) -> TypeSpec:
        spec = symbol.type
        assert spec is not None
        kind = None if spec.kind is None else mapped_expr(spec.kind, self.plan.change)
        length: Arg | None = None
        if spec.length is not None:
            length = mapped(spec.length, self.plan.change)
        return replace(spec, kind=kind, length=length)

    def _dims(self, symbol: Symbol) -> tuple[Dim, ...] | None:
        if symbol.dims is None:
            return None
        return tuple(
            replace(dim, lower=self._bound(dim.lower), upper=self._bound(dim.upper))
            for dim in symbol.dims
        )

    def _bound(self, bound: Expr | None) -> Expr | None:
        return None if bound is None else mapped_expr(bound, self.plan.change)

    def _is_allocated(self, symbol: Symbol) -> bool:
        """Whether the extents depend on what the caller does not know on entry."""
        if symbol.dims is None or "allocatable" in symbol.attrs:
            return False
        bounds = [b for dim in self._dims(symbol) or () for b in (dim.lower, dim.upper)]
        return not all(
            self._is_known(name) for b in bounds if b is not None for name in names_in(b)
        )

    def _is_known(self, name: str) -> bool:
        if any(new.lower() == name for new, _ in self.plan.needed.constants):
            return True
        symbol = self.facts.scope.lookup(name)
        if any(item.local == name for use in self.plan.needed.uses for item in use.items):
            return True
        if name.startswith("mpi_"):
            return True
        if symbol is None:
            inner = self.plan.scope.lookup(name)  # of an include file
            return inner is not None and inner.origin is Origin.PARAMETER
        if symbol.origin in (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC):
            return True
        dummy = symbol.origin is Origin.DUMMY and symbol.dims is None
        return dummy and not self.facts.values.written_in_unit(name)


def _together(declarations: Iterable[Decl]) -> Iterator[Decl]:
    """The declarations, those of one type in one statement."""
    found: dict[Decl, list[Entity]] = {}
    for one in declarations:
        found.setdefault(replace(one, entities=()), []).extend(one.entities)
    for alike, entities in found.items():
        yield replace(alike, entities=tuple(entities))


def _first(unit: Unit) -> Node:
    return next(iter((*unit.spec, *unit.body)))


def _bounds(dim: Dim) -> Arg:
    assert dim.upper is not None
    return dim.upper if dim.lower is None else Section(dim.lower, dim.upper, None)


def _deallocated(nodes: tuple[Node, ...], name: str) -> bool:
    """Whether a statement of the first level deallocates a variable, and none allocates it
    afterwards."""
    done = False
    for node in nodes:
        for leaf in leaves(node):
            what = leaf.action
            if isinstance(what, Allocation) and any(
                isinstance(o, Ref) and o.name == name for o in what.objects
            ):
                done = leaf is node and leaf.what is what and what.kind == "deallocate"
    return done
