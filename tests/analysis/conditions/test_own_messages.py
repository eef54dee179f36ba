"""Condition 11: nothing else of the program can be taken for the messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.analysis.conditions import own_messages
from asphalt.cli.main import main
from asphalt.project import Project
from support.judging import CALL, Case, assert_accepted, assert_refused, program, transformed

COMM = CALL.replace("MPI_COMM_WORLD", "comm")
INTER = """\
call MPI_Comm_split(MPI_COMM_WORLD, mod(me,2), 0, half, ierr)
call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(me,2), 1, comm, ierr)
"""
INTRA = INTER.replace("1, comm, ierr", "1, other, ierr") + "comm = half\n"
NAMES = "character(9) :: names(1), port\ninteger :: errors(1)\n"
DECLARE = "integer :: half, comm, other\n"

CONNECTED = {
    "a-spawned-program": "call MPI_Comm_spawn('a', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, "
    "MPI_COMM_WORLD, comm, errors, ierr)\n",
    "spawned-programs": "call MPI_Comm_spawn_multiple(1, names, names, errors, errors, 0, "
    "MPI_COMM_WORLD, comm, errors, ierr)\n",
    "the-parent": "call MPI_Comm_get_parent(comm, ierr)\n",
    "a-client": "call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, comm, ierr)\n",
    "a-server": "call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, comm, ierr)\n",
    "a-socket": "call MPI_Comm_join(half, comm, ierr)\n",
}
CASES = (
    *(
        Case(
            "ASP1101",
            f"connected-with-{what}",
            program(declare=f"{DECLARE}{NAMES}", before=before, call=COMM),
            program(
                declare=f"{DECLARE}{NAMES}",
                before=before.replace(" comm,", " other,").replace("(comm", "(other")
                + "comm = MPI_COMM_WORLD\n",
                call=COMM,
            ),
        )
        for what, before in CONNECTED.items()
    ),
    Case(
        "ASP1101",
        "between-two-groups",
        program(declare=DECLARE, before=INTER, call=COMM),
        program(declare=DECLARE, before=INTRA, call=COMM),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


SEND = "call MPI_Send(me, 1, MPI_INTEGER, {to}, {tag}, MPI_COMM_WORLD, ierr)\n"
RECEIVE = (
    "call MPI_Recv(other, 1, MPI_INTEGER, mod(me+1,np), {tag}, MPI_COMM_WORLD, "
    "MPI_STATUS_IGNORE, ierr)\n"
)
OTHER = "integer :: other\n"
MEETING = {
    "a send with this tag": SEND.format(to="MPI_PROC_NULL", tag=0),
    "a send with a tag that is not known": SEND.format(to="MPI_PROC_NULL", tag="me"),
    "a receive of any tag": RECEIVE.format(tag="MPI_ANY_TAG"),
    "a receive with this tag": RECEIVE.format(tag=0),
    "a receive of any tag in one line with another one": RECEIVE.format(tag=7).replace("\n", "; ")
    + RECEIVE.format(tag="MPI_ANY_TAG"),
    "a tag that is MPI_ANY_TAG somewhere": RECEIVE.format(tag=-1),
    "a probe": "call MPI_Probe(me, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)\n",
    "a procedure that is not there": "call elsewhere(me)\n",
    "a hint": "call MPI_Info_set(0, 'mpi_assert_allow_overtaking', 'true', ierr)\n",
    "a send of another build": f"#ifdef LATER\n{SEND.format(to='me', tag=0)}#endif\n",
}


def _alone(text: str) -> bool:
    words = " ".join(text.replace("&", "").split())
    (entry,) = re.findall(r"call asphalt_x%begin\((.*?)\) do while", words)
    return "alone=.true." in entry


def test_what_nothing_can_meet_travels_on_the_communicator_of_the_user(tmp_path: Path) -> None:
    text = transformed(tmp_path, program())
    assert _alone(text)
    assert "holds while no other message has tag 0 and no receive takes any tag\n" in text


def test_what_is_written_in_place_keeps_its_messages_apart(tmp_path: Path) -> None:
    """Nothing is proved again there when another file gets a receive of any tag."""
    file = tmp_path / "program.f90"
    file.write_text(program(), encoding="utf-8")
    (change,) = Project(file).outcome(in_place=True).changes
    assert not _alone(change.after.decode())
    assert main(["apply", "--in-place", str(file)]) == 0
    assert file.read_bytes() == change.after


@pytest.mark.parametrize("number", [1, "2 + 3"])
def test_messages_with_other_tags_match_nothing(number: object, tmp_path: Path) -> None:
    more = SEND.format(to="mod(me+1,np)", tag=number) + RECEIVE.format(tag=number)
    assert _alone(transformed(tmp_path, program(declare=OTHER, before=more)))


@pytest.mark.parametrize("what", MEETING)
def test_what_could_meet_the_messages_keeps_them_apart(what: str, tmp_path: Path) -> None:
    assert not _alone(transformed(tmp_path, program(declare=OTHER, before=MEETING[what])))


def test_a_part_of_a_program_keeps_its_messages_apart(tmp_path: Path) -> None:
    text = program().replace("program ", "subroutine ")
    assert not _alone(transformed(tmp_path, text))


def test_a_large_program_is_not_read_for_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_messages, "LOOKED_THROUGH", 10)
    assert not _alone(transformed(tmp_path, program()))


def test_no_message_travels_on_the_communicator_of_the_user(tmp_path: Path) -> None:
    """A receive of the user with MPI_ANY_TAG would swallow it."""
    text = transformed(tmp_path, program(declare=OTHER, before=RECEIVE.format(tag="MPI_ANY_TAG")))
    assert not _alone(text)
