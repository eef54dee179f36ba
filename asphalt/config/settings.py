"""What a user can set once for a project, and the files it is read from."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from asphalt.config.assumptions import folded
from asphalt.config.backends import ISEND, put_in
from asphalt.config.combining import Combining, combining_of
from asphalt.config.errors import UsageError
from asphalt.config.limits import CLONES, DEPTH, TILE, Limits
from asphalt.config.passes import DEFAULT, in_order
from asphalt.config.sentinels import unread_sentinels
from asphalt.config.sizes import Size, settled, sizes_of
from asphalt.ir.records import record
from asphalt.ir.source import Form

SCHEMA = Path(__file__).with_name("settings.schema.json")
"""What a settings file may hold, as a JSON schema."""


@record
class Settings:
    """How a tree is read and transformed.

    ``defines`` are ``NAME`` or ``NAME=VALUE`` and ``include_dirs`` directories, as a compiler takes
    them with -D and -I.  ``jobs`` None: one for each processor.  ``form`` and ``width`` None: from
    the file's suffix and text.  ``forms``: patterns of file names, each with the form of the files
    that it fits; the first one counts, before ``form``.  ``cpp``: compilers preprocess all files,
    not only those whose suffix says so.  ``one_configuration``: what comes out is compiled with
    these defines alone.  ``tile`` None or 0: chosen on entry.
    ``assume``: the names of assumptions that the user accepts.  ``passes``: the transformations to
    apply.  ``clone_limit``: MiB that copies of message buffers may take on a rank; None: the
    default.  ``backend``: what may carry the pieces of an exchange in tiles, first what does unless
    the header says otherwise.  ``sizes``: of variables in runs, for the cost model alone; the last
    one of a variable counts.  ``networks``: those on which the cost model judges steps, by name;
    (): a fast and a slow one.  ``least_gain``: percent of a procedure's time that all steps for its
    transfers together must save on a network, or it stays as it is; 0: anything at all; None: they
    may save nothing, by the cost model.  ``combining``: which exchanges with the same partners
    become one message.
    """

    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    jobs: int | None = None
    cache: bool = True
    form: Form | None = None
    forms: tuple[tuple[str, Form], ...] = ()
    width: int | None = None
    cpp: bool = False
    one_configuration: bool = False
    tile: int | None = None
    depth: int | None = None
    assume: frozenset[str] = frozenset()
    passes: tuple[str, ...] = DEFAULT
    clone_limit: int | None = None
    backend: tuple[str, ...] = (ISEND,)
    sizes: tuple[Size, ...] = ()
    networks: tuple[str, ...] = ()
    least_gain: float | None = None
    combining: Combining = Combining.AUTO

    def __post_init__(self) -> None:
        for define in self.defines:
            if not re.match(r"[A-Za-z_]\w*(\([\w, ]*\))?(=|$)", define) or "\n" in define:
                raise UsageError(f"-D {define}: a definition is NAME or NAME=VALUE")
        _at_least("jobs", self.jobs, 1)
        _at_least("width", self.width, 72)
        _within("tile", self.tile, TILE)
        _within("depth", self.depth, DEPTH)
        _within("clone_limit", self.clone_limit, CLONES)
        if self.least_gain is not None and not 0 <= self.least_gain <= 100:
            raise UsageError(f"least_gain must be 0 to 100, in percent, not {self.least_gain}")
        object.__setattr__(self, "sizes", settled(self.sizes))
        object.__setattr__(self, "backend", put_in(self.backend))
        object.__setattr__(self, "passes", in_order(self.passes))
        object.__setattr__(self, "assume", frozenset(folded(name) for name in self.assume))

    @property
    def unread(self) -> tuple[str, ...]:
        """The sentinels of directives that count as comments, without ``!$``."""
        return unread_sentinels(self.defines) if self.one_configuration else ()

    def form_of(self, path: str) -> Form | None:
        """The form of a file, as far as it is set."""
        for pattern, form in self.forms:
            whole = os.sep in pattern
            own = os.path.abspath(path) if whole else os.path.basename(path)
            if fnmatchcase(own, os.path.abspath(pattern) if whole else pattern):
                return form
        return self.form


def load_settings(start_dir: Path, config_file: Path | None = None) -> Settings:
    """The settings of ``config_file``, or of the nearest configuration at or above ``start_dir``.

    Each directory is searched for: ``asphalt.toml``, ``[tool.asphalt]`` of ``pyproject.toml``,
    ``[extra.asphalt]`` of ``fpm.toml``.  Relative include directories start at that of the file.
    Raises UsageError for a file that cannot be read or holds something that is not a setting.
    """
    if config_file is not None:
        return _settings_from(config_file, _table(config_file) or {})
    start = start_dir.absolute()
    for directory in (start, *start.parents):
        for name in _SECTIONS:
            candidate = directory / name
            if candidate.is_file() and (table := _table(candidate)) is not None:
                return _settings_from(candidate, table)
    return Settings()


_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "asphalt.toml": (),
    "pyproject.toml": ("tool", "asphalt"),
    "fpm.toml": ("extra", "asphalt"),
}


def _table(path: Path) -> Mapping[str, object] | None:
    """The table of settings in a file; None where it has none."""
    try:
        table: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path}: this settings file cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    for section in _SECTIONS.get(path.name, ()):
        if not isinstance(table, dict) or section not in table:
            return None
        table = table[section]
    if not isinstance(table, dict):
        raise UsageError(f"{path}: the settings must be a table")
    return table


def _settings_from(path: Path, table: Mapping[str, object]) -> Settings:
    known = set(Settings.__dataclass_fields__)
    for name in table:
        if name.replace("-", "_") not in known:
            raise UsageError(f"{path}: {name} is not a setting (known: {', '.join(sorted(known))})")
    values = {name.replace("-", "_"): value for name, value in table.items()}
    try:
        return Settings(
            defines=_defines(values.get("defines", [])),
            include_dirs=tuple(
                str(path.absolute().parent / directory)
                for directory in _strings("include_dirs", values.get("include_dirs", []))
            ),
            jobs=_integer("jobs", values.get("jobs")),
            cache=_boolean("cache", values.get("cache", True)),
            form=_form(values.get("form")),
            forms=_forms(values.get("forms", {}), path.absolute().parent),
            width=_integer("width", values.get("width")),
            cpp=_boolean("cpp", values.get("cpp", False)),
            one_configuration=_boolean("one_configuration", values.get("one_configuration", False)),
            tile=_integer("tile", values.get("tile")),
            depth=_integer("depth", values.get("depth")),
            assume=frozenset(_strings("assume", values.get("assume", []))),
            passes=_strings("passes", values.get("passes", list(DEFAULT))),
            clone_limit=_integer("clone_limit", values.get("clone_limit")),
            backend=_strings("backend", values.get("backend", [ISEND])),
            sizes=sizes_of(values.get("sizes", {})),
            networks=_strings("networks", values.get("networks", [])),
            least_gain=_number("least_gain", values.get("least_gain")),
            combining=combining_of(values.get("combining", Combining.AUTO)),
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _number(name: str, value: object) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise UsageError(f"{name} must be a number, not {value!r}")
    return None if value is None else float(value)


def _at_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UsageError(f"{name} must be {least} or more, not {value}")


def _within(name: str, value: int | None, limits: Limits) -> None:
    if value is not None and value not in limits:
        _at_least(name, value, limits.least)
        raise UsageError(f"{name} must be {limits.most} or less, not {value}")


def _defines(value: object) -> tuple[str, ...]:
    if isinstance(value, dict):
        return tuple(name if v is True else f"{name}={v}" for name, v in value.items())
    return _strings("defines", value)


def _strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{name} must be a list of strings")
    return tuple(value)


def _integer(name: str, value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{name} must be a whole number, not {value!r}")
    return value


def _boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false, not {value!r}")
    return value


def _forms(value: object, folder: Path) -> tuple[tuple[str, Form], ...]:
    if not isinstance(value, dict):
        raise UsageError(f"forms must be a table of patterns of file names, not {value!r}")
    found: list[tuple[str, Form]] = []
    for pattern, name in value.items():
        form = _form(name)
        if form is not None:
            found.append((pattern if os.sep not in pattern else str(folder / pattern), form))
    return tuple(found)


def _form(value: object) -> Form | None:
    if value is None:
        return None
    try:
        return Form(value)
    except ValueError:
        raise UsageError(f"form must be 'free' or 'fixed', not {value!r}") from None
