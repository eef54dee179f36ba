"""Charged trees: mirrors of source trees whose computation takes simulated time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.analysis.effects.known_libraries import table as library_table
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.mpi.runtime_types import runtime_type
from asphalt.analysis.names.scopes import Scope, Scopes, Symbol
from asphalt.analysis.names.symbol import Origin
from asphalt.config.resources import CHARGES, shipped
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.frontend.statements.concurrent import concurrent_header
from asphalt.gain.post import COPY_BANDWIDTH
from asphalt.ir.expr import Component, Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import File, Unit
from asphalt.machine.machine import Machine
from asphalt.output.atomic import write_atomically
from asphalt.output.mirror import absolute, plan_mirror
from asphalt.transforms.charging.copies import with_copies_charged
from asphalt.transforms.charging.edit import (
    ALLOCATED,
    CHARGE,
    FLUSH,
    PAGES,
    TOUCHED,
    TOUCHED_STATIC,
)
from asphalt.transforms.charging.pages import with_pages_charged
from asphalt.transforms.charging.program import Charger, Costs, NotCharged
from asphalt.transforms.charging.pure import is_pure, may_lose_purity, without_purity
from asphalt.unparse.unparse import unparse

RUNTIME_UNITS = RUNTIME_MODULES | {CHARGE, FLUSH, PAGES, ALLOCATED, TOUCHED, TOUCHED_STATIC}
"""The modules of asphalt's runtime: messages account for its time, only copies are charged."""


@record
class Charged:
    """A charged tree.

    ``files``: all files below ``root``; ``changed``: those with charges; ``runtime``: the source to
    compile and link with them.  ``not_charged``: computation that takes no simulated time, with
    file, line and reason.
    """

    root: Path
    files: tuple[Path, ...]
    changed: tuple[Path, ...]
    runtime: Path
    not_charged: tuple[NotCharged, ...]


def charge_tree(
    source: Path, out: Path, machine: Machine, settings: Settings | None = None
) -> Charged:
    """Mirror the tree ``source`` (or one file) below ``out``, with charges for its computation.

    Raises ``UsageError`` if ``out`` lies in ``source``.
    """
    tree = load_tree((source,), settings or Settings())
    try:
        contents, not_charged = charged_files(tree, machine)
    finally:
        tree.close()
    changed = {absolute(Path(path)): data for path, data in contents.items()}
    mirror = plan_mirror((source,), changed, out)
    for directory in mirror.directories:
        directory.mkdir(parents=True, exist_ok=True)
    written = []
    for entry in mirror.entries:
        entry.destination.parent.mkdir(parents=True, exist_ok=True)
        if entry.link is not None:
            entry.destination.unlink(missing_ok=True)
            entry.destination.symlink_to(entry.link)
        else:
            write_atomically(entry.destination, entry.content(), entry.mode)
        written.append(entry.destination)
    charges = shipped(CHARGES)
    runtime = mirror.output / charges.name
    write_atomically(runtime, charges.read_bytes(), 0o644)
    own = tuple(entry.destination for entry in mirror.entries if entry.source in changed)
    return Charged(mirror.output, tuple(written), own, runtime, not_charged)


def charged_files(tree: Tree, machine: Machine) -> tuple[dict[str, bytes], tuple[NotCharged, ...]]:
    """The changed files of a tree by path, and what is not charged."""
    scopes = Scopes(tree)
    costs = Costs(machine.seconds, machine.latency, machine.window, machine.cache)
    by_file = {entry.path: tree.units_of(entry.path) for entry in tree.files}
    not_charged = [
        NotCharged(path, 1, "the file cannot be read, so its computation is not charged")
        for path, units in by_file.items()
        if not units and tree.outline(path).units
    ]
    impure = may_lose_purity(located for units in by_file.values() for located in units)
    files: dict[str, bytes] = {}
    for path, units in by_file.items():
        if not units:
            continue
        file = tree.file(path)
        new: dict[int, Unit] = {}
        for located in units:
            found = _charged_unit(located, file, scopes, costs, impure, not_charged)
            if found is not None:
                new[id(located.unit)] = found
        text = unparse(_with_units(file, new)).encode("latin-1")
        if text != tree.content(path):
            files[path] = text
    return files, tuple(sorted(not_charged, key=lambda n: (n.file, n.line)))


def _charged_unit(
    located: Located,
    file: File,
    scopes: Scopes,
    costs: Costs,
    impure: frozenset[str],
    not_charged: list[NotCharged],
) -> Unit | None:
    unit: Unit | None = located.unit
    assert unit is not None
    if not unit.body:
        return None
    if any(outer.name in RUNTIME_UNITS for outer in located.chain):
        return with_copies_charged(unit, COPY_BANDWIDTH, file.form, file.eol)
    if is_pure(unit):
        unit = without_purity(unit, file.width) if unit.name in impure else None
        if unit is None:
            line = located.unit.head.span.first if _spanned(located.unit) else 1  # type: ignore[union-attr]
            message = f"{located.unit.name} must be pure, and a pure procedure cannot be charged"
            not_charged.append(NotCharged(located.path, line, message))
            return None
    scope = scopes.of(located)
    charger = Charger(scope, costs, _waits, file.form, file.eol, concurrent_header)
    charged = with_pages_charged(charger.unit(unit), charger, costs.seconds["page"])
    not_charged += charger.not_charged
    return charged


def _spanned(unit: Unit) -> bool:
    return unit.head is not None and unit.head.span is not None


def _with_units(file: File, new: dict[int, Unit]) -> File:
    def visit(unit: Unit) -> Unit:
        inner = tuple(visit(one) for one in unit.contained)
        found = new.get(id(unit), unit)
        if all(a is b for a, b in zip(inner, unit.contained, strict=True)):
            return found
        return replace(found, contained=inner)

    return replace(file, units=tuple(visit(unit) for unit in file.units))


def _waits(call: Call, scope: Scope) -> bool:
    """Whether a call may communicate, and does not call a charged procedure."""
    if mpi_call(call, scope) is not None:
        return True
    if isinstance(call.procedure, Component):
        return runtime_type(call.procedure.base, scope) is not None
    if not isinstance(call.procedure, Ref):
        return False
    name = call.procedure.name
    symbol = scope.resolve(name)
    if isinstance(symbol, Symbol):
        if symbol.origin is Origin.INTRINSIC:
            return False
        if symbol.owner in RUNTIME_UNITS or symbol.origin is Origin.MPI:
            return True
        if symbol.origin in (Origin.PROCEDURE, Origin.MODULE) and "external" not in symbol.attrs:
            return False
    return name not in library_table() and not scope.program.defines(name)


__all__ = ["Charged", "NotCharged", "charge_tree", "charged_files"]
