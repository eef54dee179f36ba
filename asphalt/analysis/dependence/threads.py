"""What threads of OpenMP mean for the order of the statements of a unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.control_flow.paths import path_witness
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.memory.accesses import ALIASED, Access, EffectKind, Mode, NameKind
from asphalt.analysis.memory.storage import name_kind, storage_of
from asphalt.analysis.names.known_library_names import RUNTIME_OF_THREADS
from asphalt.analysis.names.openmp_sentinels import conditional_statements, is_threading
from asphalt.analysis.names.parallel_loops import ParallelLoop, Threads, threads_of
from asphalt.analysis.names.references import expressions_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Ref, Unstructured, walk
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf, Node, leaves, loops_of

_DIVISIBLE = frozenset(
    ("private", "shared", "default", "default(none)", "default(shared)", "if", "num_threads",
     "schedule", "proc_bind", "collapse", "simd")
)  # fmt: skip
"""The clauses of directives that each part of a loop may have."""
_END = re.compile(r"end\s*parallel\s*do\b")
_USE = re.compile(r"\s*[!c*]\$\s*use\b\s*(?:,[^:]*::)?\s*([a-z]\w*)\s*(,.*)?\Z", re.IGNORECASE)


@dataclass(eq=False)
class LoopThreads:
    """Answers for one unit."""

    facts: UnitFacts

    @cached_property
    def threads(self) -> Threads:
        """What several threads execute."""
        return threads_of(self.facts.unit)

    @cached_property
    def unclear(self) -> str | None:
        """Why nothing is known about the order of any statements of the unit: lines of it have an
        unknown meaning; None: they have none."""
        for leaf, text in conditional_statements(self.facts.unit):
            return f"line {line_of(leaf)}: asphalt does not analyse lines for OpenMP alone: {text}"
        if self.threads.unknown is not None:
            found = self.threads.unknown
            if found.text.startswith("!$"):
                line = line_of(found.leaf) - found.above
                what = "begins with !$ and no blank, and is no directive that asphalt knows"
                return f"line {line} {what}: {found.text}"
            line = line_of(found.leaf) - found.above
            if _END.match(found.text):
                return f"line {line} ends a parallel loop whose DO construct has no end of its own"
            what = "has a directive of OpenMP or OpenACC that is no parallel loop"
            return f"line {line} {what}: {found.text}"
        return next((why for one in self.threads.loops for why in self._lost(one)), None)

    def _lost(self, one: ParallelLoop) -> Iterator[str]:
        """Why the variables that each thread has for itself are used behind a parallel loop, where
        their value depends on whether there are threads."""
        reaching, graph = self.facts.reaching, self.facts.reaching.graph
        inside = graph.inside(one.loop)
        for name in sorted(one.own):
            storage = self.facts.names.storage(name)
            if storage == ALIASED:
                yield self._value(name, one)
            for point in graph.points:
                if point.number in inside or point.number in graph.dead:
                    continue
                if storage not in reaching.accesses.at(point.number).used:
                    continue
                given = [d.point for d in reaching.at(point.number, storage) if d.point in inside]
                if given:
                    yield self._unsure(name, given, point.number) or self._value(name, one)
                    break

    def _unsure(self, name: str, given: list[int], use: int) -> str | None:
        """Which statement may define a variable anew between some definitions and a use, on each
        path, if only unknown effects leave that open."""
        reaching, storage = self.facts.reaching, self.facts.names.storage(name)
        again = reaching.accesses.defining(storage) - {use}
        way = path_witness(reaching.graph, given, {use}, again - set(given))
        between = [n for n in sorted(again) if reaching.accesses.footprint(n).effects]
        if way is not None or not between:
            return None
        effect = reaching.accesses.footprint(between[0]).effects[0]
        line = line_of(effect.leaf)
        why = f"{effect.kind.value} ({effect.detail})"
        return f"it is not known whether line {line} defines {name}: it has {why}"

    def _value(self, name: str, one: ParallelLoop) -> str:
        line = line_of(one.loop.head)
        return f"{name} has another value behind the parallel loop in line {line} with OpenMP"

    def around(self, node: Node) -> str | None:
        """Why a statement stays with its neighbours: it is part of a parallel loop."""
        shared = self.threads.workshare_of(node)
        if shared:
            return f"it is in the WORKSHARE construct of line {next(leaves(shared[0])).line}"
        one = self.threads.around(node)
        if one is None:
            return None
        if one.loop is node:
            return f"the loop of line {one.loop.head.line} is one of several in a parallel region"
        return f"it is in the parallel loop of line {one.loop.head.line}"

    def why_unknown(self, node: Node) -> str | None:
        """Why it is not known what the directives in a statement read, or what several threads do
        together: they call MPI."""
        for one in self.threads.inside(node):
            if any(e.kind is EffectKind.MPI for e in self.facts.footprint(one.loop).effects):
                return f"several threads call MPI in the loop of line {one.loop.head.line}"
        return next((found for found in self._read(node) if isinstance(found, str)), None)

    def why_whole(self, one: ParallelLoop) -> str | None:
        """Why a parallel loop cannot be written several times, each time for some iterations: its
        threads share more than variables, or keep something from one iteration to the next."""
        loop = one.loop
        if one.is_region:
            return "it is a region with an end of its own"
        kept = sorted(one.clauses - _DIVISIBLE)
        if kept:
            return f"its directive has {kept[0].upper()}"
        if {"collapse", "simd"} <= one.clauses:
            return "its directive has SIMD and COLLAPSE, which gfortran does not compile with steps"
        if "collapse" in one.clauses and not _has_fixed_bounds(loop):
            return "its directive has COLLAPSE, and the bounds of its loops depend on each other"
        accesses = self.facts.footprint(loop).accesses
        for access in accesses:
            if self._is_of_threads(access):
                return f"each thread has {access.spelled} for itself"
        written = {a.storage for a in accesses if a.writes}
        for name in sorted(one.evaluated):
            if written.intersection(self._storages(name) or ()):
                return f"it changes {name}, which its directive evaluates"
        for leaf in leaves(loop):
            if leaf.is_hidden or (leaf is not loop.head and any(map(is_threading, leaf.lead))):
                return f"line {line_of(leaf)} is for OpenMP alone, or has a directive"
            if leaf.call is not None or any(map(self._may_ask, expressions_of(leaf.what))):
                return f"line {line_of(leaf)} may ask for the number of the thread"
        return None

    def _is_of_threads(self, access: Access) -> bool:
        """Whether each thread has the variables of the unit for itself that declares the variable
        of an access, in a module, in COMMON or in a host (``threadprivate``)."""
        owner = access.path[0] if access.storage == ALIASED and access.path else access.storage
        module = owner.rpartition("::")[0]
        scope = self.facts.scope
        homes = [scope.scopes.module(module) if module else None]
        for name in (owner, access.object, access.named or ""):
            symbol = scope.lookup(name.rpartition("::")[2].split("%")[0])
            home = None if symbol is None else symbol.home
            homes += [home] if isinstance(home, Scope) else []
            host = scope.host if symbol is not None and symbol.origin is Origin.HOST else None
            while host is not None:
                homes, host = [*homes, host], host.host
        return any(home is not None and _has_private(home) for home in homes)

    def _may_ask(self, expr: Arg) -> bool:
        """Whether an expression may reference a function that is no intrinsic one."""
        parts = tuple(walk(expr))
        called = (part.name for part in parts if isinstance(part, Ref) and part.args is not None)
        return any(isinstance(part, Unstructured) for part in parts) or any(
            name_kind(name, True, self.facts.scope) in (NameKind.PROCEDURE, NameKind.UNKNOWN)
            for name in called
        )

    def accesses(self, node: Node) -> tuple[Access, ...]:
        """What the directives of the parallel loops in a statement name."""
        return tuple(found for found in self._read(node) if isinstance(found, Access))

    def _read(self, node: Node) -> Iterator[Access | str]:
        for one in self.threads.inside(node):
            head = one.loop.head
            for name in sorted(one.evaluated | one.accessed):
                storages = self._storages(name)
                if storages is None:
                    line = line_of(head)
                    yield f"line {line}: what {name} in its directive is, is not known"
                    continue
                modes = (Mode.READ, Mode.MAYBE_WRITE) if name in one.accessed else (Mode.READ,)
                for storage in storages:
                    yield from (Access(storage, m, None, head, sure=False) for m in modes)

    def _storages(self, name: str) -> tuple[str, ...] | None:
        """The storages of a name in a directive; None: they are not known."""
        scope = self.facts.scope
        symbol = scope.lookup(name)
        if symbol is None:
            if name.startswith(RUNTIME_OF_THREADS):
                return ()
            homes = [scope.scopes.module(module) for module in self._hidden_modules]
            own = (home.own.get(name) for home in homes if home is not None)
            found = next((symbol for symbol in own if symbol is not None), None)
            return None if found is None else (name, f"{found.owner}::{found.name}")
        if symbol.origin in (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC):
            return ()
        known = symbol.origin.is_variable and not symbol.attrs & {"external", "procedure"}
        return (storage_of(name, scope),) if known else None

    @cached_property
    def _hidden_modules(self) -> tuple[str, ...]:
        """The modules that the unit and its hosts use with OpenMP alone."""
        found: list[str] = []
        for unit in self.facts.located.chain:
            own: list[Leaf] = [leaf for node in unit.spec for leaf in leaves(node)]
            first = next((next(leaves(node)) for node in unit.body), unit.end)
            for leaf in (*own, first):
                for trivia in leaf.lead:
                    used = _USE.match(trivia.text.rstrip())
                    if trivia.kind is TriviaKind.CONDITIONAL and used is not None:
                        found.append(used[1].lower())
        return tuple(found)


def _has_private(home: Scope) -> bool:
    """Whether a unit declares variables that each thread has for itself."""
    own = [leaf for node in home.unit.spec for leaf in leaves(node)]
    first = next((next(leaves(node)) for node in home.unit.body), None)
    closing = (home.unit.contains, home.unit.end, first)
    return any(
        is_threading(entry) and "threadprivate" in entry.text.lower()
        for leaf in (*own, *(one for one in closing if one is not None))
        for entry in leaf.lead
    )


def _has_fixed_bounds(loop: Do) -> bool:
    """Whether the bounds of the loops in a loop depend on the variables of none of them."""
    heads = [one.head.what for one in loops_of((loop,))]
    counted = [head for head in heads if isinstance(head, DoHead)]
    variables = {head.var.name for head in counted if isinstance(head.var, Ref)}
    bounds = (b for head in counted for b in (head.first, head.last, head.step) if b is not None)
    used = {part.name for bound in bounds for part in walk(bound) if isinstance(part, Ref)}
    return not variables & used
