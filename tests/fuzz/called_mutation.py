"""Mutants of what puts a procedure in the place of its call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from asphalt.analysis.inlining import plan, procedure
from asphalt.analysis.inlining.arguments import Passed
from asphalt.analysis.inlining.names import InlinedNames
from asphalt.running.mpi import SMPI
from fuzz.mutation import Replacement
from fuzz.transfer_mutant import Switch, TransferMutant, off

_BODIES = 6
"""So often a procedure that calls itself may be put in the place of its call."""


def mutants() -> Iterator[TransferMutant]:
    """All of them."""
    again = Switch(procedure, "_check_recursion", _some_times)
    yield TransferMutant(
        "ASP040 recursion", "calls_itself", (again,),
        also="nothing: each body has variables of its own, but there is no end of bodies",
    )  # fmt: skip
    yield TransferMutant(
        "ASP044 two names", "passed_twice", off(Passed, "_check_twice", None), ((SMPI, "-O2"),)
    )
    yield TransferMutant("ASP045 COMMON blocks", "other_common", off(InlinedNames, "_common", None))
    yield TransferMutant("ASP045 functions", "other_meaning", off(InlinedNames, "_intrinsic", None))
    yield TransferMutant(
        "ASP046 construct names", "construct_name", off(plan, "_check_construct_names", None)
    )
    yield TransferMutant(
        "ASP046 text", "names_of_its_own", off(procedure, "_check_text", None),
        also="ASP045: what the names of such a construct are is not known",
    )  # fmt: skip
    yield TransferMutant(
        "ASP047 length", "long_procedure", (Switch(procedure, "LONGEST", lambda _: 10**6),),
        also="nothing: a long body has the same results",
    )  # fmt: skip


def _some_times(original: Replacement) -> Replacement:
    """The first questions are answered as if a procedure did not call itself."""
    asked = count()

    def check(*args: Any) -> None:
        if next(asked) >= _BODIES:
            original(*args)

    return check
