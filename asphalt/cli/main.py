"""The ``asphalt`` command: its subcommands, errors and exit codes.

Exit codes: 0 done; 1 a check found something; 2 bad usage or input (one line on stderr); 130
interrupted; 141 the reader of the output closed it; 128 + N ended by signal N.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from asphalt import __version__
from asphalt.cli.signals import SignalledError, signals_raised
from asphalt.config.errors import AsphaltError
from asphalt.support.garbage_collection import rare_collections

COMMANDS = (
    *("scan", "explain", "diff", "apply", "verify", "calibrate", "simulate", "mk"),
    *("doctor", "fc"),
)

EXIT_USAGE = 2
EXIT_INTERRUPTED = 128 + 2
EXIT_BROKEN_PIPE = 128 + 13


_COLOURS: dict[str, dict[str, str]] = {
    "auto": {},
    "always": {"FORCE_COLOR": "1"},
    "never": {"NO_COLOR": "1", "FORCE_COLOR": ""},
}


class Subcommands(click.Group):
    """The subcommands; each is imported when it is called, so that ``mk`` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; the error for an unknown name says which commands are like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], COMMANDS, n=2)
            if not near or "Did you mean" in error.message:  # which newer versions of click say
                raise
            advice = f"{error.message} Did you mean {' or '.join(near)}?"
            raise click.UsageError(advice, ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"asphalt.cli.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None


@click.group(
    cls=Subcommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="asphalt", message="%(prog)s %(version)s")
@click.option("-q", "--quiet", is_flag=True, help="Print results and errors alone, no notes.")
@click.option(
    "--color",
    type=click.Choice(tuple(_COLOURS)),
    default="auto",
    show_default=True,
    help="Colour: auto is on a terminal alone (NO_COLOR and FORCE_COLOR count).",
)
def asphalt(quiet: bool, color: str) -> None:
    """Make the communication of Fortran MPI programs overlap their computation, by proof.

    asphalt leaves what it cannot prove as it was, byte for byte, and says why.  It takes the PATHs
    of a command, files and trees, together for the whole program: its proofs rest on that.

    Exit codes: 0 done; 1 a check found something; 2 bad usage or input; 130 interrupted.
    """
    os.environ.update(_COLOURS[color])  # which rich reads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit code."""
    try:
        with signals_raised():
            outcome = asphalt.main(arguments, prog_name="asphalt", standalone_mode=False)
            sys.stdout.flush()
    except click.exceptions.Abort:
        return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except SignalledError as error:
        print(f"asphalt: ended by {error}; no file is half written", file=sys.stderr)
        return 128 + error.number
    except click.ClickException as error:
        return _failed(_usage(error))
    except AsphaltError as error:
        return _failed(str(error))
    except BrokenPipeError:
        # The rest of the buffer has no reader, and must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.filename is None:
            raise
        return _failed(f"{error.filename}: {error.strerror}; check the path and its permissions")
    return outcome if isinstance(outcome, int) else 0


def _usage(error: click.ClickException) -> str:
    """A usage error in one line, with the command whose --help explains more."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "asphalt"
    return f"{error.format_message()} See '{path} --help'."


def _failed(message: str) -> int:
    # File names may hold bytes that are not text in this locale.
    line = " ".join(f"asphalt: error: {message}".splitlines())
    encoding = sys.stderr.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
    return EXIT_USAGE


def _interrupted() -> int:
    print("asphalt: interrupted; no file is half written", file=sys.stderr)
    return EXIT_INTERRUPTED


_DEEPEST = 3000
"""Calls within calls: what a program does is followed along its chains of calls."""


def run() -> None:
    """The entry point of the installed command."""
    sys.setrecursionlimit(max(_DEEPEST, sys.getrecursionlimit()))
    with rare_collections():
        code = main()
    gc.freeze()  # the process ends: nobody needs the memory
    raise SystemExit(code)
