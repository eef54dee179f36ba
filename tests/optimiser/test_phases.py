"""The table of transformations: in the order of their phases, with something for each pass."""

from __future__ import annotations

from asphalt.config.passes import OF_TRANSFERS
from asphalt.optimiser.phases import PHASES, TRANSFORMATIONS
from asphalt.transforms.rewriting.step import Phase


def test_transformations_stand_in_the_order_of_their_phases() -> None:
    assert tuple(one for phase in Phase for one in PHASES[phase]) == TRANSFORMATIONS
    assert all(PHASES[phase] for phase in Phase)


def test_each_pass_has_transformations() -> None:
    assert {one.requested_by for one in TRANSFORMATIONS} == set(OF_TRANSFERS)


def test_titles_are_unique() -> None:
    assert len({one.title for one in TRANSFORMATIONS}) == len(TRANSFORMATIONS)
