"""Waits and starts that a branch keeps back go into its arms, one copy for each path."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.motion import branch_copies
from support.mpi_run import SMPI, Mpi, installed, runtime_texts
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 2000
  real(8) :: a(n), b(n), c(n), d(n)
  integer :: me, np, left, right, i, step, ierr, status(MPI_STATUS_SIZE), kind
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = 0; b = me; c = me; d = 1
  do step = 1, 4
    flag = mod(step + me, 2) == 0
    kind = mod(step + me, 3)
{body}
  end do
  print '(i0, 2z17)', me, sum(c), sum(b)
  call MPI_Finalize(ierr)
end program main
"""
_PAIR = """\
    call MPI_Sendrecv(b, n, MPI_DOUBLE_PRECISION, right, 1, a, n, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, status, ierr)
"""
_NEEDS = "      do i = 1, n\n        c(i) = c(i) + a(i)\n      end do\n"
_WORK = "      do i = 1, n\n        c(i) = sqrt(c(i) + d(i)*i)\n      end do\n"
_BRANCH = f"    if (flag) then\n{_NEEDS}    else\n{_WORK}    end if\n    c(1) = c(1) + a(1)\n"
_ONE_ARM = f"    if (flag) then\n{_WORK}{_NEEDS}    end if\n    c(2) = c(2) + a(2)\n"
_SELECT = (
    f"    select case (kind)\n    case (0)\n{_NEEDS}    case (1)\n{_WORK}{_NEEDS}"
    f"    case default\n{_WORK}    end select\n    c(2) = c(2) + a(2)\n"
)
_FILL = "      do i = 1, n\n        b(i) = c(i) - i\n      end do\n"
_FILLED = f"    if (flag) then\n{_WORK}{_FILL}    else\n{_FILL}{_WORK}    end if\n"

MOVED = {
    "the wait of a receive": _PAIR + _BRANCH,
    "one arm": _PAIR + _ONE_ARM,
    "a case": _PAIR + _SELECT,
    "the start of a send": _FILLED + _PAIR + _NEEDS.replace("      ", "    "),
}
STAYING = {
    "the condition reads what comes": _PAIR + _BRANCH.replace("(flag)", "(a(1) > 0)"),
    "every arm needs it at once": _PAIR + _BRANCH.replace(_WORK, _NEEDS),
    "a path without a case": _PAIR + _SELECT.replace(f"    case default\n{_WORK}", ""),
    "an arm leaves the loop": _PAIR + _BRANCH.replace(_WORK, _WORK + "      cycle\n"),
    "a label in an arm": _PAIR
    + _BRANCH.replace(
        _WORK, _WORK + "      if (kind == 1) go to 10\n      c(3) = 0\n10    continue\n"
    ),
    "a function of the condition reads it": _PAIR + _BRANCH.replace("(flag)", "(odd(a))"),
}
_FUNCTION = """
logical function odd(c)
  real(8), intent(inout) :: c(*)
  c(1) = c(1) + 1
  odd = mod(int(c(1)), 2) == 1
end function odd
"""


def program(body: str) -> str:
    text = _PROGRAM.format(body=body)
    if "odd(" in body:
        text = text.replace(
            "  logical :: flag\n", "  logical :: flag\n  logical, external :: odd\n"
        )
        text += _FUNCTION
    return text


_BOX = "MPI_DOUBLE_PRECISION"
_SENT = f"    call MPI_Send(d, n, {_BOX}, right, 1, MPI_COMM_WORLD, ierr)\n"
_OPEN = f"    call MPI_Irecv(a, n, {_BOX}, left, 1, MPI_COMM_WORLD, request, ierr)\n{_SENT}"
_WAIT = "    call MPI_Wait(request, status, ierr)\n"
_OTHER_WAIT = "      call MPI_Wait(other, MPI_STATUS_IGNORE, late)\n"


def _received(arm: str, *, condition: str = "flag", wait: str = _WAIT) -> str:
    """A receive that is waited for in front of a branch; its second arm does not need it."""
    branch = f"    if ({condition}) then\n{_NEEDS}    else\n{arm}    end if\n"
    return f"{_OPEN}{wait}{branch}    ierr = 0; status = 0\n"


