"""The programs of a tree: collections of cases have a folder for each, with copies of modules.

A USE statement does not say which copy it means, and what is proved of one copy is not proved of
another one.  So where several files define one name, each main program with the files that it
reaches is a program of its own; of the copies, it has those that are nearest.  A copy that is
nearest to no main program may belong to each that has none beside what uses it.  What no main
program reaches may be called by programs that are not there: it is taken together as one more.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from asphalt.diagnostics.model import ProblemReport
from asphalt.frontend.source_tree.program_tree import (
    called_from_elsewhere,
    included_alone,
    included_by,
)
from asphalt.frontend.source_tree.scan import words_in
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.stmt import Plain, UnitHead
from asphalt.ir.tree import leaves

_MODULE, _EXTERNAL, _BLOCK_DATA, _SUBMODULE = "module", "external", "block_data", "submodule"
_KINDS = {
    "module": _MODULE,
    "subroutine": _EXTERNAL,
    "function": _EXTERNAL,
    "block_data": _BLOCK_DATA,
    "submodule": _SUBMODULE,
}
_PROGRAM = re.compile(rb"^[ \t]*program\b", re.I | re.M)
"""What most main programs begin with: without it, no file is read for the question alone."""
_WORD = re.compile(r"\w+")
_TOLD = 3  # programs, and copies, that a message names
_Name = tuple[str, str]


@record
class ProgramFiles:
    """The files of a program, or of several that share files and of which no two define one name.

    ``mains``: the files with their main programs, sorted; (): of what no main program reaches.
    """

    mains: tuple[str, ...]
    paths: frozenset[str]

    @property
    def name(self) -> str:
        """How messages name it."""
        if not self.mains:
            return "what no main program uses"
        return f"the program{'s' * (len(self.mains) > 1)} of {self.mains_named}"

    @property
    def mains_named(self) -> str:
        """The first files with main programs, and how many there are."""
        return _some(self.mains, " and ")


def programs_of(tree: Tree) -> tuple[ProgramFiles, ...]:
    """The programs of a tree, sorted; (): it is one, or several of which no two files define one
    name, so that what is proved of all of it holds in each."""
    if sum(_PROGRAM.search(tree.content(entry.path)) is not None for entry in tree.files) < 2:
        return ()
    mains = sorted(set(tree.defined_in("program", "")))
    if len(mains) < 2:
        return ()
    links = _Links(tree)
    if not links.copied:
        return ()
    reached = [ProgramFiles((main,), links.reached(main)) for main in mains]
    rest = links.own.difference(*(one.paths for one in reached))
    for path in sorted(rest):
        if links.may_be_bound(path):
            reached = [_with_bound(one, path, links) for one in reached]
    rest = rest.difference(*(one.paths for one in reached))
    others = [ProgramFiles((), links.reached(path)) for path in sorted(rest)]
    found = (*_merged(reached, links, shared=True), *_merged(others, links, shared=False))
    if len(found) < 2:
        return ()
    return tuple(ProgramFiles(one.mains, links.with_included(one.paths)) for one in found)


def files_of(tree: Tree, mains: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The files that each program needs, sorted, by the file of its main program."""
    links = _Links(tree)
    return {main: tuple(sorted(links.with_included(links.reached(main)))) for main in mains}


def told(tree: Tree, programs: Collection[ProgramFiles]) -> ProblemReport:
    """A note that there are several programs, with the copies that each has."""
    links = _Links(tree)
    own = [one for one in programs if one.mains]
    parts = [f"{one.mains_named} ({_files(len(one.paths), links.own)})" for one in own]
    others = links.own.difference(*(one.paths for one in own))
    rest = f"; no main program uses {_number(len(others))}" if others else ""
    names = sorted({name for _, name in links.copied if name})
    return ProblemReport(
        own[0].mains[0],
        None,
        f"one of {sum(len(one.mains) for one in own)} programs, judged with their own files: "
        f"{_some(parts, ', ')}{rest}; of what several files define ({_some(names, ', ')}), each "
        "has the nearest copy",
        note=True,
    )


def _some(names: Sequence[str], between: str) -> str:
    more = len(names) - _TOLD
    return between.join((*names[:_TOLD], *([f"{more} more"] if more > 0 else [])))


def _files(count: int, of: Collection[str]) -> str:
    return f"{count} of {_number(len(of))}"


