"""Counts and times the messages of the kernels after Choi and Snyder, ICPP 1997.

    python -m bench.messages

writes ``docs/combining.md``, with a table like their figures 8, 10 and 11: the statements that send
messages (static), the messages of a rank in the middle in a step (dynamic, counted in real runs of
MPICH on 16 ranks), and the time of ten steps on 64 ranks of simulated networks.  It also measures
from which length on messages do not gain by being combined.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.config.passes import PASSES, Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.stmt import Call
from asphalt.ir.tree import leaves
from asphalt.machine.machine import load_machine
from asphalt.running.mpi import MPICH, SMPI, Mpi, environment
from asphalt.simulation.charged import charge_tree
from bench.lab.build import BUILD, Recipe, compile_program, sources_of
from bench.lab.case import KERNELS, ROOT, STAND_INS, load_case
from bench.lab.measure import Simulator
from bench.lab.places import place_for
from bench.lab.platforms import named
from bench.lab.run import LabError
from bench.lab.transform import transform

PAGE = ROOT / "docs" / "combining.md"
RESULTS = ROOT / "bench" / "results" / "optimiser" / "messages.json"
RANKS, REAL_RANKS, STEPS = 64, 16, 4
NETWORKS = ("ib-ddr-2009", "ethernet-10g", "ethernet-1g")
KERNELS_OF_PAPER: Mapping[str, Mapping[str, int]] = {
    "tomcatv": {"nx": 16, "ny": 16},
    "swm": {"nx": 64, "ny": 64},
    "fields": {"nx": 64, "ny": 64},
}
"""The kernels, with the points that a rank has: the paper's sizes on 64 ranks."""
_COUNTED = "counted_messages.c"
_MESSAGES = re.compile(r"^messages (\d+) reductions (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Version:
    """An experiment; ``passes``: (): a text as it stands."""

    name: str
    text: str = "original"
    passes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


_FEWER = (Pass.REMOVAL, Pass.COMBINATION, Pass.INLINE)
VERSIONS = (
    Version("baseline"),
    Version("rr", passes=(Pass.REMOVAL,)),
    Version("cc", passes=_FEWER, options=("--combining", "most")),
    Version("pl", passes=PASSES, options=("--combining", "most")),
    Version("pl hidden", passes=PASSES, options=("--combining", "hidden")),
    Version("pl auto", passes=PASSES),
    Version("hand", "hand"),
)


def files_of(kernel: str, version: Version, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The files of a version, in the order of compilation."""
    case = load_case(KERNELS / kernel)
    files = sources_of(Recipe(case, version.text, SMPI, sizes))
    if version.passes:
        files = transform(files, version.passes, version.options)
    return files


def program_of(kernel: str, mpi: Mpi, files: Mapping[str, bytes]) -> Path:
    """A program of some files, built if it is missing."""
    key = sha256(repr((mpi.name, sorted(files.items()))).encode()).hexdigest()[:16]
    directory = BUILD / "messages" / f"{kernel}-{key}"
    if not directory.exists():
        with place_for(directory) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
            compile_program(mpi, tuple(files), ("-O2",), unfinished, unfinished / kernel)
    return directory / kernel


def charged(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with charges for their computation, but for statements of unknown cost, which stand
    before the steps."""
    with TemporaryDirectory() as name:
        source, out = Path(name, "source"), Path(name, "charged")
        source.mkdir()
        for file, content in files.items():
            (source / file).write_bytes(content)
        found = charge_tree(source, out, load_machine())
        changed = {file: (out / file).read_bytes() for file in files}
        return {found.runtime.name: found.runtime.read_bytes()} | changed


def static(kernel: str, files: Mapping[str, bytes]) -> int:
    """The statements of the main program that send, or call a procedure that does."""
    with TemporaryDirectory() as name:
        for file, content in files.items():
            Path(name, file).write_bytes(content)
        tree = load_tree((name,), Settings(cache=False, jobs=1))
        scopes = Scopes(tree)
        units = [unit for entry in tree.files for unit in tree.units_of(entry.path)]
        calls = {
            located.unit.name: [
                (leaf.call, scopes.of(located))
                for node in located.unit.body
                for leaf in leaves(node)
                if leaf.call is not None
            ]
            for located in units
        }
    sending = {unit for unit, own in calls.items() if any(_sends(*call) for call in own)}
    return sum(
        _sends(call, scope) or getattr(call.procedure, "name", "") in sending - {kernel}
        for call, scope in calls[kernel]
    )


def _sends(call: Call, scope: Scope) -> bool:
    """Whether a call sends a message to another rank."""
    found = mpi_call(call, scope)
    if found is None or found.procedure.collective:
        return False
    return any(a.store is Store.OUTGOING for a in library_row(found.procedure).accesses)


def dynamic(kernel: str, version: Version) -> tuple[float, float, bytes]:
    """The messages that a rank sends in a step at most, its reductions, and what the run prints."""
    files = files_of(kernel, version, {"steps": STEPS})
    files[_COUNTED] = (STAND_INS / _COUNTED).read_bytes()
    program = program_of(kernel, MPICH, files)
    done = subprocess.run(
        [MPICH.launcher, "-np", str(REAL_RANKS), str(program)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = [(int(m), int(r)) for m, r in _MESSAGES.findall(done.stderr)]
    if done.returncode != 0 or len(found) != REAL_RANKS:
        raise LabError(f"{kernel}, {version.name}: {done.stderr[-2000:]}")
    lines = "\n".join(sorted(done.stdout.splitlines()))
    most = max(one for one, _ in found), max(one for _, one in found)
    return most[0] / STEPS, most[1] / STEPS, lines.encode()


def simulated(kernel: str, version: Version, network: str) -> float:
    """Seconds of the steps on a network, whose computation is counted from the source."""
    sizes = {**KERNELS_OF_PAPER[kernel], "steps": STEPS}
    files = files_of(kernel, version, sizes)
    if version.passes:
        shim = STAND_INS / "mpi_f_sync_reg.f90"
        files = {shim.name: shim.read_bytes()} | files
    program = program_of(kernel, SMPI, charged(files))
    return Simulator(named(network)).run(program, RANKS).seconds


def measure(kernel: str) -> dict[str, object]:
    """All numbers of a kernel; raises LabError if results differ."""
    rows: dict[str, object] = {}
    expected: bytes | None = None
    for version in VERSIONS:
        sent, reduced, printed = dynamic(kernel, version)
        if expected is not None and printed != expected:
            raise LabError(f"{kernel}, {version.name}: other results")
        expected = printed
        seconds = {network: simulated(kernel, version, network) for network in NETWORKS}
        counted_here = None
        if version.text == "original":
            counted_here = static(kernel, files_of(kernel, version, {}))
        rows[version.name] = {
            "static": counted_here,
            "dynamic": sent,
            "reductions": reduced,
            "seconds": seconds,
        }
        click.echo(f"{kernel} {version.name}: {rows[version.name]}")
    return rows


def limit(network: str) -> dict[str, object]:
    """The lengths, in doubles, up to which two messages in one take less time, in simulated runs
    and by the cost model."""
    gains: list[int] = []
    chosen: list[int] = []
    for length in LENGTHS:
        text = (ROOT / "bench" / "exchanges" / "fields_in_turn.f90").read_text()
        files = {"in_turn.f90": text.replace("n = 64", f"n = {length}").encode()}
        once = transform(files, _FEWER, ("--combining", "most"))
        seconds = []
        for one in (files, once):
            program = program_of("in_turn", SMPI, charged(one))
            seconds.append(Simulator(named(network)).run(program, 16).seconds)
        if seconds[1] < seconds[0]:
            gains.append(length)
        if transform(files, _FEWER, ("--network", network)) == once:
            chosen.append(length)
        click.echo(f"{network} {length}: {seconds[0]:.4g} {seconds[1]:.4g}")
    return {"simulated": max(gains, default=0), "model": max(chosen, default=0)}


def page(results: Mapping[str, object]) -> str:
    """The page of docs."""
    lines = [_HEAD]
    kernels: Mapping[str, Mapping[str, dict[str, object]]] = results["kernels"]  # type: ignore[assignment]
    for kernel, rows in kernels.items():
        lines += [f"## {kernel}", "", _COLUMNS, _RULE]
        first = rows["baseline"]["seconds"]
        for name, row in rows.items():
            seconds: Mapping[str, float] = row["seconds"]  # type: ignore[assignment]
            times = [
                f"{1e3 * seconds[n]:.3f} ({100 * seconds[n] / first[n]:.0f} %)"  # type: ignore[index]
                for n in NETWORKS
            ]
            count = "" if row["static"] is None else str(row["static"])
            numbers = f"{row['dynamic']:g} | {row['reductions']:g}"
            lines.append(f"| {name} | {count} | {numbers} | {' | '.join(times)} |")
        lines.append("")
    if results["limits"]:
        tried = ", ".join(map(str, LENGTHS))
        lines.append(_LIMITS.format(lengths=tried))
    limits: Mapping[str, Mapping[str, int]] = results["limits"]  # type: ignore[assignment]
    for network, found in limits.items():
        lines.append(f"| `{network}` | {found['simulated']} | {found['model']} |")
    return "\n".join(lines) + "\n"


LENGTHS = (256, 1024, 4096, 16384, 65536)
_COLUMNS = (
    "| version | static | messages | reductions | " + " | ".join(f"`{n}`" for n in NETWORKS) + " |"
)
_RULE = "| --- " * (4 + len(NETWORKS)) + "|"
_HEAD = f"""\
# How many messages, and how long

The tables are made after figures 8, 10 and 11 of Choi and Snyder, "Quantifying the effects of
communication optimizations" (ICPP 1997). Their compiler has made the messages; here they stand in
the source, as such a compiler would have left them: one for each shifted reference, right before
its use (`kernels/tomcatv`, `kernels/swm`). `kernels/fields` is how people write.

| version | what is done |
| --- | --- |
| baseline | nothing |
| rr | exchanges that repeat an earlier one are left out (`removal`) |
| cc | rr, and as many as can become one (`combination`, `--combining most`) |
| pl | cc, and messages overlap with computation (all passes) |
| pl hidden | pl, but only exchanges with equal overlap windows are one (`--combining hidden`) |
| pl auto | pl, but the cost model chooses (`--combining auto`, the default) |
| hand | written by hand |

*Static*: the statements of the main program that send, or call a procedure that does. *Messages*:
those that a rank sends to others in a step, counted in runs of MPICH on {REAL_RANKS} ranks, the
most of all ranks; all versions print the same results there. The times, in milliseconds, are those
of {STEPS} steps on {RANKS} ranks of simulated networks, whose computation is counted from the
source; beside them, per cent of the baseline. `python -m bench.messages` writes this page.
"""
_LIMITS = """\
## From which length on it does not pay

Two arrays are exchanged in turn in a ring of 16 ranks. The table gives the longest messages, in
doubles, that take less time as one, packing included: in simulated runs, and by the cost model,
which is what `--combining auto` asks. Measured are {lengths} doubles.
The model allows the next length, too, which loses up to 4 %; with `--judge simulation`, simulated
runs decide.

| network | simulated | cost model |
| --- | --- | --- |"""


@click.command()
@click.option("--page", "only_page", is_flag=True, help="Write the page from the kept results.")
@click.option("--kernel", "kernels", multiple=True, help="Measure these kernels alone.")
@click.option("--limits/--no-limits", default=True, help="Measure the lengths, too.")
def main(only_page: bool, kernels: Sequence[str], limits: bool) -> None:
    """Measure the kernels, keep the results and write the page."""
    results: dict[str, Any] = {"kernels": {}, "limits": {}}
    if RESULTS.exists():
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    if not only_page:
        for kernel in kernels or KERNELS_OF_PAPER:
            results["kernels"][kernel] = measure(kernel)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        if limits:
            results["limits"] = {network: limit(network) for network in NETWORKS}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
