"""The call stacks of the ranks of a hanging program, from the debugger gdb.

A stack contains the user's own procedures, and the library procedure that the innermost one called.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from asphalt.ir.records import record
from asphalt.running.process import session
from asphalt.verify.call_lines import line_of_call

_MOST_RANKS = 16
_MOST_FRAMES = 8
_SECONDS = 30.0
_LOOKS = 5
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_FRAME = re.compile(
    r"^#\d+\s+(?:0x[0-9a-f]+ in )?(?P<name>.+?) \(.*?\)"
    r"(?: at (?P<file>.+):(?P<line>\d+)| from (?P<library>.+))?$"
)
_LOOK = re.compile(r"^(?=#0 )", re.MULTILINE)
_THREAD = re.compile(r"^Thread (\d+) ")
_SIMULATED_SOURCE = re.compile(r"_\w{10}\.[fF]\w*$")
_COPY = re.compile(r"_\d+_\d+\.so$")  # of the program, which SMPI makes for each rank
_QUIET = (
    "set debuginfod enabled off",
    "set pagination off",
    "set width 0",
    "set print frame-arguments none",
    "set print thread-events off",
)
GDB_IS_MISSING = "install gdb to see where the ranks are ('apt-get install gdb' on Debian)"
NO_STACKS = "gdb cannot inspect the ranks: {reason}"


@record
class Stack:
    """A call stack of some ranks: the innermost procedure first, with file and line.

    A rank is None if its number is unknown.
    """

    ranks: tuple[int | None, ...]
    frames: tuple[str, ...]

    def title(self) -> str:
        """The ranks in words."""
        known = [str(rank) for rank in self.ranks if rank is not None]
        if len(known) < len(self.ranks):
            return "a process" if len(self.ranks) == 1 else f"{len(self.ranks)} processes"
        return f"rank{'s' if len(known) > 1 else ''} {', '.join(known)}"


@record
class Stacks:
    """The stacks of a hang; ``remark`` says which are missing, and why."""

    found: tuple[Stack, ...] = ()
    remark: str | None = None


def stacks_of(leader: int, directory: Path) -> Stacks:
    """The stacks of the ranks in the session of process ``leader``.

    Ranks are the processes whose program lies in ``directory``.
    """
    gdb = shutil.which("gdb")
    if gdb is None:
        return Stacks(remark=GDB_IS_MISSING)
    ranks = sorted(_rank_processes(leader, directory), key=lambda found: found[0] or 0)
    sources = _sources(directory)
    by_frames: dict[tuple[str, ...], list[int | None]] = defaultdict(list)
    complaint = ""
    for rank, process in ranks[:_MOST_RANKS]:
        output, errors = _gdb(gdb, process, _LOOKS if rank is None else 1)
        looks = (_frames(look.splitlines(), sources) for look in _LOOK.split(output))
        if frames := next(filter(None, looks), None):
            by_frames[frames].append(rank)
        else:
            complaint = _complaint(errors) or "it found no procedure of the program"
    remarks = []
    if not ranks:
        remarks.append("all ranks had ended")
    if complaint:
        remarks.append(NO_STACKS.format(reason=complaint))
    if len(ranks) > _MOST_RANKS:
        remarks.append(f"{len(ranks) - _MOST_RANKS} more ranks were not inspected")
    return Stacks(_grouped(by_frames), "; ".join(remarks) or None)


def simulated_stacks(output: str, directory: Path) -> Stacks:
    """The stacks of simulated ranks, from gdb's output for ``simulation_script``.

    Ranks are threads, created in their order after the thread that simulates.
    """
    sources = _sources(directory)
    by_frames: dict[tuple[str, ...], list[int | None]] = defaultdict(list)
    threads: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in output.splitlines():
        if heading := _THREAD.match(line):
            lines = threads.setdefault(int(heading[1]), [])
        lines.append(line)
    for number in sorted(threads):
        if number > 1 and (frames := _frames(threads[number], sources)):
            by_frames[frames].append(number - 2)
    return Stacks(_grouped(by_frames))


def simulation_script() -> str:
    """The gdb commands that stop a simulation at a deadlock and show all ranks."""
    return "\n".join(
        (
            *_QUIET,
            "set breakpoint pending on",
            "break simgrid::kernel::EngineImpl::display_all_actor_status",
            "run",
            "thread apply all bt",
            "kill",
            "",
        )
    )


def rendered(stacks: Iterable[Stack]) -> list[str]:
    """The stacks as lines for a person."""
    lines = []
    for stack in stacks:
        lines.append(f"{stack.title()}:")
        lines += [f"  {frame}" for frame in stack.frames]
    return lines


def _grouped(by_frames: dict[tuple[str, ...], list[int | None]]) -> tuple[Stack, ...]:
    return tuple(Stack(tuple(ranks), frames) for frames, ranks in by_frames.items())


def _gdb(gdb: str, process: int, looks: int) -> tuple[str, str]:
    """The output of gdb for a process, inspected ``looks`` times.

    A process that simulates executes its ranks in turn, so one look may miss them.
    """
    words = [gdb, "-batch", "-nx"]
    commands = ["thread apply 1 bt"]
    commands += ["detach", f"attach {process}", "thread apply 1 bt"] * (looks - 1)
    for command in (*_QUIET, f"attach {process}", *commands):
        words += ["-ex", command]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"it did not end within {_SECONDS:g} seconds"
    return done.stdout, done.stderr


def _complaint(errors: str) -> str:
    if "ptrace" in errors:
        return (
            "the system forbids it; as root, 'sysctl kernel.yama.ptrace_scope=0' allows it "
            "(a container needs the capability SYS_PTRACE)"
        )
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _rank_processes(leader: int, directory: Path) -> list[tuple[int | None, int]]:
    """Ranks and their processes; without a known program, the childless ones of the session."""
    processes = programs_in(directory)
    if not processes:
        members = session(leader)
        parents = {_parent(process) for process in members}
        processes = [process for process in members if process not in parents]
    return [(_rank(process), process) for process in processes]


def programs_in(directory: Path) -> list[int]:
    """The processes whose program lies in ``directory``, in any session.

    Some launchers give ranks sessions of their own.
    """
    top = os.path.realpath(directory) + os.sep
    running = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return [process for process in running if _program(process).startswith(top)]


def _parent(process: int) -> int | None:
    try:
        fields = Path(f"/proc/{process}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1])


def _program(process: int) -> str:
    try:
        return os.readlink(f"/proc/{process}/exe")
    except OSError:
        return ""


def _rank(process: int) -> int | None:
    try:
        entries = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    variables = dict(entry.decode("latin-1").partition("=")[::2] for entry in entries)
    values = (variables.get(name, "") for name in _RANKS)
    return next((int(value) for value in values if value.isdecimal()), None)


def _sources(directory: Path) -> Mapping[str, Path | None]:
    """The files of the tree by name; None: several have this name."""
    found: dict[str, Path | None] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            found[name] = None if name in found else Path(folder, name)
    return found


def _frames(lines: Iterable[str], sources: Mapping[str, Path | None]) -> tuple[str, ...]:
    """The procedure that the user's innermost one called, then the user's; () without any."""
    frames: list[str] = []
    called, callee = "", ""
    for line in lines:
        match = _FRAME.match(line)
        if match is None:
            continue
        name, file = _demangled(match["name"]), match["file"]
        source = None if file is None else _SIMULATED_SOURCE.sub("", Path(file).name)
        library = match["library"]
        in_program = source in sources if source else not library or bool(_COPY.search(library))
        if name in ("main", "_start", "??") or name.startswith("__libc"):
            continue
        if not in_program:
            called = "" if frames else name
            continue
        if called:
            frames.append(called)
            called, callee = "", called
        frames.append(
            f"{name} ({_place(source, match['line'], callee, sources)})" if source else name
        )
        callee = name
    return tuple(frames[:_MOST_FRAMES])


def _place(name: str, line: str, callee: str, sources: Mapping[str, Path | None]) -> str:
    """File and line of a frame; ``callee``: what it calls, "" for the innermost."""
    path = sources.get(name)
    found = int(line) if path is None or not callee else line_of_call(path, int(line), callee)
    return name if found is None else f"{name}:{found}"


def _demangled(name: str) -> str:
    """A procedure's name without additions of compilers and profiling interfaces."""
    if module := re.fullmatch(r"__(\w+?)_MOD_(\w+)", name):
        return f"{module[1]}::{module[2]}"
    bare = name.rstrip("_")
    return bare[1:] if bare.lower().startswith("pmpi_") else bare
