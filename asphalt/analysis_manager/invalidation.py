"""Which procedures do the same in a tree as they did before some of its files were edited.

A summary of a procedure depends on its text, on its hosts, and on the units that these name, on the
units that those name, and so on: only names lead from one unit to another (F2018 chapter 19).  So
it remains valid if no such path leads to a unit whose text has changed, as long as the files have
the same units as before, or more that no unit could name.  There are more of these paths than uses:
any word of a unit counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from asphalt.frontend.source_tree.mentions import Position
from asphalt.frontend.source_tree.outline import Outline, UnitOutline
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.tree import Unit, leaves

_INTERFACE = re.compile(rb"interface", re.I)
_LINE_NUMBER = b"__line__"  # the preprocessor's: it changes where the text does not
MODULES = ("module", "submodule")
_PROCEDURES = ("subroutine", "function")
_OF_MPI = ("mpi_", "pmpi_")
_BLOCK_DATA = ("block data", "block_data")
_WITH_EFFECTS = (
    TriviaKind.DIRECTIVE,
    TriviaKind.CONDITIONAL,
    *OF_THE_PREPROCESSOR,
    TriviaKind.DEAD,
)


@dataclass
class UsedNames:
    """The names of units that occur in units, by the contents of their files."""

    _found: dict[frozenset[str], dict[tuple[str, int], frozenset[str]]] = field(
        default_factory=dict
    )

    def among(self, names: frozenset[str]) -> dict[tuple[str, int], frozenset[str]]:
        """The known uses where units have these names: by the key of a file and the number."""
        return self._found.setdefault(names, {})


class Sight:
    """The paths from the units of a tree to others, by names."""

    def __init__(self, tree: Tree, used: UsedNames) -> None:
        self.tree = tree
        self._named: dict[str, list[Position]] = {}
        for entry in tree.files:
            for number, unit in enumerate(tree.outline(entry.path).units):
                self._named.setdefault(unit.name, []).append(Position(entry.path, number))
        self._named.pop("", None)
        self._names = frozenset(self._named)
        self._keys = {entry.path: entry.key for entry in tree.files}
        self._used = used.among(self._names)
        self._next: dict[Position, tuple[Position, ...] | None] = {}
        self._numbers: dict[str, dict[tuple[str, ...], int | None]] = {}

    def position(self, path: str, names: tuple[str, ...]) -> Position | None:
        """The unit of these names, hosts first; None: there is none, or more than one."""
        if path not in self._keys:
            return None
        if path not in self._numbers:
            numbers: dict[tuple[str, ...], int | None] = {}
            self._numbers[path] = numbers
            units = self.tree.outline(path).units
            chains: list[tuple[str, ...]] = []
            for number, unit in enumerate(units):
                chain = (*(() if unit.host is None else chains[unit.host]), unit.name)
                chains.append(chain)
                numbers[chain] = None if chain in numbers else number
        found = self._numbers[path].get(names)
        return None if found is None else Position(path, found)

    def chain(self, position: Position) -> tuple[str, ...]:
        """The name of a unit after those of its hosts."""
        units = self.tree.outline(position.path).units
        unit = units[position.number]
        above = () if unit.host is None else self.chain(Position(position.path, unit.host))
        return (*above, unit.name)

    def procedure(self, position: Position) -> tuple[Position, ...]:
        """The outermost procedure or main program around a unit, with all units in it, hosts
        first; (): it is a module, or block data."""
        path, units = position.path, self.tree.outline(position.path).units
        outer = position.number
        while (host := units[outer].host) is not None and units[host].kind not in MODULES:
            outer = host
        if units[outer].kind in (*MODULES, *_BLOCK_DATA):
            return ()
        inside = {outer}
        for number, unit in enumerate(units):  # those inside come after their host
            if unit.host in inside:
                inside.add(number)
        return tuple(Position(path, number) for number in sorted(inside))

    def next(self, position: Position) -> tuple[Position, ...] | None:
        """The units that one names; None: it could not be read."""
        if position not in self._next:
            self._next[position] = self._seen(position)
        return self._next[position]

    def _seen(self, position: Position) -> tuple[Position, ...] | None:
        path, number = position.path, position.number
        names = self._names_in(path, number)
        if names is None:
            return None
        units = self.tree.outline(path).units
        found = [other for name in names for other in self._named[name]]
        host = units[number].host
        if host is not None:
            found.append(Position(path, host))
        if units[number].kind not in MODULES:  # what is inside may use its variables
            found += (Position(path, n) for n, unit in enumerate(units) if unit.host == number)
        return tuple(found)

    def _names_in(self, path: str, number: int) -> frozenset[str] | None:
        key = self._keys[path], number
        if key not in self._used:
            words = self.tree.words(path)
            if words is None:
                return None
            names = self._names.intersection(words[number].split("\n"))
            includes = self.tree.outline(path).units[number].includes
            brought = (self.tree.included_words(path, place.name) for place in includes)
            self._used[key] = names.union(*(self._names & found for found in brought))
        return self._used[key]


@record
class _Changes:
    """The units of a tree whose text has changed, and what was added: for the files with new
    procedures, the numbers of the other units now, in their order, and the names of the new ones
    after those of their hosts."""

    changed: frozenset[Position] = frozenset()
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    added: frozenset[tuple[str, tuple[str, ...]]] = frozenset()


class Unaffected:
    """The procedures that do in ``after`` what they do in the tree of ``before``."""

    def __init__(self, before: Sight, after: Tree) -> None:
        self._sight = before
        self._changes = _changes(before.tree, after)
        self._same: set[Position] = set()
        self._other: set[Position] = set(self.changed or ())

    def place(self, path: str, names: tuple[str, ...]) -> Position | None:
        """Where a procedure, given by its name and its hosts' (hosts first), stands in the tree
        before; None: it may not do the same."""
        if self._changes is None:
            return None
        position = self._sight.position(path, names)
        return position if position is not None and self._is_same(position) else None

    @property
    def changed(self) -> frozenset[Position] | None:
        """The units whose text has changed, by their places before; None: more has changed than
        texts of units."""
        return None if self._changes is None else self._changes.changed

    @property
    def added(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """The new procedures: the file of each, and its name after those of its hosts."""
        return frozenset() if self._changes is None else self._changes.added

    def now(self, position: Position) -> Position:
        """Where a unit of the tree before stands now."""
        numbers = None if self._changes is None else self._changes.numbers.get(position.path)
        return position if numbers is None else replace(position, number=numbers[position.number])

    def _is_same(self, position: Position) -> bool:
        if position in self._same or position in self._other:
            return position in self._same
        seen, waiting = {position}, [position]
        while waiting:
            one = waiting.pop()
            following = None if one in self._other else self._sight.next(one)
            if following is None:
                self._other.add(position)
                return False
            new = set(following) - seen - self._same
            seen |= new
            waiting += new
        self._same |= seen
        return True


def says_the_same(one: Unit, other: Unit) -> bool:
    """Whether two texts of a unit without executable part differ in comments and blanks alone."""
    return [*_statements(one)] == [*_statements(other)]


def _statements(unit: Unit) -> Iterator[object]:
    """The own statements of a unit, with what stands between them."""
    own = (unit.head, *unit.spec, *unit.body, unit.contains, unit.end)
    for leaf in (leaf for node in own if node is not None for leaf in leaves(node)):
        lines = tuple(line for line in leaf.lead if line.kind in _WITH_EFFECTS)
        yield replace(leaf, span=None, lead=lines, trail=""), leaf.cut


def _changes(before: Tree, after: Tree) -> _Changes | None:
    """What has changed in the units; None: more has changed than that."""
    changed: set[Position] = set()
    numbers: dict[str, tuple[int, ...]] = {}
    added: set[tuple[str, tuple[str, ...]]] = set()
    for entry in before.files:
        path = entry.path
        if before.reads_as(after, path):
            continue
        kept = _kept_units(before, after, path)
        in_file = None if kept is None else _changed_in(before, after, path, kept)
        if kept is None or in_file is None:
            return None
        changed |= in_file
        chains = _chains(after.outline(path))
        new = set(range(len(chains))) - set(kept)
        if new:
            numbers[path] = kept
            added |= {(path, chains[number]) for number in new}
    return _Changes(frozenset(changed), numbers, frozenset(added))


def _kept_units(before: Tree, after: Tree, path: str) -> tuple[int, ...] | None:
    """The numbers that the units of a file have now, in their order; None: it has not the same
    units, and more only that nothing could name before."""
    old, new = (tree.outline(path).units for tree in (before, after))
    if [(unit.kind, unit.name, unit.host) for unit in old] == [
        (unit.kind, unit.name, unit.host) for unit in new
    ]:
        return tuple(range(len(new)))
    known, chains = _chains(before.outline(path)), _chains(after.outline(path))
    if len({*known}) < len(known) or len({*chains}) < len(chains):
        return None
    kept = tuple(number for number, chain in enumerate(chains) if chain in {*known})
    if [(unit.kind, chain) for unit, chain in zip(old, known, strict=True)] != [
        (new[number].kind, chains[number]) for number in kept
    ]:
        return None
    texts, _ = _texts(after.content(path), after.outline(path))
    added = set(range(len(new))) - set(kept)
    if not all(_is_unnamed(before, new, number, texts[number]) for number in added):
        return None
    return kept


def _is_unnamed(before: Tree, units: Sequence[UnitOutline], number: int, text: bytes) -> bool:
    """Whether a new unit of a file is a procedure by itself, or of a module, that no text of the
    tree before names in whatever way; ``text``: its own.

    Names of modules' variables that it uses lead to these, but nothing leads to it.
    """
    unit = units[number]
    in_module = unit.host is None or units[unit.host].kind in MODULES
    by_itself = in_module and all(other.host != number for other in units)
    plain = unit.kind in _PROCEDURES and not unit.includes and not _INTERFACE.search(text)
    if not by_itself or not plain or unit.name.startswith(_OF_MPI):
        return False
    named = any(one.name == unit.name for e in before.files for one in before.outline(e.path).units)
    return not named and before.mention_count(unit.name) == 0


def _chains(outline: Outline) -> list[tuple[str, ...]]:
    """The name of each unit after those of its hosts."""
    found: list[tuple[str, ...]] = []
    for unit in outline.units:
        found.append((*(() if unit.host is None else found[unit.host]), unit.name))
    return found


def _changed_in(before: Tree, after: Tree, path: str, kept: Sequence[int]) -> set[Position] | None:
    """The units of a file whose text has changed; None: more has changed than texts of units.
    ``kept``: their numbers now."""
    outlines = before.outline(path), after.outline(path)
    words = before.loose_words(path), after.loose_words(path)
    if _frame(outlines[0]) != _frame(outlines[1]) or None in words or words[0] != words[1]:
        return None
    (texts, rest), (all_, other_rest) = (
        _texts(tree.content(path), outline)
        for tree, outline in zip((before, after), outlines, strict=True)
    )
    others = [all_[number] for number in kept]
    one, other = (_directives(tree.content(path)) for tree in (before, after))
    whole = rest != other_rest or one != other or any(o.expanded is not None for o in outlines)
    changed = [
        number
        for number, (text, new) in enumerate(zip(texts, others, strict=True))
        if whole or text != new or _LINE_NUMBER in text.lower()
    ]
    for number in changed:
        units = outlines[0].units[number], outlines[1].units[kept[number]]
        if units[0].name.startswith(_OF_MPI):
            return None  # calls of MPI are asked whether they mean it
        names = [tuple(i.name for i in unit.includes) for unit in units]
        brought = [after.included_words(path, name) for name in set(names[0]) ^ set(names[1])]
        if _interfaces(texts[number]) != _interfaces(others[number]) or any(
            "interface" in words for words in brought
        ):
            return None  # calls by generic names are asked who else has one of that name
    return {Position(path, number) for number in changed}


def _directives(content: bytes) -> list[bytes]:
    """The lines of the preprocessor, on which the meaning of all others may depend."""
    lines = content.split(b"\n") if b"#" in content else ()
    return [line for line in lines if line.lstrip().startswith(b"#")]


def _interfaces(text: bytes) -> list[bytes]:
    lines = text.split(b"\n") if _INTERFACE.search(text) else ()
    return [line for line in lines if _INTERFACE.search(line)]


def _frame(outline: Outline) -> object:
    """What a file has beside its units."""
    bound = tuple(place.name for place in outline.bound_calls)
    return outline.broken, outline.mpi_renames, bound


def _texts(content: bytes, outline: Outline) -> tuple[list[bytes], list[bytes]]:
    """The text of each unit, without that of the units in it, and the lines that stand in none, but
    for blank ones."""
    lines = content.split(b"\n")
    inside: dict[int | None, list[UnitOutline]] = {}
    for unit in outline.units:
        inside.setdefault(unit.host, []).append(unit)
    own = [
        b"\n".join(_between(lines, unit.first - 1, unit.last, inside.get(number, ())))
        for number, unit in enumerate(outline.units)
    ]
    rest = _between(lines, 0, len(lines), inside.get(None, ()))
    return own, [line for line in rest if line.strip()]


def _between(
    lines: Sequence[bytes], first: int, last: int, units: Iterable[UnitOutline]
) -> list[bytes]:
    """The lines of a stretch in which none of some units stands; these are in their order."""
    found: list[bytes] = []
    for unit in units:
        found += lines[first : max(first, unit.first - 1)]
        first = max(first, unit.last)
    return found + list(lines[first:last])
