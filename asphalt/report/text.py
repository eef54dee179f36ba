"""Sites and problems as lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.text import Text

from asphalt.analysis.verdicts.verdict import Code
from asphalt.config.assumptions import KINDS
from asphalt.diagnostics.examples import examples_of
from asphalt.diagnostics.model import FINDING, ProblemReport, SiteReport
from asphalt.report.steps import dropped_text

_STYLES = {
    "applied": "green",
    "proved": "green",
    "assumed": "yellow",
    "refused": "red",
    "skipped": "dim",
    FINDING: "bold red",
}


def site_lines(sites: Sequence[SiteReport]) -> list[Text]:
    """A line for each site: place, operation, verdict, code and message, in columns.  A long one
    that the site before it in the file has, too, stands there only."""
    rows = [(f"{site.file}:{site.line}", site.operation, site) for site in sites]
    where_width = max((len(where) for where, _, _ in rows), default=0)
    operation_width = max((len(operation) for _, operation, _ in rows), default=0)
    lines: list[Text] = []
    first: SiteReport | None = None
    for where, operation, site in rows:
        told = site
        if first is not None and _is_told_alike(site, first):
            told = replace(site, message=f"as in line {first.line}")
        else:
            first = site
        lines.append(_site_line(where.ljust(where_width), operation.ljust(operation_width), told))
    return lines


_LONG = 80  # characters of a message


def _is_told_alike(site: SiteReport, other: SiteReport) -> bool:
    """Whether the line of another site of the same file says at length what is to be said."""
    mine, theirs = (
        (one.file, one.verdict, one.code, one.message, one.assumptions, one.accepted)
        for one in (site, other)
    )
    return mine == theirs and len(site.message) > _LONG and site.line != other.line


def summary(sites: Sequence[SiteReport]) -> str:
    """The number of sites with each verdict, e.g. ``3 sites: 1 proved, 2 refused``.

    Also the number of stores, and of findings, e.g. ``no exchange found; 1 finding``.
    """
    counts = Counter(site.verdict for site in sites if not site.is_store)
    findings = counts.pop(FINDING, 0)
    text = _counted(counts, "site") if counts else _NONE
    if stores := Counter(site.verdict for site in sites if site.is_store):
        text += f"; {_counted(stores, 'store')}"
    if findings:
        text += f"; {findings} {'finding' if findings == 1 else 'findings'}"
    return text


def _counted(counts: Counter[str], what: str) -> str:
    number = counts.total()
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _STYLES if counts[verdict])
    return f"{number} {what if number == 1 else what + 's'}: {parts}"


_NONE = "no exchange found"


_MANY = 5  # sites that one reason refuses, so that it is told by itself


def common_reasons(sites: Sequence[SiteReport]) -> list[str]:
    """The reasons that refuse many sites alike, each once with their number, the largest first:
    ``12 sites are refused for one reason (ASP007): ...``.  What sites say of their own places does
    not make reasons differ.  Stores do not count, nor do modules that are missing
    (``missing_modules``)."""
    refused = (s for s in sites if s.verdict == "refused" and not s.is_store)
    counts = Counter(
        (site.code, site.message if site.cause is None else site.cause.why)
        for site in refused
        if site.cause is None or site.cause.module is None
    )
    return [
        f"{number} sites are refused for one reason ({code}): {reason}"
        for (code, reason), number in counts.most_common()
        if number >= _MANY
    ]


def missing_modules(
    sites: Sequence[SiteReport], modules: Iterable[str], others: Iterable[str] = ()
) -> str | None:
    """Modules that are missing, those first that refuse most of the ``sites``, with their number;
    None: none is.  ``others``: those that are told of elsewhere."""
    counts = _refused_by_modules(sites)
    missing = sorted({*modules, *counts} - {*others}, key=lambda name: (-counts[name], name))
    if not missing:
        return None
    more = len(missing) - _MOST_MODULES
    named = (f"{name}{_refusing(counts[name])}" for name in missing[:_MOST_MODULES])
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


_MOST_MODULES = 5  # that are named


def unread_modules(sites: Sequence[SiteReport], unread: Mapping[str, str]) -> list[str]:
    """A line for each module whose file cannot be read, with the reason and the number of sites
    that this refuses.  ``unread``: the reasons, by the names of the modules."""
    counts = _refused_by_modules(sites)
    return [
        f"the file of module {name} cannot be read{_refusing(counts[name])}, which may cause "
        f"refusals: {why}"
        for name, why in unread.items()
    ]


def _refused_by_modules(sites: Sequence[SiteReport]) -> Counter[str]:
    """How many sites each missing module refuses."""
    refused = (s.cause.module for s in sites if s.verdict == "refused" and s.cause is not None)
    return Counter(name for name in refused if name is not None)


def _refusing(number: int) -> str:
    """How many sites something refuses, in brackets."""
    return f" (refuses {number} {'site' if number == 1 else 'sites'})" if number else ""


def problem_line(problem: ProblemReport) -> str:
    """A problem with its place, e.g. ``src/a.f90:3: is not text``."""
    where = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    return f"{where}: {problem.message}"


def site_details(site: SiteReport) -> list[Text]:
    """A site with its evidence, assumptions, dropped steps, witness and passes, a line each; what
    is said several times has one line with the number."""
    lines = site_lines([site])
    lines += [_fact("evidence", sentence) for sentence in _each_once(site.evidence)]
    if site.verdict != "refused":
        lines += [_fact("assumed", _assumption(name, site)) for name in site.assumptions]
    dropped = _each_once(map(dropped_text, site.dropped))
    lines += [Text(f"  {sentence}") for sentence in dropped]
    if site.dropped and site.ended:
        lines.append(_fact("ended", site.ended))
    if site.witness:
        lines.append(_fact("witness", site.witness))
    if site.passes:
        lines.append(_fact("passes", ", ".join(site.passes)))
    return lines


def _each_once(sentences: Iterable[str]) -> list[str]:
    """Some sentences in their order, each once."""
    counts = Counter(sentences)
    return [text if number == 1 else f"{text} ({number} times)" for text, number in counts.items()]


def code_summary(code: Code) -> list[Text]:
    """The meaning of a code and what you can do, without its programs."""
    title = Text.assemble((code.id, "bold"), f"  {code.title}")
    lines = [title, Text(), Text(code.meaning), Text()]
    return [*lines, Text("What you can do", style="bold"), Text(code.advice)]


def code_details(code: Code) -> list[Text]:
    """The meaning of a code and what you can do, with a refused program and a corrected one."""
    lines = code_summary(code)
    examples = examples_of(code.id)
    for heading, path in (
        (f"A program that gets {code.id}", examples.refused),
        ("A program like it that is transformed", examples.accepted),
    ):
        if path is not None:
            lines += [Text(), Text(heading, style="bold")]
            lines += [Text(f"  {line}".rstrip()) for line in path.read_text().splitlines()]
    return lines


def _site_line(where: str, operation: str, site: SiteReport) -> Text:
    verdict = (site.verdict.ljust(len("refused")), _STYLES.get(site.verdict, ""))
    code = (site.code or "").ljust(len("ASP000"))
    open_ones = [name for name in site.assumptions if name not in site.accepted]
    needs = f" with --assume {','.join(open_ones)}" if open_ones else ""
    if site.accepted and site.verdict != "refused":
        needs += f" (assuming {', '.join(site.accepted)})"
    line = Text.assemble(where, "  ", operation, "  ", verdict, "  ", code, "  ", site.message)
    line.append(needs)
    line.rstrip()
    return line


def _assumption(name: str, site: SiteReport) -> str:
    """An assumption with its meaning, and how to accept it."""
    word, _, about = name.partition(":")
    kind = KINDS.get(word)
    meaning = f": {kind.meaning} Otherwise: {kind.otherwise}" if kind is not None else ""
    if name in site.accepted:
        return f"{name}{meaning}"
    clause = f"{word}: {about}" if about else word
    return (
        f"{name}, not accepted{meaning} Accept it with --assume {name} (--assume {name}@{site.id}: "
        f"here only), the setting `assume`, or `!$asphalt assume({clause})` in front of the call."
    )


def _fact(kind: str, sentence: str) -> Text:
    return Text.assemble("  ", (f"{kind}: ", "bold"), sentence)
