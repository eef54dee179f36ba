"""Parallel loops of OpenMP: DO constructs behind ``!$omp parallel do`` (OpenMP 5.0 2.13.1).

    !$omp parallel do private(t)
    do i = 1, n
      t = a(i); c(i) = t*t
    end do

The region of ``!$omp parallel`` that is nothing but a loop behind ``!$omp do`` is the same, with
the clauses of both.  The loops of a region that is several of them, one behind the other, are
parallel loops that stay where they are; a statement passes all of them or none.

A region that is all of a WORKSHARE construct (OpenMP 5.0 2.8.3) does what its statements do one
after the other.  They stay where they are, and nothing passes them.

A conforming program has no race in such a loop, so that the loop does what it does without OpenMP,
as one statement: it may be executed elsewhere as a whole, with its directive.  Variables that each
thread has for itself have no value behind it.  What else several threads execute (``parallel``
without a loop, ``task``, ``target`` and others) is not analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from asphalt.analysis.names.openmp_sentinels import Directive, directives_before, threaded_nodes
from asphalt.ir.expr import Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, loops_of, once

_LOOP = re.compile(r"parallel\s*do(?:\s*(simd))?\b")
_INSIDE = re.compile(
    r"atomic(?:\s+(?:read|write|update|capture))?\s*\Z|end\s*atomic\s*\Z"
    r"|critical\s*(?:\(\s*\w+\s*\)\s*)?\Z|end\s*critical\s*(?:\(\s*\w+\s*\)\s*)?\Z"
    r"|ordered\s*\Z|end\s*ordered\s*\Z|simd\b|end\s*simd\s*\Z|end\s*parallel\s*do(?:\s*simd)?\s*\Z"
)
_REGION = re.compile(r"parallel\b")
_SHARED = re.compile(r"do(?:\s*simd)?\b")
_BETWEEN = re.compile(r"end\s*do(?:\s*simd)?(?:\s*nowait)?|barrier")
_END = re.compile(r"[!c*]\$omp\s*end\s*parallel\s*(?:!.*)?", re.IGNORECASE)
_BEGINS_WORKSHARE = re.compile(
    r"parallel\s*workshare"
    r"(?:[\s,]*(?:default\s*\(\s*(?:shared|none)\s*\)|shared\s*\([\w\s,]*\)))*\s*"
)
_END_WORKSHARE = re.compile(r"[!c*]\$omp\s*end\s*parallel\s*workshare\s*(?:!.*)?", re.IGNORECASE)
_CLAUSE = re.compile(r"[\s,]*([a-z_]+)\s*")
_NAME = re.compile(r"(?<![\w.%])[a-z]\w*")
_OPERATOR = re.compile(r"\.[a-z]+\.")
_COMPONENT = re.compile(r"%\s*[a-z]\w*")
_REDUCTION = re.compile(
    r"\s*(?:[-+*]|max|min|iand|ior|ieor|\.(?:and|or|eqv|neqv)\.)\s*:(.*)", re.DOTALL
)
_EVALUATED = frozenset(
    ("if", "num_threads", "collapse", "schedule", "ordered", "safelen", "simdlen")
)
_NO_ARGUMENT = frozenset(("ordered",))
_FOR_ITSELF = frozenset(("private", "firstprivate", "linear"))
_LISTED = frozenset(("shared", "lastprivate"))
_NAMES_ALONE = _LISTED | {
    "private", "firstprivate", "reduction", "default", "proc_bind", "copyin", "copyprivate", "map",
    "critical", "threadprivate", "flush"
}  # fmt: skip
"""What has a list of names behind it, and evaluates nothing."""
_ARGUMENTS = re.compile(r"([a-z_]+)\s*\(")
_SCHEDULES = frozenset(
    ("static", "dynamic", "guided", "auto", "runtime", "monotonic", "nonmonotonic", "simd",
     "parallel")
)  # fmt: skip


@record
class ParallelLoop:
    """A parallel loop.

    ``evaluated``: the names in expressions of its directive; ``listed``: those in its lists of
    variables; ``accessed``: the ones among them whose values it reads or defines, which SHARED does
    not; ``private``: the ones among them that each thread has for itself; ``clauses``: the
    words of its clauses, ``default`` with its argument, too, and ``simd``; ``is_region``: its
    directives are those of a region and of a loop in it, and the end of the region stands behind
    it; ``beside``: it is one of several loops of a region.
    """

    loop: Do
    evaluated: frozenset[str]
    listed: frozenset[str]
    accessed: frozenset[str]
    private: frozenset[str]
    clauses: frozenset[str]
    is_region: bool = False
    beside: bool = False

    @property
    def own(self) -> frozenset[str]:
        """The variables that each thread has for itself, those of the loops in it among them."""
        heads = (loop.head.what for loop in loops_of((self.loop,)))
        loops = (head.var for head in heads if isinstance(head, DoHead))
        return self.private | {var.name for var in loops if isinstance(var, Ref)}


@record
class Threads:
    """What several threads execute in a unit.

    ``loops``: its parallel loops, outer ones first; ``unknown``: the first directive that is not
    one of such a loop, with the statement behind it; ``regions``: the loops of each region that is
    several loops, in the order of the source; ``workshares``: the statements of each WORKSHARE
    construct.
    """

    loops: tuple[ParallelLoop, ...]
    unknown: Directive | None
    regions: tuple[tuple[Do, ...], ...] = ()
    workshares: tuple[tuple[Node, ...], ...] = ()

    def workshare_of(self, node: Node) -> tuple[Node, ...]:
        """The statements of the WORKSHARE construct that a statement is in; (): it is in none."""
        first = next(leaves(node))
        own = (one for one in self.workshares if any(leaf is first for leaf in _all(one)))
        return next(own, ())

    def region_of(self, node: Node) -> tuple[Do, ...]:
        """The loops of the region that a loop is in together with others; (): it is in none."""
        own = (one for one in self.regions if any(loop is node for loop in one))
        return next(own, ())

    def around(self, node: Node) -> ParallelLoop | None:
        """The parallel loop in which a statement stands, or which it is beside others of a region;
        None: it stands in none."""
        first = next(leaves(node))
        for one in self.loops:
            if node is one.loop and not one.beside:
                continue
            if any(leaf is first for leaf in leaves(one.loop)):
                return one
        return None

    def inside(self, node: Node) -> Iterator[ParallelLoop]:
        """The parallel loops that a statement or construct is, or that stand in it."""
        own = {id(leaf) for leaf in leaves(node)}
        return (one for one in self.loops if id(one.loop.head) in own)


def threads_of(unit: Unit) -> Threads:
    """What several threads execute in a unit, without the units that it contains."""
    return once(unit, _threads_of)


def private_names(unit: Unit) -> frozenset[str]:
    """The names in a unit of variables that each thread of a parallel loop has for itself: they
    have other values behind it than without OpenMP."""
    return frozenset[str]().union(*(one.own for one in threads_of(unit).loops))


def threaded_leaves(unit: Unit) -> frozenset[int]:
    """The identities of the statements of a unit that several threads may execute."""
    return once(unit, _threaded_leaves)


def why_threaded(leaf: Leaf, unit: Unit) -> str | None:
    """Why several threads may execute a statement of a unit; None: one does, outside of all
    parallel loops."""
    if threads_of(unit).unknown is not None:
        return "the caller has directives of OpenMP or OpenACC that are no parallel loops"
    if id(leaf) in threaded_leaves(unit):
        return "the call stands in a parallel loop"
    return None


def _threaded_leaves(unit: Unit) -> frozenset[int]:
    found = threads_of(unit)
    nodes: Iterable[Node] = (
        *(one.loop for one in found.loops),
        *(node for one in found.workshares for node in one),
    )
    if found.unknown is not None:
        nodes = (unit.body[place] for place in threaded_nodes(unit))
    return frozenset(id(leaf) for node in nodes for leaf in leaves(node))


def _threads_of(unit: Unit) -> Threads:
    found = _Found([], None, [], [])
    own = [leaf for node in unit.spec for leaf in leaves(node)]
    found.outside(own)
    found.nodes(unit.body)
    found.outside((*((unit.contains,) if unit.contains is not None else ()), unit.end))
    regions, workshares = tuple(found.regions), tuple(found.workshares)
    return Threads(tuple(found.loops), found.unknown, regions, workshares)


@dataclass(slots=True)
class _Found:
    loops: list[ParallelLoop]
    unknown: Directive | None
    regions: list[tuple[Do, ...]]
    workshares: list[tuple[Node, ...]]

    def outside(self, own: Iterable[Leaf]) -> None:
        """Statements behind which no directive is understood."""
        for leaf in own:
            for directive in directives_before(leaf):
                self.unknown = self.unknown or directive

    def nodes(self, nodes: Iterable[Node]) -> None:
        """Statements that one thread executes."""
        known = tuple(nodes)
        beside = 0
        for number, node in enumerate(known):
            if beside:
                beside -= 1
                continue
            if shared := _workshare(known[number:]):
                self.workshares.append(shared)
                beside = len(shared) - 1
                continue
            if isinstance(node, Do):
                members = _region_of_loops(known[number:])
                for one in members:
                    self._inside(one)
                beside = max(len(members) - 1, 0)
                if members:
                    self.regions.append(tuple(one.loop for one in members))
                    continue
                if any(directives_before(node.head)):
                    self._loop(node)
                else:
                    self.outside((node.head,))
                    self.nodes(node.body)
                    self.outside((node.end,) if node.end is not None else ())
                continue
            match node:
                case Leaf():
                    self.outside((node,))
                case Branch(arms=arms, end=end):
                    for arm in arms:
                        self.outside((arm.head,))
                        self.nodes(arm.body)
                    self.outside((end,))
                case Block(head=head, body=body, end=end):
                    self.outside((head,))
                    self.nodes(body)
                    self.outside((end,))

    def _loop(self, loop: Do) -> None:
        """A loop behind directives."""
        directives = directives_before(loop.head)
        texts = [one.text for one in directives]
        one = parallel_region(loop, *texts) if len(texts) == 2 else None
        if len(texts) == 1:
            one = parallel_loop(loop, *texts)
        if one is None:
            self.unknown = self.unknown or directives[0]
            return
        self._inside(one)

    def _inside(self, one: ParallelLoop) -> None:
        """A parallel loop, and those in it."""
        loop = one.loop
        self.loops.append(one)
        inner = {id(other.head): other for other in loops_of(loop.body)}
        for leaf in leaves(loop):
            if leaf is loop.head:
                continue
            for directive in directives_before(leaf):
                nested = inner.get(id(leaf))
                own = None if nested is None else parallel_loop(nested, directive.text)
                if own is not None:
                    self.loops.append(own)
                elif not _INSIDE.match(directive.text):
                    self.unknown = self.unknown or directive


def _all(nodes: Iterable[Node]) -> Iterator[Leaf]:
    """The leaves of some nodes."""
    return (leaf for node in nodes for leaf in leaves(node))


def _workshare(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The statements of a WORKSHARE construct that the first of some statements begins; none: it
    begins none that is assignments alone, and whose threads share all variables."""
    texts = [one.text for one in directives_before(next(leaves(nodes[0])))]
    if len(texts) != 1 or not _BEGINS_WORKSHARE.fullmatch(texts[0]):
        return ()
    for number, node in enumerate(nodes):
        own = list(leaves(node))
        if not _is_assignments(node) or any(map(directives_before, own[number == 0 :])):
            return ()
        if any(_END_WORKSHARE.fullmatch(line.strip()) for line in own[-1].trail.splitlines()):
            return nodes[: number + 1]
    return ()


