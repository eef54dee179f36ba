"""Records of runs, kept with the builds: to inspect a run, and to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asphalt.running.process import CommandResult

RECORDS = "runs"
"""The directory of all records, below that of the builds."""
_SCRATCH = ("TMPDIR",)  # which is gone after the run
_AGAIN = """\
#!/bin/sh
# Repeats the run in a copy of the build, beside this script.
{end}
cd "$(dirname "$0")" && rm -rf tree && cp -a {build} tree && cd tree || exit
{variables}exec {command}{stdin}
"""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run: its command, variables, end, and outputs.

    ``files``: the files to compare, by their paths below the tree.
    """

    command: Sequence[str]
    settings: Mapping[str, str]
    stdin: Path | None
    outcome: CommandResult
    files: Mapping[str, bytes]
    stacks: Sequence[str]
    findings: Sequence[str]

    def write(self, folder: Path, build: Path, place: Path) -> None:
        """Write the record into the new directory ``folder``.

        It holds ``stdout``, ``stderr``, the compared files below ``files``, and a script ``again``;
        if there are any, also ``stacks`` of ranks and ``findings``.  ``build`` and ``place``: the
        directories of the build and of the run.
        """
        folder.mkdir(parents=True)
        (folder / "stdout").write_bytes(self.outcome.stdout)
        (folder / "stderr").write_bytes(self.outcome.stderr)
        for name, content in self.files.items():
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for name, lines in (("stacks", self.stacks), ("findings", self.findings)):
            if lines:
                (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        script = folder / "again"
        script.write_text(self._script(folder, build, place), "utf-8", "surrogateescape")
        script.chmod(0o755)

    def _script(self, folder: Path, build: Path, place: Path) -> str:
        there, here = str(place.absolute()), str((folder / "tree").absolute())
        words = [word.replace(there, here) for word in self.command]
        exports = [
            f"export {name}={shlex.quote(value)}\n"
            for name, value in self.settings.items()
            if name not in _SCRATCH
        ]
        status = self.outcome.status
        end = self.outcome.hang if status is None else f"ended with status {status}"
        return _AGAIN.format(
            end=f"# It {end}.",
            build=shlex.quote(str(build.absolute())),
            variables="".join(exports),
            command=shlex.join(words),
            stdin="" if self.stdin is None else f" < {shlex.quote(str(self.stdin))}",
        )
