"""Finds a procedure by its name in a tree, and the files that its build needs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from asphalt.analysis.names.scopes import Origin, Scopes, Symbol
from asphalt.config.errors import InputError, UsageError
from asphalt.frontend.source_tree.outline import UnitOutline
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.tree import Block, Unit, leaves

_KINDS = frozenset({"subroutine", "function"})
_SEPARATOR = re.compile(r"::|\.|%|/")


def find_procedure(tree: Tree, name: str, path: str | None = None) -> Located:
    """The procedure ``name``, ``module::name`` or ``module.name`` of a tree (in the file ``path``).

    Raises ``UsageError`` if there is none, or more than one.
    """
    words = [word.strip().lower() for word in _SEPARATOR.split(name)]
    if not 1 <= len(words) <= 2 or not all(words):
        raise UsageError(f"'{name}' is not a procedure name; write NAME or MODULE::NAME")
    files = [path] if path is not None else [entry.path for entry in tree.files]
    known: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        for number, unit in enumerate(tree.outline(file).units):
            if unit.kind in _KINDS:
                known.setdefault(qualified(tree, file, unit), []).append((file, number))
    found = [
        place
        for full, places in known.items()
        if words == full.split("::")[-len(words) :]
        for place in places
    ]
    if not found:
        raise UsageError(_unknown(name, words, sorted(known), path))
    if len(found) > 1:
        raise UsageError(f"there are several procedures {name}: {_places(tree, found)}")
    file, number = found[0]
    units = tree.units_of(file)
    if not units:
        tree.file(file)  # raises, with the reason
    return units[number]


def qualified(tree: Tree, file: str, unit: UnitOutline) -> str:
    """``host::name``, or ``name`` without a host."""
    if unit.host is None:
        return unit.name
    return f"{tree.outline(file).units[unit.host].name}::{unit.name}"


def _unknown(name: str, words: Sequence[str], known: Sequence[str], path: str | None) -> str:
    where = path or "the sources"
    if not known:
        return f"there is no procedure in {where}"
    last = {full.split("::")[-1]: full for full in known}
    close = difflib.get_close_matches(words[-1], list(last), n=3)
    if close:
        meant = ", ".join(last[word] for word in close)
        return f"there is no procedure {name} in {where}; did you mean {meant}?"
    some = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return f"there is no procedure {name} in {where}; there are {some}"


def _places(tree: Tree, found: Sequence[tuple[str, int]]) -> str:
    names = []
    for file, number in found:
        unit = tree.outline(file).units[number]
        names.append(f"{qualified(tree, file, unit)} ({file}:{unit.first})")
    return ", ".join(names) + "; name the module, or the file by FILE:NAME"


def needed_files(tree: Tree, start: Collection[str], externals: Collection[str]) -> set[str]:
    """The files that ``start`` and the external procedures need: modules and procedures called.

    Raises ``InputError`` for a module that several files define.
    """
    found: set[str] = set()
    pending = [*start, *(home for name in externals for home in _external(tree, name))]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        pending += _needs(tree, path)
    return found


def _needs(tree: Tree, path: str) -> Iterator[str]:
    for unit in tree.outline(path).units:
        for module in unit.uses:
            homes = tree.defined_in("module", module)
            if path not in homes and len(homes) > 1:
                raise InputError(
                    path,
                    unit.first,
                    f"module {module} is defined in {', '.join(homes)}: "
                    "give only the files that belong together",
                )
            yield from homes if path not in homes else ()
        for call in unit.calls:
            yield from _external(tree, call.name)


def _external(tree: Tree, name: str) -> tuple[str, ...]:
    homes = tree.defined_in("external", name.lower())
    return homes if len(homes) == 1 else ()


def reaches(tree: Tree, scopes: Scopes, procedure: Unit, names: Collection[str]) -> bool:
    """Whether a procedure is one of ``names``, or may call one, directly or indirectly."""
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name == procedure.name:
            return True
        if name in seen:
            continue
        seen.add(name)
        for located in tree.mentions(name):
            if _renames(located.unit, name):
                return True
            if not _is_variable(scopes.of(located).lookup(name)):
                pending.append(located.unit.name)
    return False


def _is_variable(symbol: Symbol | None) -> bool:
    """Whether a name is certainly a variable."""
    return (
        symbol is not None
        and symbol.origin in (Origin.MODULE, Origin.COMMON, Origin.PARAMETER)
        and not symbol.attrs & {"external", "procedure"}
    )


def _renames(unit: Unit, name: str) -> bool:
    """Whether a unit declares a generic name or a type-bound procedure for a procedure."""
    word = re.compile(rf"\b{name}\b", re.IGNORECASE)
    return any(
        word.search(leaf.body or "")
        for node in unit.spec
        if isinstance(node, Block)
        for leaf in leaves(node)
    )


def missing_module(tree: Tree, files: Collection[str], missing: Sequence[str]) -> str | None:
    """A file beside those in ``files`` that defines a missing module, for a message."""
    for path in sorted(files):
        for near in sorted(Path(path).parent.iterdir()):
            if str(near) in files or not near.is_file():
                continue
            text = near.read_bytes()[:1_000_000].decode("latin-1").lower()
            if any(re.search(rf"^\s*module\s+{name}\s*$", text, re.MULTILINE) for name in missing):
                return str(near)
    return None
