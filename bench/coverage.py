"""The coverage of a real source tree: what asphalt analyses, reports, or misses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.model import SiteReport
from asphalt.frontend.source_tree.problems import InputProblem
from asphalt.frontend.source_tree.program_tree import included_calls
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.program import MpiMention
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, Opaque
from asphalt.ir.tree import Unit, leaves


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of one tree; paths are relative to its root."""

    files: int
    lines: int
    files_with_mpi: int
    live: tuple[MpiMention, ...]
    removed: tuple[MpiMention, ...]
    procedures: int
    statements: int
    opaque: int
    unread: tuple[MpiMention, ...]
    problems: tuple[InputProblem, ...]
    notes: tuple[InputProblem, ...]
    single: frozenset[tuple[str, int]]
    """File and line of the exchanges of one element for each rank: nothing to overlap."""
    lost: tuple[str, ...]
    """Calls that are neither analysed nor reported: must be empty."""


def coverage_of(tree: Tree, root: Path, sites: Iterable[SiteReport]) -> Coverage:
    """The coverage of a tree, checked.

    Every MPI call is in a unit that was interpreted or in a file with a problem, every exchange has
    a report, and a search line by line finds no other call.
    """
    mentions = tree.mpi_calls()
    live = tuple(m for m in mentions if m.live)
    units = {(located.path, located.unit.name): located.unit for located in tree.site_units()}
    statements = [leaf.what for unit in units.values() for leaf in leaves(unit)]
    unread = tuple(m for m in live if (m.path, m.unit) not in units)
    included = tuple(included_calls(tree))
    reported = {(site.file, site.line) for site in sites}
    reported |= {
        (one.including, one.line) for one in included if (one.call.path, one.call.line) in reported
    }
    told = {path for path in {m.path for m in unread} if tree.outline(path).problems}
    parts = {(one.call.path, one.call.line) for one in included}
    lost = [
        f"{m.path}:{m.line}: {m.operation} in {m.unit}"
        for m in unread
        if m.path not in told and (m.path, m.line) not in parts
    ]
    lost += [
        f"{m.path}:{m.line}: {m.operation} has no report"
        for m in live
        if m.operation in all_to_all_operations()
        and (m.path, m.unit) in units
        and (m.path, m.line) not in reported
    ]
    places = {(m.path, m.line, m.operation) for m in mentions}
    places |= {(one.call.path, one.call.line, one.call.operation) for one in included}
    found = Counter(path for path, *_ in places)
    for entry in tree.files:
        if entry.path in tree.inclusions.included:
            continue  # which of its branches are compiled is decided where it is included
        seen = calls_line_by_line(tree.content(entry.path), entry.form)
        if seen > found[entry.path]:
            lost.append(f"{entry.path}: {seen} calls by a search, {found[entry.path]} found")
    return Coverage(
        files=len(tree.files),
        lines=sum(entry.lines for entry in tree.files),
        files_with_mpi=sum(entry.has_mpi for entry in tree.files),
        live=live,
        removed=tuple(m for m in mentions if not m.live),
        procedures=len(units),
        statements=len(statements),
        opaque=sum(isinstance(what, Opaque) for what in statements),
        unread=unread,
        problems=tuple(_relative(p, root) for p in tree.problems),
        notes=tuple(_relative(p, root) for p in tree.notes),
        single=frozenset(
            (path.removeprefix(f"{root}/"), line)
            for (path, _), unit in units.items()
            for line in _single_exchanges(unit)
        ),
        lost=tuple(lost),
    )


def _single_exchanges(unit: Unit) -> Iterator[int]:
    for leaf in leaves(unit):
        match leaf.what:
            case Call(Ref(name="mpi_alltoall"), (_, Lit("integer", "1"), *_)) if leaf.span:
                yield leaf.span.first


_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|!.*")
_CALL = re.compile(r"\bcall\s+p?mpi_\w", re.I)


def calls_line_by_line(content: bytes, form: Form) -> int:
    """MPI calls that a plain search of each line finds, without strings and comments."""
    count = 0
    for line in content.decode("latin-1").split("\n"):
        if line.startswith("#") or (form is Form.FIXED and line[:1] in "cC*dD!"):
            continue
        if form is Form.FIXED:
            line = line[:72]
        count += len(_CALL.findall(_TEXT.sub("", line)))
    return count


def _relative(problem: InputProblem, root: Path) -> InputProblem:
    file = problem.file.removeprefix(f"{root}/")
    return InputProblem(file, problem.line, problem.message.replace(f"{root}/", ""), problem.note)


def worth_lifting(sites: Iterable[SiteReport], count: int = 3) -> list[tuple[str, int, str]]:
    """The codes that refuse most sites, in most files: code, number of sites, files.

    Copies of one routine for several types (the same line of files whose names differ in the first
    letter) count as one site.
    """
    distinct = {
        (s.code or "", Path(s.file).parent, Path(s.file).name[1:], s.line): s
        for s in sites
        if s.verdict == "refused"
    }
    ranked: list[tuple[str, int, tuple[str, ...]]] = []
    for code, number in Counter(code for code, *_ in distinct).items():
        files = dict.fromkeys(s.file for key, s in distinct.items() if key[0] == code)
        ranked.append((code, number, tuple(files)))
    ranked.sort(key=lambda entry: (-entry[1], -len(entry[2]), entry[0]))
    return [(code, number, ", ".join(files)) for code, number, files in ranked[:count]]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """The number of sites with a verdict and code; ``example``: the first, ``tree/file:line``."""

    verdict: str
    code: str
    counts: tuple[int, ...]
    example: str

    @property
    def title(self) -> str:
        """The title of the code."""
        return ALL_CODES[self.code].title if self.code in ALL_CODES else ""

    @property
    def label(self) -> str:
        """The verdict, and its code as a link to its documentation."""
        link = f" [{self.code}](codes/{self.code.lower()}.md)" if self.code else ""
        return f"{self.verdict}{link}"


def verdict_rows(trees: Mapping[str, Sequence[SiteReport]]) -> list[VerdictRow]:
    """A row for each verdict and code: proved first, then assumed, then refused."""
    keys = {(s.verdict, s.code or "") for sites in trees.values() for s in sites}
    rows = []
    for verdict, code in sorted(keys, key=lambda key: (_ORDER.index(key[0]), _number(key[1]))):
        found = {
            name: [s for s in sites if (s.verdict, s.code or "") == (verdict, code)]
            for name, sites in trees.items()
        }
        first = next((name, sites[0]) for name, sites in found.items() if sites)
        example = f"{first[0]}/{first[1].file}:{first[1].line}"
        rows.append(VerdictRow(verdict, code, tuple(map(len, found.values())), example))
    return rows


_ORDER = ("applied", "proved", "assumed", "refused", "skipped")


def _number(code: str) -> int:
    return int(code.removeprefix("ASP") or 0)


def possible(sites: Iterable[SiteReport]) -> int:
    """The number of exchanges that are transformed, or would be under assumptions."""
    return sum(site.verdict in ("applied", "proved", "assumed") for site in sites)
