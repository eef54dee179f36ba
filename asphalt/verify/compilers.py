"""The values of ``{fc}``, ``{f77}`` and ``{cc}`` in the build of one version."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.running.diagnostics import essence
from asphalt.verify.compiler_wrapper import Wrapper
from asphalt.verify.setups import Setup

_ARCHIVE = "libasphalt_rt.a"


def compilers(setup: Setup, runtime: Path | None, folder: Path) -> Mapping[str, Sequence[str]]:
    """The words for each placeholder: the MPI's compilers, or wrapper scripts in ``folder``.

    The wrappers find the module of ``runtime`` and link it from an archive, so that a build that
    compiles the runtime itself uses its own.  Raises ``UsageError`` if it does not compile.
    """
    if runtime is None and not setup.link and not setup.simulated:
        return setup.places
    folder.mkdir(parents=True)
    modules, link = [], list(setup.link)
    if runtime is not None:
        _compile(setup, runtime, folder)
        modules.append(str(folder))
        link.append(str(folder / _ARCHIVE))
    places = dict(setup.places)
    for name in ("fc", "f77", "cc"):
        compiler = places[name][0]
        seen = modules if name != "cc" else []
        path = folder / Path(compiler).name
        path.write_text(Wrapper(compiler, seen, link, setup.simulated).script(), encoding="utf-8")
        path.chmod(0o755)
        places[name] = (str(path),)
    return places


def _compile(setup: Setup, runtime: Path, folder: Path) -> None:
    objects = f"{runtime.stem}.o"
    for command in (
        [*setup.places["fc"], "-O2", "-g", "-c", str(runtime), "-o", objects],
        ["ar", "rcs", _ARCHIVE, objects],
    ):
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        except OSError as error:
            raise UsageError(f"{command[0]}: cannot be started: {error.strerror}") from None
        if done.returncode != 0:
            message = essence(done.stderr.decode("utf-8", "backslashreplace"))
            raise UsageError(f"{command[0]} does not compile {runtime.name}: {message}")
