"""A called procedure becomes two: its interior beside a message, its edges behind it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import File
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.inlining import versions
from asphalt.transforms.rewriting.step import Found, Step
from asphalt.unparse.unparse import unparse
from support.mpi_run import OPENMPI, Mpi, build, installed, run
from support.stepping import Stepped

_KERNEL = """\
{head}
    integer, intent(in) :: n, m
{declarations}    real(8), intent({intent}) :: v(n, 0:m+1)
    real(8), intent(in) :: u(n, 0:m+1)
    real(8) :: c, e, w, a, b, p, q
    integer :: i, j
{before}
    do j = 1, m
      do i = 2, n - 1
        e = u(i+1, j)
        w = u(i-1, j)
        a = e + w
        b = u(i, j+1) + u(i, j-1)
        p = a*b
        q = p - a
        p = p + q
        p = p - 1d-3*q
        a = a + 1d-6*p
        b = b - 1d-6*q
        p = 2*p
        q = 2*q
        p = p + a
        q = q + b
        p = p - q
        a = a - 1d-6*p
{body}
      end do
    end do
{after}
{end}
"""
_MODULE = """\
module kernels
  implicit none
{module}contains
{kernel}{more}end module kernels
"""
_MAIN = """\
program steps
  use mpi
  {use}
  implicit none
  integer, parameter :: n = 100, m = 80
  real(8), allocatable :: u(:, :), v(:, :){z}
  integer :: requests(4), me, np, lo, hi, it, ierr, i, j, k
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  lo = merge(me - 1, MPI_PROC_NULL, me > 0)
  hi = merge(me + 1, MPI_PROC_NULL, me < np - 1)
  allocate(u(n, 0:m+1), v(n, 0:m+1))
  k = me + 3
  do j = 0, m + 1
    do i = 1, n
      u(i, j) = mod(7*i + 13*(j + m*me), 127)*0.01d0
      v(i, j) = 0
    end do
  end do
  do it = 1, 5
{messages}    {call}
    u(:, 1:m) = v(:, 1:m)
  end do
  print '(i0, 1x, es24.16)', me, sum(v) + k
  call MPI_Finalize(ierr)
