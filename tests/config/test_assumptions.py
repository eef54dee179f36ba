"""What is assumed: by whom it is accepted, what it proves, and where it is listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from asphalt.cli.main import main
from asphalt.config.assumptions import CONTROL, PURE, folded, is_accepted, of_kind
from asphalt.config.errors import UsageError
from asphalt.report.json import SCHEMA
from asphalt.report.text import site_details, site_lines
from support.judging import CALL, NEST, SETTINGS, program, project, site

TWO_CALLS = {  # another call of the operation, and a way to this one that nobody can see through
    "declare": "logical :: often\n",
    "before": "read *, often\nif (often) then\n",
    "after": "end if\n" + CALL,
}
INNERMOST = "do z = 1, nz\n  s(1,z,1) = sin(dble(z))\nend do\n"
UNKNOWN_CALL = """\
do z = 1, nz
  do p = 1, np
    call work(s(:,z,p), z)
  end do
end do
"""


def accepting(*names: str):  # type: ignore[no-untyped-def]
    return replace(SETTINGS, assume=frozenset(names))


def test_names_of_assumptions() -> None:
    assert folded("Control") == "control"
    assert folded("PURE: Fft@ Main_1") == "pure:fft@main_1"
    assert folded("bits@Sum_up:12") == "bits@sum_up:12"
    for text in (
        "",
        "luck",
        "control:x",
        "pure",
        "uniform:n",
        "uniform",
        "pure:1x",
        "bits@",
        "bits@a:",
    ):
        with pytest.raises(UsageError):
            folded(text)
    accepted = {"control@a", "pure:f", "pure:g@a"}
    assert is_accepted("control", accepted, "a")
    assert not is_accepted("control", accepted, "b")
    assert of_kind(PURE, accepted) == {"f"}
    assert of_kind(PURE, accepted, "a") == {"f", "g"}
    assert of_kind(CONTROL, accepted, "a") == {""}


CASES = {
    "control": program(**TWO_CALLS),
    "bits": program(
        arrays="real(8), allocatable :: s(:,:), r(:,:)\n",
        allocate="allocate(s(nz,np), r(nz,np))\n",
        nest="do p = 1, np\n  do z = 1, 1\n  end do\nend do\n"
        "do z = 1, nz\n  s(z,1:np) = sin(dble(z))\nend do\n",
        call="call MPI_Alltoall(s, nz, MPI_DOUBLE_PRECISION, r, nz, MPI_DOUBLE_PRECISION, &\n"
        "                  MPI_COMM_WORLD, ierr)\n",
    ),
    "pure:work": program(nest=UNKNOWN_CALL),
}


@pytest.mark.parametrize("needed", CASES)
def test_each_level(needed: str, tmp_path: Path) -> None:
    """Assumed where nobody accepts it; transformed where an option or a directive does."""
    text = CASES[needed]
    found = project(tmp_path, text)
    (first, *_) = found.sites()
    assert (first.verdict, first.report.assumptions) == ("assumed", (needed,)), first.report
    assert first.report.accepted == ()
    assert found.transform() == ()

    for accepted in (needed, f"{needed}@{first.name}"):
        change = project(tmp_path, text, settings=accepting(accepted)).transform()[0]
        assert f"! asphalt: assumed: {needed}\n".encode() in change.after
        assert change.sites[0].accepted == (needed,)
    assert project(tmp_path, text, settings=accepting(f"{needed}@elsewhere")).transform() == ()

    kind, _, name = needed.partition(":")
    clause = f"assume({kind}: {name})" if name else f"assume({kind})"
    said = text.replace("  call MPI_Alltoall", f"  !$asphalt {clause}\n  call MPI_Alltoall", 1)
    assert said != text
    change = project(tmp_path, said).transform()[0]
    assert f"! asphalt: assumed: {needed}\n".encode() in change.after
    assert f"  !$asphalt {clause}\n".encode() in change.after  # it is kept
    assert change.sites[0].accepted == (needed,)


def test_a_line_says_how_to_accept(tmp_path: Path) -> None:
    report = site(tmp_path, CASES["control"]).report
    assert site_lines([report])[0].plain.endswith(" with --assume control")
    details = "\n".join(line.plain for line in site_details(report))
    assert "assumed: control, not accepted: Whether, and how often" in details
    assert f"--assume control@{report.id}: here only" in details
    assert "`!$asphalt assume(control)`" in details
    accepted = site(tmp_path, CASES["control"], settings=accepting("control")).report
    assert site_lines([accepted])[0].plain.endswith(" (assuming control)")


def test_scan_and_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.f90").write_text(CASES["pure:work"])
    quiet = ("--no-cache", "-j1")
    assert main(["scan", "a.f90", *quiet]) == 0
    assert "assumed  ASP703" in capsys.readouterr().out
    assert main(["scan", "a.f90", "--check", *quiet]) == 1
    assert main(["apply", "a.f90", "-o", "out", *quiet]) == 0
    assert Path("out/a.f90").read_text() == CASES["pure:work"]
    capsys.readouterr()
    options = ("--assume", "pure:WORK", "--format", "json")
    assert main(["apply", "a.f90", "-o", "out", *options, *quiet]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    (one,) = report["sites"]
    assert (one["verdict"], one["assumptions"], one["accepted"]) == (
        "applied",
        ["pure:work"],
        ["pure:work"],
    )


def test_what_is_not_assumed(tmp_path: Path) -> None:
    """A procedure that gets an element may go through the whole array, and one that is known to
    print is not taken for silent by itself."""
    element = program(nest=UNKNOWN_CALL.replace("s(:,z,p)", "s(1,z,p)"))
    assert site(tmp_path, element).verdict == "refused"
    printing = "subroutine work(a, z)\n  real(8) :: a(:)\n  print *, z\n  a = z\nend subroutine\n"
    assert site(tmp_path, program(nest=UNKNOWN_CALL, contained=printing)).report.code == "ASP701"
    vector = program(
        declare="integer :: idx(8)\n", nest=UNKNOWN_CALL.replace("s(:,z,p)", "s(:,idx,z)")
    )
    assert site(tmp_path, vector, settings=accepting("pure:work")).verdict == "refused"


def test_the_user_knows_better(tmp_path: Path) -> None:
    """A procedure whose source prints is silent if the user says so."""
    printing = (
        "subroutine work(a, z)\n  real(8) :: a(:)\n  integer :: z\n"
        "  if (z < 0) print *, z\n  a = z\nend subroutine\n"
    )
    text = program(nest=UNKNOWN_CALL, contained=printing)
    assert site(tmp_path, text, settings=accepting("pure:work")).report.accepted == ("pure:work",)


UNIFORM = program(
    declare="integer :: m\n",
    before="read *, m\n",
    nest=NEST.replace("z = 1, nz", "z = 1, m"),
    call=CALL.replace("n*nz", "n*m"),
    allocate="allocate(s(n,8,np), r(n,8,np))\n",
)


def test_an_assumed_value_needs_no_agreement(tmp_path: Path) -> None:
    before = site(tmp_path, UNIFORM)
    assert "the ranks agree on the sizes" in " ".join(before.report.evidence)
    for where in ("  do z = 1, m", "  call MPI_Alltoall", "  integer :: m"):
        said = UNIFORM.replace(where, f"  !$asphalt assume(uniform: M)\n{where}", 1)
        assert said != UNIFORM
        after = site(tmp_path, said).report
        assert (after.verdict, after.accepted) == ("assumed", ("uniform:m",)), where
        assert "all sizes are proved equal" in " ".join(after.evidence)
        (change,) = project(tmp_path, said).transform()
        assert b"! asphalt: assumed: uniform:m\n" in change.after


OFTEN = "!$asphalt assume(uniform: often)\n"
CONDITION = {
    **TWO_CALLS,
    "before": "read *, often\n" + OFTEN + "if (often) then\n",
}


def test_an_assumed_condition_proves_the_way(tmp_path: Path) -> None:
    assert site(tmp_path, program(**CONDITION)).report.accepted == ("uniform:often",)


@pytest.mark.parametrize(
    ("before", "assumed"),
    [
        (OFTEN + "if (.true.) then\nif (often) then\n", True),
        (OFTEN + "read *, often\nif (often) then\n", False),
        (
            "if (me < 0) then\n" + OFTEN + "p = 1\nend if\nif (often) then\n",
            False,
        ),
        (
            "if (me < 0) goto 10\n" + OFTEN + "p = 1\n10 if (often) then\n",
            False,
        ),
        ("do p = 1, 2\n" + OFTEN + "if (often) then\n", True),
        (OFTEN + "do p = 1, 2\nif (often) then\nread *, often\n", False),
        (OFTEN + "i = 1\ncall other\nif (often) then\n", False),
    ],
)
def test_how_far_an_assumed_value_reaches(before: str, assumed: bool, tmp_path: Path) -> None:
    extra = before.count("then\n") + before.count("do p") - before.count("end if")
    closing = {2: "end if\nend if\n", 1: "end if\n"}[extra]
    if "do p" in before:
        closing = "end if\nend do\n"
    parts = {**TWO_CALLS, "before": "read *, often\n" + before, "after": closing + CALL}
    contained = "subroutine other\n  read *, often\nend subroutine\n" if "other" in before else ""
    report = site(tmp_path, program(**parts, contained=contained)).report
    assert ("uniform:often" in report.assumptions) == assumed, report


def test_tile_and_depth_of_a_site(tmp_path: Path) -> None:
    text = program(nest=f"!$asphalt tile(3)\n{NEST}", call=f"!$asphalt depth(7)\n{CALL}")
    found = project(tmp_path, text, settings=replace(SETTINGS, tile=2, depth=2))
    for tile in (None, 5):
        (change,) = found.transform(tile=tile)
        (parameter,) = change.parameters
        assert (parameter.tile, parameter.depth) == (3, 7)
    (change,) = found.transform(tile=5, trial=True)
    assert (change.parameters[0].tile, change.parameters[0].depth) == (5, 7)
    assert b"!$asphalt tile(3)\n" in change.after
    assert b"!$asphalt depth(7)\n" in change.after


def test_directives_of_the_whole_unit(tmp_path: Path) -> None:
    text = program(declare="!$asphalt tile(3), depth(2)\ninteger :: unused\n")
    (change,) = project(tmp_path, text).transform()
    assert (change.parameters[0].tile, change.parameters[0].depth) == (3, 2)
    nearer = text.replace("  call MPI_Alltoall", "  !$asphalt tile(5)\n  call MPI_Alltoall")
    (change,) = project(tmp_path, nearer).transform()
    assert (change.parameters[0].tile, change.parameters[0].depth) == (5, 2)
    skipped = program(declare="!$asphalt skip\ninteger :: unused\n")
    assert site(tmp_path, skipped).verdict == "skipped"