def _starts(source: str, tag: str, request: str = "other") -> str:
    """An arm that begins with a start, and has work beside it."""
    start = f"call MPI_Irecv(e, n, {_BOX}, {source}, {tag}, MPI_COMM_WORLD, {request}, late)"
    return f"      {start}\n{_WORK}" + _OTHER_WAIT.replace("other", request)


def _sends(tag: int) -> str:
    """A send that is started behind a branch, and one that is started in an arm, behind work."""
    other = f"      call MPI_Isend(d, n, {_BOX}, right, {tag}, MPI_COMM_WORLD, other, late)\n"
    arms = f"{_FILL}{_WORK}{other}{_OTHER_WAIT}    else\n{_FILL}"
    start = f"    call MPI_Isend(b, n, {_BOX}, right, 1, MPI_COMM_WORLD, request, ierr)\n"
    return f"    if (flag) then\n{arms}    end if\n{start}{_WORK}{_WAIT}"


def _receives(tag: str) -> str:
    """A receive that is started behind a branch, and one in an arm, behind work."""
    other = f"call MPI_Irecv(e, n, {_BOX}, left, {tag}, MPI_COMM_WORLD, other, late)"
    arms = f"{_NEEDS}{_WORK}      {other}\n{_OTHER_WAIT}    else\n{_NEEDS}"
    start = f"    call MPI_Irecv(a, n, {_BOX}, left, 1, MPI_COMM_WORLD, request, ierr)\n"
    return f"    if (flag) then\n{arms}    end if\n{start}{_WORK}{_WAIT}"


def _both(arm: str) -> str:
    """Two sends that are complete together, in front of a branch."""
    starts = "".join(
        f"    call MPI_Isend({b}, n, {_BOX}, right, 1, MPI_COMM_WORLD, both({k}), ierr)\n"
        for k, b in enumerate("bd", 1)
    )
    wait = "    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr)\n"
    return f"{starts}{wait}    if (flag) then\n{_FILL}    else\n{arm}    end if\n"


_LATE = "      c(3) = {}\n"
HAZARDS = {
    "a start from any source": (_starts("MPI_ANY_SOURCE", "2"), _starts("left", "2")),
    "a request of the same name": (_starts("left", "2", "request"), _starts("left", "2")),
    "a status that is read": (
        _LATE.format("status(MPI_TAG)") + _WORK,
        _LATE.format("kind") + _WORK,
    ),
    "an error code that is read": (_LATE.format("ierr") + _WORK, _LATE.format("kind") + _WORK),
    "STOP": (_WORK + "      stop\n", _WORK + "      continue\n"),
    "STOP under a condition": (
        _WORK + "      if (c(1) > 1d9) stop\n",
        _WORK + "      if (c(1) > 1d9) c(1) = 0\n",
    ),
    "RETURN": (_WORK + "      return\n", _WORK + "      continue\n"),
    "RETURN under a condition": (
        _WORK + "      if (c(1) > 1d9) return\n",
        _WORK + "      if (c(1) > 1d9) c(1) = 0\n",
    ),
    "a directive": ("      !dir$ ivdep\n" + _WORK, "      ! dir$ ivdep\n" + _WORK),
}
PAIRS = {
    **{f"{name} in an arm": tuple(map(_received, pair)) for name, pair in HAZARDS.items()},
    "a status that is read in the condition": (
        _received(_WORK, condition="status(MPI_TAG) == 1"),
        _received(_WORK, condition="kind == 1"),
    ),
    "an error code that is read in the condition": (
        _received(_WORK, condition="ierr == 0"),
        _received(_WORK, condition="kind == 0"),
    ),
    "two messages of one envelope": (_sends(1), _sends(2)),
    "a receive of any tag": (_receives("MPI_ANY_TAG"), _receives("2")),
    "one of two sends that are complete together": (
        _both(_WORK.replace("d(i)*i", "i").replace("c(i) =", "d(i) =")),
        _both(_WORK.replace("d(i)*i", "i")),
    ),
}


