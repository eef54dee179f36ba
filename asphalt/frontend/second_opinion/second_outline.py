"""A second opinion on the lines and dummy arguments of a procedure, by fortls's parser.

asphalt's own tree determines the units of a file; asphalt transforms a procedure only if fortls,
which reads files in its own way, finds it in the same lines with the same dummy arguments.
"""

from __future__ import annotations

from asphalt.frontend.source_tree.index import FileIndex
from asphalt.ir.stmt import UnitHead
from asphalt.ir.tree import Unit


def differs(index: FileIndex, chain: tuple[Unit, ...]) -> str | None:
    """How the index differs about the last unit of ``chain`` (hosts first); None: it does not.

    A unit that fortls does not know (it gives up on odd text, and omits main programs without a
    PROGRAM statement) is no difference.
    """
    unit = chain[-1]
    head = unit.head
    if head is None or not isinstance(head.what, UnitHead) or head.span is None:
        return None
    hosts = tuple(host.name for host in chain[:-1])
    entries = [
        entry
        for entry in index.units
        if entry.name == unit.name and entry.kind == unit.kind and entry.parents == hosts
    ]
    if not entries or unit.end.span is None:
        return None
    for entry in entries:
        same_lines = entry.first <= head.span.last and entry.last >= unit.end.span.first
        if same_lines and _same_dummies(entry.args, head.what.args, head.cut):
            return None
    found = entries[0]
    return f"{unit.name} is found in lines {found.first} to {found.last} with {list(found.args)}"


def _same_dummies(theirs: tuple[str, ...], ours: tuple[str, ...], cut: frozenset[str]) -> bool:
    """Whether two readings of a list of dummies are the same, where fortls may take a name that a
    line ending or a blank of fixed form cuts for several."""
    if theirs == ours:
        return True
    parts = list(theirs)
    for name in ours:
        taken = parts.pop(0) if parts else ""
        while name in cut and len(taken) < len(name) and parts:
            taken += parts.pop(0)
        if taken != name:
            return False
    return not parts
