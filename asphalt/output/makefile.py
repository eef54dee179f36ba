"""The makefile fragment that lists a mirrored tree with its dependences, for ``asphalt.mk``.

Objects depend on the objects whose modules they use (such as the runtime's) and on the files that
they include (such as the parameter header: an edit of K or D recompiles).  The transformation
depends on included files, too, since proofs read them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.output.included import included_files
from asphalt.output.mirror import absolute
from asphalt.output.modules import is_fortran, prerequisites
from asphalt.output.write import Written

_UNFIT = re.compile(r"[\s:;#$%=\\*?\[\]~]")


def makefile_fragment(
    written: Written, output: Path, originals: Iterable[Path], include_dirs: Sequence[str]
) -> str:
    """The text of the fragment for the tree that was made of ``originals`` below ``output``.

    It defines ASPHALT_FILES (all files below the output directory that a build needs) and
    ASPHALT_OBJECTS (an object for each Fortran source), in terms of ASPHALT_BUILD and
    ASPHALT_OBJDIR.  Raises ``UsageError`` for a file name that make cannot express.
    """
    top = absolute(output)

    def source_name(path: Path) -> str:
        return f"$(ASPHALT_BUILD)/{_name(path.relative_to(top))}"

    def object_name(path: Path) -> str:
        return f"$(ASPHALT_OBJDIR)/{_name(path.relative_to(top).with_suffix('.o'))}"

    made = (*written.files, *written.headers, *written.runtime)
    files = [path for path in dict.fromkeys(made) if _is_needed(path)]
    fortran = [path for path in files if is_fortran(path)]
    parts = {file for source in fortran for file in included_files(source, include_dirs)}
    sources = [path for path in fortran if path not in parts]
    needs: dict[str, list[str]] = defaultdict(list)
    for source, others in prerequisites(sources, include_dirs).items():
        needs[object_name(source)] += map(object_name, others)
        for file in included_files(source, include_dirs):
            if file.is_relative_to(top):
                needs[object_name(source)].append(source_name(file))
            elif not _UNFIT.search(str(file)):
                needs[object_name(source)].append(str(file))
    read = {file for source in originals for file in included_files(source, include_dirs)}
    names = sorted(str(file) for file in read if not _UNFIT.search(str(file)))
    lines = [
        "# Written by asphalt for asphalt.mk, anew in each run.",
        _variable("ASPHALT_FILES", [source_name(path) for path in files]),
        _variable("ASPHALT_OBJECTS", [object_name(path) for path in sources]),
    ]
    lines += [f"{target}: {' '.join(found)}" for target, found in needs.items() if found]
    if names:
        lines.append(f"$(asphalt_list): $(wildcard {' '.join(names)})")
    return "\n".join(lines) + "\n"


def _is_needed(path: Path) -> bool:
    # Other files with names that make cannot express are mirrored, but cannot be targets.
    return is_fortran(path) or not _UNFIT.search(path.name)


def _variable(name: str, values: list[str]) -> str:
    return " \\\n  ".join((f"{name} :=", *values))


def _name(path: Path) -> str:
    if _UNFIT.search(str(path)):
        raise UsageError(f"{path}: make cannot express this name; rename the file or leave it out")
    return path.as_posix()
