"""Changed files in which other configurations of the preprocessor are compiled as they were.

Transformations see a file without its conditionals: as the preprocessor leaves it in the
configuration of the options -D (``without_conditionals``).  What they have made of it goes back
into the file as it was (``confined_changes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from asphalt.analysis.mpi.procedures import table
from asphalt.analysis_manager.configurations import Configurations
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import ProblemReport
from asphalt.frontend.lexical.conditionals import selected
from asphalt.frontend.lexical.named_tokens import code_words, misread_words
from asphalt.frontend.source_tree.composition import Composition
from asphalt.frontend.source_tree.scan import is_source
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.configuration import MacroTest
from asphalt.ir.tree import Block, Branch, Do, File, Leaf, Node, Unit, leaves
from asphalt.unparse.guards import Merging, NotConfinedError, Paths, Place

_NOT_WRITTEN = "a change of this file would reach configurations for which it is not proved"
_PROCEDURES = frozenset({"program", "subroutine", "function", "module_procedure"})


def without_conditionals(tree: Tree, path: str) -> bytes:
    """A file of a tree, with comments in place of conditionals and of what these remove."""
    here = tree.preprocessed.conditionals(path)
    content = tree.content(path)
    if not here.clear or not (here.several.names or any(test != () for test in here.paths)):
        return content
    return selected(content.decode("latin-1"), here).encode("latin-1")


def leaves_lines_out(tree: Tree) -> bool:
    """Whether conditionals leave out lines of any file in the configuration."""
    return any(None in tree.preprocessed.conditionals(entry.path).paths for entry in tree.files)


def calls_left_out(tree: Tree) -> tuple[int, tuple[str, int]] | None:
    """How many lines call MPI in branches of conditionals that the configuration leaves out, and
    file and line of the first one; None: there are none."""
    operations, found = set(table()), list[tuple[str, int]]()
    for entry in tree.files:
        paths = tree.preprocessed.conditionals(entry.path).paths
        if None not in paths:
            continue
        lines = tree.content(entry.path).decode("latin-1").splitlines(keepends=True)
        found += [
            (entry.path, number)
            for number, words in code_words(lines, entry.form)
            if number <= len(paths) and paths[number - 1] is None
            if "call" in (folded := {word.lower() for word in words}) and operations & folded
        ]
    return (len(found), found[0]) if found else None


def confined_changes(
    tree: Tree, configurations: Configurations, changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[ProblemReport, ...]]:
    """The changes that can be confined to the configurations for which they are proved, confined,
    and a note on each other one.  ``tree``: as it was given."""
    found: list[Change] = []
    notes: list[ProblemReport] = []
    for change in changes:
        try:
            found.append(_confined(tree, configurations, change))
        except NotConfinedError as why:
            message = f"{_NOT_WRITTEN}: {why}"
            notes.append(ProblemReport(str(change.path), None, message, note=True))
    return tuple(found), tuple(notes)


def _confined(tree: Tree, configurations: Configurations, change: Change) -> Change:
    path = str(change.path)
    own = _Own(tree, configurations, path, _alone(change.after))
    composition = tree.inclusions.compositions.get(path)
    names = tree.macros(path)
    confined = composition is not None or own.any()
    if not confined and not names:
        return change
    after = without_conditionals(tree.edited({path: change.after}), path)
    merged = partial(
        Merging,
        change.before.decode("latin-1"),
        without_conditionals(tree, path).decode("latin-1"),
        after.decode("latin-1"),
        next(entry.form for entry in tree.files if entry.path == path),
        _paths(tree, path, composition),
    )
    merging = merged()
    for place in merging.places if names else ():
        own.check_words(place, names)
    if not confined:
        return change
    tests = own.tests(merging.places)
    if merging.needs_conditions(tests):  # what only moves to the right would stand there twice
        merging = merged(shifted=False)
        tests = own.tests(merging.places)
    made = merging.text(tests).encode("latin-1")
    if composition is not None:
        check_borders(composition, tree.file(path), tree.edited({path: made}).file(path), made)
    return replace(change, after=made)


def _paths(tree: Tree, path: str, composition: Composition | None) -> Paths:
    """The tests that led to a line; in an included file that may be compiled by itself elsewhere,
    as its suffix says, only those that this file makes."""
    known = tree.preprocessed.conditionals(path).path
    if composition is None:
        return known
    outer = composition.begins(is_source)

    def own(line: int) -> Sequence[MacroTest] | None:
        found = known(line)
        begin = outer.get(line)
        if found is None or begin is None:
            return found
        return found[len(known(begin) or ()) :]

    return own


def check_borders(composition: Composition, before: File, after: File, text: bytes) -> None:
    """Check that the same constructs as before begin in one file and end in another one."""
    given = _crossing(before, [path for path, _ in composition.places])
    if _crossing(after, composition.owners(text)) != given:
        raise NotConfinedError("a construct would begin in one file and end in another one")


def _crossing(file: File, owners: Sequence[str]) -> list[tuple[str, str, str]]:
    """The constructs and units that begin in one file and end in another one: how they begin, and
    the files; ``owners``: the file of each line."""
    found: list[tuple[str, str, str]] = []
    nodes: list[Node] = list(file.units)
    while nodes:
        node = nodes.pop()
        if isinstance(node, Leaf):
            continue
        spans = [leaf.span for leaf in leaves(node) if leaf.span is not None]
        ends = owners[spans[0].first - 1], owners[spans[-1].last - 1]
        if ends[0] != ends[1]:
            first = next(leaves(node))
            found.append(((first.body or "").strip(), *ends))
        nodes += _inside(node)
    return sorted(found)


def _inside(node: Do | Branch | Block | Unit) -> tuple[Node, ...]:
    match node:
        case Unit():
            return (*node.spec, *node.body, *node.contained)
        case Branch(arms=arms):
            return tuple(inner for arm in arms for inner in arm.body)
    return node.body


def _alone(text: bytes) -> frozenset[str]:
    """The collective operations that a changed file starts: no rank may be in a blocking call of
    one (MPI-4.0 section 6.12) that another configuration compiles."""
    folded = text.lower()
    return frozenset(
        name
        for name, procedure in table().items()
        if procedure.collective
        and name.startswith("mpi_")
        and any(
            call.format(name.removeprefix("mpi_")).encode() in folded
            for call in ("asphalt_i{}", "asphalt_{}_blocks")
        )
    )


class _Own:
    """The tests on which changes of the lines of a file rest; ``alone``: see
    ``Configurations.of``."""

    def __init__(
        self, tree: Tree, configurations: Configurations, path: str, alone: frozenset[str]
    ) -> None:
        self._configurations = configurations
        self._path = path
        self._alone = alone
        self._units = tree.outline(path).units
        self._lines = tree.content(path).decode("latin-1").split("\n")
        self._form = next(entry.form for entry in tree.files if entry.path == path)
        self._is_sole = tree.settings.one_configuration
        here = tree.preprocessed.conditionals(path)
        self._here = here
        removed = any(tests != () for tests in here.paths)
        self._is_selected = removed or bool(here.several.names)

    def any(self) -> bool:
        """Whether a change of the file may rest on any."""
        numbers = (n for n, unit in enumerate(self._units) if unit.kind in _PROCEDURES)
        return self._is_selected or any(self._configuration(number) for number in numbers)

    def tests(self, places: Sequence[Place]) -> list[Sequence[MacroTest]]:
        """The tests for each change: of the procedure in which it stands, or of the one that is
        changed elsewhere.  Where there is one configuration, those that led to the place: they
        hold."""
        if self._is_sole:
            return [place.path for place in places]
        inside = [self._procedure(place) for place in places]
        changed = {number for number in inside if number is not None}
        return [self._of(changed if number is None else {number}) for number in inside]

    def check_words(self, place: Place, names: frozenset[str]) -> None:
        """Check that new lines have no name of a macro that the procedure has not, nor any beside
        a constant that the preprocessor may misread."""
        number = self._procedure(place)
        unit = None if number is None else self._units[number]
        around = self._lines if unit is None else self._lines[unit.first - 1 : unit.last]
        known = {word for _, words in code_words(around, self._form) for word in words}
        for _, words in code_words(place.new, self._form):
            for word in names & set(words) - (known - self._defined(place.first)):
                raise NotConfinedError(f"{word} is the name of a macro")
        for word in names & misread_words(place.new, self._form):
            raise NotConfinedError(f"the macro {word} is beside a part of a character constant")

    def _defined(self, line: int) -> frozenset[str]:
        """The macros with several meanings that have one in a line."""
        defined: dict[str, bool] = {}
        for macro in self._here.macros:
            if macro.line < line and self._here.path(macro.line) is not None:
                defined[macro.name] = macro.kind == "define"
        return self._here.several.names & {
            name for name, is_defined in defined.items() if is_defined
        }

    def _of(self, numbers: Iterable[int]) -> Sequence[MacroTest]:
        found = {tuple(self._tests(number)) for number in numbers}
        if len(found) > 1:
            raise NotConfinedError("it serves several procedures")
        return next(iter(found), ())

    def _tests(self, number: int) -> Iterator[MacroTest]:
        found = self._configuration(number)
        if isinstance(found, str):
            raise NotConfinedError(found)
        return iter(found)

    def _procedure(self, place: Place) -> int | None:
        """The innermost procedure around a change."""
        inside = [
            number
            for number, unit in enumerate(self._units)
            if unit.first <= place.first and max(place.first - 1, place.last) <= unit.last
        ]
        return inside[-1] if inside and self._units[inside[-1]].kind in _PROCEDURES else None

    def _configuration(self, number: int) -> tuple[MacroTest, ...] | str:
        chain: list[str] = []
        at: int | None = number
        while at is not None:
            chain.insert(0, self._units[at].name)
            at = self._units[at].host
        return self._configurations.of(self._path, tuple(chain), self._alone)
