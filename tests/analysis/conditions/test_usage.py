"""Findings: errors in messages and requests are told where they are proved, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from support.judging import Case, program, project

WORLD = "MPI_COMM_WORLD"
REAL = "MPI_DOUBLE_PRECISION"
DECLARED = """\
integer :: request, other, requests(4), k, neighbour
logical :: done
real(8) :: a(4), b(4)
"""
WAIT = "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
ONWARD = "modulo(me + 1, np)"


def isend(request: str = "request", tag: str = "1", count: str = "4", kind: str = REAL) -> str:
    return f"call MPI_Isend(a, {count}, {kind}, {ONWARD}, {tag}, {WORLD}, {request}, ierr)\n"


def irecv(request: str = "request") -> str:
    return f"call MPI_Irecv(b, 4, {REAL}, {ONWARD}, 1, {WORLD}, {request}, ierr)\n"


def send(to: str = ONWARD, tag: str = "1", count: str = "4", kind: str = REAL) -> str:
    return f"call MPI_Send(a, {count}, {kind}, {to}, {tag}, {WORLD}, ierr)\n"


def recv(source: str = ONWARD, tag: str = "1", count: str = "4", kind: str = REAL) -> str:
    return (
        f"call MPI_Recv(b, {count}, {kind}, {source}, {tag}, {WORLD}, &\n"
        "              MPI_STATUS_IGNORE, ierr)\n"
    )


def transfer(text: str, contained: str = "", beside: str = "") -> str:
    """A program that does this instead of an exchange between all ranks."""
    return program(
        declare=DECLARED,
        before="a = me\nr = 0\nneighbour = 0\n",
        nest="",
        call=text,
        contained=contained,
        beside=beside,
    )


KEPT = """\
module kept
  use mpi
  implicit none
  type pair
    integer :: one{one}
    integer :: both(2){both}
  end type
end module
subroutine finish()
  use kept
  type(pair) :: pairs
  integer :: ierr
  call MPI_Wait(pairs%one, MPI_STATUS_IGNORE, ierr)
  call MPI_Waitall(2, pairs%both, MPI_STATUSES_IGNORE, ierr)
