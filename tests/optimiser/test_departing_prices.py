"""The price of a send that leaves from a copy is known without a text in which it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Model, Price
from asphalt.machine.platforms import ETHERNET_1, INFINIBAND_HDR
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.buffers import buffered_sends
from support.stepping import Stepped

_UNIT = """\
subroutine unit(w, b, me, count, comm{arguments})
  use mpi
  implicit none
  integer, intent(in) :: me, count, comm
  real(8), intent(inout) :: w(count+2), b(count)
  integer :: i, p, k, status(MPI_STATUS_SIZE)
  integer{intent} :: ierr
  do p = 1, 2
{body}
  end do
end subroutine unit
"""
_FILLED = """\
    k = 0
    do i = 1, count
      k = k + 1
      b(k) = w(i + p)
    end do
"""
_SENT = "    call MPI_Send(b, {count}, MPI_DOUBLE_PRECISION, me + p, {tag}, comm, ierr)\n"
_TAKEN = "    call MPI_Recv(w, {count}, MPI_DOUBLE_PRECISION, me, 1, comm, status, ierr)\n"
_BODIES = (
    _FILLED + _SENT.format(count="k", tag=1),
    _FILLED + _SENT.format(count="count", tag="p"),
    _FILLED + _SENT.format(count="1", tag=1) + _TAKEN.format(count=1),
    _FILLED + _SENT.format(count=100000, tag=1) + _TAKEN.format(count=100000),
    _TAKEN.format(count="k") + _FILLED + _SENT.format(count="k", tag=1),
)
_MAIN = """\
program main
  use mpi
  implicit none
  real(8) :: w(1002), b(1000)
  integer :: ierr
  call MPI_Init(ierr)
  w = 0
  call unit(w, b, 0, 1000, MPI_COMM_WORLD{more})
  print *, ierr
  call MPI_Finalize(ierr)
end program main
"""


def _prices(tree: Tree) -> list[tuple[Price | None, Price]]:
    """The price of each send that can leave from a copy, without and with its text."""
    facts = next(one for one in Stepped(tree).facts() if one.unit.name == "unit")
    shop = Workshop(tree, *key_of(facts.located), Options())
    own = shop.facts(tree)
    found: list[tuple[Price | None, Price]] = []
    for step in shop.departing.check(own):
        assert isinstance(step, buffered_sends.Depart)
        without = shop.price_with_copy(tree, step.split)
        text = shop.applied(UnitState(tree, ()), own, shop.departing, step)
        found.append((without, shop.price(text.tree)))
        assert without != shop.price(tree)
    return found


@pytest.mark.parametrize("body", _BODIES)
def test_the_price_is_that_of_the_text(tmp_path: Path, body: str) -> None:
    text = _UNIT.format(body=body.rstrip("\n"), arguments="", intent="")
    ((without, price),) = _prices(Stepped.of(tmp_path, {"a.f90": text}).tree)
    assert without is not None
    assert without.seconds == price.seconds


def test_a_text_that_executes_more_is_priced_as_it_stands(tmp_path: Path) -> None:
    """A store of MPI_SUCCESS behind the call, or another construct around it."""
    stored = _UNIT.format(body=_BODIES[0].rstrip("\n"), arguments=", ierr", intent=", intent(out)")
    under = _BODIES[0].replace("    call MPI_Send", "    if (me > 0) call MPI_Send")
    guarded = _UNIT.format(body=under.rstrip("\n"), arguments="", intent="")
    for number, (text, more) in enumerate(((stored, ", ierr"), (guarded, ""))):
        (tmp_path / str(number)).mkdir()
        files = {"a.f90": text, "main.f90": _MAIN.format(more=more)}
        ((without, _),) = _prices(Stepped.of(tmp_path / str(number), files).tree)
        assert without is None


def test_a_send_that_loses_makes_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _UNIT.format(body=_BODIES[3].rstrip("\n"), arguments="", intent="")
    stepped = Stepped.of(tmp_path, {"a.f90": text})
    (facts,) = stepped.facts()
    made: list[str] = []
    applied = Workshop.applied

    def noted(shop: Workshop, *arguments: object) -> UnitState:
        made.append(arguments[2].title)  # type: ignore[attr-defined]
        return applied(shop, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Workshop, "applied", noted)
    context = Context(Model((INFINIBAND_HDR, ETHERNET_1)))
    found = optimise(stepped.tree, facts.located, context=context)
    assert [one.does for one in found.dropped if "from a copy" in one.does]
    assert buffered_sends.TRANSFORMATION.title not in made
