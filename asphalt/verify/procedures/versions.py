"""Builds the versions of a program whose procedures are called: original and transformed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from asphalt.analysis.names.scopes import Scopes
from asphalt.config.errors import InputError, UsageError
from asphalt.config.limits import HEADER
from asphalt.config.passes import Pass
from asphalt.config.runtime import is_runtime_source
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import SiteReport
from asphalt.driver.sites import Site
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.output.mirror import absolute, base_of
from asphalt.project import Project
from asphalt.transforms.inlining import inline
from asphalt.verify.procedures.build import Callable, Compiler, build_version
from asphalt.verify.procedures.find import (
    find_procedure,
    missing_module,
    needed_files,
    reaches,
)
from asphalt.verify.procedures.interface import interface_of

_EXECUTED = frozenset({"subroutine", "function", "program"})


@record
class Versions:
    """Some procedures of a project, to build in their original and transformed versions."""

    project: Project
    scopes: Scopes
    callables: tuple[Callable, ...]

    @staticmethod
    def of(project: Project, procedures: Sequence[str], path: str | None = None) -> Versions:
        """The procedures with these names; ``path``: the file of the first one.

        Raises ``UsageError`` and ``InputError`` if one cannot be called from outside.
        """
        tree = project.tree
        if not tree.files:
            raise UsageError("the given paths contain no Fortran file; check them")
        scopes = Scopes(tree)
        callables = []
        for number, name in enumerate(procedures):
            located = find_procedure(tree, name, path if number == 0 else None)
            scope = scopes.of(located)
            callables.append(Callable(interface_of(located, scope), scope))
        found = Versions(project, scopes, tuple(callables))
        found._refuse_missing()
        return found

    @property
    def files(self) -> set[str]:
        """The files that the procedures need, by declarations and calls."""
        return needed_files(self.project.tree, [c.interface.path for c in self.callables], ())

    def _refuse_missing(self) -> None:
        files = self.files
        missing = {
            name: path for path in sorted(files) for name in self.project.missing_modules(path)
        }
        if not missing:
            return
        name, path = next(iter(missing.items()))
        near = missing_module(self.project.tree, files, tuple(missing))
        where = f" ({near} defines one that is missing)" if near else ""
        raise InputError(
            path,
            None,
            f"uses module {name}, which is not among the sources{where}; "
            "give the tree that holds it, too",
        )

    def original(self, directory: Path, compiler: Compiler) -> Path:
        """The library of the original."""
        return self._built((), directory, compiler, "the original")

    def transformed(
        self, directory: Path, compiler: Compiler, tile: int | None, depth: int | None
    ) -> Path:
        """The library of the transformed program, with K and D in the header."""
        changes = self.project.transform(tile, depth, trial=True)
        return self._built(changes, directory, compiler, "the transformed program")

    def instead(self, tree: Path, directory: Path, compiler: Compiler) -> Path:
        """The library of another tree of the same layout.

        Raises ``UsageError`` for a missing file.
        """
        base = base_of(self.project.roots)
        changes = []
        for file in self.project.files:
            path = tree / absolute(file).relative_to(base)
            if not path.is_file():
                raise UsageError(f"{path}: no such file; it must correspond to {file}")
            before = self.project.content(str(file))
            assert before is not None
            changes.append(Change(file, before, path.read_bytes(), (), ()))
        return self._built(changes, directory, compiler, "the other tree", _companions(tree))

    def _built(
        self,
        changes: Sequence[Change],
        directory: Path,
        compiler: Compiler,
        what: str,
        overlay: Mapping[Path, bytes] | None = None,
    ) -> Path:
        try:
            tree, roots = self.project.tree, self.project.roots
            given = overlay or {}
            return build_version(tree, roots, changes, self.callables, directory, compiler, given)
        except UsageError as error:
            raise UsageError(f"{what} {error}") from None

    def sites_of(self, number: int) -> tuple[SiteReport, ...]:
        """The transformed exchanges that a procedure may execute."""
        applied = {site.id for change in self.project.transform() for site in change.sites}
        return tuple(
            site.report
            for site in self.project.sites()
            if site.report.id in applied and self._reached(site, number)
        )

    @property
    def may_tile(self) -> bool:
        """Whether the first procedure may execute an exchange that can leave in tiles."""
        tiled = {
            site.id
            for change in self.project.transform()
            for site in change.sites
            if Pass.PREPUSH in site.passes
        }
        return any(site.id in tiled for site in self.sites_of(0))

    def why_unchanged(self) -> str | None:
        """Why there is nothing to compare: no code that the first procedure may execute is changed.

        None: some is.
        """
        tree, one = self.project.tree, self.callables[0]
        changes = self.project.transform()
        names = set[str]()
        for change in changes:
            found = _changed_units(tree, change)
            if found is None:
                return None  # a part of files, which any of them may execute
            names |= found
        if reaches(tree, self.scopes, one.scope.unit, sorted(names)):
            return None
        located = find_procedure(tree, str(one.interface), one.interface.path)
        homes = [str(c.path) for c in changes if inline.stands_in(c.after, located)]
        new = [home for home in homes if not inline.stands_in(tree.content(home), located)]
        where = ""
        if new:
            where = (
                f"; apply put its text in place of calls in {' and '.join(new)}, and transforms it "
                "there: verify the procedures of these files, or the whole program"
            )
        place = f"{one.interface.path}:{one.interface.line}"
        return (
            f"{place}: apply changes nothing that {one.interface} executes, so there is nothing to "
            f"compare{where}"
        )

    def _reached(self, site: Site, number: int) -> bool:
        procedure = self.callables[number].scope.unit
        return reaches(self.project.tree, self.scopes, procedure, [site.exchange.located.unit.name])


def _changed_units(tree: Tree, change: Change) -> set[str] | None:
    """The names of the procedures of a file that a change rewrites; None: the file has no units of
    its own."""
    path = str(change.path)
    if not tree.units_of(path):
        return None
    before = _texts(tree, path, change.before)
    after = _texts(tree.edited({path: change.after}), path, change.after)
    return {key[1] for key, lines in before.items() if after.get(key) != lines}


def _texts(tree: Tree, path: str, content: bytes) -> dict[tuple[str, str], list[bytes]]:
    """The lines of each procedure and main program, by host and name."""
    lines = content.splitlines()
    units = tree.outline(path).units
    return {
        (hosts, one.name): lines[one.first - 1 : one.last]
        for one in units
        for hosts in ("" if one.host is None else units[one.host].name,)
        if one.kind in _EXECUTED
    }


def _companions(tree: Path) -> dict[Path, bytes]:
    """The headers and the runtime of a transformed tree, by their paths below it."""
    sources = (path for path in tree.rglob("*.f90") if is_runtime_source(path))
    found = sorted((*tree.rglob(HEADER), *sources))
    return {path.relative_to(tree): path.read_bytes() for path in found}
