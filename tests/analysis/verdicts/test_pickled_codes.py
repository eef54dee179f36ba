"""Codes that come from another process are those of this one."""

from __future__ import annotations

import pickle

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.verdicts.pipelining_codes import PARTS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.diagnostics.catalogue import ALL_CODES


def test_a_pickled_code_is_the_same_object() -> None:
    found = [Refused(code, "why") for code in (NOTHING_BESIDE, PARTS)]
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert [one.code for one in again] == [NOTHING_BESIDE, PARTS]
    assert all(one.code is other.code for one, other in zip(again, found, strict=True))


def test_all_codes_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(dict(ALL_CODES))) == ALL_CODES
