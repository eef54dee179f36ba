"""Data classes whose methods are made when they are needed."""

from __future__ import annotations

import pickle
from dataclasses import field, fields, replace

import pytest

from asphalt.ir.records import record


@record
class Place:
    """A place."""

    path: str
    line: int = 1
    seen: list[int] = field(default_factory=list, compare=False, repr=False)


@record
class Marked(Place):
    """A place with a mark."""

    mark: str = field(default="", kw_only=True)

    def __repr__(self) -> str:
        return f"<{self.path}>"


@record
class Checked:
    """A value that checks itself."""

    value: int
    double: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(self.value)


def test_values_are_equal_and_hashed_by_their_fields() -> None:
    assert Place("a", 2) == Place("a", 2)
    assert hash(Place("a", 2)) == hash(Place("a", 2))
    assert Place("a", 2) != Place("a", 3)
    assert Place("a").line == 1


def test_the_first_question_may_be_any_of_the_methods() -> None:
    # methods of each of these classes are made by another question
    classes = [record(type(f"Own{n}", (), {"__annotations__": {"a": int}})) for n in range(3)]
    made = [object.__new__(one) for one in classes]
    for one in made:
        one.a = 1
    assert repr(made[0]) == "Own0(a=1)"
    assert hash(made[1]) == hash((1,))
    assert made[2] == classes[2](1)


def test_fields_that_are_not_compared_are_not_compared() -> None:
    one, other = Place("a", seen=[1]), Place("a", seen=[2])
    assert one == other
    assert repr(one) == "Place(path='a', line=1)"
    assert Place("a").seen is not Place("a").seen


def test_a_class_is_not_equal_to_the_one_it_is_made_of() -> None:
    assert Marked("a") != Place("a")
    assert Marked("a", mark="x") == Marked("a", mark="x")
    assert repr(Marked("a")) == "<a>"


def test_values_are_replaced_matched_and_pickled() -> None:
    place = replace(Place("a", 2), line=3)
    match place:
        case Place(path, line):
            assert (path, line) == ("a", 3)
    assert pickle.loads(pickle.dumps(place)) == place
    assert [one.name for one in fields(Marked)] == ["path", "line", "seen", "mark"]


def test_a_value_checks_itself() -> None:
    assert Checked(1).double == 0
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)


def test_a_value_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Place("a").other = 1  # type: ignore[attr-defined]
