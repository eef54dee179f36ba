"""The simplest program for each mutant that shows it: what the random ones are full of.

Random programs find the others, too: see docs/fuzzing.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fuzz.program import Exchange, Procedure, Program


def _exchange(**choices: object) -> Exchange:
    return Exchange(**{"storage": "allocatable"} | choices)  # type: ignore[arg-type]


PLAIN: Mapping[str, Exchange] = MappingProxyType(
    {
        "ASP001": _exchange(odd="nonblocking"),
        "ASP004": _exchange(odd="preprocessor"),
        "ASP006": _exchange(odd="skip"),
        "ASP102/": _exchange(odd="exit"),
        "ASP601 ": _exchange(odd="changed after"),
        "ASP106": _exchange(order="pzi", each=("x = x + z",), value="x + {i}"),
        "ASP105 fusion": _exchange(work="shifted"),
        "ASP105 the copy": _exchange(work="planes first", against=True, order="pzi"),
        "ASP201": _exchange(odd="two places"),
        "ASP202": _exchange(odd="two places, nobody knows"),
        "ASP301": _exchange(odd="communicator set late"),
        "ASP302/": _exchange(odd="allocated between"),
        "ASP303": _exchange(odd="count in a function"),
        "ASP401": _exchange(late=2),
        "ASP405": _exchange(odd="into the plane before"),
        "ASP501/": _exchange(value="{w}({I},z) + {received}"),
        "ASP601/": _exchange(odd="equivalence", storage="fixed"),
        "ASP701": _exchange(odd="print in nest"),
        "ASP702": _exchange(odd="barrier in nest"),
        "ASP703": _exchange(odd="hidden in nest"),
        "ASP704": _exchange(odd="stop"),
        "ASP705": _exchange(odd="parallel"),
        "ASP707": _exchange(odd="state", shape="slab", value="x + {i}"),
        "ASP801": _exchange(odd="gaps", storage="assumed"),
        "ASP802": _exchange(odd="derived type", shape="slab"),
        "ASP902 rotation": _exchange(shape="slab", each=("x = x + z",), value="x + {i}"),
        "ASP902 backwards": _exchange(shape="slab", down=True),
        "ASP903": _exchange(shape="line", value="sin(dble(z)+me)", tile=3),
        "ASP904": _exchange(uneven="3,1", down=True),
        "ASP1001": _exchange(odd="bounds by rank"),
        "other messages": _exchange(odd="any source"),
    }
)


LEVEL: Mapping[str, str] = MappingProxyType({"ASP903": "-O3"})
"""The compiler's optimisation that a mutant needs to show; else -O0."""


def plain_program(mutant: str) -> Program:
    """The whole program around the exchange for a mutant."""
    exchange = PLAIN[mutant]
    home = "module" if exchange.storage == "assumed" else "main"
    return Program((Procedure(home, (exchange,)),), known=False, nz=7)
