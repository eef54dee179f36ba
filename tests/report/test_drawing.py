"""The evidence drawn over the source."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from asphalt.cli.main import main
from asphalt.diagnostics.examples import examples_of
from asphalt.diagnostics.model import MarkReport
from asphalt.report.drawing import BOXES, PLAIN, drawing

SOURCE = b"""\
program p
  do z = 1, n
    s(z) = z
  end do
  s(1) = 0
  call exchange(s, &
                r)
  x = 1
  x = 2
  x = 3
  x = 4
  print *, r
end program p
"""


def mark(line: int, role: str, column: int = 3, end: tuple[int, int] | None = None) -> MarkReport:
    last, last_column = end or (line, 10)
    return MarkReport("p.f90", line, column, last, last_column, role, f"the {role}")


MARKS = (
    mark(2, "producer", end=(4, 8)),
    mark(3, "definition", 5, (3, 12)),
    mark(5, "offending"),
    mark(6, "exchange", end=(7, 18)),
    mark(12, "use", end=(12, 12)),
)

DRAWN = """\
p.f90
  1 |         program p
  2 | +------   do z = 1, n   the producer
  3 | | +----     s(z) = z
    | | |         ~~~~~~~~ the definition
  4 | +-+----   end do
  5 |   |       s(1) = 0
    |   |       ^^^^^^^^ the offending
  6 |   +-+->   call exchange(s, &
    |     |     ~~~~~~~~~~~~~~~~~~ the exchange
  7 |     |                   r)
  8 |     |     x = 1
    :     |
 11 |     |     x = 4
 12 |     +->   print *, r
    |           ~~~~~~~~~~ the use
 13 |         end program p
"""


def plain(marks: tuple[MarkReport, ...], source: bytes) -> str:
    lines = drawing(marks, {"p.f90": source}, PLAIN)
    return "".join(f"{line.plain.rstrip()}\n" for line in lines)


def test_brackets_arrows_and_carets() -> None:
    assert plain(MARKS, SOURCE) == DRAWN


def test_every_definition_leads_to_the_exchange() -> None:
    marks = (mark(3, "definition"), mark(5, "definition"), mark(6, "exchange"))
    drawn = {line[:6].strip(" |+"): line for line in plain(marks, SOURCE).splitlines()}
    assert [drawn[number][5:9] for number in "3456"] == ["+-- ", "|   ", "+-- ", "+-> "]


def test_boxes_stand_where_the_plain_strokes_do() -> None:
    lines = [line.plain for line in drawing(MARKS, {"p.f90": SOURCE}, BOXES)]
    assert [len(line) for line in lines] == [
        len(line.plain) for line in drawing(MARKS, {"p.f90": SOURCE}, PLAIN)
    ]
    assert any("┌" in line and "─" in line for line in lines)


def test_a_long_producer_is_left_out_in_between() -> None:
    source = b"do z = 1, n\n" + b"  x = 1\n" * 40 + b"end do\ncall exchange\n"
    marks = (mark(1, "producer", 1, (42, 6)), mark(43, "exchange", 1, (43, 13)))
    drawn = plain(marks, source).splitlines()
    assert len(drawn) < 12
    assert any(line.split()[0] == ":" for line in drawn)
    assert drawn[1].split()[0] == "1"


def test_tabs_and_what_is_not_ascii_keep_the_carets_in_place() -> None:
    source = "\tx = 'né'; y = 1".encode()
    (row, carets) = plain((mark(1, "offending", 13, (1, 17)),), source).splitlines()[1:]
    start = carets.index("^")
    assert row[start : start + carets.count("^")] == "y = 1"


def test_what_would_move_the_cursor_is_not_shown() -> None:
    drawn = plain((mark(1, "offending", 1, (1, 3)),), b"x\x1b[2J = 1\r\n")
    assert "\x1b" not in drawn
    assert "\r" not in drawn


def test_a_file_that_is_not_given_is_named() -> None:
    assert plain((), b"") == ""
    lines = drawing((mark(3, "path"),), {}, PLAIN)
    assert [line.plain for line in lines] == ["p.f90", "  3: the path"]


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for terminal, no_colour, coloured in (
        (True, False, True),
        (False, False, False),
        (True, True, False),
    ):
        if no_colour:
            monkeypatch.setenv("NO_COLOR", "1")
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=200)
        for line in drawing(MARKS, {"p.f90": SOURCE}):
            console.print(line)
        assert ("\x1b[1;31m" in stream.getvalue() or "\x1b[31m" in stream.getvalue()) is coloured


@pytest.mark.parametrize(
    ("code", "line", "parts"),
    [
        ("ASP601", 15, ["do z = 1, nz   the producer", "^^^^", "first use of r"]),
        ("ASP601", 12, ["defines s"]),  # inside of the producer
        ("ASP601", 16, ["the exchange"]),  # the second line of the call
        ("ASP104", 10, ["do 10 z = 1, nz, 2   the producer"]),  # in fixed form
    ],
)
def test_explain_draws(
    code: str, line: int, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = examples_of(code).refused
    assert main(["explain", "--no-cache", "--jobs", "1", f"{file}:{line}"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "witness: " in out
    for part in parts:
        assert part in out


def test_where_there_is_none_the_nearest_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    file = examples_of("ASP601").refused
    assert main(["explain", "--no-cache", "--jobs", "1", f"{file}:2"]) == 2
    assert "no exchange here; see line 15 (MPI_Alltoall in exchange)" in capsys.readouterr().err


def test_a_proof_is_drawn_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples_of("ASP105").accepted
    assert main(["explain", "--no-cache", "--jobs", "1", f"{file}:20"]) == 0
    out = capsys.readouterr().out
    assert "computes what is packed" in out
    assert "this nest defines s" in out


STRUCTURE = """\
module grids
  type grid
    real(8), allocatable :: u(:,:), s(:,:,:), r(:,:,:)
  end type grid
