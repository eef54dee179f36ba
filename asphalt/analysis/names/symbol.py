"""What is known about one name: its symbol."""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from typing import Protocol

from asphalt.ir.expr import Expr, TypeSpec, names_in
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import Dim
from asphalt.ir.tree import Unit


class Origin(Enum):
    """Where the storage, or the meaning, of a name comes from."""

    LOCAL = "local"
    DUMMY = "dummy"
    RESULT = "result"
    COMMON = "common"
    MODULE = "module"
    HOST = "host"  # a variable of the host procedure or main program
    PARAMETER = "parameter"
    PROCEDURE = "procedure"
    STATEMENT_FUNCTION = "statement function"
    MPI = "mpi"  # anything that an MPI module or mpif.h declares
    INTRINSIC = "intrinsic"

    @property
    def is_variable(self) -> bool:
        """Whether the name is that of data, declared in the unit or elsewhere."""
        return self in _VARIABLES


_VARIABLES = (
    Origin.LOCAL,
    Origin.DUMMY,
    Origin.RESULT,
    Origin.COMMON,
    Origin.MODULE,
    Origin.HOST,
)


Text = tuple[str, str, Span | None]
"""The statement of a named constant: its name, its unit where that matters, and where it stands."""
Identity = tuple[str, str, str]
"""A declared entity: the file and the unit that declare it, and its name."""


class NameLookup(Protocol):
    """Something that names can be looked up in.

    ``any_sizes``: the values of the program's named constants count as unknown, so that conclusions
    hold for all of them; except those in ``asked`` (as ``Symbol.text``), whose values the run asks
    for, or (as ``Symbol.identity``) the compiler.
    """

    @property
    def any_sizes(self) -> bool:
        """Whether the values of named constants count as unknown."""

    @property
    def asked(self) -> frozenset[Text | Identity]:
        """The named constants whose values are known even so."""

    def lookup(self, name: str) -> Symbol | None:
        """The symbol of a folded name; None: not known."""


@record
class Symbol:
    """A name, as its declaring unit sees it.

    ``name`` is its folded name where it is declared (a renamed ``use`` may give it another one).
    ``owner`` is the unit that declares it, folded.  ``attrs``: folded attributes; ``save`` also
    where it is implied, ``implicit`` where the type is, ``dummy`` for a dummy of a host.
    ``initial_span`` is the statement of ``initial``.
    ``home`` is the scope in which ``type``, ``dims`` and ``initial`` are to be read.
    """

    name: str
    spelled: str
    type: TypeSpec | None
    dims: tuple[Dim, ...] | None
    attrs: frozenset[str]
    intent: str | None
    initial: Expr | None
    origin: Origin
    owner: str
    common_block: str | None = None
    equivalenced: bool = False
    span: Span | None = None
    home: NameLookup | None = field(default=None, compare=False, repr=False)
    initial_span: Span | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is declared with dimensions."""
        return self.dims is not None

    @property
    def is_parameter(self) -> bool:
        """Whether it is a named constant."""
        return self.origin is Origin.PARAMETER

    @property
    def identity(self) -> Identity:
        """Equal for two symbols exactly if they are the same declared entity."""
        return (self.span.file if self.span is not None else "", self.owner, self.name)

    @property
    def text(self) -> Text:
        """Equal for two named constants only if one statement gives both their value.

        Units that include one file each declare constants of their own by the same text; its
        expression may have another meaning in each unit, if it names other entities.
        """
        span = self.initial_span
        plain = span is not None and self.initial is not None and not names_in(self.initial)
        return (self.name, "" if plain else self.owner, span)


def seen_from_inside(symbol: Symbol, host: Unit) -> Symbol:
    """A symbol of a unit as those inside of it, or below it, see it."""
    if host.kind in ("module", "submodule"):
        return symbol
    if symbol.origin in (Origin.LOCAL, Origin.RESULT, Origin.DUMMY):
        extra = {symbol.origin.value} - {"local"}
        return replace(symbol, origin=Origin.HOST, attrs=symbol.attrs | extra)
    return symbol


def built_in(name: str, owner: str, origin: Origin, kind: TypeSpec | None = None) -> Symbol:
    """The symbol of a name that no unit of the program declares."""
    return Symbol(name, name, kind, None, frozenset(), None, None, origin, owner)
