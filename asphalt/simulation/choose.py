"""Which cluster a program is simulated on: one of the built-in ones, or that of a file."""

from __future__ import annotations

from pathlib import Path

from asphalt.errors import UsageError
from asphalt.running.simgrid import MessageCosts
from asphalt.simulation.described import Described, described
from asphalt.simulation.platforms import NETWORKS, Network

DEFAULT = "ethernet-10g"


def chosen(text: str, overhead: float | None, test: float | None) -> Network | Described:
    """The platform that ``--platform`` names; ``overhead`` and ``test`` are message costs in
    seconds, which a platform file cannot say.

    Raises ``UsageError`` for a name that is unknown, ``InputError`` for a file that is no platform.
    """
    found = next((network for network in NETWORKS if network.name == text), None)
    if found is not None:
        if overhead is not None or test is not None:
            raise UsageError(
                f"{text} has message costs of its own; --overhead and --test are for platform files"
            )
        return found
    if not text.endswith(".xml") and not Path(text).exists():
        names = ", ".join(network.name for network in NETWORKS)
        raise UsageError(f"there is no platform '{text}'; there are {names}, or a FILE.xml")
    usual = MessageCosts()
    costs = MessageCosts(
        usual.overhead if overhead is None else overhead, usual.test if test is None else test
    )
    return described(Path(text), costs)
