"""Failures of asphalt itself in one unit, which end neither the command nor the other units.

A unit in which an analysis or a transformation raises an unexpected error is left as it was.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from asphalt.config.errors import AsphaltError
from asphalt.diagnostics.model import ProblemReport
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves

_LONGEST = 200  # characters of what an error says
_PACKAGE = Path(__file__).resolve().parent.parent


class InternalErrors:
    """The units in which asphalt failed, each with its first failure.

    ``raised``: whether failures end the run nevertheless, as they do in the tests.
    """

    raised: ClassVar[bool] = False

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], ProblemReport] = {}

    @property
    def reports(self) -> tuple[ProblemReport, ...]:
        """A problem for each unit, in the order in which they failed."""
        return tuple(self._found.values())

    def why(self, path: str, unit: str) -> str | None:
        """The internal error in a unit, by its file and name; None: there was none."""
        found = self._found.get((path, unit))
        return None if found is None else found.message

    def take_over(self, other: InternalErrors) -> None:
        """Record what others have recorded, after what is recorded here."""
        for key, report in other._found.items():
            self._found.setdefault(key, report)

    @contextmanager
    def caught(self, located: Located) -> Iterator[None]:
        """Records what the body of the WITH statement raises in the analysis of a unit.

        Errors of the user, and of the operating system, pass.
        """
        try:
            yield
        except (AsphaltError, OSError, MemoryError):
            raise
        except Exception as error:
            if self.raised:
                raise
            unit = located.unit
            first = next(leaves(unit)).span
            report = ProblemReport(
                located.path, None if first is None else first.first, _message(error, unit.name)
            )
            self._found.setdefault((located.path, unit.name), report)


def _message(error: Exception, unit: str) -> str:
    """What failed, and where in asphalt."""
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file.is_relative_to(_PACKAGE):
            where = f" in {file.relative_to(_PACKAGE.parent)}:{frame.lineno}"
    what = " ".join(f"{type(error).__name__} {error}".split())
    what = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}..."
    return (
        f"an internal error of asphalt ({what}{where}); {unit or 'the main program'} is left as it "
        "was; please report this with the procedure"
    )
