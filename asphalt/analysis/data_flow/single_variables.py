"""Whether a name in a unit means one variable, for all threads and in all compilations.

Directives of OpenMP may give each thread a variable of its own, results of ENTRY statements share
storage, and a declaration behind ``!$`` may be seen in one compilation alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asphalt.analysis.names.openmp_sentinels import conditional_statements, is_threading
from asphalt.analysis.names.parallel_loops import threads_of
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Plain
from asphalt.ir.tree import Unit, leaves, once

_WORD = re.compile(r"[a-z]\w*")


def is_single(name: str, scope: Scope) -> bool:
    """Whether a name means one variable in the statements of a unit.

    Variables that no directive of a parallel loop names are those of one thread.
    """
    symbol = scope.lookup(name)
    if symbol is None or not once(scope.unit, _is_understood):
        return False
    loops = threads_of(scope.unit).loops
    if any(name in one.own | one.listed | one.evaluated for one in loops):
        return False
    hidden = once(scope.unit, _hidden)
    if hidden and "implicit" in symbol.attrs:
        return False  # another module may give it
    home = symbol.home if isinstance(symbol.home, Scope) else scope
    return not any(name in _WORD.findall(text) for text in hidden) and not once(
        home.unit, _is_threaded
    )


def _hidden(unit: Unit) -> tuple[str, ...]:
    """The declarations of a unit that one compilation alone has."""
    return tuple(t.text.lower() for t in _ahead(unit) if t.kind is TriviaKind.CONDITIONAL)


def _is_threaded(unit: Unit) -> bool:
    """Whether directives among the declarations of a unit may give threads their variables."""
    return any(is_threading(trivia) for trivia in _ahead(unit))


def _is_understood(unit: Unit) -> bool:
    """Whether all that threads execute in a unit are parallel loops, and nothing in it is executed
    in one compilation alone; it has one result."""
    if threads_of(unit).unknown is not None or any(True for _ in conditional_statements(unit)):
        return False
    return not any(
        isinstance(leaf.what, Plain) and leaf.what.keyword == "entry" for leaf in leaves(unit)
    )


def _ahead(unit: Unit) -> Iterator[Trivia]:
    """The lines between and behind the declarations of a unit."""
    for node in unit.spec:
        for leaf in leaves(node):
            yield from leaf.lead
    first = unit.body[0] if unit.body else unit.contains or unit.end
    first_leaf = next(leaves(first))
    yield from (t for t in first_leaf.lead if t.kind is TriviaKind.CONDITIONAL)
    if not unit.body:
        yield from first_leaf.lead
