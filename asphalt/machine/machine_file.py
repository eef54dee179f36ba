"""Writing machine files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from asphalt.machine.machine import Machine


def machine_text(machine: Machine) -> str:
    """The machine file (TOML) that describes ``machine``, with three digits of each time."""
    return "\n".join(_lines(machine)) + "\n"


def _lines(machine: Machine) -> Iterator[str]:
    yield "# What computation costs on one core, for 'asphalt simulate'; see docs/costs.md."
    yield "# Written by 'asphalt calibrate'."
    yield f"name = {json.dumps(machine.name)}"
    yield f"compiler = {json.dumps(machine.compiler)}"
    yield f"flags = {json.dumps(list(machine.flags))}"
    yield ""
    yield "# Seconds of the operations that the core overlaps with one that waits for a result."
    yield f"window = {_time(machine.window)}"
    yield ""
    yield "# Bytes of the core's own caches; what is lost from them costs a line."
    yield f"cache = {machine.cache.size}"
    yield ""
    yield "# Lines so many bytes apart fall into one set of the first cache, which holds so many"
    yield "# of them; what it loses costs a conflict."
    yield f"way = {machine.cache.way}"
    yield f"ways = {machine.cache.ways}"
    yield ""
    yield "# Seconds of an operation of each class among others that do not wait for it."
    yield "[seconds]"
    yield from (f"{name} = {_time(value)}" for name, value in machine.seconds.items())
    yield ""
    yield "# Seconds until the result of an operation can be used."
    yield "[latency]"
    yield from (f"{name} = {_time(value)}" for name, value in machine.latency.items())


def _time(seconds: float) -> str:
    return f"{seconds:.2e}" if seconds else "0.0"
