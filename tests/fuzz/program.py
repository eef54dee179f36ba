"""What a random program is made of: choices, from which ``render`` writes its text.

The first value of every choice is its simplest, so that a failing program is made smaller by going
back to it (``minimise``).  Everything is a plain value: a program can be printed, kept and made
again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypeVar

MOST_RANKS = 4
SHAPES = ("block", "slab", "line", "planes", "strided")
TYPES = ("real8", "integer", "complex", "real4")
STORAGES = (
    "local", "fixed", "allocatable", "explicit", "assumed", "module", "component", "pointer",
    "target", "common",
)  # fmt: skip
ORDERS = ("zpi", "pzi", "zip", "ipz", "piz")
INNERS = ("loops", "section", "plane call", "column call", "function")
WORKS = (
    "", "same", "shifted", "reverse", "carried", "columns", "dropped", "transposed", "planes first",
    "stepped", "mirrored", "spread",
)  # fmt: skip
DROPPED = WORKS[WORKS.index("dropped") :]
WAYS = ("", "if", "agreed if", "late if", "select", "block")
CALLS = ("plain", "wrapper", "count variable", "first element")
HOMES = ("procedure", "main", "module", "internal")


@dataclass(frozen=True)
class Exchange:
    """One exchange with its producer.

    ``lower``, ``base``: first subscript of the planes, of the ranks.  ``skipped``: planes that the
    loop leaves out in front and behind.  ``shift``: the loop's variable minus the plane.
    ``each``/``end``: statements of an iteration before and after its plane; ``ahead``, ``between``,
    ``behind``: before the nest, between nest and call, behind the call.  ``late``: how many planes
    back an iteration changes.  ``work``: what a nest before computes, or into which layout;
    ``against``: that nest runs the other way; ``middle``: statements behind it; ``copied``: what is
    added to the copy of it.  ``silent``: the send buffer is not shown at the end.  ``odd``:
    something that may make prepushing illegal (``oddities``).
    ``tile``, ``depth``: K and D.
    """

    shape: str = "block"
    uneven: str = ""
    type: str = "real8"
    storage: str = "local"
    lower: int = 1
    base: int = 1
    skipped: tuple[int, int] = (0, 0)
    shift: int = 0
    down: bool = False
    order: str = "zpi"
    inner: str = "loops"
    labelled: bool = False
    value: str = "{z} + 10*{i} + 1000*me"
    work: str = ""
    against: bool = False
    middle: tuple[str, ...] = ()
    copied: str = ""
    silent: bool = False
    condition: str = ""
    late: int = 0
    each: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    way: str = ""
    call: str = "plain"
    odd: str = ""
    tile: int = 2
    depth: int = 1


@dataclass(frozen=True)
class Procedure:
    """A procedure, or the main program, with exchanges; ``steps``: the loop over all of them."""

    home: str = "procedure"
    exchanges: tuple[Exchange, ...] = ()
    steps: int = 0
    transfers: str = ""
    prints: bool = False


@dataclass(frozen=True)
class Program:
    """A whole program.  ``n``: elements of a column, ``nz``: planes of a block."""

    procedures: tuple[Procedure, ...] = ()
    binding: str = "use mpi"
    fixed: bool = False
    upper: bool = False
    n: int = 3
    nz: int = 5
    known: bool = True
    twice: bool = False

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges, in the order of the text."""
        return tuple(e for procedure in self.procedures for e in procedure.exchanges)


Part = TypeVar("Part", Exchange, Procedure, Program)


def simpler(part: Part) -> list[Part]:
    """Everything that is one step simpler: one choice at its default, one part left out."""
    plain = type(part)()
    found: list[Part] = []
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in ("procedures", "exchanges"):
            for number in range(len(value)):
                if len(value) > 1:
                    shorter = value[:number] + value[number + 1 :]
                    found.append(replace(part, **{field.name: shorter}))
                for other in simpler(value[number]):
                    changed = (*value[:number], other, *value[number + 1 :])
                    found.append(replace(part, **{field.name: changed}))
        elif value != getattr(plain, field.name):
            found.append(replace(part, **{field.name: getattr(plain, field.name)}))
            if isinstance(value, tuple) and len(value) > 1 and isinstance(value[0], str):
                for number in range(len(value)):
                    shorter = value[:number] + value[number + 1 :]
                    found.append(replace(part, **{field.name: shorter}))
    return found
