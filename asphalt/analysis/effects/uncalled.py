"""Procedures without callers after the inlining of their last call.

A procedure without callers in a tree may be called from elsewhere.  But if all its calls were known
before, and are inlined now, it is not executed any more.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import is_bound_to_c
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.program import Located, Program
from asphalt.ir.stmt import Call, Plain
from asphalt.ir.tree import leaves


def transitive_callees(scope: Scope) -> frozenset[str]:
    """The names of the procedures of the tree that a unit calls, and of those that these call."""
    found: set[str] = set()
    waiting = [scope]
    while waiting:
        here = waiting.pop()
        for leaf in (leaf for node in here.unit.body for leaf in leaves(node)):
            what = leaf.action
            known = invoked(what, here) if isinstance(what, Call) else None
            if known is not None and known[0].unit.name not in found:
                found.add(known[0].unit.name)
                waiting.append(here.scopes.of(known[0]))
    return frozenset(found)


def is_uncalled(located: Located, once_called: frozenset[str], program: Program) -> bool:
    """Whether a unit is one of the procedures ``once_called``, and only itself and other such
    procedures name it now."""
    return _is_left_over(located, once_called, program, frozenset())


def _is_left_over(
    located: Located, once_called: frozenset[str], program: Program, above: frozenset[str]
) -> bool:
    unit = located.unit
    if unit.kind != "subroutine" or unit.name not in once_called or is_bound_to_c(unit):
        return False
    if any(_has_another_name(leaf.what) for node in unit.body for leaf in leaves(node)):
        return False
    above |= {unit.name}
    return all(
        other.unit.name in above or _is_left_over(other, once_called, program, above)
        for other in program.mentions(unit.name)
    )


def _has_another_name(what: object) -> bool:
    return isinstance(what, Plain) and what.keyword == "entry"
