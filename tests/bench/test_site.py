"""The site: it builds strictly, shows what commands print, and its links lead somewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

from bench.docs_pages import DOCS, outdated
from bench.outputs import ROOT, Shown, first_tree, pages, rerun, shown
from bench.reference import pages as reference_pages
from bench.site_links import on_page_markdown

README = ROOT / "README.md"


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    warnings = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    assert (done.returncode, warnings) == (0, [])
    commands = (tmp_path / "reference" / "commands.html").read_text()
    assert "Sentinel" not in commands
    for name in ("scan", "explain", "diff", "apply", "verify", "simulate", "calibrate", "mk"):
        assert f"asphalt {name} [OPTIONS]" in commands


def test_generated_pages_of_the_reference() -> None:
    assert list(outdated(reference_pages())) == [], "run python -m bench.reference"


SLOW = ("simulate", "verify")  # commands that build and run programs


@pytest.mark.parametrize("passed_over", [SLOW, pytest.param((), marks=pytest.mark.wide)], ids=str)
@pytest.mark.parametrize("tree", ["heat", "transpose"])
def test_pages_show_what_commands_print(tree: str, passed_over: tuple[str, ...]) -> None:
    printed: dict[str, str] = {}
    of_tree = [page for page in pages() if first_tree(page) == tree]
    assert of_tree
    different = {str(page): rerun(page, printed, passed_over).different for page in of_tree}
    assert {page: found for page, found in different.items() if found} == {}, "make docs"


def test_pages_show_output() -> None:
    assert {first_tree(page) for page in pages()} == {"heat", "transpose"}
    found = {path.relative_to(ROOT).as_posix() for path in pages()}
    assert {"README.md", "docs/tutorial/heat.md", "docs/tutorial/transpose.md"} <= found
    for page in pages():
        assert all(one.output for one in _shown(page)), page


def _shown(page: Path) -> list[Shown]:
    return [one for block in page.read_text().split("```console\n")[1:] for one in shown(block)]


def test_an_output_that_differs_is_seen() -> None:
    one = Shown("asphalt scan", "a.f90:1  proved\n[...]\nasphalt: 2 sites[...]")
    assert one.fits("a.f90:1  proved\nb.f90:2  refused\nasphalt: 2 sites: 1 proved\n")
    assert not one.fits("a.f90:2  proved\nasphalt: 2 sites: 1 proved")
    assert not one.fits("a.f90:1  proved\nasphalt: 3 sites")


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("../passes.md#phases", "../passes.md#phases"),
        ("https://a.b/c", "https://a.b/c"),
        ("#here", "#here"),
        ("../../README.md#a", "R/blob/main/README.md#a"),
        ("../examples/heat", "R/tree/main/docs/examples/heat"),
    ],
)
def test_links_out_of_the_site_lead_to_the_repository(link: str, becomes: str) -> None:
    assert _on_page(f"[x]({link})") == f"[x]({becomes})"


def test_a_link_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"howto/a\.md: the link to \.\./\.\./nothing"):
        _on_page("[x](../../nothing)")


def _on_page(markdown: str) -> str:
    file = SimpleNamespace(abs_src_path=str(DOCS / "howto" / "a.md"), src_path="howto/a.md")
    config = SimpleNamespace(docs_dir=str(DOCS), repo_url="R")
    return on_page_markdown(markdown, SimpleNamespace(file=file), config)
