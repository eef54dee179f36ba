"""Random programs close to what a legality condition rules out: which choices bring one there.

Everything that a hazard does not name is drawn as for any other program, so that no two programs of
a hazard are alike.  A share of all random programs is under one; the mutants of asphalt are hunted
with those of their own hazard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from asphalt.running.mpi import MPICH, SMPI, Mpi
from fuzz.program import DROPPED

_CARRIED = (("x = x + z",), ("m = mod(abs(z), 2) + 1",), ("{w}(1,z+1) = {w}(1,z) + 1",))
_READS = ("x + {i}", "{w}({I},z) + x", "{w}({I},m)")
_WAYS_OUT = (
    "exit", "uniform exit", "goto", "goto between", "return", "nest under a condition",
    "call under a condition", "nest on odd ranks",
)  # fmt: skip
_SECOND_NAMES = (
    "equivalence", "equivalence in nest", "pointer", "associate", "common", "module", "host",
    "dummy twice",
)  # fmt: skip
_ELSEWHERE = ("allocated between", "allocated in nest", "pointer moves", "pointer moves in nest")
_PLAIN = {"inner": ("loops",), "condition": ("",), "late": (0,), "skipped": ((0, 0),)}
_TILED = {"tile": (1, 1, 2, 3)}


@dataclass(frozen=True)
class Hazard:
    """``near``: choices of the exchange, one of each is drawn.

    ``level``: of the compiler, ``mpi``: what shows that the condition is switched off.
    """

    near: Mapping[str, Sequence[object]] = field(default_factory=dict)
    level: str = "-O0"
    mpi: Mpi = SMPI


def _odd(*names: str) -> Hazard:
    return Hazard({"odd": names})


HAZARDS: Mapping[str, Hazard] = MappingProxyType(
    {
        "ASP001": _odd("nonblocking", "type for each rank"),
        "ASP002/": _odd("in place"),
        "ASP004": _odd("one line", "two statements", "preprocessor", "preprocessor in nest"),
        "ASP006": _odd("skip"),
        "ASP102/": _odd(*_WAYS_OUT),
        "ASP601 ": _odd("changed after", "changed after in a loop"),
        "ASP106": Hazard(
            {**_PLAIN, "shape": ("block", "strided"), "order": ("pzi", "zip", "ipz", "piz"),
             "each": _CARRIED, "value": _READS, "work": ("",)}
        ),
        "ASP105 fusion": Hazard(
            {**_TILED, "work": ("shifted", "reverse", "columns", "same"),
             "value": ("{w}({I},z+1)", *_READS), "each": ((), *_CARRIED)}
        ),
        "ASP105 scalars": Hazard(
            {**_PLAIN, "work": ("same", "carried", "columns"), "value": ("x + {i}", "u*z"),
             "middle": (("x = x + 1",), ("u = x",), ("x = {w}(1,1)",)), "copied": ("", " + x")}
        ),
        "ASP105 the copy": Hazard(
            {**_PLAIN, "work": DROPPED, "against": (True, False), "shape": ("block",),
             "storage": ("allocatable", "local"), "each": ((),), "end": ((),), "uneven": ("",),
             "type": ("real8",), "copied": ("",), "silent": (True, False),
             "behind": ((), ("if (nz > 0) x = real({s0})",)), "lower": (1,), "base": (1,)}
        ),
        "ASP201": _odd("two places"),
        "ASP202": _odd("two places, nobody knows"),
        "ASP301": _odd("communicator set late", "counted in the nest", "count set late",
                       "communicator split between"),
        "ASP302/": _odd(*_ELSEWHERE),
        "ASP303": _odd("count in a function"),
        "ASP401": Hazard({**_TILED, "late": (1, 2, 3), "inner": ("loops",), "order": ("zpi",),
                          "condition": ("",)}),
        "ASP405": _odd("into the plane before"),
        "ASP501/": Hazard({"value": ("{w}({I},z) + {received}",), "inner": ("loops",)}),
        "ASP601/": _odd(*_SECOND_NAMES),
        "ASP701": _odd("print in nest", "print between"),
        "ASP702": _odd("barrier in nest", "broadcast between", "ring between"),
        "ASP703": _odd("hidden in nest", "hidden between"),
        "ASP704": _odd("stop"),
        "ASP705": _odd("parallel"),
        "ASP707": Hazard({"odd": ("state",), "shape": ("slab", "line"), "value": ("x + {i}",),
                          "uneven": ("",)}),
        "ASP801": _odd("gaps"),
        "ASP802": _odd("derived type"),
        "ASP803": _odd("few bytes", "bytes", "pairs of types"),
        "ASP902 rotation": Hazard({"shape": ("slab", "line"), "each": _CARRIED, "value": _READS,
                                   "uneven": ("",), "inner": ("loops",)}),
        "ASP902 backwards": Hazard({"shape": ("slab", "line"), "down": (True,), "uneven": ("",)}),
        "ASP903": Hazard({"shape": ("line",), "value": ("sin(dble(z)+me)", "exp(-abs(z)*0.1d0)"),
                          "tile": (2, 3, 5), "type": ("real8",), "inner": ("loops",)}, "-O3"),
        "ASP904": Hazard({"shape": ("block", "slab"), "uneven": ("1,0", "3,1", "5,2"),
                          "down": (True,)}),
        "ASP1001": _odd("bounds by rank"),
        "ASP1101": Hazard({"odd": ("two groups",)}, mpi=MPICH),
        "other messages": _odd("any source"),
        "copy left out": Hazard(
            {**_PLAIN, "work": DROPPED, "against": (True, True, False), "silent": (True,),
             "shape": ("block", "block", "slab", "planes"), "storage": ("allocatable", "local"),
             "each": ((),), "end": ((),), "uneven": ("",), "copied": ("",), "between": ((),),
             "behind": ((), ("x = x + 1",), ("u = u + 1",))}
        ),
        "lengths differ": Hazard(
            {"shape": ("block", "slab", "line"),
             "uneven": ("0,0", "1,0", "3,1", "5,2", "2,-1", "1,7"), "down": (False, False, True)}
        ),
    }
)  # fmt: skip
"""By the beginning of a mutant's name; the others are attacked because they are seldom drawn."""
