"""The cost of computation in the source: where it is charged, and that nothing else changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.machine.machine import BUILT_IN, load_machine
from asphalt.running.simgrid import Cluster, MessageCosts, command
from asphalt.simulation.charged import charge_tree
from support.mpi_run import RUNTIME


def charged(tmp_path: Path, text: str, name: str = "a.f90") -> str:
    source = tmp_path / "source"
    source.mkdir()
    (source / name).write_text(dedent(text))
    found = charge_tree(source, tmp_path / "out", load_machine(), Settings(cache=False))
    assert found.runtime.is_file()
    return (found.root / name).read_text()


def test_a_nest_with_known_bounds_is_charged_once_and_otherwise_untouched(tmp_path: Path) -> None:
    text = """\
        subroutine add(n, m, a, b)
          integer, intent(in) :: n, m
          real(8), intent(inout) :: a(n, m)
          real(8), intent(in) :: b(n, m)
          integer :: i, j
          do j = 1, m   ! columns
            do i = 1, n
              a(i, j) = a(i, j) + b(i, j)
            end do
          end do
        end subroutine add
        """
    after = charged(tmp_path, text)
    assert after.count("call asphalt_charge(") == 1
    new = after[after.index("  call asphalt_charge(") : after.index("  do j = 1, m")]
    assert after.replace(new, "") == dedent(text)


def test_mpi_calls_come_after_what_has_been_charged(tmp_path: Path) -> None:
    text = """\
        subroutine step(n, a, comm)
          use mpi
          integer, intent(in) :: n, comm
          real(8), intent(inout) :: a(n)
          integer :: ierr
          a = a + 1
          call MPI_Barrier(comm, ierr)
        end subroutine step
        """
    after = charged(tmp_path, text)
    assert "  call asphalt_charge_now()\n  call MPI_Barrier(comm, ierr)\n" in after


def test_objects_of_the_runtime_communicate(tmp_path: Path) -> None:
    """What was computed before is charged before their messages start."""
    text = """\
        subroutine step(n, a, comm)
          use asphalt_exchange, only: asphalt_exchange_t
          integer, intent(in) :: n, comm
          real(8), intent(inout) :: a(n)
          type(asphalt_exchange_t) :: x
          a = a + 1
          call x%progress()
        end subroutine step
        """
    after = charged(tmp_path, text)
    assert "  call asphalt_charge_now()\n  call x%progress()\n" in after


def test_functions_of_the_runtime_communicate(tmp_path: Path) -> None:
    """So does each evaluation of a condition of DO WHILE."""
    text = """\
        subroutine step(n, a, b, comm)
          use asphalt_exchange, only: asphalt_exchange_t
          integer, intent(in) :: n, comm
          real(8), intent(inout) :: a(n), b(n)
          type(asphalt_exchange_t) :: x
          do while (x%next_tile(a))
            a = sqrt(a)
          end do
          if (.not. x%next_tile(a)) return
          if (.not. x%finished(a, b)) then
            a = sqrt(a)
          end if
        end subroutine step
        """
    after = charged(tmp_path, text)
    now = "call asphalt_charge_now()\n"
    assert f"  {now}  do while (x%next_tile(a))\n" in after
    assert f"    a = sqrt(a)\n    {now}  end do\n" in after
    assert f"  {now}  if (.not. x%next_tile(a)) return\n" in after
    assert f"  {now}  if (.not. x%finished(a, b)) then\n" in after


@pytest.mark.parametrize("bound", [True, False], ids=["bound", "of a module that is not there"])
def test_a_function_bound_to_a_type_is_called_once(bound: bool, tmp_path: Path) -> None:
    module = """\
        module turns
          type :: turn_t
            integer :: n = 0
          contains
            procedure :: done
          end type turn_t
        contains
          logical function done(x)
            class(turn_t), intent(inout) :: x
            x%n = x%n + 1
            done = x%n > 3
          end function done
        end module turns
        """
    text = """\
        subroutine step(n, a, t)
          use turns, only: turn_t
          integer, intent(in) :: n
          real(8), intent(inout) :: a(n)
          type(turn_t), intent(inout) :: t
          if (t%done()) a = sqrt(a + 1)
        end subroutine step
        """
    after = charged(tmp_path, dedent(module) * bound + dedent(text))
    assert "call asphalt_charge(" in after
    assert after.count("t%done()") == 1


def test_a_condition_on_a_component_is_repeated(tmp_path: Path) -> None:
    text = """\
        module turns
          type :: turn_t
            logical :: done(3) = .false.
          end type turn_t
        contains
          subroutine step(n, a, t)
            integer, intent(in) :: n
            real(8), intent(inout) :: a(n)
            type(turn_t), intent(inout) :: t
            if (t%done(1)) a = sqrt(a + 1)
          end subroutine step
        end module turns
        """
    assert charged(tmp_path, text).count("if (t%done(1))") == 2


def test_branches_and_uncountable_loops_charge_themselves(tmp_path: Path) -> None:
    text = """\
        subroutine first(n, a, x)
          integer, intent(in) :: n
          real(8), intent(inout) :: a(n)
          real(8), intent(in) :: x
          integer :: i
          do i = 1, n
            if (a(i) > x) exit
            a(i) = a(i) + x
            if (a(i) < 0) a(i) = a(i)*x
          end do
        end subroutine first
        """
    after = charged(tmp_path, text)
    inside = after[after.index("do i = 1") : after.index("end do")]
    assert "if (a(i) > x) exit\n    call asphalt_charge(" in inside
    assert "    if (a(i) < 0) call asphalt_charge(" in inside


def test_concurrent_constructs_are_charged_before_them_for_all_indexes(tmp_path: Path) -> None:
    text = """\
        subroutine all_at_once(n, m, a, b)
          integer, intent(in) :: n, m
          real(8), intent(inout) :: a(n, m), b(n, m)
          integer :: i, j
          do concurrent (integer :: i = 1:n:2, j = 1:m, a(i, j) > 0)
            a(i, j) = a(i, j)/b(i, j)
          end do
          call other()
          forall (i = 1:n)
            b(i, 1) = sqrt(a(i, 1))
          end forall
          call other()
          forall (i = 1:n, j = 2:m) b(i, j) = exp(a(i, j))
        end subroutine all_at_once
        """
    after = charged(tmp_path, text)
    charges = r"  call asphalt_charge.*?\n(?=  (?:do |forall|call other))"
    assert re.sub(charges, "", after, flags=re.DOTALL) == dedent(text)
    one, two, three = re.findall(r"asphalt_charge\((.*?)\n  (?:do|forall)", after, re.DOTALL)
    assert "real(m,8)" in one
    assert "real((n+1)/2,8)" in one.replace(" ", "")
    assert "real(n,8)" in two
    assert "m" not in two.replace("max", "")
    assert "real(n,8)" in three
    assert "real(m-1,8)" in three
    weights = load_machine().seconds
    assert float(one.split("_8*")[0]) >= weights["divide"]
    assert float(two.split("_8*")[0]) >= weights["sqrt"]
    assert float(three.split("_8*")[0]) > weights["exp"]


def test_long_iterations_cost_what_does_not_fit_into_the_window(tmp_path: Path) -> None:
    text = """\
        subroutine long(n, a, b)
          integer, intent(in) :: n
          real(8), intent(inout) :: a(n), b(n)
          integer :: i
          do i = 1, n
            a(i) = exp(sin(exp(b(i))))
          end do
        end subroutine long
        """
    source = tmp_path / "long.f90"
    source.write_text(dedent(text))

    def seconds(window: float) -> float:
        machine = replace(load_machine(), window=window)
        out = tmp_path / f"{window}"
        found = charge_tree(source, out, machine, Settings(cache=False))
        line = (found.root / source.name).read_text().replace("&\n", "")
        return sum(
            float(x)
            for x in re.findall(r"(\S+)_8\*max\(0.0_8, real\(n,8\)\)", line.replace("charge(", " "))
        )

    machine = load_machine()
    end_to_end = 2 * machine.latency["exp"] + machine.latency["sin"] + machine.latency["load"]
    busy = seconds(0.0)
    assert busy < end_to_end
    assert seconds(1e-9) == pytest.approx(end_to_end, rel=1e-6)  # one turn after the other
    assert seconds(2 * busy) == pytest.approx(max(busy, end_to_end / 2), rel=1e-6)  # two at once
    assert seconds(100 * busy) == pytest.approx(busy)


def test_dependences_on_a_concurrent_index_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "a.f90"
    source.write_text(
        dedent(
            """\
            subroutine triangle(n, a)
              integer, intent(in) :: n
              real(8), intent(inout) :: a(n, n)
              integer :: i, j
              do concurrent (i = 1:n)
                do j = 1, i
                  a(j, i) = exp(a(j, i))
                end do
              end do
            end subroutine triangle
            """
        )
    )
    found = charge_tree(source, tmp_path / "out", load_machine(), Settings(cache=False))
    assert [
        (entry.line, "depends on its own indexes" in entry.message) for entry in found.not_charged
    ] == [(5, True)]


def test_labels_and_fixed_form(tmp_path: Path) -> None:
    text = """\
              SUBROUTINE TWICE(N, M, A)
              INTEGER N, M, I, J, K
              REAL*8 A(N)
              K = 0
           30 DO 10 J = 1, M
              DO 10 I = 1, N
           10 A(I) = A(I) + 1.5D0*J
              K = K + 1
              IF (K .LT. 3) GO TO 30
              END
        """
    source = "C\n" + "\n".join(line[8:] for line in text.splitlines()) + "\n"
    after = charged(tmp_path, source, "a.f")
    program = _compiled(tmp_path / "out", "a.f", "-c")
    assert program.returncode == 0, program.stderr
    lines = after.splitlines()
    target = next(line for line in lines if line.strip().startswith("30 "))
    assert "CALL ASPHALT_CHARGE(" in target.upper()
    assert all(len(line) <= 72 for line in lines)


def test_implicit_none_external_is_heeded(tmp_path: Path) -> None:
    text = """\
        subroutine double(n, a)
          implicit none (type, external)
          integer, intent(in) :: n
          real(8), intent(inout) :: a(n)
          a = 2*a
        end subroutine double
        """
    charged(tmp_path, text)
    done = _compiled(tmp_path / "out", "a.f90", "-c")
    assert done.returncode == 0, done.stderr


def test_pure_procedures_lose_their_purity_only_where_nothing_asks_for_it(tmp_path: Path) -> None:
    text = """\
        module m
          implicit none
        contains
          pure real(8) function total(n, a)
            integer, intent(in) :: n
            real(8), intent(in) :: a(n)
            integer :: i
            total = 0
            do i = 1, n
              total = total + a(i)
            end do
          end function total
          pure integer function room(n)
            integer, intent(in) :: n
            room = 2*n + 1
          end function room
          pure integer function factor(n)
            integer, intent(in) :: n
            factor = 2
            do while (mod(n, factor) /= 0)
              factor = factor + 1
            end do
          end function factor
          subroutine use_both(n, a)
            integer, intent(in) :: n
            real(8), intent(inout) :: a(n)
            real(8) :: work(room(n))
            work = total(n, a)
            a = work(:n)
          end subroutine use_both
        end module m
        """
    after = charged(tmp_path, text)
    assert "pure real(8) function total" not in after
    assert "real(8) function total" in after
    assert "pure integer function room" in after
    assert "pure integer function factor" not in after
    done = _compiled(tmp_path / "out", "a.f90", "-c")
    assert done.returncode == 0, done.stderr


def test_a_directive_stays_with_its_loop_and_a_conditional_with_its_statement(
    tmp_path: Path,
) -> None:
    text = """\
        subroutine s(n, a)
          integer, intent(in) :: n
          real(8), intent(inout) :: a(n)
          integer :: i
        #ifdef NEVER
          a = 1
        #endif
          !$omp parallel do
          do i = 1, n
            a(i) = a(i) + 1
          end do
        end subroutine s
        """
    after = charged(tmp_path, text, "a.F90")
    assert "#endif\n  call asphalt_charge(" in after
    assert "!$omp parallel do\n  do i = 1, n\n" in after


def test_of_the_runtime_the_copies_are_charged(tmp_path: Path) -> None:
    """Right before they are made, since the next statement may start the message."""
    source = tmp_path / "source"
    source.mkdir()
    for path in RUNTIME:
        shutil.copy(path, source)
    charged = charge_tree(source, tmp_path / "out", load_machine())
    given = [line for path in RUNTIME for line in path.read_text().splitlines()]
    made = (charged.root / path.name for path in RUNTIME)
    lines = [line for path in made for line in path.read_text().splitlines()]
    copies = [number for number, line in enumerate(lines) if "= memcpy(" in line]
    assert len(copies) == len([line for line in given if "= memcpy(" in line]) == 5
    for number in copies:
        size = lines[number].rstrip(")").rpartition(", ")[2].replace(" ", "")
        assert lines[number - 2].strip().startswith("call asphalt_charge(1.0e-10_8*real(")
        assert size.split("*")[-1] in lines[number - 2]
        assert lines[number - 1].strip() == "call asphalt_charge_now()"
    new = {number - back for number in copies for back in (1, 2)}
    assert [line for number, line in enumerate(lines) if number not in new] == given


def test_a_wrong_machine_file_is_reported_with_its_key(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    good = BUILT_IN.read_text()
    for text, message in (
        (good.replace("[latency]", "[latency]\nbranch = 1e-9"), "latency.branch: is not a class"),
        (re.sub(r"(?m)^sqrt = .*\n", "", good, count=1), "seconds.sqrt: is missing"),
        (re.sub(r"(?m)^add = .*", "add = -1.0", good, count=1), "seconds.add: must be a time"),
        (good.replace('flags = ["-O2"]', 'flags = "-O2"'), "flags: must be a list"),
        ("name = ", "is not TOML"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            load_machine(file)
        assert str(file) in str(caught.value)
    with pytest.raises(InputError, match="asphalt calibrate"):
        load_machine(tmp_path / "no.toml")


PROGRAM = """\
program work
  use mpi
  implicit none
  real(8) :: a(100000), began
  integer :: i, ierr
  call MPI_Init(ierr)
  began = MPI_Wtime()
  a = 1
  do i = 1, size(a)
    a(i) = a(i)/3 + sqrt(real(i, 8))
  end do
  print '(es23.15)', MPI_Wtime() - began, sum(a)
  call MPI_Finalize(ierr)
end program work
"""


def test_the_clock_moves_the_same_way_each_time_and_not_at_all_when_switched_off(
    tmp_path: Path,
) -> None:
    machine = load_machine()
    source = tmp_path / "source"
    source.mkdir()
    (source / "work.f90").write_text(PROGRAM)
    out = tmp_path / "out"
    made = charge_tree(source, out, machine, Settings(cache=False))
    program = out / "work"
    build = ["smpif90", "-O2", "-o", str(program), "work.f90", made.runtime.name]
    subprocess.run(build, cwd=out, check=True, capture_output=True)
    (out / "p.xml").write_text(Cluster(nodes=1).xml())
    start = command(1, program, out / "p.xml", MessageCosts(0, 0))

    def printed(**more: str) -> list[str]:
        environment = {**os.environ, **more}
        done = subprocess.run(start, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.split()

    first, again, off = printed(), printed(), printed(ASPHALT_CHARGE="0")
    assert first == again
    work = 100000 * (machine.seconds["divide"] + machine.seconds["sqrt"])
    assert work < float(first[0]) < 3 * work
    assert float(off[0]) < 1e-7  # what it costs to read the clock
    assert off[1] == first[1]


def _compiled(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["gfortran", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
