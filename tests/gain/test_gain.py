"""What steps gain: amounts, the clock, and which steps are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.gain.amounts import FIRST, amount, typical
from asphalt.gain.model import USUAL, Model, Price
from asphalt.gain.post import COPY_BANDWIDTH
from asphalt.gain.segments import SegmentedMessage, usual_tile
from asphalt.gain.segments import saved as saved_by
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import leaves
from asphalt.machine.platforms import ETHERNET_1, INFINIBAND_DDR_2009, INFINIBAND_HDR, Network
from asphalt.optimiser.optimise import FIXPOINT, Optimised, optimise
from asphalt.optimiser.options import Context
from support.stepping import Stepped

_FRAME = """\
subroutine unit(a, b, w, n, m, lo, hi, np, me, comm)
  use mpi
  implicit none
  integer, parameter :: few = 3, many = 40
  integer, intent(in) :: n, m, lo, hi, np, me, comm
  real(8), intent(inout) :: a(*), b(*), w(*)
  integer :: status(MPI_STATUS_SIZE), ierr, i, j, p, k
{body}
end subroutine unit
"""


def _stepped(folder: Path, body: str) -> Stepped:
    return Stepped.of(folder, {"unit.f90": _FRAME.format(body=body)})


def _price(folder: Path, body: str, *networks: Network) -> tuple[float, ...]:
    stepped = _stepped(folder, body)
    (facts,) = stepped.facts()
    return Model(networks).price(stepped.tree, facts.located).seconds


def _optimised(folder: Path, body: str, *networks: Network) -> Optimised:
    stepped = _stepped(folder, body)
    (facts,) = stepped.facts()
    return optimise(
        stepped.tree, facts.located, context=Context(Model(networks) if networks else None)
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-2", 0),
        ("few*few + 1", 10),
        ("n", FIRST),
        ("2*n + few", 2 * FIRST),
        ("n*m", typical(2)),
        ("few*n*m", 3 * typical(2)),
        ("many*n", 40 * typical(2) ** 0.5),  # two extents, one of which is known
        ("hi - lo + 1", FIRST),
        ("(n - 1 + max(1, n - 1))/max(1, n - 1)", 2),  # the first and the last iteration
        ("min(1, n)", 1),
        ("n - min(n, n)", 0),
        ("size(a)", FIRST),
    ],
)
def test_what_is_not_known_is_an_extent(text: str, value: float, tmp_path: Path) -> None:
    (facts,) = _stepped(tmp_path, f"  k = {text}").facts()
    (what,) = (leaf.what for node in facts.unit.body for leaf in leaves(node))
    assert isinstance(what, Assign)
    assert amount(what.value, facts.scope).value == pytest.approx(value, rel=1e-5)


def test_the_sides_of_a_box_are_parts_of_it(tmp_path: Path) -> None:
    nest = "  do k = {}\n    do j = {}\n      do i = {}\n        w(i) = a(j)*b(k)\n"
    nest += "      end do\n    end do\n  end do\n"
    ends = "1, n, max(1, n - 1)"
    (box,) = _price(tmp_path / "box", nest.format("1, n", "1, n", "1, n"), ETHERNET_1)
    for number in range(3):
        bounds = ["1, n"] * 3
        bounds[number] = ends
        (side,) = _price(tmp_path / str(number), nest.format(*bounds), ETHERNET_1)
        assert side < box / 2


_LINE = "  do i = 1, n\n    w(i) = w(i) + 0.5d0*i\n  end do\n"
_RECV = "call MPI_Recv(a, {}, MPI_DOUBLE_PRECISION, {}, {}, comm, status, ierr)\n"
_SEND = "call MPI_Send(b, {}, MPI_DOUBLE_PRECISION, {}, {}, comm, ierr)\n"


def test_a_message_of_the_same_time_takes_latency_and_wire(tmp_path: Path) -> None:
    net = INFINIBAND_DDR_2009
    (seconds,) = _price(tmp_path, "  " + _SEND.format(100, 0, 7) + "  " + _RECV.format(100, 0, 7),
                        net)  # fmt: skip
    ends = net.sending_cost(800) + net.receiving_cost(800)
    assert seconds == pytest.approx(ends + net.latency + 800 / net.bandwidth)


def test_work_between_send_and_receive_hides_the_message(tmp_path: Path) -> None:
    net = INFINIBAND_DDR_2009
    work = _LINE.replace("n\n", "100000\n", 1)
    alone = _price(tmp_path / "a", work, net)[0]
    both = "  " + _SEND.format(100, 0, 7) + work + "  " + _RECV.format(100, 0, 7)
    (seconds,) = _price(tmp_path / "b", both, net)
    ends = net.sending_cost(800) + net.receiving_cost(800)
    kept = 800 / COPY_BANDWIDTH  # it came before the receive was there
    assert seconds == pytest.approx(alone + ends + kept)


def test_a_tag_may_be_a_variable_of_known_value(tmp_path: Path) -> None:
    prices = {
        tag: _price(tmp_path / tag, "  k = 6\n  " + _SEND.format(1000, 0, tag) + _LINE + "  "
                    + _RECV.format(1000, 0, 7), ETHERNET_1)
        for tag in ("7", "k+1", "k")
    }  # fmt: skip
    assert prices["k+1"] == prices["7"] != prices["k"]


def test_ranks_in_another_arm_send_at_the_same_time(tmp_path: Path) -> None:
    """What they send later comes later, however early its receive is posted."""
    work = _LINE.replace("n\n", "100000\n", 1)
    arms = "  if (me == 0) then\n    {}  else\n{}    {}  end if\n"
    receive, send = _RECV.format(100, 1, 7), _SEND.format(100, 0, 7)
    late = _price(tmp_path / "late", arms.format(receive, work, send), ETHERNET_1)
    early = _price(tmp_path / "early", arms.format(receive, "", send), ETHERNET_1)
    alone = _price(tmp_path / "alone", work, ETHERNET_1)
    assert late[0] - early[0] == pytest.approx(alone[0])


@pytest.mark.parametrize("other", ["", "    else\n      w(2) = 1\n"])
def test_a_message_under_many_conditions_has_a_price(other: str, tmp_path: Path) -> None:
    """Each level is looked at once more, and not twice as often as the one around it."""
    levels = 40
    heads = "".join(f"  if (me > {level}) then\n" for level in range(levels))
    body = heads + "  " + _SEND.format("n", "me-1", 1) + f"{other}  end if\n" * levels
    deep = _price(tmp_path, body, ETHERNET_1)
    assert deep > (ETHERNET_1.sending_cost(8 * FIRST),)


def test_a_message_of_which_no_receive_is_seen_is_needed_at_the_end(tmp_path: Path) -> None:
    work = _LINE.replace("n\n", "1000\n", 1)
    alone = _price(tmp_path / "alone", work, ETHERNET_1)[0]
    send = "  " + _SEND.format(100, 0, 7)
    last, first = (_price(tmp_path / str(n), body, ETHERNET_1)[0]
                   for n, body in enumerate((work + send, send + work)))  # fmt: skip
    assert last - first == pytest.approx(alone)


def test_long_messages_wait_for_their_receive(tmp_path: Path) -> None:
    """A loop that receives them one by one asks for each of them."""
    loop = "  do p = 1, 4\n    " + _RECV.format(4000, "p", 7) + "  end do\n"
    short = loop.replace("4000", "500")
    net = INFINIBAND_DDR_2009
    long_time, short_time = (_price(tmp_path / str(len(x)), x, net)[0] for x in (loop, short))
    asking = 4 * 2 * net.latency
    wire = 4 * (32000 - 4000) / net.bandwidth
    ends = 4 * (net.receiving_cost(32000) - net.receiving_cost(4000))
    assert long_time - short_time == pytest.approx(asking + wire + ends)


_GATHER = """\
  do p = 1, 3
    call MPI_Recv(a, {count}, MPI_DOUBLE_PRECISION, p, 1, comm, status, ierr)
    do i = 1, {work}
      w(i) = w(i) + a(i)
    end do
  end do
