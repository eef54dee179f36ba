"""What ``asphalt apply`` makes of sources of real programs.

``python -m bench.applied SET NAME TREE`` applies all passes to the sources in TREE, the program
NAME of a SET of programs, in one process, with nothing cached, under the assumptions ``timers``,
``fatal`` and ``control``.  It keeps in ``bench/results/optimiser/applied.json`` what became of the
transfers and exchanges, and what that took, and writes the last part of ``docs/coverage.md`` from
all that is kept.  Nothing of the sources is kept.

``--as before`` keeps the results as those of an earlier version, ``--ran TEXT`` what was done with
the transformed program.  Options of asphalt follow behind ``--``, for instance ``-- -D NAME``; the
page names them, except for directories.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from asphalt.diagnostics.catalogue import ALL_CODES

RESULTS = Path("bench") / "results" / "optimiser" / "applied.json"
PAGE = Path("docs") / "coverage.md"
HEADING = "## Transfers and exchanges under `apply --passes all`"
_ASSUMED = "timers,fatal,control"
_OPTIONS = ("--passes", "all", "--assume", _ASSUMED, "--jobs", "1", "--format", "json")
_STATES = ("before", "after")

Result = Mapping[str, Any]
"""``verdicts``: the number of sites by verdict and code; ``words``: of those that rest on an
assumption, by its word; ``seconds`` of processors; ``megabytes``
at the peak; ``ran``: what was done with the transformed program; ``options`` of asphalt."""
Sets = Mapping[str, Mapping[str, Mapping[str, Result]]]
"""Results by set, program and state."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one program; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set")
    parser.add_argument("name")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--as", dest="state", choices=_STATES, default="after")
    parser.add_argument("--ran", default="", help="what was done with the transformed program")
    parser.add_argument("options", nargs="*", help="options of asphalt")
    given = parser.parse_args(arguments)
    result = {
        **measured(given.tree, given.options),
        "ran": given.ran,
        "options": list(_without_directories(given.options)),
    }
    results = kept()
    results.setdefault(given.set, {}).setdefault(given.name, {})[given.state] = result
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    print(f"{given.set}: {given.name}: {result}")
    return 0


def kept() -> dict[str, dict[str, dict[str, Result]]]:
    """All results that are kept."""
    if not RESULTS.exists():
        return {}
    found: dict[str, dict[str, dict[str, Result]]] = json.loads(RESULTS.read_text("utf-8"))
    return found


_RANKS = ("applied", "proved", "assumed", "refused")


