"""A program made of units given as IR: what the analysis asks for, without files."""

from __future__ import annotations

from asphalt.ir.expr import Arg, Lit, Ref, TypeSpec
from asphalt.ir.program import Located, MpiMention
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, Decl, Entity, Plain, UnitHead, Use, UseItem, What
from asphalt.ir.tree import Leaf, Node, Unit


class IrProgram:
    """An ``asphalt.ir.program.Program`` of whole units; modules and external procedures."""

    def __init__(self, *units: Unit, includes: dict[str, tuple[Leaf, ...]] | None = None) -> None:
        self.units = units
        self.includes = includes or {}

    def at(self, *chain: str) -> Located:
        """The unit reached by these names, from the outermost one."""
        units = self.units
        found: list[Unit] = []
        for name in chain:
            found.append(next(u for u in units if u.name == name))
            units = found[-1].contained
        return Located("a.f90", Form.FREE, tuple(found))

    def module(self, name: str) -> Located | None:
        found = [u for u in self.units if u.kind == "module" and u.name == name]
        return Located("a.f90", Form.FREE, (found[0],)) if found else None

    def external(self, name: str) -> Located | None:
        found = [u for u in self.units if u.kind in ("subroutine", "function") and u.name == name]
        return Located("a.f90", Form.FREE, (found[0],)) if found else None

    def unread_module(self, name: str) -> str | None:
        return None

    def macros(self, path: str) -> frozenset[str]:
        return frozenset()

    def submodules(self, module: str) -> tuple[Located, ...]:
        return ()

    def defined_in(self, kind: str, name: str) -> tuple[str, ...]:
        return ()

    def contained(self, host: Located, name: str) -> Located | None:
        found = [u for u in host.unit.contained if u.name == name]
        return Located(host.path, host.form, (*host.chain, found[0])) if found else None

    def mentions(self, name: str) -> tuple[Located, ...]:
        return ()

    def mpi_calls(self) -> tuple[MpiMention, ...]:
        return ()

    def foreign_files_with(self, name: str) -> tuple[str, ...]:
        return ()

    def foreign_files_naming(self, name: str) -> tuple[str, ...]:
        return ()

    def has_foreign_main(self) -> bool:
        return False

    def text(self, path: str) -> str:
        return ""

    def defines(self, name: str) -> bool:
        return self.external(name) is not None

    def extent(self) -> int:
        return 0

    def main_programs(self) -> tuple[Located, ...]:
        return ()

    def included_words(self, path: str, name: str) -> frozenset[str]:
        return frozenset()

    def include(self, located: Located, name: str) -> tuple[Node, ...] | None:
        return self.includes.get(name)


def unit(
    kind: str,
    name: str,
    spec: tuple[What | Node, ...] = (),
    body: tuple[What | Node, ...] = (),
    args: tuple[str, ...] = (),
    contained: tuple[Unit, ...] = (),
    result: str | None = None,
    type: TypeSpec | None = None,
) -> Unit:
    """A unit from statements."""
    return Unit(
        kind,
        name,
        Leaf(UnitHead(kind, name, args, (), result, type)),
        _nodes(spec),
        _nodes(body),
        Leaf(Plain("contains")) if contained else None,
        contained,
        Leaf(Plain(f"end {kind}")),
    )


def _nodes(statements: tuple[What | Node, ...]) -> tuple[Node, ...]:
    return tuple(s if isinstance(s, Node) else Leaf(s) for s in statements)


IMPLICIT_NONE = Decl("implicit", attrs=("none",))


def declare(
    base: str, *names: str, attrs: tuple[str, ...] = (), initial: int | None = None
) -> Decl:
    """``base, attrs :: names``."""
    value = None if initial is None else Lit("integer", str(initial))
    entities = tuple(Entity(name, name, initial=value) for name in names)
    return Decl("type", TypeSpec(base), attrs, None, entities)


def use(module: str, *only: str | tuple[str, str]) -> Use:
    """``use module, only: ...``; a pair is (local, original)."""
    items = tuple(
        UseItem(item, item) if isinstance(item, str) else UseItem(item[0], item[1]) for item in only
    )
    return Use(module, bool(only), items)


def ref(name: str) -> Ref:
    return Ref(name.lower(), name)


def call(name: str, *args: str | Arg) -> Call:
    """``call name(args)``; a text argument is a name or an integer."""
    return Call(
        ref(name),
        tuple(
            (Lit("integer", a) if a.isdigit() else ref(a)) if isinstance(a, str) else a
            for a in args
        ),
    )
