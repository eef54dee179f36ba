"""What begins the next iteration comes before what one takes from queues: what is made of loops,
and which stay.

Each rule that a step would break has a loop that would give other digits or hang without it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.gain.model import Model
from asphalt.machine.platforms import ETHERNET_1
from asphalt.optimiser.dropped import AS_LONG, SLOWER
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Context, Options
from asphalt.transforms.buffers import buffered_sends, receive_queues
from asphalt.transforms.loops import branch_fission, rotation, sends_first
from asphalt.transforms.motion import code_motion, later_receives
from asphalt.transforms.nonblocking import nonblocking
from fuzz.gathers import fields
from fuzz.transfers import batch, compared
from support.mpi_run import SMPI
from support.opinions import Opinion
from support.stepping import Stepped

_ASKING = Model((replace(ETHERNET_1, eager=1),))
_TURNING = cast("ModuleType", SimpleNamespace(check=rotation.before_takes, apply=rotation.apply))
_UNIT = """\
subroutine sums(t, r, row, total, n, fields, np, me, comm, m)
  use mpi
  implicit none
  integer, intent(in) :: n, fields, np, comm
  integer, intent(inout) :: m, me
  real(8), intent(inout) :: t(n,fields), r(n,fields), row(n), total(fields)
  integer :: i, l, p, request, ierr
{declared}
  do l = {bounds}
{first}
    do i = 1, n
      row(i) = t(i,l)
    end do
    if (me == 0) then
      total(l) = 0
{before}
      do p = 1, np - 1
        call MPI_Recv(row, n, MPI_DOUBLE_PRECISION, p, 1, comm, MPI_STATUS_IGNORE, ierr)
        do i = 1, n
          total(l) = total(l) + {used}
        end do
      end do
{behind}
    else
{sent}
    end if
{last}
  end do
