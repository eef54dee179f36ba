"""The pages of all verdicts: ``python -m bench.verdicts`` writes them.

``docs/verdicts.md`` lists the codes; each has a page of its own in ``docs/codes``.  They are made
from the documentation beside each check and from the example programs, both of which the test
suite holds to what they say.
"""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from asphalt.analysis.verdicts.verdict import Code
from asphalt.config.assumptions import KINDS
from asphalt.diagnostics.catalogue import ALL_CODES, ASSUMPTIONS, CONDITIONS
from asphalt.diagnostics.examples import Examples, examples_of
from bench.docs_pages import write_pages

WIDTH = 100

_INTRODUCTION = """\
# Verdicts

asphalt says of every exchange that it is **proved** (every condition holds), **assumed** (it holds
if named assumptions do), **refused**, or **skipped** on request.  A **finding** is an error of the
program in its messages or requests.  Everything but a proof has one of the codes on this page.
Codes are stable: they keep their meaning, and a code that is no longer needed is not used again.

The page of a code has a program that gets it, and the same program mended so that it is
transformed; the test suite compiles and judges both.  `asphalt explain CODE` shows them in full,
and `asphalt explain FILE:LINE` draws the evidence over your own source.

This page and those of the codes are written by `python -m bench.verdicts` from the documentation
beside each check.
"""


def pages() -> dict[Path, str]:
    """The text of each page, by its path below ``docs``."""
    texts = {Path("codes") / f"{code.lower()}.md": _page(ALL_CODES[code]) for code in ALL_CODES}
    return {Path("verdicts.md"): _index()} | texts


def _index() -> str:
    parts = [_INTRODUCTION]
    for number, title in CONDITIONS.items():
        heading = "The site" if number == 0 else f"Condition {number}"
        rows = [
            f"| [{one.id}](codes/{one.id.lower()}.md) | {one.title} |" for one in _codes(number)
        ]
        parts += [f"## {heading}: {title}\n", "| code | what it says |\n| --- | --- |", *rows, ""]
    parts += _assumptions()
    return "\n".join(parts)


def _codes(condition: int) -> list[Code]:
    found = [code for code in ALL_CODES.values() if code.condition == condition]
    return sorted(found, key=lambda code: int(code.id[3:]))


def _page(code: Code) -> str:
    title = f"{code.title[0].upper()}{code.title[1:]}"
    lines = [f"# {code.id}: {title}", "", _wrapped(code.meaning)]
    lines += ["", _wrapped(f"What you can do: {code.advice}"), ""]
    accepted_by = [name for name, needs in ASSUMPTIONS.items() if needs is code]
    if accepted_by:
        kind = KINDS[accepted_by[0]]
        name = f"{kind.word}:NAME" if kind.named else kind.word
        where = " where only the assumption is missing" if kind.named else ""
        link = f"[`{name}`](../verdicts.md#assumptions)"
        lines += [f"The verdict is *assumed*{where}; the assumption's name is {link}.", ""]
    return "\n".join([*lines, *_programs(code, examples_of(code.id))])


def _assumptions() -> Iterator[str]:
    yield "## Assumptions\n"
    yield (
        "Nothing is ever assumed but these.  Each is accepted by `--assume NAME`, for one site by\n"
        "`--assume NAME@SITE`, by the setting `assume`, or by a directive in the source.\n"
    )
    for kind in KINDS.values():
        name = f"{kind.word}:NAME" if kind.named else kind.word
        clause = f"{kind.word}: NAME" if kind.named else kind.word
        only = "only " if kind.in_source else ""
        yield (
            _wrapped(
                f"**`{name}`**, {only}in the source `!$asphalt assume({clause})`. {kind.meaning}"
            )
            + "\n"
            + _wrapped(f"If it is false: {kind.otherwise}")
            + "\n"
        )


def _wrapped(text: str) -> str:
    """A paragraph in lines of one width; no word is cut."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _programs(code: Code, examples: Examples) -> Iterator[str]:
    accepted = examples.accepted.read_text()
    if examples.refused is None:
        yield "Only a defect of asphalt raises it, so no program is known that gets it.\n"
        return
    refused = examples.refused.read_text()
    yield f"`{examples.refused.name}` gets {code.id}:\n\n```fortran\n{refused.rstrip()}\n```\n"
    mended = "\n".join(_difference(refused, accepted))
    yield f"`{examples.accepted.name}` is transformed:\n\n```diff\n{mended}\n```\n"


def _difference(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    for line in list(lines)[2:]:
        yield "@@" if line.startswith("@@") else line.rstrip()


def main() -> int:
    """Write the pages; exit code 0."""
    return write_pages(pages(), "codes")


if __name__ == "__main__":
    sys.exit(main())