def _number(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"


def _with_bound(one: ProgramFiles, path: str, links: _Links) -> ProgramFiles:
    """A program with a file whose procedures it may call by their binding labels."""
    if not any(links.may_be_bound(own) for own in one.paths):
        return one
    return ProgramFiles(one.mains, one.paths | links.reached(one.mains[0], path))


def _merged(
    programs: Iterable[ProgramFiles], links: _Links, *, shared: bool
) -> Iterator[ProgramFiles]:
    """The programs, those together that can be taken for one since no two files of them define one
    name; ``shared``: only where they have files in common."""
    found: list[ProgramFiles] = []
    for one in programs:
        for number, other in enumerate(found):
            both = one.paths | other.paths
            clashes = {links.clashes(paths) for paths in (one.paths, other.paths, both)}
            if (not shared or one.paths & other.paths) and len(clashes) == 1:
                found[number] = ProgramFiles((*other.mains, *one.mains), both)
                break
        else:
            found.append(one)
    return iter(found)


@dataclass
class _Links:
    """Which files of a tree need which others."""

    tree: Tree
    own: frozenset[str] = field(init=False)
    _defined: dict[_Name, list[str]] = field(init=False)
    _inner: dict[str, set[str]] = field(init=False)
    _below: dict[str, list[str]] = field(init=False)
    _mains: frozenset[str] = field(init=False)
    _mentioned: dict[str, frozenset[str]] = field(default_factory=dict)
    _apart: dict[_Name, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """``_inner``: the procedures inside of the units of a file; ``_below``: the files with
        submodules of a module."""
        tree = self.tree
        self.own = frozenset(entry.path for entry in tree.files) - included_alone(tree)
        self._mains = frozenset(tree.defined_in("program", ""))
        self._defined, self._inner, self._below = {}, {}, defaultdict(list)
        for path in sorted(self.own):
            units = tree.outline(path).units
            self._inner[path] = {unit.name for unit in units if unit.host is not None}
            for unit in units:
                if unit.host is None and unit.kind in _KINDS:
                    files = self._defined.setdefault((_KINDS[unit.kind], unit.name), [])
                    files += [path] if path not in files else []
            for entry in self._entries(path):
                files = self._defined.setdefault((_EXTERNAL, entry), [])
                files += [path] if path not in files else []
            for module in self._ancestors(path):
                self._below[module].append(path)

    @cached_property
    def copied(self) -> dict[_Name, list[str]]:
        """The modules and external procedures that several files define, with the files."""
        return {
            name: files
            for name, files in self._defined.items()
            if len(files) > 1 and name[0] in (_MODULE, _EXTERNAL)
        }

    def clashes(self, paths: Collection[str]) -> frozenset[_Name]:
        """The names that several of some files define."""
        return frozenset(
            name for name, files in self.copied.items() if sum(map(paths.__contains__, files)) > 1
        )

    def reached(self, main: str, *more: str) -> frozenset[str]:
        """The files that a file and ``more`` need, copies as near to it as possible."""
        waiting = [main, *more, *self._anywhere(main)]
        found = set(waiting)
        while waiting:
            for path in self._needed(waiting.pop(), main) - found:
                found.add(path)
                waiting.append(path)
        return frozenset(found)

    def with_included(self, paths: frozenset[str]) -> frozenset[str]:
        """Files with those of the tree that they include."""
        parts = {os.path.abspath(part): part for part in included_alone(self.tree)}
        if not parts:
            return paths
        names = (os.path.abspath(one) for path in paths for one in included_by(self.tree, path))
        return paths.union(parts[name] for name in names if name in parts)

    def may_be_bound(self, path: str) -> bool:
        """Whether procedures of a file may have binding labels, or it may call by them."""
        text = self.tree.text(path)
        return "bind" in text and "bind(c" in text.translate(_NO_BLANKS)

    def _anywhere(self, main: str) -> set[str]:
        """The files that a program may have although nothing refers to them: those that cannot be
        read, block data, and what other languages call."""
        tree = self.tree
        found = {path for path in self.own if tree.outline(path).broken}
        for kind, name in self._defined:
            if kind == _BLOCK_DATA or (kind == _EXTERNAL and name in self._foreign):
                found |= self._nearest((kind, name), main, main)
        for path in self.own:
            if self._inner[path] & self._foreign:
                found.add(path)
        return found - (self._mains - {main})

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """The procedures that files of other languages may call."""
        names = {name for _, name in self._defined}.union(*self._inner.values())
        return frozenset(name for name in names if name and called_from_elsewhere(self.tree, name))

    def _needed(self, path: str, main: str) -> set[str]:
        outline = self.tree.outline(path)
        used = {name for unit in outline.units for name in unit.uses} | self._ancestors(path)
        found = set[str]().union(*(self._nearest((_MODULE, one), path, main) for one in used))
        for name in self._named(path) - self._inner[path]:
            found |= self._nearest((_EXTERNAL, name), path, main)
        for name in (unit.name for unit in outline.units if unit.kind == _MODULE):
            for below in self._below.get(name, ()):
                if path in self._nearest((_MODULE, name), below, main):
                    found.add(below)
        return found

    def _named(self, path: str) -> frozenset[str]:
        """The external procedures that a file may refer to."""
        if path not in self._mentioned:
            outline = self.tree.outline(path)
            here = (call.name for unit in outline.units for call in unit.calls)
            other = (*outline.loose_calls, *outline.dead_calls, *outline.openmp_calls)
            names = {*here, *(call.name for call in other)}
            text = set(words_in(self.tree.content(path).lower()))
            if any((_EXTERNAL, word) in self._defined for word in text - names):
                names |= self._words(path, text)
            for include in outline.includes:
                names |= self.tree.included_words(path, include.name)
            self._mentioned[path] = frozenset(n for n in names if (_EXTERNAL, n) in self._defined)
        return self._mentioned[path]

    def _words(self, path: str, text: set[str]) -> set[str]:
        """The names in the statements of a file; where it is no tree, in its ``text``."""
        words = self.tree.words(path)
        if words is None:
            return text
        loose = self.tree.loose_words(path) or ""
        return {name for own in (*words, loose) for name in own.split()}

    def _entries(self, path: str) -> Iterator[str]:
        """The names of the ENTRY statements of the external procedures of a file."""
        if "entry" not in self.tree.text(path):
            return
        for unit in (located.unit for located in self.tree.units_of(path)):
            if unit.kind in ("subroutine", "function"):
                for leaf in leaves(replace(unit, contained=())):
                    if leaf.what == Plain("entry"):
                        yield from _WORD.findall((leaf.body or "").lower())[1:2]

    def _ancestors(self, path: str) -> set[str]:
        """The modules of which a file has submodules."""
        if all(unit.kind != _SUBMODULE for unit in self.tree.outline(path).units):
            return set()
        heads = (located.unit.head for located in self.tree.units_of(path))
        whats = (head.what for head in heads if head is not None)
        parents = (what.parent for what in whats if isinstance(what, UnitHead))
        return {parent[0] for parent in parents if parent is not None}

    def _nearest(self, name: _Name, user: str, main: str) -> set[str]:
        """The files that define a name for ``user`` in the program of ``main``; none that has
        another main program."""
        files = self._defined.get(name, ())
        linked = [path for path in files if path in (user, main) or path not in self._mains]
        nearest = set(_nearest_of(linked, user, main))
        if all(os.path.dirname(path) == os.path.dirname(user) for path in nearest):
            return nearest
        return nearest.union(self._of_no_program(name).intersection(linked))

    def _of_no_program(self, name: _Name) -> frozenset[str]:
        """The files that define a name and are nearest to no main program: any may have them."""
        if name not in self._apart:
            files = self._defined[name]
            near = (_nearest_of(files, main, main) for main in self._mains)
            owned = {one[0] for one in near if len(one) == 1}
            self._apart[name] = frozenset(files).difference(owned)
        return self._apart[name]


_NO_BLANKS = {ord(blank): None for blank in " \t&\n"}


def _nearest_of(files: list[str], user: str, main: str) -> list[str]:
    """The nearest files: the one itself, those of its folder, those nearest to the main program."""
    if user in files:
        return [user]
    beside = [path for path in files if os.path.dirname(path) == os.path.dirname(user)]
    if beside or not files:
        return beside
    common = {path: _common(path, main) for path in files}
    most = max(common.values())
    return [path for path in files if common[path] == most]


def _common(one: str, other: str) -> int:
    """How many folders, from the root, two files have in common."""
    both = zip(_folders(one), _folders(other), strict=False)
    return next(
        (n for n, (a, b) in enumerate(both) if a != b), min(map(len, map(_folders, (one, other))))
    )


def _folders(path: str) -> list[str]:
    return os.path.dirname(os.path.abspath(path)).split(os.sep)
