"""Reads the logs of the ranks of a checked run, as findings with files and lines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.verify.call_lines import line_of_call
from asphalt.verify.findings import Finding

_ADDRESS = re.compile(r"(/[^ ]*|[^ /]+)\+0x([0-9a-f]+)")
_RUNTIME = tuple(f"{module}::" for module in sorted(RUNTIME_MODULES))
_SECONDS = 60.0
_TITLES = {
    "send-changed": "the buffer of a pending send is changed",
    "receive-read": "the buffer of a pending receive is read",
    "receive-written": "the buffer of a pending receive is written",
    "never-completed": "a request is never completed",
    "overtaking": "a message may overtake another",
    "any-tag": "a message may overtake another",
    "collective-order": "ranks enter collective calls in different order",
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a program: the procedure, with file and line where they are known."""

    procedure: str
    path: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.path is None:
            return self.procedure
        line = "" if self.line is None else f":{self.line}"
        return f"{self.procedure} ({self.path.name}{line})"

    def calling(self, callee: str) -> Spot:
        """This place, with the line of the call of ``callee``."""
        if self.path is None or self.line is None:
            return self
        return replace(self, line=line_of_call(self.path, self.line, callee))


def findings_in(log: Path) -> tuple[Finding, ...]:
    """The findings of all ranks; those that differ by rank alone are merged."""
    all_records = [record for file in _files(log) for record in _records(file)]
    spots = _spots(address for record in all_records for address in _addresses(record))
    records = [record for record in all_records if not _is_in_order(record, spots)]
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    first: dict[tuple[str, str], Mapping[str, object]] = {}
    for record in records:
        key = (_headline(record, spots), str(record["kind"]))
        first.setdefault(key, record)
        ranks[key].append(int(str(record["rank"])))
    return tuple(
        Finding(_text(key[0], first[key], ranks[key], spots), _kin(first[key], spots))
        for key in first
    )


def refusal_in(log: Path) -> str | None:
    """Why a rank could not be checked; None: all were."""
    for file in _files(log):
        for record in _lines(file):
            if record["kind"] == "refused":
                return str(record["detail"])
    return None


def _files(log: Path) -> list[Path]:
    return sorted(log.glob("rank.*"), key=lambda path: int(path.suffix[1:]))


def _records(file: Path) -> list[Mapping[str, object]]:
    """The findings of a rank, without those that it has withdrawn."""
    lines = _lines(file)
    withdrawn = {line["number"] for line in lines if line["kind"] == "withdrawn"}
    return [
        line
        for line in lines
        if line["kind"] not in ("start", "refused", "withdrawn") and line["number"] not in withdrawn
    ]


def _lines(file: Path) -> list[Mapping[str, object]]:
    """The complete lines of a rank; a killed rank may leave an incomplete one."""
    records = []
    for line in file.read_text("utf-8", "backslashreplace").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def _headline(record: Mapping[str, object], spots: Mapping[str, Spot]) -> str:
    """Error and place, equal for all ranks at the same place."""
    at = _place(record["at"], spots).calling(str(record["call"]))
    seen = _place(record["seen"], spots).calling(str(record["during"]))
    text = f"{_TITLES.get(str(record['kind']), record['kind'])}: {record['call']} in {at}"
    return text if seen == at else f"{text}, seen by {record['during']} in {seen}"


def _text(
    headline: str, record: Mapping[str, object], ranks: Sequence[int], spots: Mapping[str, Spot]
) -> str:
    names = ", ".join(map(str, dict.fromkeys(ranks)))
    detail = _ADDRESS.sub(lambda found: str(spots.get(found[0], found[0])), str(record["detail"]))
    return f"{headline}, rank{'s' if len(set(ranks)) > 1 else ''} {names}: {detail}{_about(record)}"


def _about(record: Mapping[str, object]) -> str:
    """The message: its peer, tag, communicator and length."""
    parts = [
        f"{name} {record[key]}"
        for key, name in (("peer", "peer"), ("tag", "tag"), ("communicator", "on"))
        if record[key]
    ]
    length = int(str(record["bytes"]))
    parts += [f"{length} bytes"] if length >= 0 else []
    return f" ({', '.join(parts)})" if parts else ""


def _kin(record: Mapping[str, object], spots: Mapping[str, Spot]) -> str:
    """Kind, call and procedure; calls of asphalt's runtime have no kin in the original."""
    frames = _frames(record["at"])
    inner = spots.get(frames[0]) if frames else None
    runtime = inner is not None and inner.procedure.startswith(_RUNTIME)
    place = _place(record["at"], spots)
    return f"{record['kind']} {record['call']} {place.procedure} {runtime}"


def _is_in_order(record: Mapping[str, object], spots: Mapping[str, Spot]) -> bool:
    """Whether it is about two receives from one rank, both posted by asphalt's runtime.

    They replace blocking receives in the order of the program, so they match the messages of that
    rank in order (MPI-4.0 section 3.5), even with any tag.
    """
    if record["kind"] != "any-tag":
        return False
    earlier = _ADDRESS.search(str(record["detail"]))
    posts = (_frames(record["at"])[:1] or [""])[0], "" if earlier is None else earlier[0]
    known = [spots.get(address) for address in posts]
    return all(spot is not None and spot.procedure.startswith(_RUNTIME) for spot in known)


def _place(frames: object, spots: Mapping[str, Spot]) -> Spot:
    """The innermost place outside asphalt's runtime."""
    addresses = _frames(frames)
    known = [spots[address] for address in addresses if address in spots]
    outside = [spot for spot in known if not spot.procedure.startswith(_RUNTIME)]
    return next(iter((*outside, *known)), Spot(addresses[0] if addresses else "?"))


def _frames(frames: object) -> list[str]:
    return [str(frame) for frame in frames if frame] if isinstance(frames, list) else []


def _addresses(record: Mapping[str, object]) -> list[str]:
    told = [found[0] for found in _ADDRESS.finditer(str(record["detail"]))]
    return [*_frames(record["at"]), *_frames(record["seen"]), *told]


def _spots(addresses: Iterable[str]) -> dict[str, Spot]:
    """The places of return addresses, by addr2line; unknown without it."""
    by_object: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for address in dict.fromkeys(addresses):
        name, _, offset = address.rpartition("+0x")
        by_object[name].append((address, int(offset, 16)))
    spots: dict[str, Spot] = {}
    tool = shutil.which("addr2line")
    for name, wanted in by_object.items() if tool is not None else ():
        # the call is before the address that it returns to
        words = [f"{offset - 1:#x}" for _, offset in wanted]
        try:
            done = subprocess.run(
                [str(tool), "-f", "-e", name, *words],
                capture_output=True,
                encoding="utf-8",
                errors="backslashreplace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            continue
        lines = done.stdout.splitlines()
        for (address, _), procedure, where in zip(wanted, lines[::2], lines[1::2], strict=False):
            if procedure not in ("??", "main", "_start"):
                spots[address] = Spot(_demangled(procedure), *_line(where))
    return spots


def _line(where: str) -> tuple[Path | None, int | None]:
    """File and line of addr2line's ``FILE:LINE (discriminator N)``."""
    file, _, line = where.partition(" ")[0].rpartition(":")
    if file in ("", "??") or line in ("?", "0"):
        return None, None
    return Path(file), int(line)


def _demangled(name: str) -> str:
    if module := re.fullmatch(r"__(\w+?)_MOD_(\w+)", name):
        return f"{module[1]}::{module[2]}"
    bare = re.sub(r"\.\d+$", "", name).rstrip("_")
    return "the main program" if bare == "MAIN" else bare
