"""Whatever the text is, there is an outline of it, and the parts belong to the outline."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.config.errors import InputError
from asphalt.frontend.source_tree.cache import unpack
from asphalt.frontend.source_tree.outline import Outline, Request, outline, outlines
from asphalt.frontend.source_tree.parts import (
    UnitParts,
    interpreted,
    parts,
    unread_file,
    unread_parts,
)
from asphalt.ir.source import Form
from asphalt.ir.stmt import Opaque, Plain, Raw
from asphalt.ir.tree import File, Unit, leaves, units_in

LINES = [
    "program p",
    "module m",
    "subroutine s(a, b)",
    "real function f(x)",
    "contains",
    "end",
    "end subroutine",
    "end module m",
    "      CALL MPI_SEND(A)",
    "call mpi_&",
    "&recv(x)",
    "if (x) then",
    "else",
    "end if",
    "do 10 i = 1, 3",
    "10 continue",
    "interface",
    "end interface",
    "use m, only: s => mpi_alltoall",
    "include 'x.inc'",
    "!$omp parallel",
    "!$ call t",
    "x = 'call mpi_wait'; call y",
    "C     comment",
    "     & more",
    "",
    "\t\xe9(",
]


def request(text: str, form: Form) -> Request:
    return Request("a.f90", text.encode("latin-1"), form, None, (), ())


texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=14).map("\n".join),
    st.text(st.characters(codec="latin-1", exclude_characters="\0#"), max_size=60),
)


@settings(max_examples=200, deadline=None)
@given(texts, st.sampled_from(Form))
def test_any_text(text: str, form: Form) -> None:
    asked = request(text, form)
    found = outline(asked)
    assert unpack(outlines([asked])) == (found,)
    if found.broken:
        assert any(not problem.note for problem in found.problems)
        for function in (interpreted, parts):
            try:
                function(asked)
            except InputError:
                continue
            raise AssertionError("the outline says that it is broken")
        return
    file = unpack(interpreted(asked)[0])
    assert isinstance(file, File)
    whole = list(units_in(file))
    assert [(u.kind, u.name) for u in whole] == [(u.kind, u.name) for u in found.units]
    assert not any(isinstance(leaf.what, Raw) for unit in whole for leaf in leaves(unit))
    assert interpreted(asked)[1:] == parts(asked)
    for made in (unpack(parts(asked)[0]), unread_parts(asked, "why")):
        assert isinstance(made, UnitParts)
        assert len(made.units) == len(made.words) == len(whole)
        for packed, unit in zip(made.units, whole, strict=True):
            part = unpack(packed)
            assert isinstance(part, Unit)
            assert (part.kind, part.name) == (unit.kind, unit.name)
            assert [u.name for u in part.contained] == [u.name for u in unit.contained]


def test_unread_statements_are_opaque() -> None:
    asked = request("subroutine a\nif (b) then\nc = 'd'\nend if\nend\n", Form.FREE)
    (unit,) = unread_file(asked, "why").units
    assert all(isinstance(leaf.what, Opaque | Plain) for leaf in leaves(unit))
    assert [leaf.what.names for leaf in leaves(unit) if isinstance(leaf.what, Opaque)][1:] == [
        {"if", "b", "then"},
        {"c"},
        {"end", "if"},
    ]


def test_what_units_hold() -> None:
    text = """module m
use mpi, only: go => mpi_alltoall
contains
subroutine s
  use, intrinsic :: iso_c_binding
  include 'x.inc'
  if (a) call go(x)
end
end
"""
    found = outline(request(text, Form.FREE))
    assert isinstance(found, Outline)
    module, inner = found.units
    assert (module.first, module.last, inner.first, inner.last, inner.host) == (1, 9, 4, 8, 0)
    assert module.uses == ("mpi",)
    assert inner.uses == ("iso_c_binding",)
    assert [(call.name, call.line) for call in inner.calls] == [("go", 7)]
    assert [include.name for include in inner.includes] == ["x.inc"]
    assert found.mpi_renames == (("go", "mpi_alltoall"),)
