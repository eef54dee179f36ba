"""Chooses the clusters to simulate by name: built-in ones, or those of platform files."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.machine.platform_files import Described, described
from asphalt.machine.platforms import NETWORKS, Network
from asphalt.running.simgrid import MessageCosts

DEFAULT = "ethernet-10g"


def chosen(
    texts: Sequence[str], overhead: float | None = None, test: float | None = None
) -> tuple[Network | Described, ...]:
    """The platforms that ``--platform`` names.

    ``overhead`` and ``test``: message costs in seconds, which a platform file does not contain.

    Raises ``UsageError`` for an unknown name, and for message costs without a file; ``InputError``
    for a file that is not a platform file.
    """
    found = tuple(_one(text, overhead, test) for text in dict.fromkeys(texts))
    costs_given = overhead is not None or test is not None
    if costs_given and not any(isinstance(platform, Described) for platform in found):
        raise UsageError(
            f"{found[0].name} has message costs of its own; --overhead and --test are for platform "
            "files"
        )
    return found


def _one(text: str, overhead: float | None, test: float | None) -> Network | Described:
    found = next((network for network in NETWORKS if network.name == text), None)
    if found is not None:
        return found
    if not text.endswith(".xml") and not Path(text).exists():
        names = [network.name for network in NETWORKS]
        close = get_close_matches(text, names, 1)
        meant = f" (did you mean '{close[0]}'?)" if close else ""
        raise UsageError(
            f"there is no platform '{text}'{meant}; there are {', '.join(names)}, or a FILE.xml"
        )
    usual = MessageCosts()
    costs = MessageCosts(
        usual.overhead if overhead is None else overhead, usual.test if test is None else test
    )
    return described(Path(text), costs)