def _is_assignments(node: Node) -> bool:
    """Whether a statement or construct is assignments alone."""
    match node:
        case Leaf(what=Assign(pointer=False) | Guarded(kind="where" | "forall"), label=None):
            return True
        case Branch(kind="where", arms=arms):
            return all(_is_assignments(inner) for arm in arms for inner in arm.body)
        case Block(kind="forall", body=body):
            return all(map(_is_assignments, body))
    return False


def evaluated_before(leaf: Leaf) -> frozenset[str]:
    """The names in expressions that the directives before a statement may evaluate."""
    found = frozenset[str]()
    for directive in directives_before(leaf):
        text, here = directive.text, 0
        while (clause := _ARGUMENTS.search(text, here)) is not None:
            stop = _closing(text, clause.end() - 1) or len(text)
            if clause[1] not in _NAMES_ALONE:
                found = found.union(_names(text[clause.end() : stop]))
            here = stop
    return found


def parallel_loop(loop: Do, directive: str) -> ParallelLoop | None:
    """The parallel loop that a directive makes of a DO construct; None: it is none, or not all of
    the directive is understood."""
    start = _LOOP.match(directive)
    found = None if start is None else _with_clauses(loop, directive, start.end())
    if start is None or found is None or start[1] is None:
        return found
    return replace(found, clauses=found.clauses | {"simd"})


