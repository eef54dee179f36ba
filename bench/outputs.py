"""The output that README and docs show of commands: ``python -m bench.outputs`` runs them again.

A block of ``console`` holds commands behind ``$ `` and what each prints, on both streams.  The
commands of a page run in their order in one folder, into which the page's trees were copied:

    <!-- trees: heat transpose -->

names folders of ``docs/examples``.  A line ``[...]`` stands for any lines that are left out, and
``[...]`` in a line for any text.  Exit code 1: an output is another one; without ``--check``, the
page then gets the new one, unless something is left out of the old one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from bench.docs_pages import DOCS

ROOT = DOCS.parent
EXAMPLES = DOCS / "examples"
_TREES = re.compile(r"<!-- trees: (.*?) -->")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRESS = re.compile(r"asphalt: .*, \d+ of \d+ done: ")  # on slow machines
_LEFT_OUT = "[...]"
_ONLY_LOOK = [["asphalt", name] for name in ("scan", "explain", "diff", "verify", "simulate")]


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of a page, and the output that the page shows of it."""

    command: str
    output: str

    def fits(self, output: str) -> bool:
        """Whether a command that printed this may be shown like that."""
        parts = [re.escape(part) for part in self.output.strip().split(_LEFT_OUT)]
        return re.fullmatch(".*?".join(parts), output.strip(), re.DOTALL) is not None


def pages() -> tuple[Path, ...]:
    """README and the pages of ``docs`` that show the output of commands."""
    found = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    return tuple(page for page in found if _BLOCK.search(page.read_text(encoding="utf-8")))


def first_tree(page: Path) -> str:
    """The first of a page's trees."""
    (trees,) = _TREES.findall(page.read_text(encoding="utf-8"))
    return str(trees.split()[0])


def shown(block: str) -> Iterator[Shown]:
    """The commands of a block, a line each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Shown(command.strip(), output.strip("\n"))


def run(command: str, folder: Path) -> str:
    """What a command prints in a folder, on both streams; without blanks at the end of lines."""
    own = ("CI", "GITHUB_ACTIONS", "COLUMNS", "FORCE_COLOR", "MAKEFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment | {"COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = (line.rstrip() for line in done.stdout.splitlines())
    return "\n".join(line for line in lines if _PROGRESS.match(line) is None)


@dataclass(slots=True)
class Rerun:
    """A page with the outputs of its commands as they are now."""

    text: str
    different: list[str]
    """Each command that prints something else, with what it prints."""


def rerun(page: Path, printed: dict[str, str], passed_over: Collection[str] = ()) -> Rerun:
    """Run the commands of a page.

    ``printed``: what commands have printed that only look, so that each runs once for all pages.
    ``passed_over``: subcommands of asphalt that are not run.
    """
    text = page.read_text(encoding="utf-8")
    result = Rerun(text, [])
    with tempfile.TemporaryDirectory() as name:
        for trees in _TREES.findall(text):
            for tree in trees.split():
                shutil.copytree(EXAMPLES / tree, Path(name) / tree)
        for block in _BLOCK.findall(text):
            new = block
            for one in shown(block):
                if one.command.split()[1] in passed_over:
                    continue
                output = printed.get(one.command)
                if output is None:
                    output = run(one.command, Path(name))
                if one.command.split()[:2] in _ONLY_LOOK and ">" not in one.command:
                    printed[one.command] = output
                if not one.fits(output):
                    result.different.append(f"$ {one.command}\n{output}")
                    if one.output and _LEFT_OUT not in one.output:
                        new = new.replace(one.output, output)
                    elif not one.output:
                        new = new.replace(f"$ {one.command}\n", f"$ {one.command}\n{output}\n")
            result.text = result.text.replace(block, new)
    return result


@click.command()
@click.argument("names", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--check", is_flag=True, help="Change no page.")
def main(names: tuple[Path, ...], check: bool) -> None:
    """Run the commands that pages show (else all of them), and write what is new."""
    different = 0
    printed: dict[str, str] = {}
    for page in names or pages():
        result = rerun(page, printed)
        for one in result.different:
            print(f"{page}: another output:\n{one}\n")
        different += len(result.different)
        if not check:
            page.write_text(result.text, encoding="utf-8")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
