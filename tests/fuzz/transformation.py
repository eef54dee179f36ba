"""A program as asphalt sees it: what becomes of each exchange, and the transformed text."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.unparse.header_entry import lines_of
from fuzz.oddities import ODDITIES
from fuzz.program import Program
from fuzz.render import Source, render

SUPPORT = Path(__file__).parent / "support.f90"
SHOWN = SUPPORT.read_bytes()


@dataclass(frozen=True)
class Case:
    """A program, its text before and after, and what asphalt says about its exchanges.

    ``verdicts``: verdict and code of each exchange.  ``header``: K and D of what was transformed.
    ``fault``: why this is wrong without a run: an illegal program that changed, or a traceback.
    """

    tag: str
    program: Program
    source: Source
    after: str
    verdicts: tuple[tuple[str, str | None], ...] = ()
    layouts: tuple[str, ...] = ()
    header: str = ""
    fault: str = ""
    sites: tuple[str, ...] = field(default=())

    @property
    def changed(self) -> bool:
        """Whether asphalt changed anything."""
        return self.after != self.source.text


def must_stay(program: Program) -> bool:
    """Whether nothing of the program may change, by construction."""
    return all(ODDITIES[exchange.odd].stays for exchange in program.exchanges)


def transformed(program: Program, tag: str, folder: Path, bits: bool = False) -> Case:
    """Transform a program; it alone is the whole program that asphalt knows.

    ``bits``: accept that last digits may change (for builds that vectorise nothing).
    """
    source = render(program, tag)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    path.write_text(source.text)
    support = folder / SUPPORT.name
    if not support.exists():
        support.write_bytes(SHOWN)
    kept = sum(exchange.tile for exchange in program.exchanges) % 2 == 1
    settings = Settings(
        passes=(Pass.PREPUSH,),
        cache=False,
        jobs=1,
        assume=frozenset({"bits"} if bits else ()),
        backend=("persistent",) if kept else ("isend",),
    )
    try:
        project = Project(path, support, settings=settings)
        changes = project.transform()
        reports = [site.report for site in project.sites()]
    except Exception:
        return Case(tag, program, source, source.text, fault=traceback.format_exc())
    finally:
        path.unlink()
    problems = [problem for problem in project.problems if not problem.note]
    after, header = source.text, ""
    for change in changes:
        after = change.after.decode("latin-1")
        for parameter, exchange in zip(
            change.parameters, _tilings(program, len(change.parameters)), strict=True
        ):
            header += f"      integer, parameter :: asphalt_k_{parameter.site} = {exchange[0]}\n"
            header += f"      integer, parameter :: asphalt_d_{parameter.site} = {exchange[1]}\n"
            if kept:
                header += "".join(f"{line}\n" for line in lines_of(parameter, "backend"))
    fault = "".join(f"{problem}\n" for problem in problems)
    if after != source.text and must_stay(program):
        fault = "an illegal program was changed"
    return Case(
        tag,
        program,
        source,
        after,
        tuple((report.verdict, report.code) for report in reports),
        tuple(report.message for report in reports),
        header,
        fault,
        tuple(parameter.site for change in changes for parameter in change.parameters),
    )


def _tilings(program: Program, count: int) -> list[tuple[int, int]]:
    """K and D for each transformed exchange."""
    given = [(exchange.tile, exchange.depth) for exchange in program.exchanges] or [(1, 1)]
    return [given[number % len(given)] for number in range(count)]