def _found(folder: Path, body: str) -> list[branch_copies.CopyOnPaths]:
    text = (
        program(body)
        .replace("program main", "subroutine main")
        .replace(
            "  logical :: flag\n",
            "  logical :: flag\n  integer :: request, other, both(2), late\n  real(8) :: e(n)\n",
        )
    )
    steps = Stepped.of(folder, {"main.f90": text}).steps(branch_copies)
    return [step for step in steps if isinstance(step, branch_copies.CopyOnPaths)]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_not_safe_is_not_found(name: str, tmp_path: Path) -> None:
    hazard, harmless = PAIRS[name]
    assert _found(tmp_path / "harmless", harmless)
    assert not _found(tmp_path / "hazard", hazard)


def _optimised(folder: Path, text: str) -> Optimised:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return optimise(tree, tree.units_of(str(path))[0])


def _copied(found: Optimised) -> list[str]:
    return [step.does for step in found.steps if "into the arms" in step.does]


@pytest.mark.parametrize("name", MOVED)
def test_each_path_has_a_copy(name: str, tmp_path: Path) -> None:
    found = _optimised(tmp_path, program(MOVED[name]))
    assert _copied(found), found.steps


@pytest.mark.parametrize("name", STAYING)
def test_it_stays_in_front_of_the_branch(name: str, tmp_path: Path) -> None:
    assert not _copied(_optimised(tmp_path, program(STAYING[name])))


def test_a_path_without_an_arm_gets_one(tmp_path: Path) -> None:
    found = _optimised(tmp_path, program(MOVED["one arm"]))
    assert found.content is not None
    lines = [line.rstrip() for line in found.content.decode().splitlines()]
    at = lines.index("    else")
    assert lines[at + 1].startswith("      call asphalt_wait(asphalt_request_1, a)")
    assert lines[at + 2] == "    end if"


def test_a_construct_with_a_name_keeps_its_columns(tmp_path: Path) -> None:
    named = (_PAIR + _ONE_ARM).replace("    if (flag)", "    outer: if (flag)")
    found = _optimised(tmp_path, program(named.replace("    end if", "    end if outer")))
    assert found.content is not None
    assert "\n    else\n      call asphalt_wait(" in found.content.decode()


def test_comments_stay_in_their_arm(tmp_path: Path) -> None:
    """Those in front of END IF belong to the arm that they end."""
    body = MOVED["one arm"].replace("    end if\n", "      ! work is done\n\n    end if\n")
    found = _optimised(tmp_path, program(body))
    assert found.content is not None
    lines = [line.rstrip() for line in found.content.decode().splitlines()]
    at = lines.index("      ! work is done")
    assert lines[at - 1] == "      end do"
    assert lines[at + 1 : at + 3] == ["", "    else"]
    assert lines[at + 3].startswith("      call asphalt_wait(asphalt_request_1, a)")
    assert lines[at + 4] == "    end if"


def _prints(folder: Path, text: str, ranks: int, mpi: Mpi) -> list[str]:
    files = {**runtime_texts(text), "main.f90": text}
    said = Stepped.of(folder, files).result(mpi, folder / "run", list(files), ranks)
    return sorted(said.splitlines())


@pytest.mark.parametrize("name", MOVED)
def test_the_bits_are_the_same(name: str, tmp_path: Path) -> None:
    if SMPI not in installed():
        pytest.skip("no SMPI")
    _same_bits(MOVED[name], tmp_path, (3,), SMPI)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
@pytest.mark.parametrize("name", [*MOVED, *STAYING])
def test_the_bits_are_the_same_everywhere(name: str, mpi: Mpi, tmp_path: Path) -> None:
    _same_bits({**MOVED, **STAYING}[name], tmp_path, (1, 2, 4), mpi)


def _same_bits(body: str, folder: Path, ranks: tuple[int, ...], mpi: Mpi) -> None:
    text = program(body)
    found = _optimised(folder / "source", text)
    made = text if found.content is None else found.content.decode()
    for number in ranks:
        before = _prints(folder / f"before{number}", text, number, mpi)
        assert len(before) == number
        assert _prints(folder / f"after{number}", made, number, mpi) == before
