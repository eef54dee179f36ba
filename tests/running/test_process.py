"""Commands of the user: filled in, run, and stopped when they hang."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.config.errors import UsageError
from asphalt.running.process import CommandResult, fill, run


def test_places_are_filled() -> None:
    values = {"sources": ["a.f90", "b c.f90"], "exe": "./x"}
    assert fill("mpif90 -O2 {sources} -o {exe}", values) == [
        "mpif90", "-O2", "a.f90", "b c.f90", "-o", "./x"
    ]  # fmt: skip
    assert fill("make 'EXE={exe}' \"S={sources}\"", values) == [
        "make", "EXE=./x", "S=a.f90 b c.f90"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "message"),
    [("cc {source}", "is not a placeholder"), ("cc 'a", "No closing quotation"), (" ", "empty")],
)
def test_bad_templates(template: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(template, {"sources": [], "exe": "x"})


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_value_stays_one_word(value: str) -> None:
    """Names with spaces, quotes or braces are no syntax."""
    assert fill("run {exe} -x={exe}", {"exe": value}) == ["run", value, f"-x={value}"]


def test_a_run_gives_output_and_status(tmp_path: Path) -> None:
    program = "import sys, os; print(os.getcwd()); print('e', file=sys.stderr); sys.exit(3)"
    assert run([sys.executable, "-c", program], tmp_path, 60) == CommandResult(
        3, f"{tmp_path}\n".encode(), b"e\n"
    )


def test_the_environment_is_only_the_commands(tmp_path: Path) -> None:
    program = "import os; print(os.environ['OMPI_MCA_rmaps_base_oversubscribe'])"
    before = dict(os.environ)
    assert run([sys.executable, "-c", program], tmp_path, 60).stdout == b"1\n"
    assert dict(os.environ) == before


def test_what_hangs_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    """A launcher's children in process groups of their own are stopped too."""
    program = (
        "import os, signal, sys\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.setpgid(0, 0)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"  # in one piece, beside the other's
        "signal.pause()\n"
    )
    outcome = run([sys.executable, "-c", program], tmp_path, 10)
    assert outcome.status is None
    pids = [int(word) for word in outcome.stdout.split()]
    assert len(pids) == 2
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_cannot_be_started_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        run(["./no-such-program"], tmp_path, 60)
