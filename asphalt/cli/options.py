"""The options of all subcommands that read source, and the settings made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from asphalt.config.backends import ISEND, backends
from asphalt.config.combining import Combining
from asphalt.config.limits import CLONES, DEPTH, TILE, USUAL_CLONES
from asphalt.config.passes import GROUPS, PASSES
from asphalt.config.settings import Settings, load_settings
from asphalt.config.sizes import Size, size_of
from asphalt.ir.records import record
from asphalt.ir.source import Form

FORMATS = ("text", "json", "sarif", "github")
PATHS = click.Path(path_type=Path)


@record
class CommonOptions:
    """The values of the common options; None and () for options that are not given."""

    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    config: Path | None
    jobs: int | None
    format: str
    cache: bool
    form: Form | None
    width: int | None
    cpp: bool = False
    one_configuration: bool = False
    passes: tuple[str, ...] | None = None
    clone_limit: int | None = None
    backend: tuple[str, ...] | None = None
    sizes: tuple[Size, ...] = ()
    networks: tuple[str, ...] = ()
    least_gain: float | None = None
    combining: Combining | None = None

    def settings(self, path: Path) -> Settings:
        """The settings file at or above ``path``, overridden by the command line."""
        found = load_settings(path if path.is_dir() else path.parent, self.config)
        return replace(
            found,
            defines=(*found.defines, *self.defines),
            include_dirs=(*found.include_dirs, *self.include_dirs),
            jobs=found.jobs if self.jobs is None else self.jobs,
            cache=found.cache and self.cache,
            form=found.form if self.form is None else self.form,
            forms=found.forms if self.form is None else (),
            width=found.width if self.width is None else self.width,
            cpp=found.cpp or self.cpp,
            one_configuration=found.one_configuration or self.one_configuration,
            passes=found.passes if self.passes is None else self.passes,
            clone_limit=found.clone_limit if self.clone_limit is None else self.clone_limit,
            backend=found.backend if self.backend is None else self.backend,
            sizes=(*found.sizes, *self.sizes),
            networks=self.networks or found.networks,
            least_gain=found.least_gain if self.least_gain is None else self.least_gain,
            combining=self.combining or found.combining,
        )


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the common options to a command, which gets them as one argument ``common``."""

    @wraps(command)
    def with_common(
        *args: Any,
        defines: tuple[str, ...],
        include_dirs: tuple[str, ...],
        config: Path | None,
        jobs: int | None,
        format: str,
        no_cache: bool,
        form: str | None,
        width: int | None,
        cpp: bool,
        one_configuration: bool,
        passes: str | None,
        clone_limit: int | None,
        backend: str | None,
        sizes: tuple[str, ...],
        networks: tuple[str, ...],
        least_gain: float | None,
        combining: str | None,
        **kwargs: Any,
    ) -> Any:
        common = CommonOptions(
            defines=defines,
            include_dirs=include_dirs,
            config=config,
            jobs=jobs,
            format=format,
            cache=not no_cache,
            form=None if form is None else Form(form),
            width=width,
            cpp=cpp,
            one_configuration=one_configuration,
            passes=None if passes is None else _listed(passes),
            clone_limit=clone_limit,
            backend=None if backend is None else _listed(backend),
            sizes=tuple(map(size_of, sizes)),
            networks=networks,
            least_gain=least_gain,
            combining=None if combining is None else Combining(combining),
        )
        return command(*args, common=common, **kwargs)

    for option in reversed(_OPTIONS):
        with_common = option(with_common)
    return with_common


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