"""


def test_a_copy_is_kept_where_it_hides_more_than_it_costs(tmp_path: Path) -> None:
    """The same loop, with a buffer that is large against the work."""
    kept = _optimised(tmp_path / "kept", _GATHER.format(count=2000, work=2000))
    assert [step.transformation for step in kept.steps] == ["expansion"]
    rejected = _optimised(tmp_path / "rejected", _GATHER.format(count=1000000, work=2000))
    assert rejected.content is None
    assert rejected.steps == ()


_FACES = """\
  do p = 1, 2
    do i = 1, {count}
      b(i) = w(i + p)
    end do
    call MPI_Send(b, {count}, MPI_DOUBLE_PRECISION, me + p, 1, comm, ierr)
  end do
"""


def test_copies_of_faces_cost_more_than_a_fast_network_hides(tmp_path: Path) -> None:
    """The harm of cloning in a smoother: the copy takes longer than the message."""
    slow = _optimised(tmp_path / "slow", _FACES.format(count=100000), ETHERNET_1)
    assert [step.transformation for step in slow.steps] == ["expansion"]
    fast = _optimised(tmp_path / "fast", _FACES.format(count=100000), INFINIBAND_HDR)
    assert fast.content is None


def test_steps_report_their_gain(tmp_path: Path) -> None:
    body = "  " + _RECV.format("n", 0, 7) + _LINE + "  w(1) = a(1)\n"
    found = _optimised(tmp_path, body)
    assert [step.transformation for step in found.steps] == ["nonblocking", "motion"]
    assert found.ended == FIXPOINT
    assert found.content is not None
    stepped = _stepped(tmp_path / "again", body)
    (facts,) = stepped.facts()
    before = Model().price(stepped.tree, facts.located)
    tree = stepped.tree.edited({facts.located.path: found.content})
    (after,) = (u for u in tree.units_of(facts.located.path) if u.unit.name == "unit")
    for network, saved in zip(Model().networks, Model().price(tree, after).saved(before),
                              strict=True):  # fmt: skip
        assert saved > 0
        assert sum(step.gained[network.name] for step in found.steps) == pytest.approx(saved)


def test_a_step_loses_if_it_loses_anywhere() -> None:
    before = Price((1.0, 1.0))
    assert Price((0.5, 1.01)).loses(before)
    assert not Price((0.5, 1.01)).gains(before)
    assert Price((0.5, 1.0)).gains(before)
    assert not Price((1.0, 1.0)).gains(before)
    assert not Price((1.0, 1.0)).loses(before)


_SIZED = """\
subroutine unit(w)
  implicit none
  integer, parameter :: few = 30
  real(8), intent(inout) :: w(few, few)
  integer :: j, k
  do k = {rows}
{body}
  end do
