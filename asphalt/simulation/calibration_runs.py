"""Runs the loops of the calibration: builds them with a compiler and its flags, and times them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from asphalt.config.errors import UsageError
from asphalt.running.process import run

LENGTH, SIDE, ROWS, COLUMNS, CROSSED = 1000, 31, 64, 33000, 128
DATA = Path(__file__).resolve().parent.parent / "data"
FILES = ("calibration.f90", "arguments.inc", "plane.inc")
PAGE = "first_touch"
"""The first touch of a page, which is timed separately."""
_END = re.compile(
    r"(?<=\n)(?=\n(?:  !.*\n)*(?:  (?:subroutine|real\(real64\) function) |end module))"
)
_LINE = re.compile(r"^(\w+)\s+(\S+)$", re.MULTILINE)
_TIMEOUT = 300.0
_AT_ONCE = 5  # repeats that one run does
_ORDERS = 5  # of the procedures in the file


def steps(repeats: int) -> int:
    """The number of steps of a calibration: compile each order, time it in several runs, fit."""
    return _orders(repeats) + len(_portions(repeats)) + 1


def measure(
    compiler: str,
    flags: Sequence[str],
    repeats: int,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The processor time of each loop in seconds, and of the first touch of a page.

    A loop takes longer if the compiler aligns it badly, which depends on the procedures before it.
    So the procedures are compiled in several orders, which share the repeats; see ``usual``.
    """
    text = (DATA / FILES[0]).read_text(encoding="ascii")
    names = re.findall(r"^  subroutine (\w+)", text, re.MULTILINE)
    found: list[dict[str, float]] = [{} for _ in range(_orders(repeats))]
    with TemporaryDirectory(prefix="asphalt-calibrate-") as folder:
        places = [Path(folder) / str(number) for number in range(len(found))]
        for number, place in enumerate(places):
            place.mkdir()
            for file in FILES[1:]:
                (place / file).write_bytes((DATA / file).read_bytes())
            (place / FILES[0]).write_text(reordered(text, number), encoding="ascii")
            (place / "driver.f90").write_text(_driver(names), encoding="ascii")
            command = [compiler, *flags, "-o", "calibration", FILES[0], "driver.f90"]
            _checked(command, place)
            advance()
        for turn, portion in enumerate(_portions(repeats)):
            number = turn % len(found)
            place, least = places[number], found[number]
            output = _checked([str(place / "calibration"), str(portion)], place)
            for name, seconds in _LINE.findall(output):
                least[name] = min(float(seconds), least.get(name, inf))
            advance()
    return usual(found)


def usual(orders: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The typical time of each loop: the median over several orders.

    A badly aligned loop may take twice its time, so the mean would be right for no program.  A
    factor that most loops of an order share is not due to alignment but to a busy machine.  It is
    divided out, so that a loop which is equal in all orders has its minimum.
    """
    least = {name: min(order[name] for order in orders) for name in orders[0]}
    known = [name for name, seconds in least.items() if seconds > 0]
    busier = [median(order[name] / least[name] for name in known) for order in orders]
    return {
        name: median(order[name] / by for order, by in zip(orders, busier, strict=True))
        for name in least
    }


def reordered(text: str, number: int) -> str:
    """The module with its procedures in one of many orders; 0: the given order."""
    head, contains, rest = text.partition("\ncontains\n")
    *procedures, end = _END.split(rest)
    if number:
        Random(number).shuffle(procedures)
    return head + contains + "".join(procedures) + end


def _portions(repeats: int) -> list[int]:
    """The repeats of each run of the program."""
    return [min(_AT_ONCE, repeats - done) for done in range(0, repeats, _AT_ONCE)]


def _orders(repeats: int) -> int:
    """The number of orders in which the loops are compiled and run."""
    return min(_ORDERS, len(_portions(repeats)))


def _checked(command: list[str], place: Path) -> str:
    done = run(command, place, _TIMEOUT)
    if done.status != 0:
        messages = done.stderr.decode(errors="replace").strip()[-1000:]
        raise UsageError(f"calibration: {' '.join(command)}: failed: {messages}")
    return done.stdout.decode()


def _driver(names: Iterable[str]) -> str:
    """The main program that times all loops, as often as its argument says.

    It passes them as procedures, so that the compiler inlines none.
    """
    calls = "\n".join(f"  call timed('{name}', {name})" for name in names)
    return _DRIVER.format(calls=calls, length=LENGTH, side=SIDE, pages=PAGE)


_DRIVER = """\
program drive
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use calibration
  implicit none
  integer, parameter :: n = {length}
  real(real64) :: a(n), b(n), c(n), d(n)
  integer :: k(n), l(n), i, j, m
  complex(real64) :: z(n), w(n)
  real(real64) :: best(200), pages
  integer :: times(200), number, round, repeats
  character(20) :: word
  call get_command_argument(1, word)
  read (word, *) repeats
  do round = 0, repeats  ! each loop in turn, so that a busy moment spoils no loop
    number = 0
{calls}
    if (round == 0) pages = first_touch()
    pages = min(pages, first_touch())
  end do
  print '(a, 1x, es13.6)', '{pages}', pages
contains
  subroutine prepare()
    integer(int64) :: state
    state = 12345
    do i = 1, n
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      b(i) = 0.5_real64 + state/2147483648.0_real64
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      c(i) = 0.5_real64 + state/2147483648.0_real64
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      d(i) = 16*(state/2147483648.0_real64 - 0.5_real64)
      l(i) = i
    end do
    do i = n, 2, -1
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      j = 1 + int(state/8, kind(i))/(268435456/i + 1)
      m = l(i); l(i) = l(j); l(j) = m
    end do
    a = 1; k = 1; k(1) = 4; k(2) = 2
    z = cmplx(b, c, real64); w = cmplx(c, b, real64)
  end subroutine prepare

  subroutine timed(name, work)
    character(*), intent(in) :: name
    external :: work
    real(real64) :: began, ended
    integer :: turn

    number = number + 1
    if (round == 0) then
      call prepare()
      times(number) = 1
      do
        call cpu_time(began)
        do turn = 1, times(number)
          call work(n, {side}, a, b, c, d, k, l, z, w)
        end do
        call cpu_time(ended)
        best(number) = (ended - began)/times(number)
        if (ended - began > 1e-3_real64) exit
        times(number) = 2*times(number)
      end do
    else
      call prepare()
      call work(n, {side}, a, b, c, d, k, l, z, w)
      call cpu_time(began)
      do turn = 1, times(number)
        call work(n, {side}, a, b, c, d, k, l, z, w)
      end do
      call cpu_time(ended)
      best(number) = min(best(number), (ended - began)/times(number))
    end if
    if (round == repeats) print '(a, 1x, es13.6)', name, best(number)
  end subroutine timed
end program drive

subroutine touch(x, value)
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(inout) :: x(:,:)
  real(real64), intent(in) :: value

  x(1, :) = value
end subroutine touch

subroutine asphalt_called(x)
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(inout) :: x

  x = x + 1
end subroutine asphalt_called
"""
