"""The configurations in which what is proved for a unit holds.

The program is read in one configuration, that of the options -D; the text of a file is compiled in
all of them.  A proof about a unit rests on the unit, on what calls it, on what these call, and on
the modules that they use.  It holds wherever all tests of the preprocessor that choose among the
text of these units come out as they did here, and the macros in that text have the values of here.

The tests are repeated at the unit, so their macros must mean the same there as where they stand: no
line between the two places, and none of another file, may define them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis_manager.invalidation import MODULES, Sight
from asphalt.analysis_manager.macro_values import (
    declares_plainly,
    given_macros,
    gives_free_value,
    gives_real_value,
    kind_names,
)
from asphalt.frontend.lexical.conditionals import Conditional, Expansion, MacroLine
from asphalt.frontend.lexical.named_tokens import ONE_TOKEN
from asphalt.frontend.lexical.preprocess import PREPROCESSED
from asphalt.frontend.source_tree.includes import is_in_tree, maker_of
from asphalt.frontend.source_tree.mentions import Position
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.configuration import MacroTest
from asphalt.ir.records import record
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Leaf, Node, leaves

_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"defined\s*\(?\s*\w+\s*\)?")
_INTEGER = re.compile(r"\(?\s*(\d{1,9})\s*\)?")
_HANDLERS = frozenset({"mpi_comm_set_errhandler", "mpi_errhandler_set"})


Declared = tuple[Leaf, tuple[Node, ...]]
"""A declaration, and the specification part that it stands in."""


class UnclearError(Exception):
    """It is not clear in which configurations a proof holds; the text says why."""


@record
class Placed:
    """A test, and the line that makes it."""

    test: MacroTest
    path: str
    line: int


class Configurations:
    """The tests on which the proofs about the units of a tree rest."""

    def __init__(self, tree: Tree, sight: Sight) -> None:
        self._tree = tree
        self._sight = sight
        self._found: dict[tuple[Position, frozenset[str]], tuple[MacroTest, ...] | str] = {}
        self._kind_names: dict[frozenset[Position], frozenset[str]] = {}
        self._integers: dict[tuple[str, frozenset[str]], bool] = {}

    @cached_property
    def _with_conditionals(self) -> tuple[str, ...]:
        """The files that the preprocessor may change."""
        return tuple(entry.path for entry in self._tree.files if entry.cpp)

    def of(
        self, path: str, chain: tuple[str, ...], alone: frozenset[str] = frozenset()
    ) -> tuple[MacroTest, ...] | str:
        """The tests that decide whether a proof about a unit holds, or why that is not clear.

        ``chain``: the names of the unit and its hosts, outermost first.  ``alone``: MPI procedures
        of which the program must have no calls but those that are compiled here.  None, where the
        settings say that there is one configuration.
        """
        if not self._with_conditionals:
            return ()
        position = self._sight.position(path, chain)
        if position is None:
            return "two units have one name"
        if self._tree.settings.one_configuration:
            return ()
        key = position, alone
        if key not in self._found:
            try:
                self._found[key] = self._tests(position, alone)
            except UnclearError as why:
                self._found[key] = f"{why} (--one-configuration: compiled with these -D alone)"
        return self._found[key]

    def why_not_alone(self, path: str, chain: tuple[str, ...], name: str) -> str | None:
        """Why no condition at a unit excludes the calls of an MPI procedure that the preprocessor
        removes; None: one does."""
        tests = self.of(path, chain, frozenset({name}))
        return tests if isinstance(tests, str) else None

    def _tests(self, position: Position, alone: frozenset[str]) -> tuple[MacroTest, ...]:
        units = self._relevant(position)
        removed: dict[str, list[int]] = {}
        for mention in self._tree.mpi_calls() if alone else ():
            found = procedure(mention.operation)
            if mention.removed and found is not None and found.name in alone:
                removed.setdefault(mention.path, []).append(mention.line)
        placed = [
            one
            for path in self._with_conditionals
            for one in self._placed(path, units, position, removed.get(path, ()))
        ]
        for one in tuple(placed):
            placed += self._of_definitions(one, position)
        tests = tuple(dict.fromkeys(one.test for one in placed))
        if tests:
            self._check_preprocessed(position.path, placed[0])
        return tests

    def _relevant(self, position: Position) -> frozenset[Position]:
        """A unit, its callers and theirs, and all that these name."""
        above, waiting = {position}, [position]
        while waiting:
            places = self._above(waiting.pop())
            waiting += places - above
            above |= places
        found, waiting = set(above), list(above)
        while waiting:
            one = waiting.pop()
            following = self._sight.next(one)
            if following is None:
                raise UnclearError(f"{one.path} could not be read")
            new = set(following) - found
            found |= new
            waiting += new
        return frozenset(found)

    def _above(self, position: Position) -> frozenset[Position]:
        """The units that may call a procedure: those that hold its name, and where a module gives
        it another one, all that use the module or stand in it."""
        unit = self._tree.outline(position.path).units[position.number]
        if unit.kind not in ("subroutine", "function", "module_procedure") or not unit.name:
            return frozenset()
        found = set(self._tree.positions(unit.name))
        for other in tuple(found):
            units = self._tree.outline(other.path).units
            host = units[other.number]
            if host.kind in MODULES and self._gives_other_name(other, unit.name):
                found |= self._tree.positions(host.name)
                found |= {
                    Position(other.path, number)
                    for number, one in enumerate(units)
                    if one.host == other.number
                }
        return frozenset(found)

    def _gives_other_name(self, position: Position, name: str) -> bool:
        """Whether a module has a declaration with the name of a procedure in it, beside those that
        only make it accessible."""
        spec = self._tree.unit_at(position).unit.spec
        return any(
            name in _NAME.findall((leaf.body or "").lower())
            for node in spec
            for leaf in leaves(node)
            if not (isinstance(leaf.what, Decl) and leaf.what.kind in ("public", "private"))
        )

    def _placed(
        self, path: str, units: frozenset[Position], changed: Position, removed: Collection[int]
    ) -> Iterator[Placed]:
        """The tests of a file that choose among the text of some units, or among what else may
        name these; ``changed``: the unit whose text changes, hints in it included; ``removed``:
        more lines, of which they choose whether they are compiled."""
        outline = self._tree.outline(path).units
        own = [unit for number, unit in enumerate(outline) if Position(path, number) in units]
        names = self._all_names(units)
        here = self._tree.preprocessed.conditionals(path)
        if not here.clear:
            if own or removed:
                raise UnclearError(f"it is not known which branches of {_short(path)} are compiled")
            return
        lines = _Lines(
            tuple((unit.first, unit.last) for unit in outline),
            tuple((unit.first, unit.last) for unit in own),
        )
        taken: list[Conditional] = []
        for one in here.found:
            if any(one.first <= line <= one.last for line in removed):
                taken.append(one)
                continue
            if one.hints and not (path == changed.path and self._is_in(one, changed)):
                continue
            if one.code and (lines.meet(one) or names & one.dead):
                taken.append(one)
        for one in taken:
            for test in dict.fromkeys((*(here.path(one.first - 1) or ()), *one.tests)):
                yield Placed(test, path, one.first)
        for macro in self._tree.preprocessed.macros(path):
            if any(map(lines.hold, here.kept.get(macro.name, ()))):
                inside = (each for each in here.found if each.first <= macro.line <= each.last)
                for each in inside:
                    yield from (Placed(test, path, each.first) for test in each.tests)
        for expansion in here.expansions:
            if lines.hold(expansion.line) and not self._is_any_value(path, expansion, units):
                files = frozenset(one.path for one in units)
                yield from self._values(path, expansion.line, expansion.words, files)

    def _is_in(self, one: Conditional, position: Position) -> bool:
        """Whether a conditional is not outside of a unit."""
        unit = self._tree.outline(position.path).units[position.number]
        return one.first <= unit.last and unit.first <= one.last

    def _all_names(self, units: frozenset[Position]) -> frozenset[str]:
        if self._names_of != units:
            outlines = self._tree.outline
            self._names_of = units
            self._names_known = _HANDLERS | {
                outlines(one.path).units[one.number].name for one in units
            }
        return self._names_known

    _names_of: frozenset[Position] = frozenset()
    _names_known: frozenset[str] = frozenset()

    def _values(
        self, path: str, line: int, words: Collection[str], files: frozenset[str]
    ) -> Iterator[Placed]:
        """The tests of the values that macros in a line have, and of what chooses among their
        definitions; ``files``: those of the units that matter."""
        defined: dict[str, list[MacroLine]] = {}
        for macro in self._tree.preprocessed.macros(path):
            defined.setdefault(macro.name, []).append(macro)
        given = given_macros(self._tree.settings.defines)
        known = given.keys() | defined.keys()
        waiting = sorted(known.intersection(words))
        seen = set(waiting)
        if not waiting:
            raise UnclearError(f"an unknown macro changes line {line} of {_short(path)}")
        here = self._tree.preprocessed.conditionals(path)
        integers = {word for word in waiting if self._is_integer(word, files)}
        while waiting:
            word = waiting.pop()
            lines = defined.get(word, [])
            for one in here.found:
                if any(one.first <= macro.line <= one.last for macro in lines):
                    yield from (Placed(test, path, one.first) for test in one.tests)
            live = {macro.body for macro in here.in_effect(lines, line)}
            known_body = here.live.get(word)
            if known_body is not None:
                live = {known_body}
            elif word in given:
                live.add(given[word])
            if len(live) != 1 or None in live:
                where = f"line {line} of {_short(path)}"
                raise UnclearError(f"the macro {word} in {where} has several definitions")
            body = next(iter(live)) or ""
            number = _INTEGER.fullmatch(body)
            fixed = word not in given and not any(macro.brought for macro in lines)
            if number is not None and fixed:
                continue
            if number is not None and word not in integers:
                message = f"no condition can ask for the value of {word}, which may be a real one"
                raise UnclearError(message)
            if number is not None:
                yield Placed(MacroTest(f"defined({word})", True), path, line)
                yield Placed(MacroTest(f"{word} == {int(number[1])}", True), path, line)
            elif ONE_TOKEN.fullmatch(body):
                self._check_headers(word, lines)
            if word in given and number is None:
                message = f"no condition can ask whether the macro {word} stands for {body}"
                raise UnclearError(message)
            inner = known.intersection(_NAME.findall(body)) - seen
            integers |= {one for one in inner if word in integers or self._is_integer(one, files)}
            seen |= inner
            waiting += sorted(inner)

    def _check_headers(self, word: str, lines: Iterable[MacroLine]) -> None:
        """Check that the headers with a macro have this text in every build."""
        for header in {one.header for one in lines if one.brought}:
            why: str | None = "it is not in the given tree"
            if is_in_tree(header, self._tree.roots):
                looked_at = self._tree.inclusions.looked_at
                why = maker_of(header, Path(header).read_bytes(), looked_at)
            if why is not None:
                raise UnclearError(f"{_short(header)} defines the macro {word}, and {why}")

    def _is_integer(self, word: str, files: frozenset[str]) -> bool:
        """Whether a macro stands for no real number, with which the preprocessor compares no
        integer: it is a bound in a declaration, the value of an integer named constant, or another
        condition tests its value."""
        key = word, files
        if key not in self._integers:
            self._integers[key] = any(
                self._asks_for_integer(word, path)
                for path in self._with_conditionals
                if path in files
            )
        return self._integers[key]

    def _asks_for_integer(self, word: str, path: str) -> bool:
        here = self._tree.preprocessed.conditionals(path)
        tested = (test.text for one in here.found for test in one.tests)
        if any(word in _NAME.findall(_DEFINED.sub("", text)) for text in tested):
            return True
        return any(
            word in one.words and here.path(one.line) == () and self._only_bounds(path, one.line)
            for one in here.expansions
        )

    def _only_bounds(self, path: str, line: int) -> bool:
        """Whether all expressions in a line are integers."""
        found = self._declaration(path, line)
        return found is not None and declares_plainly(found[0].what)

    def _is_any_value(self, path: str, expansion: Expansion, units: frozenset[Position]) -> bool:
        """Whether macros in a line are only the value that a real variable begins with, or that a
        named constant has: no proof rests on it, or the code that rests on it checks it.

        Kinds of types are not checked.
        """
        found = self._declaration(path, expansion.line)
        span = None if found is None else found[0].span
        if found is None or span is None or span.first != span.last:
            return False
        if not gives_real_value(found[0].what) and not self._is_free(found, units):
            return False
        text = self._tree.content(path).decode("latin-1").split("\n")[expansion.line - 1]
        head, _, rest = text.partition("::")
        name, equals, _ = rest.partition("=")
        macros = set(given_macros(self._tree.settings.defines))
        macros |= {macro.name for macro in self._tree.preprocessed.macros(path)}
        return bool(equals) and macros.isdisjoint(_NAME.findall(f"{head} {name}"))

    def _is_free(self, found: Declared, units: frozenset[Position]) -> bool:
        """Whether a declaration gives an integer constant a value, and no kind of a type in some
        units depends on it."""
        what, spec = found[0].what, found[1]
        if not isinstance(what, Decl) or not gives_free_value(what, spec):
            return False
        return what.entities[0].name not in self._kinds(units)

    def _kinds(self, units: frozenset[Position]) -> frozenset[str]:
        if units not in self._kind_names:
            read = (self._tree.unit_at(one).unit for one in units)
            self._kind_names[units] = kind_names(read)
        return self._kind_names[units]

    def _declaration(self, path: str, line: int) -> Declared | None:
        """The statement in a line of the specification part of a unit, and that part."""
        units = self._tree.outline(path).units
        around = [n for n, unit in enumerate(units) if unit.first <= line <= unit.last]
        for number in around[-1:]:
            spec = self._tree.unit_at(Position(path, number)).unit.spec
            for node in spec:
                for leaf in leaves(node):
                    if leaf.span is not None and leaf.span.first <= line <= leaf.span.last:
                        return leaf, spec
        return None

    def _check_preprocessed(self, path: str, one: Placed) -> None:
        """Check that a compiler understands conditions in a file."""
        entry = next(entry for entry in self._tree.files if entry.path == path)
        always = self._tree.settings.cpp or path.endswith(PREPROCESSED)
        if not entry.cpp and not always:
            raise UnclearError(
                f"the proof holds where {one.test.condition} ({_short(one.path)}:{one.line}), "
                f"and {_short(path)} is not preprocessed, unless --cpp says so"
            )

    def _of_definitions(self, one: Placed, position: Position) -> Iterator[Placed]:
        """The tests for which the macros of a test mean the same where it stands and in a unit:
        those that remove the lines which would define them, and whose own macros no line defines.
        """
        for path, macro in self._changing(one, position):
            here = self._tree.preprocessed.conditionals(path)
            around = [each for each in here.found if each.first <= macro.line <= each.last]
            removed = here.clear and here.path(macro.line) is None and around
            tests = max(around, key=lambda each: each.first).tests if removed else ()
            placed = [Placed(test, path, macro.line) for test in tests]
            if not placed or any(any(self._changing(each, position)) for each in placed):
                raise UnclearError(
                    f"the proof holds where {one.test.condition} ({_short(one.path)}:{one.line}), "
                    f"and {macro.name} may be something else in {self._named(position)}"
                )
            yield from placed

    def _named(self, position: Position) -> str:
        return self._tree.outline(position.path).units[position.number].name or "the main program"

    def _changing(self, one: Placed, position: Position) -> Iterator[tuple[str, MacroLine]]:
        """The lines, compiled or not, that may change the macros of a test between its place and a
        unit, and their files."""
        unit = self._tree.outline(position.path).units[position.number]
        macros = self._closure(one.test.macros)
        same = one.path == position.path
        first, last = min(one.line, unit.first), max(one.line, unit.last)
        for macro in self._lines_about(position.path, macros):
            if not same or first <= macro.line <= last:
                yield position.path, macro
        for macro in () if same else self._lines_about(one.path, macros):
            yield one.path, macro

    def _lines_about(self, path: str, macros: Collection[str]) -> Iterator[MacroLine]:
        return (one for one in self._tree.preprocessed.macros(path) if one.name in macros)

    def _closure(self, macros: Iterable[str]) -> frozenset[str]:
        """Some macros, and those in what the options say that they stand for."""
        given = given_macros(self._tree.settings.defines)
        found = set(macros)
        waiting = list(found)
        while waiting:
            inner = set(_NAME.findall(given.get(waiting.pop(), ""))) - found
            found |= inner
            waiting += inner
        return frozenset(found)


@record
class _Lines:
    """The first and last lines of the units of a file, and of those that matter."""

    all: tuple[tuple[int, int], ...]
    own: tuple[tuple[int, int], ...]

    def meet(self, one: Conditional) -> bool:
        """Whether a conditional chooses among text of units that matter, or among text around
        them."""
        if not self.own:
            return False
        inside = [lines for lines in self.all if lines[0] < one.first and one.last <= lines[1]]
        if not inside:
            return True
        return max(inside) in self.own

    def hold(self, line: int) -> bool:
        """Whether a line is one of a unit that matters."""
        inside = [lines for lines in self.all if lines[0] <= line <= lines[1]]
        return bool(inside) and max(inside) in self.own


def _short(path: str) -> str:
    return os.path.basename(path)
