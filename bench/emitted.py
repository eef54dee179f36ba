"""The page of emitted code, ``docs/emitted.md``: ``python -m bench.emitted`` writes it.

It shows what becomes of six programs, each before and after, and how many lines are added to each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from asphalt.config.settings import Settings
from asphalt.project import Project

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "emitted.md"
_GOLDEN = Path("tests/transforms/prepush/golden")

_INTRODUCTION = """\
# Emitted code

What `asphalt apply` makes of six programs: the procedure with the messages, before and after. A
line counts as added if a comparison that ignores blanks (`diff -w`) shows it as new; a loop whose
bounds become those of a tile is one of them. [Emitted code and the runtime](decisions/runtime.md)
says why it looks like this.

This page is written by `python -m bench.emitted`.
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A program of the page: its file, what it shows, the heads of its procedure's lines."""

    file: Path
    about: str
    begin: str
    end: str
    passes: tuple[str, ...] = ("prepush",)


SHOWN = (
    Shown(
        Path("kernels/spectral_transpose/original.f90"),
        "A transform, a packing nest and an exchange (every block).",
        "subroutine forward",
        "end subroutine forward",
    ),
    Shown(
        Path("kernels/uneven_slabs/original.f90"),
        "Blocks of different lengths, one after the other (slabs).",
        "subroutine run",
        "end subroutine run",
    ),
    Shown(
        Path("kernels/fixed_legacy/original.f"),
        "Fixed form, `mpif.h` and shared labels.",
        "subroutine exchng",
        "end",
    ),
    Shown(
        _GOLDEN / "strided.before.f90",
        "A tile is several runs of each block (strided).",
        "subroutine transpose",
        "end subroutine transpose",
    ),
    Shown(
        Path("tests/transforms/nonblocking/golden/halo.before.f90"),
        "Transfers between two ranks (`--passes nonblocking,motion,splitting`).",
        "subroutine smooth",
        "end subroutine smooth",
        ("nonblocking", "motion", "splitting"),
    ),
    Shown(
        Path("tests/transforms/tiling/golden/pipeline.before.f90"),
        "A pipeline of ranks (`--passes transfers`).",
        "subroutine sweep",
        "end subroutine sweep",
        ("transfers",),
    ),
)


def transformed(file: Path, passes: tuple[str, ...] = ("prepush",)) -> tuple[str, str]:
    """The text of a file, and what asphalt makes of it."""
    before = (ROOT / file).read_text(encoding="latin-1")
    with TemporaryDirectory() as folder:
        alone = Path(folder) / file.name.replace(".before", "")
        for beside in _used(file):
            (alone.parent / beside.name).write_bytes(beside.read_bytes())
        alone.write_text(before, encoding="latin-1")
        settings = Settings(cache=False, jobs=1, passes=passes)
        (change,) = Project(alone.parent, settings=settings).transform()
    return before, change.after.decode("latin-1")


def _used(file: Path) -> Iterator[Path]:
    """The files that a kernel is built from, besides its own."""
    if file.parts[0] == "kernels":
        yield from (ROOT / "kernels" / "common").glob("*.f90")
        for pattern in ("work.f*", "*.inc"):
            yield from (ROOT / file).parent.glob(pattern)


def added_lines(before: str, after: str) -> int:
    """How many lines a comparison that ignores blanks shows as new: all but those of the longest
    common subsequence."""
    old, new = (["".join(line.split()) for line in text.splitlines()] for text in (before, after))
    common = [0] * (len(old) + 1)  # with the lines of `after` so far, and so many of `before`
    for line in new:
        left = 0
        for at, other in enumerate(old, 1):
            above = common[at]
            common[at] = left + 1 if line == other else max(above, common[at - 1])
            left = above
    return len(new) - common[-1]


def page() -> str:
    """The text of the page."""
    return "\n".join([_INTRODUCTION, *(line for shown in SHOWN for line in _section(shown))])


def _section(shown: Shown) -> Iterator[str]:
    before, after = transformed(shown.file, shown.passes)
    yield f"## {shown.file.as_posix()}\n"
    yield f"{shown.about} {added_lines(before, after)} lines are added.\n"
    for title, text in (("Before", before), ("After", after)):
        yield f"{title}:\n"
        yield "\n".join(["```fortran", *_procedure(text, shown), "```", ""])


def _procedure(text: str, shown: Shown) -> list[str]:
    """The lines of the procedure, as they stand."""
    lines = text.splitlines()
    words = [line.strip().lower() for line in lines]
    first = next(n for n, line in enumerate(words) if line.startswith(shown.begin))
    last = next(n for n, line in enumerate(words) if n > first and line == shown.end)
    return lines[first : last + 1]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
