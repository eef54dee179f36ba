"""The page of all verdicts, ``docs/verdicts.md``: ``python -m bench.verdicts`` writes it.

It is made from the documentation beside each check and from the example programs, both of which
the test suite holds to what they say.
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

WIDTH = 100
PAGE = Path(__file__).resolve().parents[1] / "docs" / "verdicts.md"

_INTRODUCTION = """\
# Verdicts

asphalt says of every exchange that it is **proved** (every condition holds), **assumed** (it holds
if named assumptions do), **refused**, or **skipped** on request.  A **finding** is an error of the
program in its messages or requests.  Everything but a proof has one of the codes on this page.
Codes are stable: they keep their meaning, and a code that is no longer needed is not used again.

Each code has a program that gets it, and the same program mended so that it is transformed; the
test suite compiles and judges both.  `asphalt explain CODE` shows them in full, and
`asphalt explain FILE:LINE` draws the evidence over your own source.

This page is written by `python -m bench.verdicts` from the documentation beside each check.
"""


def page() -> str:
    """The text of the page."""
    parts = [_INTRODUCTION, *_contents()]
    for number, title in CONDITIONS.items():
        heading = "The site" if number == 0 else f"Condition {number}"
        parts.append(f"## {heading}: {title}\n")
        for code in _codes(number):
            parts.append(_section(code))
    parts += _assumptions()
    return "\n".join(parts)


def _codes(condition: int) -> list[Code]:
    found = [code for code in ALL_CODES.values() if code.condition == condition]
    return sorted(found, key=lambda code: int(code.id[3:]))


def _contents() -> Iterator[str]:
    yield "| code | what it says |\n| --- | --- |"
    for number in CONDITIONS:
        for code in _codes(number):
            yield f"| [{code.id}](#{code.id.lower()}) | {code.title} |"
    yield ""


def _section(code: Code) -> str:
    title = f"{code.title[0].upper()}{code.title[1:]}"
    lines = [f"### {code.id}", "", _wrapped(f"**{title}.** {code.meaning}")]
    lines += ["", _wrapped(f"What you can do: {code.advice}"), ""]
    accepted_by = [name for name, needs in ASSUMPTIONS.items() if needs is code]
    if accepted_by:
        kind = KINDS[accepted_by[0]]
        name = f"{kind.word}:NAME" if kind.named else kind.word
        where = " where only the assumption is missing" if kind.named else ""
        lines += [f"The verdict is *assumed*{where}; the assumption's name is `{name}`.", ""]
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
    """Write the page; exit code 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
