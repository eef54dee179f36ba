"""What the declarations of a unit determine about its I/O statements.

``read (5, nml=g)`` defines the members of the group g; ``write (s, ...)`` defines s if s is a
character variable and nothing if it is an integer.  A statement alone marks such names with the
keywords ``nml`` and ``unit``, which are replaced here if the unit declares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from asphalt.frontend.lexical.tokens import names_in_text
from asphalt.ir.expr import Arg, Keyword, Ref
from asphalt.ir.stmt import IO, Decl, Guarded, Opaque, What
from asphalt.ir.tree import Leaf, Node


@dataclass(frozen=True, slots=True)
class IoNames:
    """The namelist groups that a unit declares and the types of its variables."""

    groups: dict[str, tuple[Ref, ...]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def io_names(spec: Iterable[Node]) -> IoNames:
    """What an interpreted specification part declares."""
    found = IoNames()
    for node in spec:
        match node:
            case Leaf(what=Decl(kind="namelist", groups=groups)):
                for group, entities in groups:
                    members = tuple(Ref(one.name, one.spelled) for one in entities)
                    found.groups[group] = (*found.groups.get(group, ()), *members)
            case Leaf(what=Decl(kind="type", type=spec_, entities=entities)) if spec_ is not None:
                found.types.update({one.name: spec_.base for one in entities})
    return found


def with_names(what: What, code: str, names: IoNames) -> What:
    """``what`` with the marked names resolved.

    A READ of a namelist that is declared elsewhere is ``Opaque``: what it defines is unknown.
    """
    match what:
        case Guarded(action=action):
            inner = with_names(action, code, names)
            return inner if isinstance(inner, Opaque) else replace(what, action=inner)
        case IO(reads=reads, writes=writes) if any(
            isinstance(part, Keyword) for part in (*reads, *writes)
        ):
            unknown = sorted(_unknown_groups(writes, names))
            if unknown:
                reason = f"the namelist {unknown[0]} is declared elsewhere"
                return Opaque(code, reason, names_in_text(code))
            return replace(
                what,
                reads=tuple(_resolved(reads, names)),
                writes=tuple(_resolved(writes, names)),
            )
    return what


def _unknown_groups(args: Iterable[Arg], names: IoNames) -> Iterator[str]:
    for arg in args:
        match arg:
            case Keyword(name="nml", value=Ref(name=group)) if (
                group not in names.groups and group not in names.types
            ):
                yield group


def _resolved(args: Iterable[Arg], names: IoNames) -> Iterator[Arg]:
    for arg in args:
        match arg:
            case Keyword(name="nml", value=Ref(name=group)) if group in names.groups:
                yield from names.groups[group]
            case Keyword(name="nml", value=Ref(name=variable)) if variable in names.types:
                pass  # a format after all
            case Keyword(name="unit", value=Ref(name=variable)) if variable in names.types:
                if names.types[variable] == "character":
                    yield arg.value
            case _:
                yield arg
