"""Procedures that nothing calls any more, since all their calls have been inlined.

A statement that only makes a name accessible calls nothing: USE with an ONLY list, PUBLIC, PRIVATE,
EXTERNAL, an interface body.  All else that names a procedure may lead to a call: an actual
argument, the target of a procedure pointer, a binding of a type.  Another name in a USE statement
and a generic name count as the name itself: what refers to them may lead to a call.

Where there is no main program, what is accessible may be called from elsewhere: there each mention
outside of modules counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from asphalt.analysis.call_graph.call_sites import MANY_UNITS, is_bound_to_c
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.names.generic_names import specific_names
from asphalt.analysis.names.openmp_sentinels import hidden_statements
from asphalt.analysis.names.references import actions, named_by
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.names.visibility import chain
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.lexical.raw_text import names_in_code
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Ref, names_in
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Decl, Guarded, Include, Opaque, Plain, Raw, UnitHead, Use, What
from asphalt.ir.tree import Block, Leaf, Node, Unit, leaves
from asphalt.optimiser.acceptance import Key, key_of
from asphalt.transforms.inlining import inline
from asphalt.transforms.inlining.split_phase import START

_MANY = "many units"


def left_behind(
    located: Located, given: Analyses, now: Analyses, left: Collection[Key] = ()
) -> str | None:
    """Why a subroutine is not worth a change: all its calls have been inlined since the tree was
    ``given``, or when asphalt was applied before.  None: something may call it, or nothing ever
    did.

    ``left``: other procedures of which that is known.
    """
    if located.unit.kind != "subroutine":
        return None
    if _Callers(now, left).may_call(located):
        return None
    before = _Callers(given)
    if before.may_call(located):
        why = _inlined(located, before, _Callers(given, left))
        if now.tree.mention_count(f"{located.unit.name}{START}"):
            why = why.replace("inlined", "inlined or became calls of its two phases")
    elif any(
        inline.stands_in(given.tree.content(entry.path), located) for entry in given.tree.files
    ):
        why = "its calls were inlined when these files were transformed before"
    elif given.tree.mention_count(f"{located.unit.name}{START}"):
        why = "its calls became calls of its two phases when these files were transformed before"
    else:
        return None
    return (
        f"{located.unit.name} is not transformed: nothing in these files calls it any more; {why}"
    )


def _inlined(located: Located, before: _Callers, still: _Callers) -> str:
    """What became of the calls of a procedure; ``still``: without callers that are not called."""
    calls = list(still.of(located))
    units = list(dict.fromkeys(calls or before.of(located)))
    names = " and ".join(units)
    if not calls:
        call = "calls" if len(units) == 1 else "call"
        return f"only {names} {call} it, which nothing calls either"
    if len(calls) == 1:
        return f"its only call, in {names}, was inlined"
    return f"its {len(calls)} calls, in {names}, were inlined"


@record
class _Callers:
    """Who may call the procedures of a tree; ``left``: procedures that nobody calls, so that
    nothing is called by them."""

    analyses: Analyses
    left: Collection[Key] = ()

    def may_call(self, located: Located) -> bool:
        """Whether anything may call a procedure."""
        unit, tree = located.unit, self.analyses.tree
        if is_bound_to_c(unit) or _is_separate(unit) or _has_entries(unit):
            return True
        if not tree.main_programs() and any(
            one.unit.kind != "module" for one in self._mentions(located, unit.name)
        ):
            return True
        return next(self.of(located), None) is not None

    def of(self, located: Located) -> Iterator[str]:
        """The names of the units that may call a procedure, one for each statement that may lead to
        a call."""
        tree, scopes = self.analyses.tree, self.analyses.scopes
        seen: set[str] = set()
        waiting = [located.unit.name]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if tree.mention_count(name) > MANY_UNITS:
                yield _MANY
                return
            for mention in self._mentions(located, name):
                uses = _Uses(mention, scopes.of(mention), name, located, tree)
                waiting += uses.other_names()
                yield from (mention.unit.name or "main" for _ in uses.calls())

    def _mentions(self, located: Located, name: str) -> Iterator[Located]:
        """The units that hold a name, without the procedure itself and those that are left."""
        without = {key_of(located), *self.left}
        for mention in self.analyses.tree.mentions(name):
            path, names = key_of(mention)
            if not any((path, names[:n]) in without for n in range(1, len(names) + 1)):
                yield mention


def _is_separate(unit: Unit) -> bool:
    """Whether a procedure is called by an interface that stands in another unit."""
    what = unit.head.what if unit.head is not None else None
    return not isinstance(what, UnitHead) or "module" in what.prefix


def _has_entries(unit: Unit) -> bool:
    found = (leaf.what for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    return any(isinstance(what, Plain) and what.keyword == "entry" for what in found)


@record
class _Uses:
    """What a unit does with a name that may be that of a procedure."""

    mention: Located
    scope: Scope
    name: str
    procedure: Located
    tree: Tree

    def other_names(self) -> Iterator[str]:
        """The names that USE statements and generic interfaces give to the same."""
        unit = self.mention.unit
        for node in (*unit.spec, *unit.body):
            for leaf in leaves(node):
                if isinstance(leaf.what, Use):
                    yield from (i.local for i in leaf.what.items if i.name == self.name)
        for block in self._blocks("interface") if self._may_mean_it() else ():
            generic = _generic(block)
            if generic.isidentifier() and self.name in specific_names(block):
                yield generic

    def calls(self) -> Iterator[Leaf]:
        """The statements that may lead to a call."""
        if not self._may_mean_it():
            return
        unit = self.mention.unit
        for node in self._declarations():
            match node:
                case Block(kind="interface"):
                    if _generic(node) and not _generic(node).isidentifier():
                        yield from (node.head for name in specific_names(node) if name == self.name)
                case Block(kind="type", body=body):
                    inside = (leaf for child in body for leaf in leaves(child))
                    yield from (leaf for leaf in inside if self._is_bound_by(leaf.what))
                case _:
                    yield from (leaf for leaf in leaves(node) if self._is_declared_by(leaf.what))
        for leaf in (leaf for node in unit.body for leaf in leaves(node)):
            if any(self._is_in(what) for what in actions(leaf.what)):
                yield leaf
        closing = (*((unit.contains,) if unit.contains is not None else ()), unit.end)
        own = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
        for leaf in (*own, *closing):
            if any(self.name in hidden.names for hidden in hidden_statements(leaf)):
                yield leaf

    def _may_mean_it(self) -> bool:
        """Whether the name may be that of the procedure in the unit."""
        unit, name = self.mention.unit, self.name
        if self.mention.is_unread:
            return True
        own_uses = (leaf.what for node in unit.body for leaf in leaves(node))
        if name in self.scope.shadowed or any(isinstance(what, Use) for what in own_uses):
            return True
        if any(host.lacks_host for host in chain(self.scope)):
            return True
        symbol = self.scope.lookup(name)
        if symbol is not None and "generic" in symbol.attrs:
            return True
        found = procedure_named(Ref(name, name), self.scope)
        if found is not None:
            return key_of(found) == key_of(self.procedure)
        if symbol is None or symbol.home is None or symbol.origin is Origin.PROCEDURE:
            return True
        return symbol.origin is Origin.LOCAL and "implicit" in symbol.attrs

    def _declarations(self) -> Iterator[Node]:
        """The declarations of the unit, with those that are included."""
        for node in self.mention.unit.spec:
            yield node
            if isinstance(node, Leaf) and isinstance(node.what, Include):
                yield from self.tree.include(self.mention, node.what.path) or ()

    def _blocks(self, kind: str) -> Iterator[Block]:
        for node in self._declarations():
            if isinstance(node, Block) and node.kind == kind:
                yield node

    def _is_bound_by(self, what: What) -> bool:
        """Whether a statement of a type makes the procedure a binding, or the target of a
        pointer."""
        if not isinstance(what, Decl):
            return self._is_text(what)
        if self._is_initial(what):
            return True
        if what.kind != "procedure" or set(what.attrs) & {"pointer", "deferred"}:
            return False
        return any(e.name == self.name and e.initial is None for e in what.entities)

    def _is_declared_by(self, what: What) -> bool:
        """Whether a declaration makes the procedure the target of a pointer, or may do so."""
        return self._is_initial(what) if isinstance(what, Decl) else self._is_text(what)

    def _is_initial(self, decl: Decl) -> bool:
        values = (entity.initial for entity in decl.entities if entity.initial is not None)
        return any(self.name in names_in(value) for value in values)

    def _is_text(self, what: What) -> bool:
        """Whether a statement holds the name that is not understood, or that stands elsewhere."""
        match what:
            case Opaque(names=names):
                return self.name in names
            case Raw(code=code):
                return self.name in names_in_code(code, self.mention.form)
            case Include(path=path) if self.tree.include(self.mention, path) is None:
                return self.name in self.tree.included_words(self.mention.path, path)
        return False

    def _is_in(self, what: What) -> bool:
        """Whether a statement of the body may lead to a call."""
        if isinstance(what, Use):
            return False
        if isinstance(what, Guarded):
            return self.name in names_in(what.condition)
        if isinstance(what, Call) and isinstance(what.procedure, Ref):
            if any(self.name in names_in(arg) for arg in what.args):
                return True
            return what.procedure.name == self.name and self._is_call(what)
        names = named_by(what)
        return self._is_text(what) if names is None else self.name in names

    def _is_call(self, call: Call) -> bool:
        """Whether a call by the name may be one of the procedure: a generic name has others."""
        symbol = self.scope.lookup(self.name)
        if symbol is None or "generic" not in symbol.attrs:
            return True
        found = invoked(call, self.scope)
        return found is None or key_of(found[0]) == key_of(self.procedure)


def _generic(block: Block) -> str:
    """The generic name of an interface, or its operator; '' where there is none."""
    return block.head.what.name if isinstance(block.head.what, UnitHead) else ""
