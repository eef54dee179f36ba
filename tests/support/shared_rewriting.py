"""What pytest makes of test files, whose asserts it rewrites: each worker makes a part for all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

try:
    from _pytest.assertion.rewrite import (
        PYC_TAIL,
        _read_pyc,
        _rewrite_test,
        _write_pyc,
        assertstate_key,
        get_cache_dir,
        try_makedirs,
    )

    _KNOWN = True
except ImportError:  # they are not public: another version of pytest may have others
    _KNOWN = False


def rewrite_a_part(config: pytest.Config) -> None:
    """In a worker of pytest-xdist: rewrite every Nth file of the tests to run, if it has changed.

    All workers need all files, and would each rewrite all of them at the same time.
    """
    worker = getattr(config, "workerinput", None)
    if not _KNOWN or worker is None or sys.dont_write_bytecode:
        return
    first, step = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in _files(config)[first::step]:
        folder = get_cache_dir(path)
        kept = folder / (path.name.removesuffix(".py") + PYC_TAIL)
        state = config.stash[assertstate_key]
        if try_makedirs(folder) and _read_pyc(path, kept, state.trace) is None:
            digest, code = _rewrite_test(path, config)
            _write_pyc(state, code, digest, kept)


def _files(config: pytest.Config) -> list[Path]:
    found: set[Path] = set()
    for argument in config.args:
        place = Path(config.invocation_params.dir, argument.partition("::")[0])
        found |= {place} if place.is_file() else set(place.rglob("test_*.py"))
    return sorted(found)