end program steps
"""
_MESSAGES = """\
    call MPI_Irecv(u(1, 0), n, MPI_DOUBLE_PRECISION, lo, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(u(1, m+1), n, MPI_DOUBLE_PRECISION, hi, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(u(1, m), n, MPI_DOUBLE_PRECISION, hi, 1, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(u(1, 1), n, MPI_DOUBLE_PRECISION, lo, 2, MPI_COMM_WORLD, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
"""


@dataclass
class _Program:
    """A program that exchanges halos in front of a call of ``evolve``."""

    head: str = "  subroutine evolve(v, u, n, m)"
    declarations: str = ""
    intent: str = "inout"
    before: str = "    c = 0.25d0"
    body: str = "        v(i, j) = c*(a + b) + u(i, j)"
    after: str = ""
    end: str = "  end subroutine evolve"
    module: str = ""
    more: str = ""
    use: str = "use kernels"
    call: str = "call evolve(v, u, n, m)"
    messages: str = _MESSAGES
    z: str = ""

    @property
    def kernel(self) -> str:
        """The text of the procedure."""
        return _KERNEL.format(**vars(self))

    @property
    def texts(self) -> tuple[str, str]:
        """The module, and the main program."""
        return _MODULE.format(kernel=self.kernel, **vars(self)), _MAIN.format(**vars(self))


class _Found:
    """What becomes of a program."""

    def __init__(self, folder: Path, *texts: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.paths = [folder / f"{number}.f90" for number in range(len(texts))]
        for path, text in zip(self.paths, texts, strict=True):
            path.write_text(text)
        self.tree = load_tree(self.paths, Settings(cache=False, jobs=1))
        (main,) = self.tree.main_programs()
        self.found: Optimised = optimise(self.tree, main)

    @property
    def texts(self) -> list[str]:
        """The files as they are now."""
        now = dict(self.found.beside)
        if self.found.content is not None:
            now[self.found.path] = self.found.content
        return [now.get(str(path), self.tree.content(str(path))).decode() for path in self.paths]

    @property
    def lines(self) -> list[str]:
        """Their statements."""
        return [line.strip() for text in self.texts for line in text.splitlines()]

    def printed(self, mpi: Mpi, ranks: int) -> list[list[str]]:
        """What the program prints, before and after."""
        given = [self.tree.content(str(path)).decode() for path in self.paths]
        outputs = []
        for name, texts in (("before", given), ("after", self.texts)):
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            sources = [folder / path.name for path in self.paths]
            for source, text in zip(sources, texts, strict=True):
                source.write_text(text)
            outcome = run(mpi, build(mpi, sources, folder, ("-O2",)), ranks)
            assert outcome.code == 0, outcome.stderr
            outputs.append(sorted(outcome.stdout.splitlines()))
        return outputs


def test_the_interior_of_a_procedure_is_called_beside_the_messages(tmp_path: Path) -> None:
    """In the file of the procedure, public if it is, in the list of the caller; what is INTENT(OUT)
    keeps what the first version has defined; no binding label is given twice."""
    program = _Program(
        head="  subroutine evolve(v, u, n, m) bind(c, name='evolve_it')",
        intent="out",
        module="  private\n  public :: evolve\n",
        use="use kernels, only: evolve",
        after="    v(1, 1:m) = u(1, 1:m)\n    v(n, 1:m) = u(n, 1:m)\n"
        "    v(2:n-1, 0) = 0\n    v(2:n-1, m+1) = 0\n    v(1:n:n-1, 0:m+1:m+1) = 1",
    )
    found = _Found(tmp_path, *program.texts)
    module, main = found.texts
    lines = found.lines
    inner = lines.index("call evolve_asphalt_inner(v, u, n, m)")
    waits = [n for n, line in enumerate(lines) if "call MPI_Wait(requests(" in line]
    assert inner < waits[0] < waits[1] < lines.index("call evolve_asphalt_edges(v, u, n, m)")
    assert "use kernels, only: evolve, evolve_asphalt_inner, evolve_asphalt_edges" in main
    assert "public :: evolve_asphalt_inner, evolve_asphalt_edges" in module
    assert module.count("bind(c") == module.count("intent(out)") == 1
    assert module.count("v(i, j) = c*(a + b)") == 3
    assert module.count("v(1, 1:m) = u(1, 1:m)") == 2  # the original, and the edges
    for mpi in installed(OPENMPI):
        for ranks in (1, 3):
            before, after = found.printed(mpi, ranks)
            assert before == after


_COMPARED = """\
program compared
  use kernels
  implicit none
  integer, parameter :: n = 9
  integer :: m
  real(8), allocatable :: u(:, :), v(:, :), w(:, :)
  do m = 0, 5
    allocate(u(n, 0:m+1), v(n, 0:m+1), w(n, 0:m+1))
    call random_number(u)
    call random_number(v)
    w = v
    call evolve(v, u, n, m)
    call evolve_asphalt_{first}(w, u, n, m)
    call evolve_asphalt_{second}(w, u, n, m)
    print *, all(v == w)
    deallocate(u, v, w)
  end do
end program compared
"""


@pytest.mark.parametrize("check", [versions.behind_waits, versions.before_starts])
@pytest.mark.parametrize("loops", ["j", "j and i"])
def test_each_iteration_is_executed_once(
    tmp_path: Path, check: Callable[[UnitFacts], tuple[Found, ...]], loops: str
) -> None:
    """However few there are.  No version declares what only the other one uses."""
    behind = check is versions.behind_waits
    parts = _MESSAGES.splitlines(keepends=True)
    moved = "".join(parts).replace("(u(", "(v(") if not behind else "".join(parts)
    program = _Program(
        messages=moved if behind else "",
        call="call evolve(v, u, n, m)" + ("" if behind else f"\n{moved}"),
        before="    c = 0.25d0\n    if (m > 100) return",
        declarations="    integer :: k\n",
        after="    do k = m + 1, 0, -1\n      v(1, k) = u(1, k)\n    end do",
    )
    tree = Stepped.of(tmp_path, {"a.f90": "".join(program.texts)})
    tree.any_sizes = True
    found = [one for facts in tree.facts() for one in check(facts)]
    steps = (one for one in found if isinstance(one, versions.Versions))
    step = next(one for one in steps if one.does.endswith(f"edges in {loops}"))
    (file,) = (tree.tree.file(entry.path) for entry in tree.tree.files)
    text = unparse(versions.with_versions(file, step))
    module = text[: text.index("program steps")]
    names = ("inner", "edges") if behind else ("edges", "inner")
    assert [name.rsplit("_", 1)[1] for name in step.called] == list(names)
    source = tmp_path / "compared.f90"
    source.write_text(module + _COMPARED.format(first=names[0], second=names[1]))
    flags = ["-O3", "-fcheck=all", "-Wall"]
    flags += [f"-Werror={mistake}" for mistake in ("uninitialized", "unused-variable")]
    subprocess.run(["gfortran", *flags, source, "-o", tmp_path / "run"], check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "run"], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["T"] * 6


def _checks(folder: Path, program: _Program) -> tuple[list[str], list[str]]:
    """The loops of the steps, and the reasons of the refusals."""
    tree = Stepped.of(folder, {"a.F90": "".join(program.texts)})
    tree.any_sizes = True
    found = [one for facts in tree.facts() for one in versions.behind_waits(facts)]
    steps = [one.does.split("edges in ")[1] for one in found if isinstance(one, Step)]
    reasons = [one.message for one in found if isinstance(one, Refused)]
    return steps, [reason.split(": ", 1)[1] for reason in reasons]


_ACCEPTED = {
    "plain": _Program(),
    "scalars in an IF": _Program(
        head="  subroutine evolve(v, u, n, m, s)",
        declarations="    real(8), intent(in), optional :: s\n",
        before="    if (present(s)) then\n      c = s\n    else\n      c = 0.25d0\n    end if",
    ),
    "an early return": _Program(before="    if (m < 1) return\n    c = 0.25d0"),
    "a function without effects": _Program(
        before="    c = part(n)",
        more="  real(8) function part(n)\n    integer, intent(in) :: n\n    part = 1d0/n\n"
        "  end function part\n",
    ),
    "a nest in an IF": _Program(before="    c = 0.25d0\n    if (n > 3) then", after="    end if"),
    "a generic name": _Program(
        module="  interface step\n    module procedure evolve\n  end interface step\n",
        call="call step(v, u, n, m)",
    ),
    "an expression": _Program(call="call evolve(v, u, n, m + 0*k)"),
    "another nest that keeps its order": _Program(
        after="    v(1, 1:m) = u(1, 1:m)\n    do j = 1, m\n      v(n, j) = u(n, j)\n    end do"
    ),
    "a counter behind the nest": _Program(
        head="  subroutine evolve(v, u, n, m, k)",
        declarations="    integer, intent(inout) :: k\n",
        after="    k = k + 1",
        call="call evolve(v, u, n, m, k)",
    ),
}


@pytest.mark.parametrize("program", _ACCEPTED.values(), ids=_ACCEPTED)
def test_a_procedure_has_versions(tmp_path: Path, program: _Program) -> None:
    assert _checks(tmp_path, program) == (["j", "i", "j and i"], [])


_OTHER = "  integer function number(m)\n    integer, intent(in) :: m\n    number = m\n"
_REFUSED = {
    "the whole array is set": (_Program(before="    c = 1\n    v = 0"), "keep their order"),
    "a sum": (
        _Program(
            module="  real(8) :: total\n",
            body="        v(i, j) = c*(a + b)\n        total = total + a",
        ),
        "one iteration over j may need kernels::total of another",
    ),
    "a maximum": (
        _Program(body="        v(i, j) = a + b\n        c = max(c, a)", after="    v(1, 1) = c"),
        "one iteration over j may need c of another",
    ),
    "a value that is carried": (
        _Program(after="    v(1, 1) = q"),
        "one iteration over j may need q of another",
    ),
    "an array that is carried": (
        _Program(
            declarations="    real(8) :: t(n, 0:m+1)\n",
            body="        t(i, j) = c*(a + b)",
            after="    do j = 1, m\n      do i = 2, n - 1\n        v(i, j) = t(i, j)\n"
            "      end do\n    end do",
        ),
        "t carries a value between its statements",
    ),
    "an extent that changes": (
        _Program(
            head="  subroutine evolve(v, u, n, m, k)",
            declarations="    integer, intent(inout) :: k\n    real(8) :: t(k + n)\n",
            body="        t(i) = c*(a + b)\n        v(i, j) = t(i)",
            after="    k = k - 1",
            call="call evolve(v, u, n, m, k)",
        ),
        "its declarations depend on k",
    ),
    "an allocation": (
        _Program(
            declarations="    real(8), allocatable :: t(:)\n",
            before="    c = 1\n    allocate(t(n))",
        ),
        "the ALLOCATE",
    ),
    "a scalar of what is computed": (_Program(before="    c = v(1, 1)"), "keep their order"),
    "a function with a state": (
        _Program(
            module="  real(8) :: total\n",
            before="    c = part(n)",
            more="  real(8) function part(n)\n    integer, intent(in) :: n\n"
            "    total = total + 1\n    part = total/n\n  end function part\n",
        ),
        "keep their order",
    ),
    "a local target": (
        _Program(declarations="    real(8), target :: t\n", before="    c = 1", after="    t = c"),
        "t may have other names",
    ),
    "allocated anew": (
        _Program(
            head="  subroutine evolve(v, u, n, m, z)",
            declarations="    real(8), allocatable, intent(out) :: z(:)\n",
            z=", z(:)",
            call="call evolve(v, u, n, m, z)",
        ),
        "z of evolve is INTENT(OUT) and is reset",
    ),
    "a function that is passed a value of": (
        _Program(
            call="call evolve(v, u, n, number(m))",
            more=_OTHER.replace("number = m", "k = k + 1\n    number = m") + "  end function\n",
            module="  integer :: k = 0\n",
            use="use kernels, only: evolve, number",
        ),
        "an actual argument may call a function",
    ),
    "an argument that changes": (
        _Program(
            head="  subroutine evolve(v, u, n, m, s)",
            declarations="    real(8), intent(in) :: s\n",
            call="call evolve(v, u, n, m, v(2, 2) + 1)",
        ),
        "an actual argument depends on v",
    ),
    "an element that changes": (
        _Program(
            head="  subroutine evolve(v, u, n, m, k, s)",
            declarations="    integer, intent(inout) :: k\n    real(8), intent(in) :: s\n",
            after="    k = k + 1",
            z=", z(:)",
            call="call evolve(v, u, n, m, k, z(k))",
        ),
        "an actual argument depends on k",
    ),
    "two names of an array": (
        _Program(
            head="  subroutine evolve(v, u, n, m, z)",
            declarations="    real(8), intent(inout) :: z(n, 0:m+1)\n",
            call="call evolve(v, u, n, m, v)",
        ),
        "v and z are one array, v of a caller",
    ),
    "two names of a scalar": (
        _Program(
            head="  subroutine evolve(v, u, n, m, k)",
            declarations="    integer, intent(inout) :: k\n",
            before="    c = 1\n    k = k + 1",
            call="call evolve(v, u, n, k, k)",
        ),
        "it may change k, which has two names there",
    ),
    "recursion": (
        _Program(before="    c = 1\n    if (m < 0) call evolve(v, u, n, m)"),
        "evolve calls itself",
    ),
    "a condition": (
        _Program(call="if (k > it) call evolve(v, u, n, m)"),
        "the call is not a statement of its own, or names an object",
    ),
    "the preprocessor": (
        _Program(before="    c = 0.25d0\n#ifdef BACKWARDS\n    c = -c\n#endif"),
        "the preprocessor selects statements of evolve",
    ),
    "internal procedures": (
        _Program(after="  contains\n    subroutine inside\n    end subroutine inside"),
        "evolve has internal procedures",
    ),
    "threads": (
        _Program(before="    c = 1\n    !$omp parallel do private(e, w, a, b, p, q)"),
        "!$omp parallel do",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "why"), _REFUSED.values(), ids=_REFUSED)
def test_a_procedure_has_no_versions(tmp_path: Path, program: _Program, why: str) -> None:
    steps, reasons = _checks(tmp_path, program)
    assert not steps
    assert [why in reason for reason in reasons] == [True]


_SILENT = {
    "input and output": _Program(after="    print *, v(2, 1)"),
    "a stop": _Program(before="    c = 1\n    if (u(1, 1) > 1d30) stop 'too much'"),
    "a saved variable": _Program(
        declarations="    integer, save :: calls = 0\n",
        before="    c = 1\n    calls = calls + 1",
        after="    v(1, 1) = calls",
    ),
    "an entry": _Program(after="    entry evolve_more(v, u, n, m)"),
    "an alternate return": _Program(
        head="  subroutine evolve(v, u, n, m, *)",
        call="call evolve(v, u, n, m, *77)\n77  continue",
    ),
    "a label": _Program(call="77 call evolve(v, u, n, m)"),
    "a procedure pointer": _Program(
        z="\n  procedure(evolve), pointer :: step", call="call step(v, u, n, m)"
    ),
    "a binding that may be overridden": _Program(
        head="  subroutine evolve(self, v, u, n, m)",
        declarations="    class(solver), intent(in) :: self\n",
        module="  type solver\n  contains\n    procedure :: evolve\n  end type solver\n",
        z="\n  class(solver), allocatable :: own",
        call="call own%evolve(v, u, n, m)",
    ),
    "what messages need in all iterations": _Program(
        messages=_MESSAGES.replace("MPI_Irecv(u(1, 0)", "MPI_Irecv(c(1, 0)"), call=""
    ),
}


@pytest.mark.parametrize("program", _SILENT.values(), ids=_SILENT)
def test_a_call_stays_as_it_is(tmp_path: Path, program: _Program) -> None:
    assert _checks(tmp_path, program)[0] == []


_EXTERNAL = {
    "implicit interface": (_Program(use="", end="  end subroutine evolve\n"), None),
    "interface": (
        _Program(
            use="",
            z="\n  interface\n    subroutine evolve(v, u, n, m)\n"
            "      integer, intent(in) :: n, m\n"
            "      real(8) :: v(n, 0:m+1), u(n, 0:m+1)\n    end subroutine evolve\n"
            "  end interface",
        ),
        "the caller has an interface of evolve",
    ),
    "optional": (
        _Program(
            use="",
            head="  subroutine evolve(v, u, n, m, s)",
            declarations="    real(8), intent(in), optional :: s\n",
        ),
        "a call of evolve needs its interface",
    ),
}


@pytest.mark.parametrize(("program", "why"), _EXTERNAL.values(), ids=_EXTERNAL)
def test_external_procedures(tmp_path: Path, program: _Program, why: str | None) -> None:
    """A version is called without an interface, or not at all."""
    tree = Stepped.of(tmp_path, {"a.f90": program.kernel, "b.f90": program.texts[1]})
    tree.any_sizes = True
    found = [one for facts in tree.facts() for one in versions.behind_waits(facts)]
    if why is None:
        assert len(found) == 3
    else:
        assert [why in one.message for one in found if isinstance(one, Refused)] == [True]
        assert len(found) == 1


_STRIDED = {"contiguous": "z", "with gaps": "z(:, ::2)"}


@pytest.mark.parametrize("passed", _STRIDED.values(), ids=_STRIDED)
def test_no_copy_of_an_argument_is_made_beside_a_message(tmp_path: Path, passed: str) -> None:
    """A copy would bring back the old halo when the procedure returns."""
    program = _Program(
        z=", z(:, :)",
        declarations="",
        messages="    allocate(z(n, 0:2*m+3))\n" + _MESSAGES.replace("(u(", "(z("),
        call=f"call evolve(v, {passed}, n, m)\n    deallocate(z)",
    )
    texts = [text.replace("intent(in) :: u(", "intent(inout) :: u(") for text in program.texts]
    found = _Found(tmp_path, *texts)
    lines = found.lines
    inner = [n for n, line in enumerate(lines) if line.startswith("call evolve_asphalt_inner(")]
    waits = [n for n, line in enumerate(lines) if "call MPI_Wait" in line]
    assert bool(inner and inner[0] < waits[0]) == (passed == "z")


def test_the_edges_come_first_where_messages_send_them(tmp_path: Path) -> None:
    sent = _MESSAGES.replace("(u(", "(v(")
    program = _Program(messages="", call=f"call evolve(v, u, n, m)\n{sent}")
    main = program.texts[1].replace("u(:, 1:m) = v(:, 1:m)", "u(:, :) = v(:, :)")
    found = _Found(tmp_path, program.texts[0], main)
    lines = found.lines
    edges = lines.index("call evolve_asphalt_edges(v, u, n, m)")
    start = next(n for n, line in enumerate(lines) if "MPI_Isend(v(1, m)" in line)
    inner = lines.index("call evolve_asphalt_inner(v, u, n, m)")
    wait = next(n for n, line in enumerate(lines) if "MPI_Wait" in line)
    assert edges < start < inner < wait
    for mpi in installed(OPENMPI):
        before, after = found.printed(mpi, 3)
        assert before == after


def test_versions_that_exist_are_called_again(tmp_path: Path) -> None:
    """Unless they are others, which get other names."""
    call = "    call evolve(v, u, n, m)"
    program = _Program(call=f"{call}\n{_MESSAGES}{call}")
    tree = Stepped.of(tmp_path, {"a.f90": program.texts[0], "b.f90": program.texts[1]})
    tree.any_sizes = True
    facts = next(one for one in tree.facts() if one.unit.kind == "program")
    one, *_, both = (
        f for f in versions.behind_waits(facts)[:3] if isinstance(f, versions.Versions)
    )
    module = versions.with_versions(tree.tree.file(one.callee.path), one)
    tree.tree = tree.tree.edited({one.callee.path: unparse(module).encode()})
    facts = next(one for one in tree.facts() if one.unit.kind == "program")
    again = [f for f in versions.behind_waits(facts)[3:] if isinstance(f, versions.Versions)]
    assert [len(step.made) for step in again] == [0, 2, 2]
    assert again[0].called == one.called
    assert again[2].called == tuple(f"{name}_2" for name in both.called)


def test_the_vectors_of_a_function_are_not_divided(tmp_path: Path) -> None:
    """The innermost loop stays whole: compilers would use other versions of EXP for its ends."""
    program = _Program(body="        v(i, j) = exp(c*(a + b))")
    assert _checks(tmp_path, program)[0] == ["j"]


def test_a_short_procedure_is_read_at_its_call(tmp_path: Path) -> None:
    """Few statements are less to read than two procedures more, if inlining saves as much."""
    kernel = _KERNEL[: _KERNEL.index("        p = a*b")] + _KERNEL[_KERNEL.index("{body}") :]
    program = _Program()
    module = _MODULE.format(kernel=kernel.format(**vars(program)), **vars(program))
    for text, short in ((module, True), (program.texts[0], False)):
        found = _Found(tmp_path / str(short), text, program.texts[1])
        tree = Stepped(found.tree)
        steps = [one for facts in tree.facts() for one in versions.behind_waits(facts)]
        kinds = [one.short for one in steps if isinstance(one, versions.Versions)]
        assert kinds == [short] * 3
        assert ("call evolve_asphalt_inner(v, u, n, m)" in found.lines) is not short
        wait = found.lines.index("call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)")
        assert ("c = 0.25d0" in found.lines[wait - 15 : wait]) is short


def _sent_from_edges() -> _Program:
    """Two loops are divided, each with its first and last iteration as edges, or two of them."""
    sent = _MESSAGES.replace("(u(", "(v(")
    return _Program(messages="", call=f"call evolve(v, u, n, m)\n{sent}")


def test_the_ways_that_decide_about_all(tmp_path: Path) -> None:
    """No interior is inside of the last one, and no edges are inside of those of one loop."""
    texts = _sent_from_edges().texts
    tree = Stepped.of(tmp_path, {"a.f90": texts[0], "b.f90": texts[1]})
    facts = next(one for one in tree.facts() if one.unit.kind == "program")
    ways = [f for f in versions.before_starts(facts) if isinstance(f, versions.Versions)]
    counts = [[(own.first, own.last) for own in way.ends[1]] for way in ways]
    none, one, two = (0, 0), (1, 1), (2, 2)
    assert counts == [[one, none], [two, none], [none, one], [none, two], [one, one], [two, two]]
    assert versions.deciding(ways) == [ways[0], ways[2], ways[5]]
    assert versions.deciding(ways[:2]) == ways[:2]
    assert versions.deciding([ways[1], ways[2]]) == [ways[1], ways[2]]
    assert versions.deciding(ways[4:5]) == ways[4:5]


@pytest.mark.parametrize(
    ("sent", "number"), [("v(1, 0), n*(m + 2)", 3), ("v(1, 40), n", 3), ("v(1, 1), n", 6)]
)
def test_ways_that_the_others_decide_about_are_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: str, number: int
) -> None:
    """Where all is sent, or a row in the midst, three texts show that no part of the procedure
    moves.  Where the first row is sent, the interior moves, and each way is tried.  (None gains
    here: nobody receives.)"""
    lines = [line for line in _MESSAGES.splitlines() if "Isend(u(1, 1), n" in line]
    send = lines[0].replace("u(1, 1), n", sent)
    wait = "    call MPI_Wait(requests(4), MPI_STATUS_IGNORE, ierr)"
    program = _Program(messages="", call=f"call evolve(v, u, n, m)\n{send}\n{wait}")
    main = program.texts[1].replace("u(:, 1:m) = v(:, 1:m)", "u(:, :) = v(:, :)")
    made: set[tuple[str, ...]] = set()
    with_versions = versions.with_versions

    def noted(file: File, step: versions.Versions) -> File:
        made.add(step.text)
        return with_versions(file, step)

    monkeypatch.setattr(versions, "with_versions", noted)
    found = _Found(tmp_path, program.texts[0], main)
    assert len(made) == number
    told = {one.does for one in found.found.dropped if "becomes two" in one.does}
    assert len(told) == 3
