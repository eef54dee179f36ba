"""Effects of well-known library procedures on their arguments, as a table.

Sources: the reference BLAS and LAPACK (netlib.org/blas, netlib.org/lapack: the argument sections of
each routine), and the FFTW 3.3 manual, sections 4.5 (new-array execute functions), 6 and 7 (calling
FFTW from modern and from legacy Fortran).  A row holds for an external procedure that no file of
the tree defines and no unknown module can define.  It describes a call with valid arguments (with
others the reference BLAS prints a message and stops).

A row is: the letters of the precisions, the name with ``?`` for the letter, the arguments.  An
argument is its name, with

- ``<`` read, ``>`` defined, ``=`` read and changed, ``~`` work space (changed, its value not used);
  nothing: a scalar or a text that is read;
- ``(dims)`` the declared shape; ``[n,m]`` how much of each dimension is accessed; without it,
  perhaps all of it; or ``@n,inc`` a vector of n elements with a stride;
- in front ``i:`` integer, ``r:`` real, ``x:`` any type, ``l:`` logical; else of the precision.

A ``>`` argument is defined entirely, whatever its size; a ``=`` argument may remain unchanged.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from asphalt.analysis.effects.array_flow import Flow
from asphalt.analysis.effects.known_library_rows import ROWS
from asphalt.analysis.effects.summary import Summary
from asphalt.analysis.names.scopes import Absence, Origin, Scope, Symbol
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Ref, TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Dim

if TYPE_CHECKING:
    from asphalt.analysis.effects.callee import Callee

_ARGUMENT = re.compile(
    r"(?:(?P<type>[irxl]):)?(?P<name>\w+)(?P<mode>[<>=~]?)"
    r"(?:\((?P<dims>[^)]*)\))?(?:\[(?P<extents>[^\]]*)\])?(?:@(?P<count>\w+),(?P<stride>\w+))?$"
)
_PRECISIONS = {
    "s": TypeSpec("real", Lit("integer", "4")),
    "d": TypeSpec("real", Lit("integer", "8")),
    "c": TypeSpec("complex", Lit("integer", "4")),
    "z": TypeSpec("complex", Lit("integer", "8")),
}
_REAL = {"s": "s", "d": "d", "c": "s", "z": "d"}
_ONE = Poly.constant(1)


@record
class Argument:
    """An argument of a library procedure: its declaration, whether it is read and written, and the
    elements that are accessed; ``defined``: all of these are defined."""

    symbol: Symbol
    reads: bool
    writes: bool
    defined: bool
    elements: Elements
    sure: Elements

    @property
    def flow(self) -> Flow:
        """The regions of a call."""
        rank = self.elements.rank
        none = Elements.none(rank)
        return Flow(
            self.elements if self.reads else none,
            self.elements if self.writes else none,
            self.sure if self.defined else none,
        )


@record
class LibraryProcedure:
    """A row of the table for one precision."""

    name: str
    arguments: tuple[Argument, ...]

    @property
    def summary(self) -> Summary:
        """The summary of the procedure: it accesses its arguments only."""
        arguments = [(argument.symbol.name, argument) for argument in self.arguments]
        return Summary(
            tuple(name for name, _ in arguments),
            frozenset(name for name, argument in arguments if argument.reads),
            frozenset(name for name, argument in arguments if argument.writes),
            frozenset(
                name
                for name, argument in arguments
                if argument.defined and argument.symbol.dims is None
            ),
        )


@cache
def table() -> dict[str, LibraryProcedure]:
    """All library procedures by folded name."""
    found: dict[str, LibraryProcedure] = {}
    for row in ROWS.strip().splitlines():  # a backslash continues a row
        words = row.split()
        if not words or words[0].startswith("#"):
            continue
        letters, pattern, *arguments = words
        for letter in letters:
            name = pattern.replace("?", letter)
            found[name] = LibraryProcedure(
                name, tuple(_argument(text, letter, name) for text in arguments)
            )
    return found


def _argument(text: str, letter: str, owner: str) -> Argument:
    match = _ARGUMENT.match(text)
    assert match is not None, text
    kind, name, mode = match["type"], match["name"], match["mode"]
    dims: tuple[Dim, ...] | None = None
    sizes: list[str] | None = None
    if match["count"] is not None:
        dims = (Dim("assumed_size"),)
    elif match["dims"] is not None:
        dims = tuple(_dim(part) for part in match["dims"].split(","))
        sizes = match["extents"].split(",") if match["extents"] is not None else None
    spec = _type(kind, letter)
    symbol = Symbol(name, name, spec, dims, frozenset(), None, None, Origin.DUMMY, owner)
    elements, sure = _elements(dims, sizes, match["count"], match["stride"])
    return Argument(
        symbol, mode in ("", "<", "="), mode in (">", "=", "~"), mode == ">", elements, sure
    )


def _type(kind: str | None, letter: str) -> TypeSpec | None:
    match kind:
        case "i":
            return TypeSpec("integer")
        case "l":
            return TypeSpec("logical")
        case "x":
            return None
        case "r":
            return _PRECISIONS[_REAL[letter]]
    return _PRECISIONS[letter]


def _dim(text: str) -> Dim:
    return Dim("assumed_size") if text == "*" else Dim("explicit", None, _expression(text))


def _expression(text: str) -> Expr:
    return Lit("integer", text) if text.isdigit() else Ref(text, text)


def _elements(
    dims: tuple[Dim, ...] | None, sizes: list[str] | None, count: str | None, stride: str | None
) -> tuple[Elements, Elements]:
    """The elements that may be accessed, and those that certainly are."""
    rank = len(dims or ())
    affine = Affine()
    if count is not None and stride is not None:
        step, last = affine.text(poly(_expression(stride))), affine.text(poly(_expression(count)))
        some = f"({step} = 1 and 1 <= e0 <= {last}) or ({step} != 1 and 1 <= e0)"
        surely = Elements.where(1, [f"{step} = 1 and 1 <= e0 <= {last}"], affine)
        return Elements.where(1, [f"({some})"], affine, exact=False), surely
    if rank and sizes is None:
        return Elements.all(rank, exact=False), Elements.none(rank)
    limits = [
        f"1 <= e{number} <= {affine.text(poly(_expression(size)))}"
        for number, size in enumerate(sizes or ())
    ]
    found = Elements.where(rank, limits, affine)
    return found, found


def library_procedure(call: Call, scope: Scope) -> Callee | None:
    """The library procedure that a call in a unit references; None: it may be any procedure."""
    from asphalt.analysis.effects.callee import Callee

    if not isinstance(call.procedure, Ref):
        return None
    name = call.procedure.name
    found = table().get(name)
    if found is None or not _is_library(name, scope):
        return None
    arguments = {argument.symbol.name: argument for argument in found.arguments}

    def symbol(dummy: str) -> Symbol | None:
        return arguments[dummy].symbol if dummy in arguments else None

    return Callee(found.summary, None, symbol, lambda dummy: arguments[dummy].flow, poly)


def is_library_call(call: Call, scope: Scope) -> bool:
    """Whether a call in a unit references a library procedure."""
    procedure = call.procedure
    return (
        isinstance(procedure, Ref)
        and procedure.name in table()
        and _is_library(procedure.name, scope)
    )


def _is_library(name: str, scope: Scope) -> bool:
    """Whether a name certainly is that of an external procedure that no given file defines."""
    answer = scope.resolve(name)
    if name in scope.shadowed or answer is Absence.UNKNOWN:
        return False
    if isinstance(answer, Symbol):
        if answer.dims is not None or answer.attrs & {"pointer", "generic", "procedure", "target"}:
            return False
        if answer.origin not in (Origin.PROCEDURE, Origin.LOCAL):
            return False
    return not scope.program.defines(name)