def parallel_region(loop: Do, region: str, shared: str) -> ParallelLoop | None:
    """The parallel loop that is all of a region: two directives stand in front of it, and the end
    of the region behind it; None: it is none."""
    starts = _REGION.match(region), _SHARED.match(shared)
    behind = () if loop.end is None else loop.end.trail.splitlines()
    if None in starts or not any(_END.fullmatch(line.strip()) for line in behind):
        return None
    parts = [
        _with_clauses(loop, text, start.end())
        for text, start in zip((region, shared), starts, strict=True)
        if start is not None
    ]
    outer, inner = parts
    if outer is None or inner is None:
        return None
    return _both(outer, inner)


def _region_of_loops(nodes: tuple[Node, ...]) -> tuple[ParallelLoop, ...]:
    """The loops of a region that the first of some statements begins, and that is several loops;
    none: there is no such region."""
    first = nodes[0]
    texts = [one.text for one in directives_before(first.head)] if isinstance(first, Do) else []
    start = _REGION.match(texts[0]) if len(texts) == 2 else None
    outer = None
    if start is not None and isinstance(first, Do) and not _LOOP.match(texts[0]):
        outer = _with_clauses(first, texts[0], start.end())
    found: list[ParallelLoop] = []
    for node in nodes:
        if outer is None or not isinstance(node, Do) or node.end is None:
            return ()
        *before, text = [one.text for one in directives_before(node.head)] or [""]
        shared = _SHARED.match(text)
        if shared is None or (found and not all(map(_BETWEEN.fullmatch, before))):
            return ()
        inner = _with_clauses(node, text, shared.end())
        if inner is None:
            return ()
        found.append(_both(outer, inner, beside=True))
        if any(_END.fullmatch(line.strip()) for line in node.end.trail.splitlines()):
            return tuple(found) if len(found) > 1 else ()
    return ()


