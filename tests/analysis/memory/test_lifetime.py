"""Whether buffers live, at one place, from the entry of the producer to the call."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.lifetime import lives_through
from asphalt.support.may_must import Reply
from support.judging import program
from support.producers import exchange_of, found_producers

ALLOCATABLES = "real(8), allocatable :: s(:,:,:), r(:,:,:), other(:,:,:)\n"
FIXED = "real(8) :: s(n,nz,4), r(n,nz,4), other(n,nz,4)\n"
POINTERS = "real(8), pointer :: s(:,:,:), r(:,:,:), other(:,:,:)\n"
RESIZE = """\
subroutine resize(x)
  real(8), allocatable, intent(inout) :: x(:,:,:)
  deallocate(x)
  allocate(x(1,1,1))
end subroutine resize
subroutine fill(x)
  real(8), intent(inout) :: x(:,:,:)
  x(1,1,1) = 0
end subroutine fill
"""


@pytest.mark.parametrize(
    ("arrays", "between", "reply"),
    [
        (ALLOCATABLES, "", Reply.YES),
        (ALLOCATABLES, "r(1,1,1) = 0\n", Reply.YES),
        (ALLOCATABLES, "r = 0\n", Reply.YES),
        (ALLOCATABLES, "r = other\n", Reply.UNKNOWN),
        (ALLOCATABLES, "if (np > 3) r = other + 1\n", Reply.UNKNOWN),
        (FIXED, "r = other\n", Reply.YES),
        (ALLOCATABLES, "deallocate(r)\n", Reply.NO),
        (ALLOCATABLES, "allocate(r(n,nz,np))\n", Reply.NO),
        (ALLOCATABLES, "call move_alloc(r, other)\n", Reply.UNKNOWN),
        (ALLOCATABLES, "call move_alloc(other, r)\n", Reply.UNKNOWN),
        (ALLOCATABLES, "call resize(r)\n", Reply.UNKNOWN),
        (ALLOCATABLES, "deallocate(other)\n", Reply.YES),
        (POINTERS, "other => r\n", Reply.YES),
        (f"{POINTERS}target :: s\n", "r => other\n", Reply.UNKNOWN),
        (POINTERS, "nullify(r)\n", Reply.NO),
    ],
)
def test_receive_buffers(arrays: str, between: str, reply: Reply) -> None:
    text = program(arrays=arrays, allocate="", between=between, contained=RESIZE)
    producer = found_producers(exchange_of(text))[0]
    found = lives_through("r", producer.footprint, producer.region, producer.exchange.scope)
    assert found.reply is reply, found
