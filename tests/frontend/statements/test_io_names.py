"""Namelist groups and internal units, as far as a unit declares them."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.ir.expr import Keyword, Ref
from asphalt.ir.stmt import IO, Guarded, Opaque, Raw, What
from asphalt.ir.tree import Leaf, Unit

SPEC = [
    "integer :: iu, a(3), b",
    "character(len=80) :: line, lines(3)",
    "namelist /g/ a, b /h/ iu",
    "namelist /g/ line",
]


def _interpreted(code: str) -> What:
    spec = tuple(Leaf(Raw(line)) for line in SPEC)
    end = Leaf(Raw("end"))
    unit = interpret_unit(Unit("program", "", None, spec, (Leaf(Raw(code)),), None, (), end))
    leaf = unit.body[0]
    assert isinstance(leaf, Leaf)
    return leaf.what


def _names(*names: str) -> tuple[Ref, ...]:
    return tuple(Ref(name, name) for name in names)


@pytest.mark.parametrize("control", ["iu, nml=g", "iu, g", "unit=iu, nml=g"])
def test_reading_a_namelist_defines_its_members(control: str) -> None:
    expected = IO("read", _names("iu"), _names("a", "b", "line"))
    assert _interpreted(f"read ({control})") == expected
    guarded = _interpreted(f"if (b > 0) read ({control})")
    assert isinstance(guarded, Guarded)
    assert guarded.action == expected


def test_writing_a_namelist_reads_its_members() -> None:
    assert _interpreted("write (iu, g)") == IO("write", _names("iu", "a", "b", "line"))
    assert _interpreted("print h") == IO("print", _names("iu"))


def test_a_namelist_of_another_unit_may_define_anything() -> None:
    what = _interpreted("if (b > 0) read (iu, nml=other)")
    assert isinstance(what, Opaque)
    assert "other" in what.reason
    assert what.names == {"if", "b", "read", "iu", "nml", "other"}
    written = _interpreted("write (iu, nml=other)")
    assert written == IO("write", (*_names("iu", "other"), Keyword("nml", "nml", *_names("other"))))


def test_a_declared_variable_is_a_format() -> None:
    assert _interpreted("read (iu, line)") == IO("read", _names("iu", "line"))


def test_an_internal_unit_is_defined() -> None:
    assert _interpreted("write (line, *) b") == IO("write", _names("line", "b"), _names("line"))
    element = _interpreted("write (lines(b), *) b")
    assert isinstance(element, IO)
    assert element.writes == (Ref("lines", "lines", _names("b")),)


def test_a_unit_number_is_not_defined() -> None:
    assert _interpreted("write (iu, *) b") == IO("write", _names("iu", "b"))


def test_an_undeclared_unit_stays_marked() -> None:
    what = _interpreted("write (stdout, *) b")
    assert what == IO("write", _names("stdout", "b"), (Keyword("unit", "unit", *_names("stdout")),))