contains
  pure subroutine relax(n, w)
    integer, intent(in) :: n
    real(8), intent(inout) :: w(n)
    integer :: i
    do i = 1, n
      w(i) = 0.5d0*w(i)
    end do
  end subroutine relax
end subroutine unit
"""
_ROWS = "    do j = {0}\n      call relax({1}, w(:,j))\n    end do"


def _sized(folder: Path, rows: str, columns: str, length: str) -> float:
    text = _SIZED.format(rows=rows, body=_ROWS.format(columns, length))
    stepped = Stepped.of(folder, {"unit.f90": text})
    facts = next(f for f in stepped.facts() if f.unit.name == "unit")
    (seconds,) = Model([ETHERNET_1]).price(stepped.tree, facts.located).seconds
    return seconds


def test_a_procedure_takes_what_it_does_for_the_sizes_that_are_passed(tmp_path: Path) -> None:
    """So that the parts of a nest together take what the whole one does."""
    whole = _sized(tmp_path / "whole", "1, few", "1, few", "few")
    edges = _sized(tmp_path / "edges", "1, few, few - 1", "1, few", "few")
    inside = _sized(tmp_path / "inside", "2, few - 1", "1, few", "few")
    assert inside + edges == pytest.approx(whole, rel=1e-6)
    half = _sized(tmp_path / "half", "1, few", "1, few", "few/2")
    assert half == pytest.approx(whole / 2, rel=0.3)  # each call has its own price


@pytest.mark.parametrize("turns", [2, 4, 9])
def test_starts_of_the_next_iteration_are_left_out_of_the_last(turns: int, tmp_path: Path) -> None:
    """Work that goes from the begin of each turn to the end of the one before costs the same."""
    work = "    do i = 1, n\n      w(i) = w(i) + 0.5d0*i\n    end do\n"
    message = "    " + _SEND.format(100, 0, 7) + "    " + _RECV.format(100, 0, 7)
    loop = f"  do k = 1, {turns}\n{{}}  end do\n"
    turned = work + loop.format(f"{message}    if (k < {turns}) then\n{work}    end if\n")
    plain = _price(tmp_path / "plain", loop.format(work + message), ETHERNET_1)
    assert _price(tmp_path / "turned", turned, ETHERNET_1) == pytest.approx(plain, rel=1e-3)


def _message(**given: float) -> SegmentedMessage:
    sizes: dict[str, float] = {
        "iterations": 40, "tile": 10, "size": 1e5, "filling": 2e-5, "using": 2e-5, "between": 0,
        "depth": 4,
    }  # fmt: skip
    return SegmentedMessage(**{**sizes, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("network", USUAL, ids=lambda network: network.name)
class TestSegments:
    """Messages that leave and come in segments."""

    def test_they_hide_the_transfer_behind_the_nests(self, network: Network) -> None:
        message = _message()
        whole = 40 * 1e5 / network.bandwidth
        assert 0 < saved_by(message, network) < whole

    def test_one_segment_is_the_message(self, network: Network) -> None:
        assert saved_by(_message(tile=40), network) == 0

    def test_they_lose_where_there_is_nothing_to_hide_behind(self, network: Network) -> None:
        assert saved_by(_message(filling=0, using=0, size=10), network) < 0

    def test_they_lose_where_the_whole_message_is_hidden(self, network: Network) -> None:
        assert saved_by(_message(between=1), network) <= 0

    def test_fewer_in_flight_save_no_more(self, network: Network) -> None:
        assert saved_by(_message(tile=2, depth=1), network) <= saved_by(_message(tile=2), network)


def test_the_usual_segments() -> None:
    """As ``asphalt_segment`` of the runtime."""
    assert usual_tile(12, 1e6) == 3
    assert usual_tile(13, 1e6) == 4
    assert usual_tile(12, 2e4) == 5
    assert usual_tile(12, 1) == 12
    assert usual_tile(1, 1e6) == 1
    assert usual_tile(250, 1e6) == 63
    assert usual_tile(300, 1e6) == 80  # whole vectors
    assert usual_tile(200001, 10) == 50016
    assert usual_tile(1000, 100) == 1000


def test_a_procedure_that_passes_itself_other_numbers_ends(tmp_path: Path) -> None:
    """What it takes is counted once, whatever level it is given."""
    text = """\
