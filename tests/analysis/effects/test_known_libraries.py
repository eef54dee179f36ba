"""Library procedures: what their arguments stand for, and when the table does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.effects.known_libraries import table
from asphalt.analysis.memory.accesses import CalledRegions, EffectKind
from asphalt.analysis.memory.invariant_frame import Frame, Standpoint
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import Leaf
from support.analysed import Analysed, described

CALLER = """
subroutine caller(n, m, s, a, b, c, x, k)
  {use}
  implicit {typing}
  integer, intent(in) :: n, m, k
  real(8) :: s(n, m, 5), a(n, n), b(n, n), c(n), x
  complex(8) :: z(n)
  {declare}
  {call}
end subroutine caller
"""


def called(
    call: str, *more: str, use: str = "", typing: str = "none", declare: str = ""
) -> Analysed:
    text = CALLER.format(call=call, use=use, typing=typing, declare=declare)
    return Analysed(text, *more, chain=("caller",))


def write_of_plane(found: Analysed) -> tuple[CalledRegions, Standpoint]:
    """What a call writes of ``s``, and where it is seen from."""
    first = found.body[0]
    assert isinstance(first, Leaf)
    (write,) = (access for access in found.footprint.of("s") if access.writes)
    assert write.part is not None
    return write.part, Standpoint(Frame(found.values, found.footprint.written()), first, ())


def unknown(found: Analysed) -> bool:
    return EffectKind.UNKNOWN_CALL in {effect.kind for effect in found.footprint.effects}


def test_every_row_can_be_read() -> None:
    found = table()
    assert len(found) > 150
    for name, procedure in found.items():
        dummies = procedure.summary.dummies
        assert len(set(dummies)) == len(dummies), name
        for argument in procedure.arguments:
            assert argument.reads or argument.writes, (name, argument.symbol.name)
            assert argument.sure.is_subset(argument.elements), (name, argument.symbol.name)
    assert {"dgemm", "scopy", "zheev", "cgetrf", "dfftw_execute_dft", "idamax"} <= set(found)


def test_a_copy_into_a_plane() -> None:
    found = called("call dcopy(n*m, a, 1, s(1,1,k), 1)")
    accesses = {described(a) for a in found.footprint.accesses}
    assert {"reads a", "may write s"} <= accesses
    assert not unknown(found)
    part, here = write_of_plane(found)
    surely = part.surely_written(here)
    assert surely.box()[2][0] == surely.box()[2][1] != (None, None)
    assert not surely.is_empty()


def test_with_another_stride_nothing_is_sure() -> None:
    found = called("call dcopy(n, a, 1, s(1,1,k), 2)")
    part, here = write_of_plane(found)
    assert part.surely_written(here).is_empty()


def test_elements_of_another_size_are_all_of_the_array() -> None:
    found = called("call zcopy(n, z, 1, s(1,1,k), 1)")
    part, here = write_of_plane(found)
    assert part.touched(here).is_all


@pytest.mark.parametrize(
    "typing",
    ["none", "integer (i-n)"],
)
def test_names_that_nothing_declares(typing: str) -> None:
    assert not unknown(called("call dscal(n, 2d0, c, 1)", typing=typing))


def test_functions() -> None:
    found = called("x = ddot(n, c, 1, c, 1)", declare="real(8), external :: ddot")
    assert not unknown(found)
    assert {described(a) for a in found.footprint.accesses} >= {"reads c", "writes x"}


OWN = """
subroutine dscal(n, alpha, x, incx)
  integer n, incx
  real(8) alpha, x(*)
  print *, n
end subroutine dscal
"""


def test_a_procedure_of_the_tree_wins() -> None:
    found = called("call dscal(n, 2d0, c, 1)", OWN)
    assert EffectKind.IO in {effect.kind for effect in found.footprint.effects}


@pytest.mark.parametrize(
    "files",
    [
        {"a.f90": OWN},
        {"a.f90": OWN, "b.f90": OWN},
        {"a.c": "void dscal_(int *n, double *alpha, double *x, int *incx) {}\n"},
    ],
)
def test_what_a_tree_defines(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "main.f90").write_text("call dscal(1, 2d0, [1d0], 1)\nend\n")
    assert not load_tree([tmp_path], Settings(cache=False, jobs=1)).defines("dscal")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert load_tree([tmp_path], Settings(cache=False, jobs=1)).defines("dscal")


@pytest.mark.parametrize(
    ("use", "declare", "known"),
    [
        ("use elsewhere", "", False),  # it may have a dscal of its own
        ("use elsewhere, only: dscal", "", False),
        ("use elsewhere, only: other", "", True),
        ("", "procedure(p), pointer :: dscal", False),
        ("", "include 'unknown.inc'", False),
    ],
)
def test_a_name_that_may_be_something_else(use: str, declare: str, known: bool) -> None:
    assert unknown(called("call dscal(n, 2d0, c, 1)", use=use, declare=declare)) is not known


def test_arguments_that_do_not_fit() -> None:
    assert unknown(called("call dscal(n, 2d0, c, 1, 1)"))