end module grids
"""
LINES = """\
subroutine smooth(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  x = 2*x
end subroutine smooth
"""
COMPONENTS = """\
subroutine exchange(g, n, nz, np, comm)
  use mpi
  use grids, only: grid
  implicit none
  type(grid), intent(inout) :: g
  integer, intent(in) :: n, nz, np, comm
  integer :: z, ierr
  do z = 1, nz
    call smooth(n, g%u(:,z))
    g%s(:,z,1) = g%u(:,z)
  end do
  call MPI_Alltoall(g%s, n*nz, MPI_DOUBLE_PRECISION, g%r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine exchange
"""


def test_only_definitions_of_the_component_that_is_sent_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "grids.f90").write_text(STRUCTURE)
    (tmp_path / "smooth.f90").write_text(LINES)
    (tmp_path / "exchange.f90").write_text(COMPONENTS)
    where = f"{tmp_path / 'exchange.f90'}:12"
    assert main(["explain", "--no-cache", "--jobs", "1", where, str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    drawn = [lines[n - 1] for n, line in enumerate(lines) if "~ defines g%s" in line]
    assert len(drawn) == 1
    assert "g%s(:,z,1) = g%u(:,z)" in drawn[0]


def test_a_file_alone_lacks_its_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "exchange.f90"
    file.write_text(COMPONENTS)
    assert main(["explain", "--no-cache", "--jobs", "1", f"{file}:12"]) == 0
    said = capsys.readouterr()
    assert "refused" in said.out
    assert "without the modules that it uses (grids): name their files or tree" in said.err


def test_what_scan_all_lists_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    file = examples_of("ASP010").refused
    assert file is not None
    line = next(
        n for n, text in enumerate(file.read_text().splitlines(), 1) if "MPI_Irecv(" in text
    )
    usual = ["--no-cache", "--jobs", "1", "--passes", "prepush"]
    assert main(["explain", *usual, f"{file}:{line}"]) == 0
    assert "MPI_Irecv is completed by line" in capsys.readouterr().out
