"""One unit of a program given as text, with what the analysis knows of it."""

from __future__ import annotations

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Access, Footprint, NameSemantics
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.frontend.statements.expressions import parse_expression
from asphalt.ir.expr import Expr, Section
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.unparse.expr_text import expr_text
from support.fortran_program import FortranProgram


class Analysed:
    """A unit; ``chain`` are the names that lead to it (by default that of the first unit)."""

    def __init__(self, *texts: str, chain: tuple[str, ...] = ()) -> None:
        self.program = FortranProgram(*texts)
        self.scopes = Scopes(self.program)
        self.effects = Effects(self.scopes)
        self.located = self.program.at(*chain) if chain else self.program.all[0]
        self.scope: Scope = self.scopes.of(self.located)
        self.names: NameSemantics = self.effects.names(self.scope)
        self.values = Values(self.scope, self.names)

    @property
    def body(self) -> tuple[Node, ...]:
        """The executable part."""
        return self.scope.unit.body

    @property
    def footprint(self) -> Footprint:
        """What the whole body does."""
        return examine(self.body, self.names)

    def leaf(self, text: str) -> Leaf:
        """The statement whose text begins like this."""
        return next(
            leaf
            for node in self.body
            for leaf in leaves(node)
            if leaf.body is not None and leaf.body.startswith(text)
        )


def described(access: Access) -> str:
    """``reads s(i,:) in z``, ``may write s`` ..., with ``?`` where it may be skipped."""
    text = f"{access.mode.value} {access.object}"
    if access.subscripts is not None:
        text += f"({','.join(_text(s) for s in access.subscripts)})"
    return text if access.sure else f"{text} ?"


def _text(subscript: Expr | Section) -> str:
    if not isinstance(subscript, Section):
        return expr_text(subscript)
    parts = [subscript.lower, subscript.upper, subscript.stride]
    words = ["" if part is None else expr_text(part) for part in parts]
    return ":".join(words[:2] if subscript.stride is None else words)


def e(text: str) -> Expr:
    """An expression."""
    return parse_expression(text)