def _both(outer: ParallelLoop, inner: ParallelLoop, *, beside: bool = False) -> ParallelLoop:
    """A loop with the clauses of its region and its own."""
    return ParallelLoop(
        inner.loop,
        outer.evaluated | inner.evaluated,
        outer.listed | inner.listed,
        outer.accessed | inner.accessed,
        outer.private | inner.private,
        outer.clauses | inner.clauses,
        is_region=True,
        beside=beside,
    )


def _with_clauses(loop: Do, directive: str, here: int) -> ParallelLoop | None:
    """A parallel loop with the clauses of a directive from a place on; None: not all of them are
    understood."""
    evaluated: set[str] = set()
    listed: set[str] = set()
    shared: set[str] = set()
    private: set[str] = set()
    clauses: set[str] = set()
    while directive[here:].strip(" \t,"):
        clause = _CLAUSE.match(directive, here)
        if clause is None:
            return None
        word, here = clause[1], clause.end()
        clauses.add(word)
        text = None
        if directive.startswith("(", here):
            stop = _closing(directive, here)
            if stop is None:
                return None
            text, here = directive[here + 1 : stop], stop + 1
        if text is None:
            if word not in _NO_ARGUMENT:
                return None
        elif word in _EVALUATED:
            own = set(_names(text))
            evaluated |= own - _SCHEDULES if word in ("schedule", "if") else own
        elif word in _FOR_ITSELF or word in _LISTED:
            own = set(_names(text))
            listed |= own
            shared |= own if word == "shared" else set()
            private |= own if word in _FOR_ITSELF else set()
            evaluated |= own if word == "linear" else set()
        elif word == "reduction":
            operands = _REDUCTION.match(text)
            if operands is None:
                return None
            listed |= set(_names(operands[1]))
        elif word == "default":
            if text.strip() not in ("shared", "none"):
                return None
            clauses.add(f"default({text.strip()})")
        elif word != "proc_bind":
            return None
    return ParallelLoop(
        loop,
        frozenset(evaluated),
        frozenset(listed),
        frozenset(listed - shared),
        frozenset(private),
        frozenset(clauses),
    )


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return None


def _names(text: str) -> list[str]:
    return _NAME.findall(_COMPONENT.sub("", _OPERATOR.sub(" ", text)))
