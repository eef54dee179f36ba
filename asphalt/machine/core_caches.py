"""The private caches of a core of this machine, from Linux's sysfs."""

from __future__ import annotations

from pathlib import Path

from asphalt.analysis.cost.classes import CoreCache

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1024, "M": 1024**2}


def own_cache(system: Path = SYSTEM) -> CoreCache:
    """The size of the second level, and the sets of the first; 0 for unknown values."""
    size = ways = way = 0
    for index in sorted(system.glob("index*")):
        level, kind = _text(index, "level"), _text(index, "type")
        if level == "2":
            size = size or _bytes(_text(index, "size"))
        elif level == "1" and kind in ("Data", "Unified"):
            ways = _bytes(_text(index, "ways_of_associativity"))
            way = _bytes(_text(index, "size")) // ways if ways else 0
    if way & (way - 1):
        ways = way = 0
    return CoreCache(size, ways, way)


def _text(index: Path, name: str) -> str:
    try:
        return (index / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _bytes(text: str) -> int:
    number = text.rstrip("KM")
    return int(number) * _UNITS.get(text[-1:], 1) if number.isdecimal() else 0