program cycle
  use mpi
  implicit none
  real(8) :: a(1000), b(1000)
  integer :: ierr
  call MPI_Init(ierr)
  a = 1
  b = 0
  call MPI_Sendrecv_replace(b, 1000, MPI_DOUBLE_PRECISION, 0, 1, 0, 1, MPI_COMM_WORLD, &
                            MPI_STATUS_IGNORE, ierr)
  call level(a, 3)
  print *, sum(a), b(1)
  call MPI_Finalize(ierr)
contains
  recursive subroutine level(x, left)
    real(8), intent(inout) :: x(:)
    integer, intent(in) :: left
    integer :: i
    do i = 1, size(x)
      x(i) = x(i) + sqrt(x(i))
    end do
    if (left > 0) call level(x, left - 1)
    if (left > 9) call level(x, left - 2)
  end subroutine level
end program cycle
"""
    stepped = Stepped.of(tmp_path, {"cycle.f90": text})
    main = next(facts for facts in stepped.facts() if facts.unit.kind == "program")
    assert all(seconds > 0 for seconds in Model().price(stepped.tree, main.located).seconds)


_ARMS = """\
  do i = 1, n
    if (w(i) > 1) then
      {first}
    else
      {second}
    end if
  end do
"""


def test_arms_of_a_branch_do_not_pass_values_to_each_other(tmp_path: Path) -> None:
    """What one arm stores is in no register of the other one, whichever stands first."""
    ways = ("a(i) = w(i)", "w(i) = a(i)")
    there = _price(tmp_path, _ARMS.format(first=ways[0], second=ways[1]), ETHERNET_1)
    back = _price(tmp_path, _ARMS.format(first=ways[1], second=ways[0]), ETHERNET_1)
    assert there == back
    assert there[0] > 0