_OPTIONS = (
    click.option(
        "-D",
        "defines",
        metavar="NAME[=VALUE]",
        multiple=True,
        help="Define a preprocessor macro, as a compiler does.",
    ),
    click.option(
        "-I",
        "include_dirs",
        metavar="DIR",
        multiple=True,
        help="Search DIR for included files, too.",
    ),
    click.option(
        "--config",
        type=PATHS,
        metavar="FILE",
        help="Settings file (else the next asphalt.toml, pyproject.toml or fpm.toml).",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of worker processes (else one for each core).",
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Format of the report: for people, for programs, for forges, as workflow annotations.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of parses."),
    click.option("--free", "form", flag_value="free", help="All files are in free form."),
    click.option("--fixed", "form", flag_value="fixed", help="All files are in fixed form."),
    click.option(
        "--line-length",
        "width",
        type=click.IntRange(min=72),
        metavar="N",
        help="Columns of a source line (else 132 in free form, 72 in fixed form).",
    ),
    click.option(
        "--cpp",
        is_flag=True,
        help="The build preprocesses all files, as with -cpp or -fpp, whatever their suffixes.",
    ),
    click.option(
        "--one-configuration",
        is_flag=True,
        help="What comes out is compiled with these -D alone: changes stand under no #if of their "
        "own, and what the preprocessor removes here is no part of the program; directives of "
        "OpenACC and CUDA Fortran count as comments without -D _OPENACC and -D _CUDA.  With other "
        "-D it may not compile, or compute something else.",
    ),
    click.option(
        "--passes",
        metavar="NAME,...",
        help=f"Transformations to apply, of {', '.join(PASSES)}, or {' or '.join(GROUPS)} "
        "(else all).",
    ),
    click.option(
        "--clone-limit",
        type=click.IntRange(CLONES.least, CLONES.most),
        metavar="MIB",
        help="Memory limit of a rank for the copies of message buffers that the passes expansion "
        f"and renaming make (else {USUAL_CLONES} MiB; 0: no copies).",
    ),
    click.option(
        "--backend",
        metavar="NAME,...",
        help=f"What may carry messages, of {', '.join(backends())}; the first one does. For an "
        f"exchange in tiles, the header may name another of them (else {ISEND}).",
    ),
    click.option(
        "--size",
        "sizes",
        metavar="NAME=VALUE",
        multiple=True,
        help="The value of an integer variable in your runs, to estimate what steps gain: NAME, "
        "PROCEDURE:NAME or MODULE:NAME. No proof rests on it.",
    ),
    click.option(
        "--network",
        "networks",
        metavar="NAME",
        multiple=True,
        help="Judge the steps for transfers on this network, one of 'asphalt simulate "
        "--list-platforms' (else on a fast and a slow one: a step must lose on neither).",
    ),
    click.option(
        "--least-gain",
        type=click.FloatRange(0, 100),
        metavar="PERCENT",
        help="What all steps for the transfers of a procedure together must save of its time on a "
        "network, by the cost model, or it stays as it is (0: anything at all).",
    ),
    click.option(
        "--combining",
        type=click.Choice([one.value for one in Combining]),
        help="Which exchanges with the same partners the pass 'combination' makes one of (auto: "
        "those by which a procedure takes less time; most: as many as can; hidden: those with "
        "equal overlap windows; default: auto).",
    ),
)

paths_argument = click.argument("paths", nargs=-1, required=True, type=PATHS, metavar="PATH...")
assume_option = click.option(
    "--assume",
    callback=lambda _context, _option, values: tuple(
        name.strip() for value in values for name in value.split(",") if name.strip()
    ),
    multiple=True,
    metavar="NAME,...",
    help="Accept these assumptions, by their names in the report (NAME@SITE: for one site).",
)
tile_option = click.option(
    "--tile",
    type=click.IntRange(TILE.least, TILE.most),
    metavar="K",
    help="Iterations of a tile (0: chosen at run time). A value that you set in the header wins.",
)
depth_option = click.option(
    "--depth",
    type=click.IntRange(DEPTH.least, DEPTH.most),
    metavar="D",
    help="Tiles in flight at a time. A value that you set in the header wins.",
)
output_option = click.option(
    "--output",
    "output_texts",
    multiple=True,
    metavar="FILE[:TOLERANCE]",
    help="Compare this file, too (a pattern such as 'out.*'): bit for bit, or its numbers within a "
    "relative tolerance. '-:TOLERANCE': standard output. After a name with a colon, add a colon.",
)
any_order_option = click.option(
    "--any-order", is_flag=True, help="Ignore the order of lines on standard output."
)
arguments_option = click.option(
    "--arguments", default="", metavar="TEXT", help="The arguments of the program."
)
ignore_option = click.option(
    "--ignore",
    multiple=True,
    metavar="REGEX",
    help="Do not compare lines that match this expression, such as times.",
)
