"""The cache that a core of this machine has for itself."""

from __future__ import annotations

from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1024, "M": 1024**2}


def own_cache(system: Path = SYSTEM) -> int:
    """Its size in bytes, that of the second level; 0: not known (what Linux says in sysfs)."""
    for index in sorted(system.glob("index*")):
        try:
            if (index / "level").read_text().strip() == "2":
                return _bytes((index / "size").read_text().strip())
        except (OSError, ValueError):
            continue
    return 0


def _bytes(text: str) -> int:
    unit = _UNITS.get(text[-1:], 1)
    return int(text.rstrip("KM")) * unit
