"""The command itself: its version, its help, and what becomes of bad usage."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from asphalt import __version__
from asphalt.cli.main import main

COMMANDS = ("scan", "explain", "diff", "apply", "verify", "calibrate", "mk")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"asphalt {__version__}\n"


def test_python_m_asphalt() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "asphalt", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"asphalt {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Usage: asphalt {command}" in capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {command} " in text for command in COMMANDS)


@pytest.mark.parametrize(
    ("words", "offered"), [("asphalt sc", "plain,scan"), ("asphalt scan --all", "plain,--all")]
)
def test_shells_complete(words: str, offered: str) -> None:
    """As the page of the commands says; click does it."""
    count = str(len(words.split()) - 1)
    variables = {"_ASPHALT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    done = subprocess.run(
        [sys.executable, "-c", "from asphalt.cli.main import run; run()"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert offered in done.stdout.splitlines()


def test_mk_prints_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mk"]) == 0
    path = Path(capsys.readouterr().out.removesuffix("\n"))
    assert "ASPHALT_SOURCES" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["scan"], "Missing argument 'PATH...'"),
        (["scan", "--frobnicate", "."], "No such option"),
        (["scan", "--jobs", "0", "."], "--jobs"),
        (["scan", "--format", "xml", "."], "--format"),
        (["scan", "--line-length", "10", "."], "--line-length"),
        (["scan", "-D", "1X", "."], "-D 1X"),
        (["scan", "no/such/path"], "no/such/path: no such file or directory"),
        (["scan", "--config", "no/such.toml", "."], "no/such.toml"),
        (["apply", "."], "--output DIR or --in-place"),
        (["apply", ".", "--in-place", "--output", "x"], "--output DIR or --in-place"),
        (["apply", ".", "--in-place", "--root", "."], "need --output"),
        (["apply", ".", "--output", "x", "--tile", "-1"], "--tile"),
        (["apply", ".", "--output", "x", "--tile", "four"], "--tile"),
        (["apply", ".", "--output", "x", "--depth", "0"], "--depth"),
        (["diff", ".", "--depth", "1.5"], "--depth"),
        (["verify", ".", "--compile", "x", "--build", "y"], "--build or --compile"),
        (["verify", ".", "--compile", "x", "--ranks", "0"], "--ranks"),
        (["verify", ".", "--compile", "x", "--ranks", "1,,2"], "--ranks"),
        (["verify", ".", "--compile", "x", "--tile", "-1"], "--tile"),
        (["verify", ".", "--compile", "x", "--timeout", "0"], "--timeout"),
        (["explain", "nonsense"], "neither FILE:LINE nor a code"),
        (["explain", "a.f90:0"], "neither FILE:LINE nor a code"),
        (["explain", "no/such.f90:3"], "no/such.f90"),
        (["explain", "ASP000"], "no such code"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("asphalt: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert list(tmp_path.iterdir()) == []


def test_one_configuration_says_what_it_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines in branches of the preprocessor change as they stand: see test_configurations."""
    for command in ("scan", "apply"):
        assert main([command, "--help"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "With other -D it may not compile, or compute something else" in told
        assert "no change stands under a condition" not in told
