"""Whole programs, drawn at random: by a seed for long runs, or as a hypothesis strategy.

Hypothesis varies what it drew before, which is what a test with few examples wants; thousands of
programs that shall differ are drawn from a seed each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from fuzz.body import TRANSFERS
from fuzz.hazards import HAZARDS, Hazard
from fuzz.oddities import MAY_CHANGE, MUST_STAY, ODDITIES
from fuzz.program import (
    CALLS,
    DROPPED,
    HOMES,
    INNERS,
    ORDERS,
    SHAPES,
    STORAGES,
    TYPES,
    WAYS,
    WORKS,
    Exchange,
    Procedure,
    Program,
)

VALUES = (
    "{z} + 10*{i} + 1000*me", "{z} + 10*{i} + 1000*me", "p*me + z", "x + {i}", "{w}({I},z)",
    "{w}({I},z-1) + me", "{w}({I},z+1)", "{w}({I},1)", "{w}({I},m)", "v({I}) + z",
    "2*{w}({I},z) + x", "y", "{w}(max(1, n+1-{i}),z) - me", "{w}({I},z) + {received}",
    "{e} + 1", "sqrt(dble(abs(z) + {i} + me))", "sin(dble(z) + {i})", "u*z",
)  # fmt: skip
STATEMENTS = (
    "x = z", "x = x + z", "if (mod(z, 2) == 0) x = z", "y = x + me",
    "do j = 1, n\nv(j) = z + j\nend do", "v(1:n) = z", "do j = 2, n\nv(j) = z + j\nend do",
    "do j = 1, mod(abs(z), 3)\ny = y + j\nend do", "m = mod(abs(z), 2) + 1",
    "{w}(1,z+1) = {w}(1,z) + 1", "x = 0.5d0*x + real({r0})", "if (mod(z, 4) == 3) cycle",
    "{w}(1,z) = z",
)  # fmt: skip
AHEAD = (
    "x = 1", "m = 2", "do j = -8, 8\n{w}(1,j) = j\nend do", "y = me", "v(1:n) = 2",
    "if (nz > 0) {s0} = 11",
)  # fmt: skip
BETWEEN = (
    "x = 1", "y = x", "{w}(1,1) = 0", "if (nz > 0) v(1) = real({r0})", "m = 1",
    "if (nz > 0) {r0} = 3", "do j = 1, n\nv(j) = j\nend do", "if (nz > 0) x = real({s0})",
)  # fmt: skip
BEHIND = (
    "if (nz > 0) {w}(1,1) = real({r0})", "x = x + 1", "if (nz > 0) {s0} = 0",
    "if (nz > 0) x = real({s0})", "u = u + 1",
)  # fmt: skip
MIDDLE = (
    "x = 1", "y = x", "x = x + 1", "m = 3 - m", "x = y", "x = {w}(1,1)", "u = x",
    "if (nz > 0) x = real({r0})",
)  # fmt: skip
COPIED = (" + x", " + y*u", " + {w}({I},m)")
CONDITIONS = ("mod(z, 3) > 0", "mod(me + z, 2) == 0", "x > z", "u > 6.5d0")
UNEVEN = ("0,0", "1,0", "3,1", "5,2", "2,-1", "1,7")
TILES = (1, 1, 2, 2, 3, 4, 5, 7, 100, 0)
DEPTHS = (1, 1, 2, 3, 4, 50)
T = TypeVar("T")


def programs() -> st.SearchStrategy[Program]:
    """The strategy of programs; hypothesis makes every choice."""
    return st.randoms(use_true_random=False).map(draw_program)


def _mostly(random: Random, simple: T, others: Sequence[T], odds: int) -> T:
    """``simple`` in ``odds`` of ``odds + 1`` cases."""
    return random.choice(others) if random.randint(0, odds) == odds else simple


def _some(random: Random, statements: Sequence[str], odds: int) -> tuple[str, ...]:
    """None, one, sometimes two statements."""
    if random.randint(0, odds) < odds:
        return ()
    return tuple(random.choice(statements) for _ in range(random.choice((1, 1, 2))))


def draw_exchange(
    random: Random, odd: str = "", fixed_form: bool = False, plain: bool = False
) -> Exchange:
    """An exchange; with an oddity or ``plain``, everything else is more often plain."""
    rare = 2 if odd or plain else 1

    def mostly(simple: T, others: Sequence[T], odds: int) -> T:
        return _mostly(random, simple, others, odds)

    shape = mostly("block", SHAPES[1:], 1)
    work = mostly("", WORKS[1:], 2 * rare)
    found = Exchange(
        shape=shape,
        uneven=mostly("", UNEVEN, 2 + rare) if shape in ("block", "slab", "line") else "",
        type=mostly("real8", TYPES[1:], 2),
        storage=random.choice(STORAGES),
        lower=mostly(1, (0, 2, -1), 3),
        base=mostly(1, (0, 0, 2), 3),
        skipped=mostly((0, 0), ((1, 0), (0, 1), (1, 2), (0, 3)), 3 * rare),
        shift=mostly(0, (1, -1, 2), 4),
        down=mostly(False, (True,), 5),
        order=mostly("zpi", ORDERS, 2 * rare),
        inner=mostly("loops", INNERS[1:], 2),
        labelled=mostly(False, (True,), 2 if fixed_form else 8),
        value=mostly(VALUES[0], VALUES, 2) if rare > 1 else random.choice(VALUES),
        work=work,
        against=mostly(False, (True,), 3) if work in DROPPED else False,
        middle=_some(random, MIDDLE, 3) if work else (),
        copied=mostly("", COPIED, 4) if work else "",
        silent=mostly(False, (True,), 1 if work in DROPPED else 4),
        condition=mostly("", CONDITIONS, 3 * rare),
        late=mostly(0, (1, 1, 2, 3), 5 * rare),
        each=_some(random, STATEMENTS, 2 * rare),
        end=_some(random, STATEMENTS, 4 * rare),
        ahead=_some(random, AHEAD, 2),
        between=_some(random, BETWEEN, 3 * rare),
        behind=_some(random, BEHIND, 2),
        way=mostly("", WAYS[1:], 5),
        call=mostly("plain", CALLS[1:], 2),
        odd=odd,
        tile=random.choice(TILES),
        depth=random.choice(DEPTHS),
    )
    if found.silent and work in DROPPED and random.randint(0, 3):
        found = replace(found, **_COPY_ALONE)
    return suited(found)


# so that the copy may be left out
_COPY_ALONE: dict[str, object] = {
    "inner": "loops", "condition": "", "late": 0, "each": (), "end": (), "between": (),
    "behind": (), "copied": "", "skipped": (0, 0), "uneven": "", "storage": "allocatable",
}  # fmt: skip


def suited(exchange: Exchange) -> Exchange:
    """The exchange with the choices that its oddity needs."""
    return replace(exchange, **ODDITIES[exchange.odd].wants)  # type: ignore[arg-type]


def lawful(program: Program) -> bool:
    """Whether all oddities have what they need, so that they are what they are meant to be."""
    return all(
        suited(exchange) == exchange
        and procedure.home in (ODDITIES[exchange.odd].homes or HOMES)
        and (program.nz > 1 or not exchange.odd)
        for procedure in program.procedures
        for exchange in procedure.exchanges
    )


def draw_program(random: Random, binding: str = "") -> Program:
    """A program.

    About a third hold one exchange that must stay as it is, and nothing else; a sixth are close to
    what one legality condition rules out.
    """
    kind = random.randint(0, 23)
    if kind > 19:
        drawn = [hazard for hazard in HAZARDS.values() if hazard.mpi.simulated]
        return draw_under(random, random.choice(drawn), binding)
    fixed = _mostly(random, False, (True,), 3)
    binding = binding or random.choice(("use mpi", "mpif.h"))
    if kind == 0:
        name = random.choice(tuple(TRANSFERS)[1:])
        steps = random.randint(0, 2)
        procedures: tuple[Procedure, ...] = (
            Procedure(random.choice(HOMES), transfers=name, steps=steps),
        )
    elif kind < 7:
        odd = random.choice(MUST_STAY)
        homes = ODDITIES[odd].homes or HOMES
        steps = _mostly(random, 0, (2,), 2)
        one = draw_exchange(random, odd, fixed)
        procedures = (Procedure(random.choice(homes), (one,), steps),)
    else:
        count = _mostly(random, 1, (2, 3), 8)
        procedures = tuple(_procedure(random, fixed) for _ in range(count))
    return Program(
        procedures=procedures,
        binding=binding,
        fixed=fixed,
        upper=_mostly(random, False, (True,), 6),
        n=random.choice((3, 3, 2, 1, 4)),
        nz=random.choice((5, 5, 4, 3, 2, 7, *((0, 1) if kind >= 7 else ()))),
        known=random.random() < 0.25,
        twice=_mostly(random, False, (True,), 6),
    )


def draw_under(random: Random, hazard: Hazard, binding: str = "") -> Program:
    """A program with one exchange that is under a hazard."""
    fixed = _mostly(random, False, (True,), 3)
    chosen = {name: random.choice(values) for name, values in hazard.near.items()}
    odd = ODDITIES[str(chosen.get("odd", ""))]
    drawn = draw_exchange(random, str(chosen.get("odd", "")), fixed, plain=True)
    exchange = suited(replace(drawn, **chosen))  # type: ignore[arg-type]
    steps = _mostly(random, 0, (2,), 3)
    prints = random.random() < 0.25
    procedure = Procedure(random.choice(odd.homes or HOMES), (exchange,), steps, prints=prints)
    return Program(
        procedures=(procedure,),
        binding=binding or random.choice(("use mpi", "mpif.h")),
        fixed=fixed,
        upper=_mostly(random, False, (True,), 6),
        n=random.choice((3, 3, 2, 4)),
        nz=random.choice((5, 5, 4, 3, 7)),
        known=random.random() < 0.25,
        twice=_mostly(random, False, (True,), 6),
    )


def _procedure(random: Random, fixed: bool) -> Procedure:
    count = _mostly(random, 1, (2, 2, 3), 5)
    kinds = [_mostly(random, "", MAY_CHANGE, 3) for _ in range(count)]
    found = tuple(draw_exchange(random, odd, fixed) for odd in kinds)
    homes = [home for home in HOMES if all(home in (ODDITIES[k].homes or HOMES) for k in kinds)]
    return Procedure(
        home=random.choice(homes),
        exchanges=found,
        steps=_mostly(random, 0, (1, 2, 3), 0 if count > 1 else 1),
        transfers=_mostly(random, "", tuple(TRANSFERS)[1:], 5),
        prints=random.random() < 0.5,
    )


def numbered_program(seed: int, number: int, binding: str = "", near: str = "") -> Program:
    """Program ``number`` of the stream ``seed``, always the same one.

    ``near``: the name of a hazard that all programs are under.
    """
    if near:
        return draw_under(Random(f"{seed}/{near}/{number}"), HAZARDS[near], binding)
    return draw_program(Random(f"{seed}/{number}"), binding)
