"""Inlining: what must hold for it, one program each, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.inlining.codes import CODES
from asphalt.analysis.names.visibility import words_of
from asphalt.diagnostics.examples import examples_of
from asphalt.transforms.inlining import inline
from support.mpi_run import MPICH, OPENMPI, installed
from support.stepping import Stepped

PROGRAM = """\
module halo
  use mpi
  implicit none
  integer :: above = MPI_PROC_NULL, shared = 1
  integer, private :: hidden = 1
contains
  subroutine exchange(u, n, k)
    {declare}
    {body}
    call MPI_Recv(u, n, MPI_INTEGER, above, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    {after}
  end subroutine exchange
end module halo
subroutine step(v, w, m)
  {use}
  implicit none
  {own}
  integer :: v(0:4), w(5, 5), m, other
  {call}
end subroutine step
"""
DUMMIES = "integer :: n, k, u(n), ierr"
CALL = "call exchange(v, 5, m)"


def program(
    body: str = "",
    declare: str = DUMMIES,
    after: str = "",
    call: str = CALL,
    own: str = "",
    use: str = "use halo",
) -> str:
    return PROGRAM.format(
        declare=declare, body=body, after=after, call=call, own=own, use=use
    ).replace("    \n", "")


INSIDE = """\
  subroutine inside(k)
    integer :: k
    k = 1
  end subroutine inside
"""
REFUSED = {
    "calls-itself": ("ASP040", program(body="if (n > 3) call exchange(u, 2, k)")),
    "entry": ("ASP041", program(after="entry other(u, n, k)")),
    "return-in-a-loop": (
        "ASP041",
        program(body="do k = 1, n\nif (u(k) > 0) return\nend do", call="call exchange(v, 5, m)"),
    ),
    "alternate-return": (
        "ASP041",
        program(body="if (n > 3) return 1").replace("(u, n, k)", "(u, n, k, *)", 1),
    ),
    "saved": ("ASP042", program(declare=f"{DUMMIES}\ninteger, save :: t", body="t = k")),
    "initialised": ("ASP042", program(declare=f"{DUMMIES}\ninteger :: t = 0", body="t = k")),
    "data": ("ASP042", program(declare=f"{DUMMIES}\ninteger :: t\ndata t /0/", body="t = k")),
    "all-saved": ("ASP042", program(declare=f"{DUMMIES}\ninteger :: t\nsave", body="t = k")),
    "another-type": ("ASP043", program(declare="integer :: n, k, ierr\nreal :: u(n)")),
    "another-kind": ("ASP043", program(declare="integer :: n, k, ierr\ninteger(8) :: u(n)")),
    "a-value-is-changed": ("ASP043", program(body="n = n - 1")),
    "an-element-is-changed-at-a-place-that-changes": (
        "ASP043",
        program(
            declare=f"{DUMMIES}\ninteger :: at",
            body="k = k + 1\nat = 3",
            call="call exchange(v, v(m), m, w(m, 1))",
        ).replace("(u, n, k)", "(u, n, k, at)", 1),
    ),
    "a-value-of-what-is-changed": (
        "ASP043",
        program(body="k = 2", call="call exchange(v, m+1, m)"),
    ),
    "other-extents": (
        "ASP043",
        program(
            declare="integer :: n, k, u(n, 2), ierr",
            after="u(1, 2) = 0",
            call="call exchange(w, 3, m)",
        ),
    ),
    "other-rank": ("ASP043", program(after="u(1) = 0", call="call exchange(w, 5, m)")),
    "a-section": (
        "ASP043",
        program(call="call exchange(w(2, :), 5, m)"),
    ),
    "all-of-a-part": ("ASP043", program(after="u = 0", call="call exchange(v, 3, m)")),
    "all-of-a-column": ("ASP043", program(after="u = 0", call="call exchange(w(1, m), 5, m)")),
    "bounds": ("ASP043", program(after="u(1) = ubound(u, 1)")),
    "optional-is-missing": (
        "ASP043",
        program(
            declare=f"{DUMMIES}\ninteger, optional :: o", body="if (present(o) .or. k == 0) k = o"
        ).replace("(u, n, k)", "(u, n, k, o)", 1),
    ),
    "target": ("ASP043", program(declare="integer :: n, k, ierr\ninteger, target :: u(n)")),
    "twice": (
        "ASP044",
        program(
            declare="integer :: n, k, u(0:n-1), w(0:n-1), ierr",
            body="u(1) = w(2)",
            call="call exchange(v, 5, m, v)",
        ).replace("(u, n, k)", "(u, n, k, w)", 1),
    ),
    "known-by-its-own-name": (
        "ASP044",
        program(body="k = 2\nn = shared", call="call exchange(v, other, shared)"),
    ),
    "private": ("ASP045", program(body="k = hidden")),
    "private-procedure": (
        "ASP045",
        program(body="call inside(k)")
        .replace("end module", INSIDE + "end module", 1)
        .replace("contains", "private :: inside\ncontains", 1),
    ),
    "intrinsic-hidden": ("ASP045", program(body="k = max(n, 1)", own="integer :: max(3)")),
    "common": (
        "ASP045",
        program(
            declare=f"{DUMMIES}\ninteger :: c\ncommon /block/ c",
            body="k = c",
            own="integer :: d\ncommon /block/ d",
        ),
    ),
    "common-with-other-things": (
        "ASP045",
        program(declare=f"{DUMMIES}\ncharacter c\ncommon /b/ c", body="k = ichar(c)"),
    ),
    "a-function-whose-name-is-a-variable": (
        "ASP045",
        program(
            declare=f"{DUMMIES}\ninteger, external :: f", body="k = f(n)", own="integer :: f(3)"
        )
        + "integer function f(n)\ninteger :: n\nf = n\nend\n",
    ),
    "an-interface-that-is-not-seen": (
        "ASP045",
        program(
            declare=f"{DUMMIES}\ninterface\nsubroutine g(a)\ninteger :: a(:)\n"
            "end subroutine\nend interface",
            body="call g(u)",
        )
        + "subroutine g(a)\ninteger :: a(:)\na = 1\nend\n",
    ),
    "statement-function": (
        "ASP046",
        program(declare=f"{DUMMIES}\ninteger :: f, x\nf(x) = x + 1", body="k = f(n)"),
    ),
    "namelist": ("ASP046", program(declare=f"{DUMMIES}\nnamelist /set/ k", body="read (5, set)")),
    "equivalence": (
        "ASP046",
        program(declare=f"{DUMMIES}\ninteger :: a, b\nequivalence (a, b)", body="a = 1\nk = b"),
    ),
    "associate": ("ASP046", program(body="associate (m => k)\nm = 1\nend associate")),
    "print-of-a-dummy": ("ASP046", program(body="print *, u(1)", call=CALL)),
    "print-if": ("ASP046", program(body="if (k == 1) print *, 'one'")),
    "openmp": ("ASP046", program(body="!$omp parallel\n!$omp end parallel")),
    "conditional-line": ("ASP046", program(body="!$ k = 1")),
    "two-on-a-line": ("ASP046", program(call=f"m = 1; {CALL}")),
    "in-a-block": ("ASP046", program(call=f"block\ninteger :: k\n{CALL}\nend block")),
    "openmp-around": ("ASP046", program(call=f"!$omp parallel\n{CALL}\n!$omp end parallel")),
    "in-a-parallel-loop": (
        "ASP046",
        program(call=f"!$omp parallel do\ndo m = 1, 2\n{CALL}\nend do"),
    ),
    "in-one-of-several-parallel-loops": (
        "ASP046",
        program(
            call=f"!$omp parallel\n!$omp do\ndo m = 1, 2\n{CALL}\nend do\n!$omp do\ndo m = 1, 2\n"
            "v(m) = 1\nend do\n!$omp end parallel"
        ),
    ),
    "directive": ("ASP046", program(call=f"!dir$ noinline\n{CALL}")),
    "ends-a-loop-and-is-jumped-to": (
        "ASP046",
        program(call=f"do 10 m = 1, 3\nif (v(m) > 0) goto 10\nv(m) = 1\n10 {CALL}"),
    ),
    "ends-a-loop-and-is-read-to": (
        "ASP046",
        program(call=f"do 10 m = 1, 3\nread (*, *, end=10) v(1)\n10 {CALL}"),
    ),
    "ends-a-loop-beside-an-assigned-goto": (
        "ASP046",
        program(call=f"assign 10 to k\ndo 10 m = 1, 3\nif (v(m) > 0) goto k\n10 {CALL}"),
    ),
    "long": ("ASP047", program(body="k = k + 1\n" * 251)),
}


def found(text: str, folder: Path, name: str = "a.f90") -> Stepped:
    return Stepped.of(folder / "src", {name: text})


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_it_stays(name: str, tmp_path: Path) -> None:
    code, text = REFUSED[name]
    tree = found(text, tmp_path)
    refused = tree.refusals(inline)
    assert [one.code.id for one in refused] == [code] * len(refused), refused
    assert refused
    assert tree.applied(inline) == 0
    assert tree.text("a.f90") == text


@pytest.mark.parametrize(
    ("call", "steps"),
    [("w(1, 2), 5", 1), ("w(2, 2), 4", 1), ("w(1, 2), 6", 0), ("w(2, 2), 5", 0), ("w(m, 2), 5", 0)],
)
def test_a_dummy_ends_within_the_column_that_it_begins_in(
    call: str, steps: int, tmp_path: Path
) -> None:
    # element 6 of the dummy is none of the column: subscripts would be out of their bounds
    text = program(body="u(2) = 0", call=f"call exchange({call}, m)")
    tree = found(text.replace("MPI_Recv(u,", "MPI_Recv(u(1),"), tmp_path)
    assert [one.code.id for one in tree.refusals(inline)] == ["ASP043"] * (1 - steps)
    assert len(tree.steps(inline)) == steps


_SHAPE = "integer :: n, k, u(0:), ierr"


@pytest.mark.parametrize(
    ("call", "given", "why"),
    [
        ("w(:, m), 5", {}, ""),
        ("w(:, m), 5", {"body": "u(2) = 0"}, ""),
        ("w(2:4, m), 3", {"body": "u(2) = 0"}, ""),
        ("w(m:, 2), 3", {"body": "u(k) = 0"}, ""),
        ("w(2:, m), 2", {"declare": _SHAPE, "body": "u(0) = 0"}, ""),
        ("w(:, 2:4), 5", {"declare": "integer :: n, k, u(:, :), ierr", "body": "u(1, 2) = 0"}, ""),
        # gaps, other ranks, a whole array that is another one, bounds that an inquiry tells
        ("w(1:5:2, m), 3", {"body": "u(2) = 0"}, "a section is passed for u"),
        ("w(2, :), 5", {"declare": _SHAPE, "body": "u(2) = 0"}, "a section is passed for u"),
        ("w(2:3, 2:4), 5", {"declare": "integer :: n, k, u(:, :), ierr", "body": "u(1, 2) = 0"},
         "a section with gaps is passed for u"),
        ("w(2:3, :), 5", {"declare": "integer :: n, k, u(2, 5), ierr", "body": "u(1, 2) = 0"},
         "a section with gaps is passed for u"),
        ("w(:, 1:2), 5", {"body": "u(2) = 0"}, "u has another rank than its actual argument"),
        ("w(2:, m), 4", {"declare": _SHAPE, "body": "u = 0"}, "all of u is used"),
        ("w(2:4, m), 3", {"declare": _SHAPE, "body": "u(1:) = 0"}, "a whole dimension of u"),
        ("w(:, m), 5", {"declare": _SHAPE, "body": "ierr = ubound(u, 1)"}, "all of u is used"),
        ("w(k:, 2), 3", {"body": "u(2) = 0\nk = k + 1"}, "a subscript of what is passed for u"),
    ],
)  # fmt: skip
def test_a_section_of_leading_dimensions(
    call: str, given: dict[str, str], why: str, tmp_path: Path
) -> None:
    """Element i of the dummy is one of the array, and nothing is copied."""
    own = "integer :: k\n" if "k:" in call else ""
    last = "k" if own else "m"
    text = program(**given, call=f"call exchange({call}, {last})", own=own)
    tree = found(text.replace("MPI_Recv(u,", "MPI_Recv(u(1),"), tmp_path)
    if "u(:, :)" in text or "u(2, 5)" in text:
        tree = found(text.replace("MPI_Recv(u,", "MPI_Recv(u(1, 1),"), tmp_path / "planes")
    refused = [one.message for one in tree.refusals(inline)]
    assert [why in message for message in refused] == [True] * bool(why), refused
    assert tree.applied(inline) == 1 - bool(why)


@pytest.mark.parametrize(
    ("declared", "passed", "why"),
    [
        ("integer, optional :: o", "given", ""),
        ("integer, optional :: o(3)", "given", ""),
        # where it is absent, this is an error that the procedure alone would not make
        ("integer :: o", "given", "given, passed for o, is optional"),
        ("integer, optional, value :: o", "given", "given, passed for o, is optional"),
        ("integer, optional :: o", "given + 1", ""),
        ("integer, optional :: o(2)", "given(2)", "exchange is not inlined"),
    ],
)
def test_an_optional_argument_is_passed_on(
    declared: str, passed: str, why: str, tmp_path: Path
) -> None:
    """It is present in the procedure where it is present in the caller."""
    use = "if (present(o)) k = o" if "optional" in declared else "k = o"
    of = "(3)" if "o(" in declared else ""
    text = program(
        declare=f"{DUMMIES}\n{declared}",
        body=use.replace("= o", "= o(1)") if of else use,
        call=f"call exchange(v, 5, m, {passed})",
        own=f"integer, optional :: given{of}",
    ).replace("(u, n, k)", "(u, n, k, o)", 1)
    tree = found(text.replace("step(v, w, m)", "step(v, w, m, given)"), tmp_path)
    refused = [one.message for one in tree.refusals(inline)]
    assert [why in message for message in refused] == [True] * bool(why), refused
    assert tree.applied(inline) == 1 - bool(why)
    if not why and not of and "+" not in passed:
        assert "if (present(given)) m = given" in tree.text("a.f90")


_GIVEN = """\
module given
  use mpi, only: MPI_INT_OF => MPI_INTEGER
end module given
module mpi_own
  integer :: mpi_tag, mpi_rank
end module mpi_own
"""


@pytest.mark.parametrize(
    ("use", "declare", "lines", "why"),
    [
        # the module lacks names in the caller; a module gives a constant another name
        ("use mpi, only: MPI_COMM_WORLD", DUMMIES,
         ["mpi_integer", "mpi_recv", "mpi_status_ignore"], ""),
        ("use mpi", f"use given\n    {DUMMIES}",
         ["only: asphalt_mpi_int_of_1 => mpi_int_of", "asphalt_mpi_int_of_1, above"], ""),
        ("use given\n  use mpi", f"use given\n    {DUMMIES}", ["MPI_INT_OF, above"], ""),
        # the caller has names with the prefix of MPI, which MPI does not have, and one that it has
        ("use mpi_own", DUMMIES, ["use mpi", "MPI_Recv(v"], ""),
        ("use mpi_own, only: mpi_tag", DUMMIES, [], "the caller declares mpi_tag without"),
        ("use mpi_f08", DUMMIES, [], "the caller uses another MPI binding"),
        ("use mpi", f"use mpi, only: MPI_INT_OF => MPI_INTEGER\n    {DUMMIES}", [],
         "the procedure renames mpi_integer"),
    ],
)  # fmt: skip
def test_names_of_mpi_that_the_caller_lacks(
    use: str, declare: str, lines: list[str], why: str, tmp_path: Path
) -> None:
    text = program(declare=declare, use=f"use halo, only: exchange, above\n  {use}")
    if "given" in declare or "MPI_INT_OF" in declare:
        text = text.replace("MPI_Recv(u, n, MPI_INTEGER", "MPI_Recv(u, n, MPI_INT_OF")
    tree = found(_GIVEN + text, tmp_path)
    refused = [one.message for one in tree.refusals(inline)]
    assert [why in message for message in refused] == [True] * bool(why), refused
    assert tree.applied(inline) == 1 - bool(why)
    after = tree.text("a.f90").split("subroutine step")[1]
    assert all(line in after for line in lines), after


@pytest.mark.parametrize("code", sorted(code.id for code in CODES))
def test_examples(code: str) -> None:
    examples = examples_of(code)
    assert examples.refused is not None
    tree = Stepped.at(examples.refused)
    assert {one.code.id for one in tree.refusals(inline)} == {code}
    mended = Stepped.at(examples.accepted)
    assert mended.refusals(inline) == []
    assert len(mended.steps(inline)) == 1


def test_refusals_have_programs_of_each_code() -> None:
    assert {code for code, _ in REFUSED.values()} == {code.id for code in CODES}


@pytest.mark.parametrize(
    ("actual", "passed"),
    [
        ("[1, 2, 3, 4, 5]", "an expression is passed, not a variable"),
        ("v + 1", "an expression is passed, not a variable"),
        ("m", "no array is passed"),
    ],
)
def test_what_is_passed_for_an_array_is_told(actual: str, passed: str, tmp_path: Path) -> None:
    tree = found(program(call=f"call exchange({actual}, 5, m)"), tmp_path)
    (refused,) = tree.refusals(inline)
    assert refused.message.endswith(f"u is an array, but {passed}")


@pytest.mark.parametrize(("extent", "has"), [("n", "does not have"), ("k", "is not known to have")])
def test_extents_that_differ_are_told_from_unknown_ones(
    extent: str, has: str, tmp_path: Path
) -> None:
    declare = f"integer :: n, k, u({extent}, 2), ierr"
    text = program(declare=declare, after="u(1, 2) = 0", call="call exchange(w, 3, m)")
    tree = found(text, tmp_path)
    (refused,) = tree.refusals(inline)
    told = f"dimension 1 of the dummy u {has} the extent of that of the array w"
    assert refused.message.endswith(told)


_SIDES = """\
module sides
  use mpi
  implicit none
  type part
    integer, allocatable :: out(:), in(:)
    integer, pointer :: far(:)
    integer :: beside(2), n
  end type part
  type(part) :: mine
contains
  subroutine both(out, in, n, peer, first, second)
    integer, intent(in) :: out(:), n, peer
    integer :: in(:)
    integer, intent(out) :: first, second
    integer :: ierr
    {body}call MPI_Isend(out, n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, first, ierr)
    call MPI_Irecv(in, n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, second, ierr)
  end subroutine both
  subroutine exchange(k)
    integer, intent(in) :: k
    integer :: requests(4), n, ierr
    n = 0
    call both({call})
    call MPI_Waitall(2, requests(n+1), MPI_STATUSES_IGNORE, ierr)
  end subroutine exchange
end module sides
"""
_BOTH = "mine%out, mine%in, mine%n, mine%beside(k), requests(n+1), requests(n+2)"


@pytest.mark.parametrize(
    ("call", "body", "why"),
    [
        (_BOTH, "", ""),
        (_BOTH.replace("n+2", "1+n+2"), "", ""),
        (_BOTH.replace("n+2", "n+1"), "", "requests is passed as first and as second"),
        (_BOTH.replace("n+2", "k"), "", "requests is passed as first and as second"),
        (_BOTH.replace("beside(k)", "beside(mine%in(1))"), "", "changes an operand"),
        (_BOTH.replace("mine%in,", "mine%far,"), "", "mine%far is a pointer"),
        (_BOTH, "in(1) = 0\n    ", "a bound of in is not known"),
        (_BOTH, "if (size(out) > 3) in = 0\n    ", "a bound of out is not known"),
    ],
)
def test_messages_of_components(call: str, body: str, why: str, tmp_path: Path) -> None:
    """Bounds of what MPI gets do not matter; components and elements are apart."""
    tree = found(_SIDES.format(call=call, body=body), tmp_path)
    refused = [one.message for one in tree.refusals(inline)]
    assert [why in message for message in refused] == [True] * bool(why), refused
    assert tree.applied(inline) == 1 - bool(why)
    assert ("call MPI_Irecv(mine%in, mine%n, MPI_INTEGER," in tree.text("a.f90")) == (not why)


def test_only_procedures_that_communicate(tmp_path: Path) -> None:
    text = program().replace("call MPI_Recv(u", "call MPI_Bcast(u").replace(", above, k", ", k")
    together = text.replace(", MPI_STATUS_IGNORE", "")
    tree = found(together, tmp_path / "together")
    assert len(tree.found(inline)) == 1
    lines = together.splitlines(keepends=True)
    own = "".join("  u(1) = 2\n" if "call MPI_Bcast" in line else line for line in lines)
    tree = found(own, tmp_path / "alone")
    assert tree.found(inline) == []


def test_a_name_that_goes_on_in_the_next_line_is_taken(tmp_path: Path) -> None:
    split = "subroutine step\n  fac&\n    &tor = 1\n  print *, fac&\n  &tor\nend subroutine"
    (facts,) = Stepped.of(tmp_path, {"a.f90": split}).facts()
    assert {"factor", "step"} <= words_of(facts.unit)


def test_a_part_of_a_preprocessed_file(tmp_path: Path) -> None:
    text = program(call=f"#ifdef MPI\n  {CALL}\n#endif").replace("  #", "#")
    tree = found(text, tmp_path, "a.F90")
    assert [one.code.id for one in tree.refusals(inline)] in ([], ["ASP046"])
    assert tree.applied(inline) == 0


def test_the_text_of_the_procedure_is_kept(tmp_path: Path) -> None:
    body = "! what comes in\n    if (k  ==  n) &  ! both\n      k = 1  ! set"
    tree = found(program(body=body, call="call exchange(v, n, k)", own="integer :: n, k"), tmp_path)
    assert tree.applied(inline) == 1
    lines = tree.text("a.f90").split("subroutine step")[1]
    assert "  ! what comes in\n  if (k  ==  n) &  ! both\n    k = 1  ! set\n" in lines
    assert "  ! asphalt: exchange of a.f90 stands here\n" in lines
    assert "call MPI_Recv(v, n, MPI_INTEGER, above, k," in lines


def test_a_derived_type_keeps_its_letters(tmp_path: Path) -> None:
    declare = (
        "integer :: n, k, u(n), ierr\n    type(MPI_Request) :: Open\n    type(mpi_status) :: St"
    )
    body = "call MPI_Irecv(u, n, MPI_INTEGER, above, k, MPI_COMM_WORLD, Open, ierr)"
    text = program(
        declare=declare, body=body, after="call MPI_Wait(Open, St, ierr)", use="use halo"
    )
    tree = found(text.replace("use mpi\n", "use mpi_f08\n"), tmp_path)
    assert tree.applied(inline) == 1
    lines = tree.text("a.f90").split("subroutine step")[1]
    assert "  type(MPI_Request) :: Open\n" in lines
    assert "  type(mpi_status) :: St\n" in lines


EXTERNAL = """\
      subroutine give(a, n)
      include 'mpif.h'
      integer n, ierr
      {kind} a(n)
      call mpi_send(a, n, mpi_integer, 0, 1, mpi_comm_world, ierr)
      end
"""
CALLER = """\
      subroutine both(a, b)
      include 'mpif.h'
      integer ierr
      {kind} a(5)
      integer b(5)
      call give(a, 5)
      call mpi_send(b, 5, mpi_integer, 0, 2, mpi_comm_world, ierr)
      end
"""


@pytest.mark.parametrize(("kind", "codes"), [("integer", []), ("real", ["ASP045"])])
def test_calls_without_an_interface_stay_alike(kind: str, codes: list[str], tmp_path: Path) -> None:
    files = {"give.f": EXTERNAL.format(kind=kind), "both.f": CALLER.format(kind=kind)}
    tree = Stepped.of(tmp_path / "src", files)
    assert [one.code.id for one in tree.refusals(inline)] == codes
    assert len(tree.steps(inline)) == 1 - len(codes)


def test_labels_of_formats_are_not_changed(tmp_path: Path) -> None:
    body = "write (*, 10) n\n10 format (i3)"
    for label, codes in ((10, ["ASP046"]), (11, [])):
        call = f"{CALL}\n  write (*, {label}) m\n  {label} format (i4)"
        text = program(body=body.replace(" n", " shared"), call=call)
        tree = Stepped.of(tmp_path / str(label), {"a.f90": text})
        assert [one.code.id for one in tree.refusals(inline)] == codes


SIZES = "integer, parameter :: longest = 4\ninteger, parameter :: room = longest + 1\n"
INCLUDING = program(
    declare="include 'sizes.inc'\ninteger :: n, k, u(0:room), ierr, b(longest)",
    body="b = u(1:longest)",
    own="integer :: ldim\n",
).replace("v(0:4)", "v(0:5)")


def test_an_include_file_comes_along(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"sizes.inc": SIZES, "a.f90": INCLUDING})
    assert tree.applied(inline) == 1
    text = tree.text("a.f90").split("subroutine step")[1]
    assert "include 'sizes.inc'\n" in text
    assert "integer :: b(longest)" in text


def test_an_include_file_that_declares_what_is_there(tmp_path: Path) -> None:
    text = INCLUDING.replace(":: ldim", ":: longest")
    tree = Stepped.of(tmp_path / "src", {"sizes.inc": SIZES, "a.f90": text})
    assert [one.code.id for one in tree.refusals(inline)] == ["ASP045"]


def test_sizes_of_an_include_file_may_be_any(tmp_path: Path) -> None:
    """Proved for the text of the file, not for the values that it has."""
    text = INCLUDING.replace("v(0:5)", "v(0:room)").replace(
        "integer :: ldim", "include 'sizes.inc'"
    )
    for wrong, steps in ((text, 1), (text.replace("v(0:room)", "v(0:5)"), 0)):
        whole = wrong.replace("b = u(1:longest)", "u = 1")  # all of it: the extents must be equal
        tree = Stepped.of(tmp_path / str(steps), {"sizes.inc": SIZES, "a.f90": whole})
        tree.any_sizes = True
        assert len(tree.steps(inline)) == steps


ORDER = ("showing.f90", "modern.f90", "legacy.f", "main.f90")
SOURCES = Path(__file__).parent / "programs"
CALLERS = {"planes": 3, "columns": 1, "shapes": 1, "requests": 2, "values": 2, "sweep": 2}


def test_programs_print_the_same(tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    files = {name: (SOURCES / name).read_text() for name in ORDER}
    tree = Stepped.of(tmp_path / "src", files)
    before = tree.result(mpi, tmp_path / "before", ORDER, 2, ("-O1", "-Wall"))
    for unit, calls in CALLERS.items():
        assert tree.applied(inline, unit=unit) == calls
    after = tree.result(mpi, tmp_path / "after", ORDER, 2)
    assert before == after
    assert len(after.splitlines()) == 2 * len(CALLERS)


_PART = "type part\ninteger :: tag\nend type part\ntype(part) :: parts(3)"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", None),
        ("k = k + 1", "the procedure changes k, and what is passed for it is a component of an "),
    ],
)
def test_a_component_of_an_element_is_a_scalar(body: str, told: str | None, tmp_path: Path) -> None:
    text = program(body=body, own=_PART, call="call exchange(v, 5, parts(2)%tag)")
    tree = Stepped.of(tmp_path, {"halo.f90": text})
    refusals = tree.refusals(inline)
    assert len(refusals) == (told is not None)
    assert all(str(told) in one.message for one in refusals)
    assert tree.applied(inline) == (told is None)


def test_a_target_stands_for_a_dummy_that_is_none(tmp_path: Path) -> None:
    """The other way it would not: ``REFUSED["target"]``."""
    text = program(own="target :: v")
    tree = Stepped.of(tmp_path, {"halo.f90": text})
    assert tree.applied(inline) == 1
    assert "MPI_Recv(v, 5, MPI_INTEGER," in tree.text("halo.f90")


def test_a_variable_and_a_number_stand_for_a_dummy_that_is_only_read(tmp_path: Path) -> None:
    text = program(call="call exchange(v, 5, m + 1)")
    tree = Stepped.of(tmp_path, {"halo.f90": text})
    assert tree.applied(inline) == 1
    assert "MPI_Recv(v, 5, MPI_INTEGER, above, (m + 1)," in tree.text("halo.f90")


@pytest.mark.parametrize(
    ("body", "stands"),
    [
        ("if (above > 9) shared = 60/(k - 1)", False),
        ("if (above > 9) shared = int(log(dble(k - 1)))", False),
        ("shared = merge(3, 4, k > 1)", True),
        ("shared = 60/above*(k - 1)", True),
    ],
)
def test_a_number_stands_for_a_dummy_where_no_compiler_may_refuse_it(
    body: str, stands: bool, tmp_path: Path
) -> None:
    tree = Stepped.of(tmp_path, {"halo.f90": program(call="call exchange(v, 5, 1)", body=body)})
    assert tree.applied(inline) == 1
    step = tree.text("halo.f90").split("subroutine step")[1]
    assert ("MPI_Recv(v, 5, MPI_INTEGER, above, 1," in step) is stands
    assert ("k = 1\n" in step) is not stands


@pytest.mark.parametrize(
    ("value", "comes", "accepted"),
    [("sqrt(x(i))", 1, ()), ("sin(x(i))", 0, ()), ("sin(x(i))", 1, ("bits",))],
)
def test_loops_that_compilers_may_vectorise_otherwise_stay(
    value: str, comes: int, accepted: tuple[str, ...], tmp_path: Path
) -> None:
    """More is known of bounds and arrays in the caller: last digits may change."""
    text = f"""\
subroutine outer(x, y, to, from)
  use mpi
  implicit none
  real(8) :: x(100), y(100)
  integer :: to, from
  call exchange(x, y, 100, to, from)
end subroutine outer
subroutine exchange(x, y, n, to, from)
  use mpi
  implicit none
  integer, intent(in) :: n, to, from
  real(8) :: x(n), y(n)
  integer :: ierr, i
  do i = 1, n
    x(i) = {value}
  end do
  call MPI_Sendrecv(x, n, MPI_REAL8, to, 1, y, n, MPI_REAL8, from, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
end subroutine exchange
"""
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.accepted = frozenset(accepted)
    refusals = [one.code.id for one in tree.refusals(inline)]
    assert refusals == ([] if comes else ["ASP063"])
    assert tree.applied(inline, unit="outer") == comes


def test_a_call_beside_parallel_loops_and_lines_for_openmp(tmp_path: Path) -> None:
    """Names that only a compilation with OpenMP declares are not declared twice."""
    loop = "!$omp parallel do\ndo m = 1, 2\nv(m) = 1\nend do\n!$omp end parallel do\n"
    text = program(
        declare=f"{DUMMIES}\ninteger :: nth, other",
        body="nth = 2\nother = 3\nu(1) = nth + other",
        own="!$ integer :: nth",
        call=f"{loop}{CALL}\n{loop}",
    )
    tree = found(text, tmp_path)
    assert not tree.refusals(inline)
    assert tree.applied(inline) == 1
    new = tree.text("a.f90")
    assert "asphalt_nth_1 = 2" in new
    assert new.count("!$omp parallel do\n") == 2
    assert "!$ integer :: nth" in new


_KERNEL = """\
      module names
      include 'mpif.h'
      integer used
{private}      end module names
      subroutine take(a, n)
      use names
      integer n, ierr, status(mpi_status_size)
      real a(n)
      call mpi_recv(a, n, mpi_real, 0, 1, mpi_comm_world, status, ierr)
      end
      subroutine both(a, n)
      integer n, ierr
      real a(n)
      call take(a, n)
      call mpi_barrier(91, ierr)
      end
"""


@pytest.mark.parametrize(
    ("private", "steps"), [("", 1), ("      private mpi_status_size\n", 0)], ids=["given", "hidden"]
)
def test_a_module_that_includes_mpi_gives_its_constants(
    private: str, steps: int, tmp_path: Path
) -> None:
    """The caller knows MPI by its calls only."""
    text = _KERNEL.format(private=private)
    if private:
        text = text.replace("use names", "use names, only: used\n      include 'mpif.h'", 1)
    tree = Stepped.of(tmp_path / "src", {"a.f": text})
    assert len(tree.steps(inline)) == steps
    if steps:
        assert tree.applied(inline) == 1
        assert "use names, only: " in tree.text("a.f").split("subroutine both")[1]
