"""The pages of all passes: ``python -m bench.passes`` writes them.

``docs/passes.md`` lists them; each has a page of its own in ``docs/passes``.  They are made from
the table of passes (``asphalt.config.passes``), from the transformations as their modules register
them (``asphalt.optimiser.phases``), and from the docstrings of these modules.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import dedent, fill

from asphalt.config.passes import GROUPS, ONLY_BY_NAME, PASSES, Pass
from asphalt.optimiser.phases import PHASES, TRANSFORMATIONS
from asphalt.transforms.loops import rotation
from asphalt.transforms.prepush.prepush import prepush
from asphalt.transforms.rewriting.step import Phase, Transformation
from bench.docs_pages import write_pages

WIDTH = 100

_INTRODUCTION = """\
# Passes

`--passes NAME,...` and the setting `passes` choose among these passes; without them,
asphalt applies `all`.  {groups}.  So {named} are applied only where you name them, as in
`--passes all,removal`.  The order in which you name passes does not matter.

`prepush` is applied first, to the all-to-all exchanges of the program.  All other passes are for
messages between two ranks and for collective operations.  A pass stands for one transformation or
for several; the optimiser tries them in the order of the [phases](#phases), and repeats all phases
until no transformation finds another step.  Each step is proved before it is applied, and kept only
as its phase says.

This page and those of the passes are written by `python -m bench.passes` from what each
transformation's module registers and documents.
"""


def pages() -> dict[Path, str]:
    """The text of each page, by its path below ``docs``."""
    texts = {Path("passes") / f"{one}.md": "\n".join(_page(one)) for one in PASSES}
    return {Path("passes.md"): _index()} | texts


def _index() -> str:
    groups = (f"`{name}` stands for {_meaning(names)}" for name, names in GROUPS.items())
    text = _INTRODUCTION.format(
        groups=", and ".join(groups), named=" and ".join(f"`{one}`" for one in ONLY_BY_NAME)
    )
    head = "\n\n".join(map(_wrapped, text.split("\n\n"))) + "\n"
    rows = [f"| [`{one}`](passes/{one}.md) | {one.summary} |" for one in PASSES]
    parts = [head, "| pass | what it does |\n| --- | --- |", *rows, "", *_phases()]
    return "\n".join(parts)


def _wrapped(paragraph: str) -> str:
    """A paragraph in lines of at most 100 characters."""
    return fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)


def _meaning(names: tuple[Pass, ...]) -> str:
    others = " and ".join(f"`{one}`" for one in PASSES if one not in names)
    return f"all passes but {others}" if others else "all passes"


def _phases() -> Iterator[str]:
    yield "## Phases\n\n| phase | transformations (pass) | what it does, and what is kept |"
    yield "| --- | --- | --- |"
    for phase in Phase:
        links = (f"{_link(one)} (`{one.requested_by}`)" for one in PHASES[phase])
        yield f"| {phase.value} | {', '.join(links)} | {phase.summary} |"
    yield ""


def _link(one: Transformation) -> str:
    return f"[{one.title}](passes/{one.requested_by}.md#{one.title.replace(' ', '-')})"


def _page(one: Pass) -> Iterator[str]:
    roles = "".join(f"  It {role.value}." for role in sorted(one.roles, key=lambda r: r.value))
    yield f"# {one}\n\n{_wrapped(one.summary + roles)}\n"
    if one is Pass.PREPUSH:
        yield _documented(prepush)
    for transformation in (t for t in TRANSFORMATIONS if t.requested_by is one):
        yield f"## {transformation.title}\n"
        summary = f"*Phase {transformation.phase.value}.*  {transformation.summary}"
        yield f"{_wrapped(summary)}\n"
        if transformation is not rotation.BEFORE_TAKES:  # documented with the other rotation
            yield _documented(transformation.check)


def _documented(function: object) -> str:
    """The docstring of a function's module, in Markdown: without its first line, which the summary
    replaces, and with code in fences."""
    module = inspect.getmodule(function)
    assert module is not None
    text = inspect.getdoc(module) or ""
    _, _, body = text.partition("\n\n")
    blocks: list[str] = []
    for is_code, lines in groupby(body.split("\n"), lambda line: line[:4] == "    "):
        block = "\n".join(lines).strip("\n")
        if is_code:
            blocks.append(f"```fortran\n{dedent(block)}\n```")
        elif block:
            blocks.append(block.replace("``", "`").replace("::", ":"))
    return "\n\n".join(blocks) + "\n"


def main() -> int:
    """Write the pages; exit code 0."""
    return write_pages(pages(), "passes")


if __name__ == "__main__":
    sys.exit(main())
