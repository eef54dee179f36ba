"""Constants of MPI as actual arguments: they have the types that their binding gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.mpi.datatypes import PREDEFINED
from asphalt.analysis.mpi.reductions import PREDEFINED_REDUCTIONS
from asphalt.analysis.names.mpi_constants import HANDLES
from asphalt.transforms.inlining import inline
from support.mpi_run import OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_PROGRAM = """\
module sums
  use {binding}
  implicit none
contains
  subroutine total(a, b, n, comm, kind, operation, from, key, pending, error)
    integer, intent(in) :: n, from
    {comm}, intent(in) :: comm
    {datatype}, intent(in) :: kind
    {op}, intent(in) :: operation
    {info}, intent(in) :: key
    {request}, intent(in) :: pending
    integer, intent(out) :: error
    integer, intent(inout) :: a(n), b(n)
    integer :: me, np
    call MPI_Comm_rank(comm, me, error)
    call MPI_Comm_size(comm, np, error)
    call MPI_Sendrecv(a, n, kind, modulo(me + 1, np), 1, b, n, kind, from, MPI_ANY_TAG, comm, &
                      MPI_STATUS_IGNORE, error)
    call MPI_Allreduce(b, a, n, kind, operation, comm, error)
    if (key == MPI_INFO_NULL .and. pending == MPI_REQUEST_NULL) a(1) = a(1) + 1000
    if (comm /= MPI_COMM_NULL) a(2) = a(2) + 1000
  end subroutine total
end module sums
program main
  use {binding}
  use sums
  implicit none
  integer :: a(50), b(50), me, error, i
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  a = [(me + i, i = 1, 50)]
  call total(a, b, 50, {passed}, error)
  print *, me, a(1:3), b(50)
  call MPI_Finalize(error)
end program main
"""
_PASSED = {
    "comm": "MPI_COMM_WORLD",
    "kind": "MPI_INTEGER",
    "operation": "MPI_MAX",
    "from": "MPI_ANY_SOURCE",
    "key": "MPI_INFO_NULL",
    "pending": "MPI_REQUEST_NULL",
}
_TYPES = ("comm", "datatype", "op", "info", "request")


def _text(binding: str, **passed: str) -> str:
    typed = binding == "mpi_f08"
    types = {name: f"type(MPI_{name.capitalize()})" if typed else "integer" for name in _TYPES}
    return _PROGRAM.format(binding=binding, passed=", ".join((_PASSED | passed).values()), **types)


def _made(text: str, folder: Path) -> tuple[str, list[str]]:
    tree = Stepped.of(folder / "src", {"main.f90": text})
    refused = [one.message for one in tree.refusals(inline)]
    tree.applied(inline)
    return tree.text("main.f90"), refused


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
def test_they_stand_for_dummies_of_their_types(mpi: Mpi, binding: str, tmp_path: Path) -> None:
    text = _text(binding)
    made, refused = _made(text, tmp_path)
    assert refused == []
    assert "call MPI_Allreduce(b, a, 50, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)" in made
    same_lines(mpi, tmp_path, text, made.encode())


def test_a_constant_under_another_name(tmp_path: Path) -> None:
    renamed = "program main\n  use mpi_f08, world => MPI_COMM_WORLD"
    text = _text("mpi_f08", comm="world").replace("program main\n  use mpi_f08", renamed, 1)
    made, refused = _made(
        text.replace("MPI_Comm_rank(MPI_COMM_WORLD, me", "MPI_Comm_rank(world, me"), tmp_path
    )
    assert refused == []
    assert "MPI_MAX, world, error)" in made


@pytest.mark.parametrize(
    ("dummy", "actual"),
    [
        ("comm", "MPI_INFO_NULL"),
        ("kind", "MPI_COMM_WORLD"),
        ("operation", "MPI_INTEGER"),
        ("from", "MPI_COMM_WORLD"),
        ("key", "MPI_ANY_SOURCE"),
        ("pending", "MPI_MESSAGE_NULL"),
        ("pending", "MPI_STATUS_IGNORE"),
    ],
)
def test_one_of_another_type_does_not(dummy: str, actual: str, tmp_path: Path) -> None:
    text = _text("mpi_f08", **{dummy: actual})
    made, refused = _made(text, tmp_path)
    assert [f"{dummy} does not have the type of its actual argument" in m for m in refused] == [
        True
    ]
    assert made == text


@pytest.mark.parametrize(("inside", "outside"), [("mpi", "mpi_f08"), ("mpi_f08", "mpi")])
def test_one_of_another_binding_does_not(inside: str, outside: str, tmp_path: Path) -> None:
    module = _text(inside).partition("program main")[0]
    text = module + "program main" + _text(outside).partition("program main")[2]
    made, refused = _made(text, tmp_path)
    assert len(refused) == 1
    assert made == text


def test_what_the_procedure_changes_is_no_constant(tmp_path: Path) -> None:
    text = _text("mpi_f08").replace("MPI_Request), intent(in)", "MPI_Request)")
    text = text.replace(
        "    call MPI_Sendrecv", "    pending = MPI_REQUEST_NULL\n    call MPI_Sendrecv"
    )
    made, refused = _made(text, tmp_path)
    assert ["the procedure changes pending, but a value is passed" in m for m in refused] == [True]
    assert made == text


def test_all_predefined_datatypes_and_operations_are_handles() -> None:
    assert {HANDLES.get(name) for name in PREDEFINED} == {"mpi_datatype"}
    assert {HANDLES.get(name) for name in PREDEFINED_REDUCTIONS} == {"mpi_op"}
