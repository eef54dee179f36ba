"""Why passes for transfers changed nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from asphalt.config.passes import GAINING, OF_TRANSFERS, ONLY_BY_NAME, STARTING, in_order
from asphalt.diagnostics.model import ProcedureReport

_MOVING = "motion"


def why_unchanged(
    procedures: Sequence[ProcedureReport], passes: Collection[str], *, advised: bool = False
) -> str | None:
    """Why the search ended in procedures without any step, and which passes are missing.

    One line; None: there is nothing to say.  ``advised``: the missing passes were named before.
    """
    silent = [one for one in procedures if not one.dropped]
    advice = None if advised or not procedures else missing_passes(passes)
    parts = [_ends(silent)] if silent else []
    parts += [advice] if advice is not None else []
    return "; ".join(parts) or None


def _ends(procedures: Sequence[ProcedureReport]) -> str:
    """Which procedures were not transformed, and by which rules."""
    first = procedures[0]
    who = f"{first.file}: {first.unit or 'main'} is not transformed"
    if len(procedures) > 1:
        who = f"{len(procedures)} procedures with messages are not transformed"
    return f"{who}: {', or '.join(dict.fromkeys(one.ended for one in procedures))}"


def missing_passes(passes: Collection[str]) -> str | None:
    """Which passes the chosen ones need beside them, and the option for all of them.

    None: no passes for transfers were chosen, or none is missing.
    """
    chosen = [name for name in OF_TRANSFERS if name in passes]
    if not chosen:
        return None
    gains = set(chosen) & set(GAINING)
    if gains and (set(chosen) & set(STARTING) or gains <= set(ONLY_BY_NAME)):
        return None
    wanted = ",".join(in_order({*passes, STARTING[0], _MOVING}))
    if gains:
        return f"only {STARTING[0]} splits blocking calls into start and wait: --passes {wanted}"
    gain = "gains" if len(chosen) == 1 else "gain"
    names = ", ".join(chosen)
    return f"{names} {gain} only with other passes, above all {_MOVING}: --passes {wanted}"
