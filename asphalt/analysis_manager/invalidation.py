"""Which procedures do the same in a tree as they did before some of its files were edited.

A summary of a procedure depends on its text, on its hosts, and on the units that these name, on the
units that those name, and so on: only names lead from one unit to another (F2018 chapter 19).  So
it remains valid if no such path leads to a unit whose text has changed, as long as the files have
the same units as before.  There are more of these paths than uses: any word of a unit counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from asphalt.frontend.source_tree.mentions import Position
from asphalt.frontend.source_tree.outline import Outline, UnitOutline
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.tree import Unit, leaves

_INTERFACE = re.compile(rb"interface", re.I)
_LINE_NUMBER = b"__line__"  # the preprocessor's: it changes where the text does not
MODULES = ("module", "submodule")
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


class Unaffected:
    """The procedures that do in ``after`` what they do in the tree of ``before``."""

    def __init__(self, before: Sight, after: Tree) -> None:
        self._sight = before
        self._changed = _changed(before.tree, after)
        self._same: set[Position] = set()
        self._other: set[Position] = set(self._changed or ())

    def place(self, path: str, names: tuple[str, ...]) -> Position | None:
        """Where a procedure, given by its name and its hosts' (hosts first), stands in the tree
        before; None: it may not do the same."""
        if self._changed is None:
            return None
        position = self._sight.position(path, names)
        return position if position is not None and self._is_same(position) else None

    @property
    def changed(self) -> frozenset[Position] | None:
        """The units whose text has changed; None: more has changed than texts of units."""
        return self._changed

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


def _changed(before: Tree, after: Tree) -> frozenset[Position] | None:
    """The units whose text has changed; None: more has changed than texts of units."""
    found: set[Position] = set()
    for entry in before.files:
        if before.reads_as(after, entry.path):
            continue
        in_file = _changed_in(before, after, entry.path)
        if in_file is None:
            return None
        found |= in_file
    return frozenset(found)


def _changed_in(before: Tree, after: Tree, path: str) -> set[Position] | None:
    outlines = before.outline(path), after.outline(path)
    words = before.loose_words(path), after.loose_words(path)
    if _frame(outlines[0]) != _frame(outlines[1]) or None in words or words[0] != words[1]:
        return None
    (texts, rest), (others, other_rest) = (
        _texts(tree.content(path), outline)
        for tree, outline in zip((before, after), outlines, strict=True)
    )
    one, other = (_directives(tree.content(path)) for tree in (before, after))
    whole = rest != other_rest or one != other or any(o.expanded is not None for o in outlines)
    changed = [
        number
        for number, (text, new) in enumerate(zip(texts, others, strict=True))
        if whole or text != new or _LINE_NUMBER in text.lower()
    ]
    for number in changed:
        if outlines[0].units[number].name.startswith(("mpi_", "pmpi_")):
            return None  # calls of MPI are asked whether they mean it
        names = [tuple(i.name for i in outline.units[number].includes) for outline in outlines]
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
    """What a file has beside the texts of its units."""
    units = tuple((u.kind, u.name, u.host) for u in outline.units)
    bound = tuple(place.name for place in outline.bound_calls)
    return outline.broken, units, outline.mpi_renames, bound


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
