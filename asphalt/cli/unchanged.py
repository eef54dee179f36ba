"""Why nothing changes, for a person who has asked for passes for transfers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from asphalt.config.passes import GAINING, STARTING, TRANSFERS, in_order
from asphalt.diagnostics.model import ProcedureReport

_MOVING = "motion"


def why_unchanged(
    procedures: Sequence[ProcedureReport], passes: Collection[str], *, advised: bool = False
) -> str | None:
    """One line on what ended the procedures of which nothing else is told, and on the passes that
    are missing; None: there is nothing to say.  ``advised``: of these passes it was told before."""
    silent = [one for one in procedures if not one.dropped]
    advice = None if advised or not procedures else missing_passes(passes)
    parts = [_ends(silent)] if silent else []
    parts += [advice] if advice is not None else []
    return "; ".join(parts) or None


def _ends(procedures: Sequence[ProcedureReport]) -> str:
    """Which procedures stay, and by which rules."""
    first = procedures[0]
    who = f"{first.file}: {first.unit or 'main'} stays as it is"
    if len(procedures) > 1:
        who = f"{len(procedures)} procedures with messages stay as they are"
    return f"{who}: {', or '.join(dict.fromkeys(one.ended for one in procedures))}"


def missing_passes(passes: Collection[str]) -> str | None:
    """Which passes would have to stand beside those that were asked for, and how to ask for them;
    None: passes for transfers were not asked for, or none is missing."""
    chosen = [name for name in TRANSFERS if name in passes]
    if not chosen:
        return None
    gains = set(chosen) & set(GAINING)
    if gains and set(chosen) & set(STARTING):
        return None
    wanted = ",".join(in_order({*passes, STARTING[0], _MOVING}))
    if gains:
        return f"only {STARTING[0]} makes starts and waits of blocking calls: --passes {wanted}"
    gain = "gains" if len(chosen) == 1 else "gain"
    return (
        f"{', '.join(chosen)} {gain} only beside other passes, {_MOVING} above all: "
        f"--passes {wanted}"
    )