end subroutine
"""
NULL = " = MPI_REQUEST_NULL"
LOOP = "do k = 1, np\n{}end do\n"


def case(code: str, name: str, text: str) -> Case:
    return Case(code, name, transfer(text), program(), verdict="finding")


CASES = (
    case("ASP030", "never", isend()),
    case("ASP031", "of-another", isend() + WAIT + WAIT.replace("request,", "other,")),
    case("ASP032", "blocking", send(tag="1") + recv(tag="2")),
    case("ASP033", "too-long", send() + recv(count="3")),
    case("ASP034", "own-rank", recv("me") + send("me")),
)

MORE = (
    case("ASP030", "in-a-loop", LOOP.format(isend()) + WAIT),
    case("ASP030", "twice", isend() + irecv() + WAIT),
    case("ASP030", "in-a-loop-backwards", f"do k = 5, 1, -2\n{isend()}end do\n{WAIT}"),
    case("ASP030", "stopped-behind-the-end", f"{isend()}call MPI_Finalize(ierr)\nstop\n"),
    case(
        "ASP030",
        "one-of-two",
        isend("requests(1)")
        + irecv("requests(2)")
        + "call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierr)\n",
    ),
    case("ASP030", "never-under-a-condition", f"if (np > 1) then\n{isend()}end if\n"),
    case("ASP030", "a-wait-before", f"request = MPI_REQUEST_NULL\n{WAIT}{isend()}"),
    case("ASP031", "nothing-started", WAIT),
    case(
        "ASP032",
        "of-a-sendrecv",
        f"call MPI_Sendrecv(a, 4, {REAL}, {ONWARD}, 1, b, 4, {REAL}, {ONWARD}, 2, {WORLD}, &\n"
        "                  MPI_STATUS_IGNORE, ierr)\n",
    ),
    case("ASP032", "nobody-sends", recv(tag="2")),
    case(
        "ASP032",
        "from-a-rank-where-others-receive-from-nobody",
        f"neighbour = me + 1\nif (neighbour == np) neighbour = 0\n{recv('neighbour', '2')}"
        + f"k = MPI_PROC_NULL\n{send('k')}{recv('k')}",
    ),
    case(
        "ASP032",
        "prepared-and-started",
        f"call MPI_Recv_init(b, 4, {REAL}, {ONWARD}, 2, {WORLD}, request, ierr)\n"
        f"call MPI_Start(request, ierr)\n{send()}{WAIT}",
    ),
    case("ASP032", "computed-tags", f"k = 3\n{send(tag='k + 1')}{recv(tag='k')}"),
    case("ASP033", "another-type", send(kind="MPI_INTEGER", count="8") + recv()),
    case("ASP033", "another-kind", send(kind="MPI_REAL", count="4") + recv()),
    case("ASP034", "own-rank-by-number", f"if (me == 0) then\n{recv('0')}{send('0')}end if\n"),
)

SILENT = {
    "completed": transfer(isend() + WAIT),
    "the-same-type-by-another-name": transfer(send(kind="MPI_REAL8") + recv()),
    "on-one-branch": transfer(f"{isend()}if (np > 1) {WAIT}"),
    "a-flag-decides": transfer(f"{isend()}call MPI_Test(request, done, MPI_STATUS_IGNORE, ierr)\n"),
    "freed": transfer(f"{isend()}call MPI_Request_free(request, ierr)\n"),
    "one-of-several": transfer(
        isend("requests(1)")
        + "requests(2:) = MPI_REQUEST_NULL\n"
        + "call MPI_Waitany(4, requests, k, MPI_STATUS_IGNORE, ierr)\n"
    ),
    "some": transfer(
        isend("requests(1)")
        + "requests(2:) = MPI_REQUEST_NULL\n"
        + "call MPI_Waitsome(4, requests, k, requests, MPI_STATUSES_IGNORE, ierr)\n"
    ),
    "wait-for-a-null-request": transfer(f"request = MPI_REQUEST_NULL\n{WAIT}"),
    "components-that-begin-null": transfer("", beside=KEPT.format(one=NULL, both=NULL)),
    "wait-for-none-of-them": transfer(
        "k = 0\ncall MPI_Waitall(k, requests, MPI_STATUSES_IGNORE, ierr)\n"
    ),
    "one-iteration": transfer(f"do k = 3, 3\n{isend()}end do\n{WAIT}"),
    "one-iteration-by-the-step": transfer(f"do k = 1, 3, 5\n{isend()}end do\n{WAIT}"),
    "one-iteration-at-most": transfer(f"do k = 1, min(1, np)\n{isend()}end do\n{WAIT}"),
    "one-iteration-downwards": transfer(f"do k = np, max(np, 3), -1\n{isend()}end do\n{WAIT}"),
    "one-iteration-of-its-own": transfer(f"do k = np, np\n{isend()}end do\n{WAIT}"),
    "from-a-value-to-the-same": transfer(
        f"r = 1\nneighbour = me\ndo k = neighbour, me\n{isend()}end do\n{WAIT}"
    ),
    "from-one-variable-to-another": transfer(
        f"read *, neighbour\ndo k = neighbour, np\n{isend()}end do\n{WAIT}"
    ),
    "a-step-that-is-not-known": transfer(f"do k = 1, 10, np\n{isend()}end do\n{WAIT}"),
    "waited-for-in-the-next-iteration": transfer(
        LOOP.format(f"if (k > 1) {WAIT}{isend()}") + WAIT,
    ),
    "copied": transfer(f"{isend()}other = request\n{WAIT.replace('request,', 'other,')}"),
    "aborted": transfer(f"{isend()}call MPI_Abort({WORLD}, 1, ierr)\n"),
    "stopped": transfer(f"{isend()}stop\n"),
    "stopped-before-the-end-or-behind-it": transfer(
        f"{isend()}if (np > 9) call MPI_Finalize(ierr)\nif (np > 1) stop\n{WAIT}"
    ),
    "exclusive-starts": transfer(
        f"if (me == 0) then\n{isend()}else\n{irecv()}end if\n{WAIT}",
    ),
    "by-a-procedure": transfer(
        f"{isend()}call finish()\n", contained=f"subroutine finish()\n{WAIT}end subroutine\n"
    ),
    "for-the-caller": transfer(
        "call start(a, request)\n" + WAIT,
        beside="""
        subroutine start(a, request)
          use mpi
          implicit none
          real(8), asynchronous :: a(4)
          integer, intent(out) :: request
          integer :: ierr
          call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)
        end subroutine
        """,
    ),
    "kept-until-the-next-call": transfer(
        "call pass(a)\n",
        beside="""
        subroutine pass(a)
          use mpi
          implicit none
          real(8) :: a(4)
          integer, save :: request = MPI_REQUEST_NULL
          integer :: ierr
          call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
          call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)
        end subroutine
        """,
    ),
    "in-a-module": transfer(
        "",
        beside="""
        module kept
          use mpi
          integer :: request
        contains
          subroutine start(a)
            real(8) :: a(4)
            integer :: ierr
            call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)
          end subroutine
          subroutine finish()
            integer :: ierr
            call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
          end subroutine
        end module
        """,
    ),
    "exclusive-starts-for-the-caller": transfer(
        "",
        beside="""
        subroutine start(a, first, second, request)
          use mpi
          implicit none
          real(8), asynchronous :: a(4)
          logical, intent(in) :: first, second
          integer, intent(inout) :: request
          integer :: ierr
          integer, parameter :: world = MPI_COMM_WORLD
          if (first) call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 0, 1, world, request, ierr)
          if (second) call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, 1, 1, world, request, ierr)
        end subroutine
        """,
    ),
    "persistent": transfer(
        f"call MPI_Send_init(a, 4, {REAL}, {ONWARD}, 1, {WORLD}, request, ierr)\n"
        + LOOP.format(f"call MPI_Start(request, ierr)\n{recv()}{WAIT}")
        + "call MPI_Request_free(request, ierr)\n"
    ),
    "tag-of-a-persistent-send": transfer(
        f"call MPI_Send_init(a, 4, {REAL}, {ONWARD}, 2, {WORLD}, request, ierr)\n"
        f"call MPI_Start(request, ierr)\n{recv(tag='2')}{WAIT}{send(tag='1')}"
    ),
    "any-tag": transfer(send(tag="1") + recv(tag="MPI_ANY_TAG")),
    "a-tag-that-is-not-known": transfer(f"read *, k\n{send(tag='k')}{recv(tag='2')}"),
    "nowhere": transfer(send(tag="1") + recv(source="MPI_PROC_NULL", tag="2")),
    "nowhere-by-a-variable": transfer(
        f"neighbour = MPI_PROC_NULL\n{send()}{recv('neighbour', '2')}"
    ),
    "perhaps-nowhere": transfer(
        f"neighbour = me - 1\nif (me == 0) neighbour = MPI_PROC_NULL\nk = neighbour\n"
        f"{send()}{recv('k', '2')}"
    ),
    "perhaps-nowhere-by-a-function": transfer(
        f"neighbour = merge(MPI_PROC_NULL, me - 1, me == 0)\n{send()}{recv('neighbour', '2')}"
    ),
    "perhaps-nowhere-on-a-grid": transfer(
        f"call MPI_Cart_create({WORLD}, 1, [np], [.false.], .true., other, ierr)\n"
        f"call MPI_Cart_shift(other, 0, 1, neighbour, k, ierr)\n{send()}{recv('neighbour', '2')}"
    ),
    "perhaps-nowhere-for-the-caller": transfer(
        f"{send()}call take(MPI_PROC_NULL)\n",
        contained=f"subroutine take(source)\ninteger :: source\n{recv('source', '2')}"
        "end subroutine\n",
    ),
    "cancelled": transfer(
        f"{send()}{irecv().replace(', 1, MPI', ', 2, MPI')}call MPI_Cancel(request, ierr)\n{WAIT}"
    ),
    "prepared-and-never-started": transfer(
        f"call MPI_Recv_init(b, 4, {REAL}, {ONWARD}, 2, {WORLD}, request, ierr)\n"
        f"{send()}call MPI_Request_free(request, ierr)\n"
    ),
    "prepared-and-perhaps-started": transfer(
        f"call MPI_Recv_init(b, 4, {REAL}, {ONWARD}, 2, {WORLD}, request, ierr)\n"
        f"if (np < 0) then\ncall MPI_Start(request, ierr)\n{WAIT}end if\n{send()}"
        "call MPI_Request_free(request, ierr)\n"
    ),
    "somebody-else-may-send": transfer(send(tag="1") + "call elsewhere(a)\n" + recv(tag="2")),
    "a-send-that-the-preprocessor-removes": transfer(
        f"{send(tag='1')}#ifdef OTHER\n{send(tag='2')}#endif\n{recv(tag='2')}"
    ),
    "a-send-of-an-openmp-line": transfer(f"{send(tag='1')}!$ {send(tag='2')}{recv(tag='2')}"),
    "a-parent-sends": transfer(
        f"call MPI_Comm_get_parent(other, ierr)\n{send(tag='1')}{recv(tag='2')}"
    ),
    "shorter": transfer(send(count="2") + recv()),
    "one-of-the-sends-fits": transfer(send() + send(count="2") + recv(count="3")),
    "bytes": transfer(send(kind="MPI_BYTE", count="24") + recv(count="3")),
    "other-names-of-a-type": transfer(send(kind="MPI_REAL8") + recv()),
    "own-rank-after-a-send": transfer(send("me") + recv("me")),
    "own-rank-after-a-start": transfer(
        isend().replace(ONWARD, "me") + recv("me") + WAIT,
    ),
    "own-rank-in-a-loop": transfer(LOOP.format(f"if (k > 1) {recv('me')}{send('me')}")),
    "own-rank-of-another-communicator": transfer(
        f"call MPI_Comm_split({WORLD}, 0, -me, other, ierr)\ncall MPI_Comm_rank(other, k, ierr)\n"
        + recv("k")
        + send("k"),
    ),
    "own-rank-after-a-call": transfer(f"call elsewhere(a)\n{recv('me')}{send('me')}"),
}


def codes(tmp_path: Path, text: str, suffix: str = ".f90") -> list[str | None]:
    return [report.code for report in project(tmp_path, text, suffix).findings]


WIDE = [pytest.param(case, marks=pytest.mark.wide) for case in MORE]


@pytest.mark.parametrize("case", [*CASES, *WIDE], ids=str)
def test_found(case: Case, tmp_path: Path) -> None:
    found = project(tmp_path, case.refused)
    (report,) = found.findings
    assert (report.verdict, report.code) == ("finding", case.code), report
    assert report.message
    assert report.witness
    assert {mark.role for mark in report.marks} >= {"exchange", "offending"}


QUICK = {
    "on-one-branch", "freed", "one-of-several", "kept-until-the-next-call", "in-a-module",
    "somebody-else-may-send", "own-rank-after-a-start", "components-that-begin-null",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.wide) for n in SILENT]
)
def test_silent(name: str, tmp_path: Path) -> None:
    assert codes(tmp_path, SILENT[name], ".F90") == []


def test_components_without_a_first_value(tmp_path: Path) -> None:
    assert codes(tmp_path, transfer("", beside=KEPT.format(one="", both=NULL))) == ["ASP031"]


@pytest.mark.parametrize(
    ("last", "condition"), [("np", ", if the loop of line 19 has a second iteration"), ("4", "")]
)
def test_which_loop_decides(last: str, condition: str, tmp_path: Path) -> None:
    text = transfer(f"do k = 1, {last}\n{isend()}end do\n{WAIT}")
    (report,) = project(tmp_path, text).findings
    reason = "the request is used again before the operation is complete"
    assert report.message == reason + condition


def test_a_directive_says_what_completes_it(tmp_path: Path) -> None:
    text = transfer(f"!$asphalt match(one)\n{isend()}!$asphalt match(one)\n{WAIT}")
    assert codes(tmp_path, text) == []


def test_scan_lists_findings_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.f90"
    path.write_text(transfer(isend()))
    options = [str(path), "--no-cache", "--jobs", "1"]
    assert main(["scan", *options]) == 0
    told = capsys.readouterr()
    assert "finding  ASP030" in told.out
    assert "no exchange found; 1 finding" in told.err
    assert main(["scan", "--all", "--check", *options]) == 1
    told = capsys.readouterr()
    assert "ASP030" in told.out
    assert "ASP011" not in told.out
    assert main(["scan", "--format", "github", *options]) == 0
    assert capsys.readouterr().out.startswith("::warning file=")
    assert main(["explain", f"{path}:19", "--no-cache", "--jobs", "1"]) == 0
    assert "an operation that nothing completes" in capsys.readouterr().out


def test_the_site_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocking receive could be started early; but the program is wrong."""
    work = "do k = 1, 4\n  a(k) = sin(dble(k))\nend do\n"
    wrong = tmp_path / "wrong.f90"
    wrong.write_text(transfer(send(tag="1") + recv(tag="2") + work))
    right = tmp_path / "right.f90"
    right.write_text(transfer(send(tag="2") + recv(tag="2") + work))
    passes = ["--passes", "nonblocking,motion", "--no-cache", "--jobs", "1"]
    assert main(["diff", str(right), *passes]) == 0
    told = capsys.readouterr()
    assert "asphalt_irecv" in told.out
    assert "motion: the wait of" in told.err
    assert main(["diff", str(wrong), *passes]) == 0
    assert capsys.readouterr().out == ""
    assert main(["apply", str(wrong), "--output", str(tmp_path / "out"), *passes]) == 0
    assert "ASP032" in capsys.readouterr().out
    assert (tmp_path / "out" / "wrong.f90").read_bytes() == wrong.read_bytes()


def test_all_sends_of_a_line_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "line.f90"
    both = f"{send(tag='1').rstrip()}; {send(tag='2').lstrip()}"
    path.write_text(transfer(both + recv(tag="1") + recv(tag="2")))
    main(["scan", str(path), "--passes", "nonblocking,motion", "--no-cache", "--jobs", "1"])
    assert "ASP032" not in capsys.readouterr().out
