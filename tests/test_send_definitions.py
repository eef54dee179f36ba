"""Which definitions of the send buffer are sent: those of the nest, and what was there before."""

from __future__ import annotations

import pytest
from judging import program
from producers import exchange_of

from asphalt.analysis.conditions.one_producer import definer
from asphalt.analysis.send_definitions import (
    SendDefinitions,
    from_before_the_unit,
    send_definitions,
)
from asphalt.ir.tree import Do

WHOLE = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
EVERY = """\
do p = 1, np
  do z = 1, nz
    do i = 1, n
      s(i,z,p) = z
    end do
  end do
end do
"""
STATIC = "integer, parameter :: np = 2\nreal(8) :: s(n,nz,np), r(n,nz,np)\n"


def found(text: str) -> SendDefinitions:
    exchange = exchange_of(text)
    position = definer(exchange)
    assert isinstance(position, int)
    nest = exchange.place.siblings[position]
    assert isinstance(nest, Do)
    return send_definitions(exchange, "s", nest)


def lines(definitions: SendDefinitions, part: str) -> list[int]:
    return [d.line for d in getattr(definitions, part)]


def test_what_was_there_before_the_nest() -> None:
    sent = found(program(before="s = 0\nif (np > 1) s(1,1,1) = 2\n", nest=WHOLE))
    assert (lines(sent, "inside"), lines(sent, "before")) == ([16], [12, 13])
    assert not sent.covered
    assert lines(sent, "left") == [12, 13]
    assert sent.elsewhere == ()
    assert not from_before_the_unit(sent)


def test_a_nest_that_defines_every_element() -> None:
    text = program(arrays="", declare=STATIC, allocate="", before="s = 0\n", nest=EVERY)
    sent = found(text.replace("p, me, np,", "p, me,"))
    assert sent.covered
    assert sent.left == ()
    assert lines(sent, "before") == [12]


@pytest.mark.parametrize("again", [False, True])
def test_the_iteration_before(again: bool) -> None:
    """In a loop around nest and call, what the nest defined in the last iteration is still there,
    unless everything is defined anew."""
    anew = "" if again else "s = 0\n"
    sent = found(program(nest=f"do i = 1, 2\n{anew}{WHOLE}", after="end do\n", before="s = 1\n"))
    before = [12, 16] if again else [15]
    assert lines(sent, "before") == before


def test_a_way_past_the_nest() -> None:
    text = program(nest=f"s = 0\nif (np > 1) goto 10\ns = 1\n{WHOLE}", between="10 continue\n")
    sent = found(text)
    assert lines(sent, "before") == [15]
    assert lines(sent, "elsewhere") == [13]
