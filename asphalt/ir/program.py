"""What the analysis may ask about the rest of the source tree.

The frontend implements ``Program``.  It reads and interprets units on demand and never raises for a
unit that it cannot read: the statements of such a unit are ``Opaque``.
"""

from __future__ import annotations

from typing import Protocol

from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.tree import Node, Unit


@record
class Located:
    """A unit with its hosts: ``chain`` goes from the outermost unit to the unit itself.

    The specification parts of the hosts and the whole of the last unit (without the units that it
    contains) are interpreted: they hold no ``Raw`` statement.

    ``part``: the included file that it stands in, if it is analysed as a part of ``path``.
    """

    path: str
    form: Form
    chain: tuple[Unit, ...]
    part: str | None = None

    @property
    def unit(self) -> Unit:
        """The unit itself."""
        return self.chain[-1]

    @property
    def file(self) -> str:
        """The file in which it is written."""
        return self.path if self.part is None else self.part

    @property
    def is_unread(self) -> bool:
        """Whether it stands for text that is not analysed (see ``Program.mentions``)."""
        return self.unit.kind == "subroutine" and not self.unit.name


@record
class MpiMention:
    """A call of an MPI procedure in the tree: ``operation`` is folded (``mpi_alltoall``).

    ``unit`` is '' where the file could not be read as a tree.  ``live``: False for a call that the
    preprocessor removes in the analysed configuration, or that stands in a ``!$`` line.
    ``removed``: whether the preprocessor removes it, as a line of this file; ``defined``: and a
    subroutine of that name, too.
    """

    path: str
    line: int
    unit: str
    operation: str
    live: bool = True
    removed: bool = False
    defined: bool = False


class Program(Protocol):
    """The whole source tree as the analysis sees it; all names are folded."""

    def module(self, name: str) -> Located | None:
        """The module of that name, if it is in the tree (intrinsic and MPI modules are not)."""

    def submodules(self, module: str) -> tuple[Located, ...]:
        """The submodules of the tree that descend from the module of that name."""

    def external(self, name: str) -> Located | None:
        """The external procedure (not in a module, not internal) of that name."""

    def defined_in(self, kind: str, name: str) -> tuple[str, ...]:
        """The files that define a module or an external procedure (``kind``: "module",
        "external"), one for each definition."""

    def unread_module(self, name: str) -> str | None:
        """Where and why a file cannot be read that defines a module; None: there is no such."""

    def macros(self, path: str) -> frozenset[str]:
        """The names that the preprocessor may replace in a file, in whatever configuration."""

    def contained(self, host: Located, name: str) -> Located | None:
        """The module procedure or internal procedure ``name`` of ``host``."""

    def defines(self, name: str) -> bool:
        """Whether any file may define an external procedure of that name, in whatever language,
        and even if several do."""

    def foreign_files_with(self, name: str) -> tuple[str, ...]:
        """The files of other languages that contain the identifier ``name``, in any case."""

    def foreign_files_naming(self, name: str) -> tuple[str, ...]:
        """The files of other languages that contain the identifier ``name``, in any case, by itself
        or behind or before an underscore, as compilers mangle the names of procedures."""

    def has_foreign_main(self) -> bool:
        """Whether one file of another language has the main program, in all configurations, it
        names an external procedure of the tree, and whatever procedures of Fortran such files refer
        to stand in them by their names."""

    def text(self, path: str) -> str:
        """The text of a file of the tree, of whatever language, in lower case; '' for others."""

    def mentions(self, name: str) -> tuple[Located, ...]:
        """Every unit whose own statements contain the identifier ``name`` (comments and strings
        do not count; the unit that defines it does not count for its own head and end).  A file
        that holds the name in text that is not analysed (it cannot be read, or it includes
        executable statements or whole procedures) counts as one more unit, of one opaque
        statement."""

    def include(self, located: Located, name: str) -> tuple[Node, ...] | None:
        """The declarations in the file that ``include 'name'`` brings into the unit, interpreted,
        with those that it includes in turn; () for ``mpif.h``; None where the file is not found or
        holds more than declarations."""

    def included_words(self, path: str, name: str) -> frozenset[str]:
        """The folded words in the file that ``include 'name'`` brings into the file ``path``, and
        in those that it includes in turn; none where it is not found."""

    def mpi_calls(self) -> tuple[MpiMention, ...]:
        """Every MPI call statement of the tree."""

    def extent(self) -> int:
        """The bytes of all source files."""

    def main_programs(self) -> tuple[Located, ...]:
        """The main programs of the tree."""