def measured(tree: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """The verdicts on a tree, and the seconds and megabytes that they took."""
    with tempfile.TemporaryDirectory() as folder:
        out, said = Path(folder) / "out", Path(folder) / "report"
        command = [sys.executable, "-m", "asphalt", "apply", "--no-cache", *_OPTIONS, *options]
        used = _run([*command, str(tree), "--output", str(out)], said)
        sites = json.loads(said.read_text(encoding="utf-8"))["sites"]
    sites = _each_once(site for site in sites if site["verdict"] != "finding")
    verdicts = Counter(f"{site['verdict']} {site['code'] or ''}".strip() for site in sites)
    possible = [site for site in sites if site["verdict"] != "refused"]
    words = Counter(word for site in possible for word in site["assumptions"])
    return {"verdicts": dict(verdicts), "words": dict(sorted(words.items())), **used}


def _each_once(reports: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reports on sites; the best on one that is also told where it is inlined."""
    best: dict[tuple[str, int, str], dict[str, Any]] = {}
    for one in reports:
        place = one["file"], one["line"], one["operation"]
        if place not in best or _RANKS.index(one["verdict"]) < _RANKS.index(best[place]["verdict"]):
            best[place] = one
    return list(best.values())


def _without_directories(options: Sequence[str]) -> Iterator[str]:
    """Options without ``-I DIR``, which says where files stand on one machine."""
    is_directory = False
    for option in options:
        if not is_directory and option != "-I":
            yield option
        is_directory = option == "-I"


def _run(command: Sequence[str], said: Path) -> dict[str, float]:
    """Run a command, its output in a file; returns what it took."""
    with said.open("wb") as stream:
        start = time.perf_counter()
        child = os.posix_spawn(
            command[0],
            list(command),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, stream.fileno(), 1)],
        )
        _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(command)} failed after {time.perf_counter() - start:.0f} s")
    seconds = usage.ru_utime + usage.ru_stime
    return {"seconds": round(seconds, 1), "megabytes": round(usage.ru_maxrss / 1024)}


def with_section(page: str, results: Sets) -> str:
    """A page with its part on transfers written anew, as the last one."""
    return page.partition(f"\n{HEADING}\n")[0].rstrip("\n") + "\n\n" + "\n".join(section(results))


def section(results: Sets) -> list[str]:
    """The lines of the part on transfers and exchanges."""
    lines = [
        HEADING,
        "",
        f"`python -m bench.applied` measures these with `--assume {_ASSUMED}`, in one",
        "process and with nothing cached.  A site is a transfer, a collective operation, or a",
        "store that a receive overwrites; it counts once, also where its procedure is inlined",
        "(not so before an arrow, nor in public codes).  Seconds are those of processors.  The",
        "last column says where the transformed program ran as the original did, with the same",
        "results.  Before an arrow stands what an earlier version made of it, without `control`,",
        "and of public codes with no more options than `-D` and `-I`, files that their builds do",
        "not compile included.",
    ]
    for name, programs in sorted(results.items()):
        lines += ["", f"### {name}", "", *_figures(programs), "", *_codes(programs)]
    return [*lines, ""]


def _figures(programs: Mapping[str, Mapping[str, Result]]) -> Iterator[str]:
    """A row for each program: numbers of sites by verdict, seconds, and megabytes."""
    head = [
        "program",
        "sites",
        "applied",
        "under more assumptions",
        "refused",
        "seconds",
        "MB",
        "rest on",
        "run with",
    ]
    yield from _table(
        head,
        (
            [name, *_shown(states, _numbers), *_last(states.get("after", {}))]
            for name, states in sorted(programs.items())
        ),
    )
    if any("before" in states for states in programs.values()):
        yield ""
        yield "An arrow leads from an earlier version to this one."
    options = {
        name: " ".join(given)
        for name, states in sorted(programs.items())
        if (given := states.get("after", {}).get("options"))
    }
    if options:
        yield ""
        yield "More options, besides directories:"
        yield ""
    for given in sorted(set(options.values())):
        names = ", ".join(name for name in options if options[name] == given)
        yield f"- `{given}`: {names}"


def _last(result: Result) -> tuple[str, str]:
    """The assumptions that the sites rest on, each with their number, and where they ran."""
    words = result.get("words", {})
    return ", ".join(f"`{word}` {number}" for word, number in words.items()), result.get("ran", "")


def _numbers(result: Result) -> list[str]:
    count = Counter[str]()
    for verdict, number in result["verdicts"].items():
        count[verdict.split()[0]] += number
    possible = count["proved"] + count["assumed"]
    sites = sum(count.values())
    numbers = (sites, count["applied"], possible, sites - count["applied"] - possible)
    return [*map(str, numbers), f"{result['seconds']:.1f}", str(result["megabytes"])]


def _shown(states: Mapping[str, Result], figures: Any) -> list[str]:
    """The figures of both states: ``6 → 10``."""
    rows = [figures(states[state]) for state in _STATES if state in states]
    return [" → ".join(dict.fromkeys(values)) for values in zip(*rows, strict=True)]


def _codes(programs: Mapping[str, Mapping[str, Result]]) -> Iterator[str]:
    """A row for each code: for how many sites of each program it is told."""
    names = sorted(programs)
    codes = {
        verdict.split()[1]
        for states in programs.values()
        for result in states.values()
        for verdict in result["verdicts"]
        if " " in verdict
    }

    def cell(name: str, code: str) -> str:
        told = [
            sum(n for verdict, n in states[state]["verdicts"].items() if verdict.endswith(code))
            for states in (programs[name],)
            for state in _STATES
            if state in states
        ]
        return " → ".join(dict.fromkeys(map(str, told)))

    rows = (
        [f"[{code}](codes/{code.lower()}.md)", ALL_CODES[code].title]
        + [cell(name, code) for name in names]
        for code in sorted(codes, key=lambda code: int(code.removeprefix("ASP")))
    )
    yield from _table(["code", "meaning", *names], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
