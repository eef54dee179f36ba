"""The fragment that tells ``make`` what a mirrored tree consists of, for ``asphalt.mk`` to include.

The objects of transformed files depend on their parameter header (an edit of K or D recompiles
them) and on the runtime's object; those of all files on the objects whose modules they use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from asphalt.errors import UsageError
from asphalt.output.mirror import absolute
from asphalt.output.modules import is_fortran, prerequisites
from asphalt.output.write import Written

_UNFIT = re.compile(r"[\s:;#$%=\\*?\[\]~]")


def makefile_fragment(written: Written, output: Path) -> str:
    """The text of the fragment for what was written below ``output``.

    Defines ASPHALT_FILES (all files below the output directory that a build needs) and
    ASPHALT_OBJECTS (an object for each Fortran source), in terms of ASPHALT_BUILD and
    ASPHALT_OBJDIR.  Raises ``UsageError`` for a name that make cannot hold.
    """
    top = absolute(output)

    def source_name(path: Path) -> str:
        return f"$(ASPHALT_BUILD)/{_name(path.relative_to(top))}"

    def object_name(path: Path) -> str:
        return f"$(ASPHALT_OBJDIR)/{_name(path.relative_to(top).with_suffix('.o'))}"

    made = written.headers if written.runtime is None else (*written.headers, written.runtime)
    files = [path for path in dict.fromkeys((*written.files, *made)) if _is_needed(path)]
    sources = [path for path in files if is_fortran(path)]
    needs: dict[str, list[str]] = defaultdict(list)
    for source, others in prerequisites(sources).items():
        needs[object_name(source)] += map(object_name, others)
    for source in written.transformed:
        header = next(header for header in written.headers if header.parent == source.parent)
        needs[object_name(source)].append(source_name(header))
    lines = [
        "# Written by asphalt for asphalt.mk, anew in each run.",
        _variable("ASPHALT_FILES", [source_name(path) for path in files]),
        _variable("ASPHALT_OBJECTS", [object_name(path) for path in sources]),
    ]
    lines += [f"{target}: {' '.join(names)}" for target, names in needs.items() if names]
    return "\n".join(lines) + "\n"


def _is_needed(path: Path) -> bool:
    # Other files with names that make cannot hold are mirrored, but no target can name them.
    return is_fortran(path) or not _UNFIT.search(path.name)


def _variable(name: str, values: list[str]) -> str:
    return " \\\n  ".join((f"{name} :=", *values))


def _name(path: Path) -> str:
    if _UNFIT.search(str(path)):
        raise UsageError(f"{path}: make cannot hold this name; rename the file or leave it out")
    return path.as_posix()