end subroutine sums
"""
_WORK = """\
    do i = 1, n
      t(i,l) = 0.5d0*t(i,l) + l
    end do"""
_SECOND = """\
      do p = 1, np - 1
        call MPI_Recv(row, n, MPI_DOUBLE_PRECISION, p, 3, comm, MPI_STATUS_IGNORE, ierr)
        do i = 1, n
          total(l) = total(l) - row(i)
        end do
      end do
      call MPI_Send(total(l), 1, MPI_DOUBLE_PRECISION, m, 2, comm, ierr)"""
_SEND = "      call MPI_Send(row, n, MPI_DOUBLE_PRECISION, 0, 1, comm, ierr)"
_PLAIN = {
    "declared": "", "bounds": "1, fields", "first": _WORK, "before": "", "used": "row(i)",
    "behind": "", "sent": _SEND, "last": "",
}  # fmt: skip


def _posted(folder: Path, **parts: str) -> Stepped:
    """A loop over fields, its receives posted ahead."""
    stepped = Stepped.of(folder, {"sums.f90": _UNIT.format(**_PLAIN | parts)})
    assert stepped.applied(receive_queues)
    return stepped


def _taken(stepped: Stepped) -> bool:
    """Whether messages are taken later, with as much work beside them as there may be."""
    stepped.applied(sends_first)
    whole = stepped.tree
    for facts, step in stepped.found(_TURNING):
        assert isinstance(step, rotation.Rotate)
        stepped.tree = whole
        stepped.apply(_TURNING, facts, step)
        if stepped.applied(later_receives):
            return True
    stepped.tree = whole
    return False


def _statements(stepped: Stepped) -> list[str]:
    text = stepped.text("sums.f90")
    inside = text[text.index("  do l = 1") :]
    lines = (line for line in inside.splitlines() if line.strip() and "! asphalt" not in line)
    return list(lines)[1:]


def test_the_work_of_the_next_field_comes_behind_what_is_sent(tmp_path: Path) -> None:
    stepped = _posted(tmp_path)
    assert _taken(stepped)
    assert _statements(stepped) == [
        "    do i = 1, n",
        "      row(i) = t(i,l)",
        "    end do",
        "    if (me == 0) then",
        "      total(l) = 0",
        "      do p = 1, np - 1",
        "        call asphalt_post(asphalt_queue_1, n, MPI_DOUBLE_PRECISION, p, 1, comm)",
        "      end do",
        "    else",
        "      call MPI_Send(row, n, MPI_DOUBLE_PRECISION, 0, 1, comm, ierr)",
        "    end if",
        "    if (l < fields) then",
        "      do i = 1, n",
        "        t(i,l+1) = 0.5d0*t(i,l+1) + (l + 1)",
        "      end do",
        "    end if",
        "    if (me == 0) then",
        "      do p = 1, np - 1",
        "        call asphalt_take(asphalt_queue_1, row)",
        "        do i = 1, n",
        "          total(l) = total(l) + row(i)",
        "        end do",
        "      end do",
        "    end if",
        "  end do",
        "end subroutine sums",
    ]
    before = stepped.text("sums.f90").split("  do l = 1")[0]
    assert "      t(i,1) = 0.5d0*t(i,1) + 1" in before
    assert not _taken(stepped)


def test_a_second_time_nothing_is_found(tmp_path: Path) -> None:
    """The condition of the work that came from the next iteration is known again."""
    last = "    if (l < fields) then\n" + _WORK.replace("t(", "row(").replace(",l)", ")")
    stepped = _posted(tmp_path, first="", last=last + "\n    end if")
    stepped.applied(sends_first)
    for _, step in stepped.found(_TURNING):
        assert isinstance(step, rotation.Rotate)
        assert step.places == (0,)


GOES = {
    "other columns": {"used": "row(i)*t(i,l)"},
    "a send that is waited for": {
        "sent": _SEND.replace("Send", "Isend").replace("ierr", "request, ierr")
        + "\n      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)"
    },
    "some send nothing": {"sent": _SEND.replace("call", "if (m > 0) call")},
}

STAYS = {
    "all wait for the result": {
        "last": "    call MPI_Bcast(total(l), 1, MPI_DOUBLE_PRECISION, 0, comm, ierr)"
    },
    "reads what is made of the messages": {"first": _WORK.replace("+ l", "+ total(1)")},
    "fills the buffer": {"first": _WORK.replace("t(i,l) =", "row(i) =")},
    "changes what is used": {"used": "row(i)*t(i,m)"},
    "used behind": {"last": "    total(l) = total(l) + t(1,m)"},
    "sends the result": {"behind": _SEND.replace("0, 1", "1, 2")},
    "answers each": {"used": "row(i)\n        end do\n        do i = 1, 1\n"
                     "          call MPI_Send(row, n, MPI_DOUBLE_PRECISION, p, 2, comm, ierr)"},
    "sends later": {"last": _SEND.replace("0, 1", "m, 2")},
    "another rank": {"sent": "      me = 0\n" + _SEND},
    "prints": {"first": _WORK.replace("    end do", "      print *, i\n    end do")},
    "unknown work": {"first": "    call unknown(t, l)"},
    "communicates": {"first": "    call MPI_Barrier(comm, ierr)\n" + _WORK},
    "no work": {"first": "    t(1,l) = 0"},
    "leaves": {"last": "    if (total(l) > 9) exit"},
    "by twos": {"bounds": "1, fields, 2"},
    "bound changes": {"bounds": "1, m", "last": "    m = m - 1"},
    "variable is seen": {"declared": "  common /seen/ l"},
}  # fmt: skip


@pytest.mark.parametrize("name", GOES)
def test_messages_are_taken_later(name: str, tmp_path: Path) -> None:
    assert _taken(_posted(tmp_path, **GOES[name]))


@pytest.mark.parametrize("name", STAYS)
def test_messages_are_taken_where_they_were(name: str, tmp_path: Path) -> None:
    assert not _taken(_posted(tmp_path, **STAYS[name]))


def test_a_branch_whose_condition_changes_is_not_split(tmp_path: Path) -> None:
    changes = _posted(tmp_path, before="      me = m")
    assert not changes.steps(sends_first)
    assert _posted(tmp_path / "stays").steps(sends_first)


def test_no_branch_is_split_where_no_work_could_come_between(tmp_path: Path) -> None:
    assert not _posted(tmp_path, bounds="1, fields, 2").steps(sends_first)


def test_inner_branches_are_split_first(tmp_path: Path) -> None:
    inner = "      if (m > 0) then\n  " + _SEND + "\n      end if"
    stepped = _posted(tmp_path, behind=inner.replace("0, 1", "1, 2"))
    assert not _taken(stepped)
    before = "      if (m > 0) then\n  " + _SEND.replace("0, 1", "1, 2") + "\n      else\n"
    text = _UNIT.format(**_PLAIN | {"before": before, "behind": "      end if"})
    stepped = Stepped.of(tmp_path / "inner", {"sums.f90": text})
    assert stepped.applied(receive_queues) == 1
    assert _taken(stepped)
    words = [w for s in _statements(stepped) for w in ("_post", "MPI_Send", "t(i,l+1)", "_take")
             if w in s]  # fmt: skip
    assert words == ["MPI_Send", "_post", "MPI_Send", "t(i,l+1)", "_take"]


def test_it_is_priced_and_reported(tmp_path: Path) -> None:
    """It is kept where it gains, and each of its steps is told: messages wait for receives."""
    first = _WORK.replace("0.5d0*t(i,l)", "sqrt(abs(sin(t(i,l))))")
    last = "    do i = 1, n\n      r(i,l) = sin(t(i,l))\n    end do"
    text = _UNIT.format(**_PLAIN | {"first": first, "last": last})
    path = tmp_path / "sums.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = tree.units_of(str(path))
    does = [step.does for step in optimise(tree, unit, context=Context(_ASKING)).steps]
    assert any("begins behind its first work" in one for one in does)
    assert any("goes before the messages taken in" in one for one in does)
    without = [name for name in TRANSFERS if name != "peeling"]
    does = [step.does for step in optimise(tree, unit, Options(without), Context(_ASKING)).steps]
    assert does
    assert not any("begins behind" in one or "behind what it sends" in one for one in does)


def test_steps_without_gain_are_reported(tmp_path: Path) -> None:
    """All messages are there when they are asked for: other work is long enough."""
    last = "    do i = 1, 1000000\n      r(1,l) = r(1,l) + sin(t(1,l) + i)\n    end do"
    path = tmp_path / "sums.f90"
    path.write_text(_UNIT.format(**_PLAIN | {"last": last}))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    found = optimise(tree, tree.units_of(str(path))[0], context=Context(_ASKING))
    assert found.steps
    assert not any("goes before the messages" in step.does for step in found.steps)
    (told,) = (one for one in found.dropped if "goes before the messages taken in" in one.does)
    assert told.why == AS_LONG
    assert "begins behind its first work" in told.does


_LATER = "beside messages that are taken"


def _judged(folder: Path, text: str, judge: Opinion) -> tuple[str, Optimised]:
    """What becomes of a file with one unit, by what a judge says; and all that is told of it."""
    path = folder / "sums.f90"
    folder.mkdir(exist_ok=True)
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    found = optimise(tree, tree.units_of(str(path))[0], context=Context(judge))
    assert found.content is not None
    return found.content.decode(), found


def _cost(text: str) -> float:
    """Posted receives gain most.  What splits a branch loses more than the loop gains then."""
    if "asphalt_post" not in text:
        return 9.0
    return 3.0 if _LATER in text else 4.0 if ".not. (me == 0)" in text else 2.0


def test_an_execution_is_compared_with_what_is_replaced(tmp_path: Path) -> None:
    """Only an estimate may be that of the split branch: what is executed is the same."""
    text = _UNIT.format(**_PLAIN)
    content, found = _judged(tmp_path / "executed", text, Opinion(_cost))
    assert "asphalt_post" in content
    assert _LATER not in content
    (told,) = (one for one in found.dropped if "goes before the messages taken in" in one.does)
    assert (told.why, told.before["somewhere"], told.tried["somewhere"]) == (SLOWER, 2.0, 3.0)
    content, _ = _judged(tmp_path / "estimated", text, Opinion(_cost, executes=False))
    assert _LATER in content


def test_only_branches_of_the_loop_that_gains_are_split(tmp_path: Path) -> None:
    text = _UNIT.format(**_PLAIN)
    loop = text[text.index("  do l = 1") : text.index("end subroutine")]
    twice = text.replace(loop, loop + loop.replace("total(l)", "total(l+1)"))

    def cost(text: str) -> float:
        return 9.0 - 2 * text.count("call asphalt_post") - (_LATER in text)

    content, _ = _judged(tmp_path, twice, Opinion(cost))
    assert content.count("call asphalt_post") == 2
    assert content.count(_LATER) == 1
    assert content.count(".not. (me == 0)") == 1


def test_what_was_written_is_left_as_it_is(tmp_path: Path) -> None:
    """Code motion does not bring what sends behind the work that stands there for a reason."""
    stepped = _posted(tmp_path, first=_WORK, before=_SECOND)
    stepped.applied(nonblocking, branch_fission, code_motion)
    assert _taken(stepped)
    text = stepped.text("sums.f90")
    assert "! asphalt: what begins the next iteration, beside messages that are taken" in text
    assert not any("behind" in step.does for step in stepped.steps(code_motion))
    unmarked = text.replace(", beside messages that are taken behind it", "")
    plain = Stepped.of(tmp_path / "unmarked", {"sums.f90": unmarked})
    assert any("goes behind" in step.does for step in plain.steps(code_motion))


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
def test_random_fields_give_the_same_bits_whatever_it_costs(tmp_path: Path) -> None:
    made = [fields(3, number) for number in range(30)]
    after: dict[str, str] = {}
    taken = 0
    for number, (file, text) in enumerate(made):
        stepped = Stepped.of(tmp_path / file, {file: text})
        stepped.applied(receive_queues)
        if number % 3 == 0:
            stepped.applied(buffered_sends)
        taken += _taken(stepped)
        after[file] = stepped.text(file)
    assert taken >= 6
    assert compared(made, after, "", tmp_path, SMPI, "-O0", tmp_path / "kept", (1, 2, 4)) == []


@pytest.mark.wide
@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
def test_more_fields_give_the_same_bits(tmp_path: Path) -> None:
    assert batch(13, 0, 40, SMPI, "-O2", tmp_path, (2, 3, 4), "fields").failures == []
