"""Lines that the cache loses before a loop needs them again: where they are charged."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from asphalt.analysis.cost.classes import CLASSES, CoreCache
from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.gain.model import Model
from asphalt.ir.expr import Lit
from asphalt.machine.core_caches import own_cache
from asphalt.machine.machine import BUILT_IN, LATENCIES, Machine, load_machine
from asphalt.machine.machine_file import machine_text
from asphalt.machine.platforms import INFINIBAND_HDR
from asphalt.simulation.charged import charge_tree
from support.stepping import Stepped

CACHE = CoreCache(64 * 1000)
SECONDS = dict.fromkeys(CLASSES, 0.0) | {"line": 1.0e-9}
MACHINE = Machine("m", "gfortran", (), SECONDS, cache=CACHE)
HEAD = """\
subroutine s(n, m, a, b, c)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), b(m, n), c(n, n, n)
  real(8) :: v(5, 4000), w(4000, 4000)
  integer :: i, j, k, l(n)
"""
TRANSPOSED = """\
do i = 1, n
  do j = 1, m
    b(j, i) = a(i, j)
  end do
end do
"""
TIMES = "max(0.0_8,real({0},8))"
N, M = TIMES.format("n"), TIMES.format("m")


def _unit(body: str) -> str:
    return HEAD + indent(dedent(body), "  ") + "end subroutine s\n"


def _charges(folder: Path, body: str, machine: Machine = MACHINE) -> list[str]:
    """What is charged, without the spaces in it."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "a.f90").write_text(_unit(body))
    made = charge_tree(folder / "source", folder / "out", machine, Settings(cache=False, jobs=1))
    after = re.sub(r"&\s*\n\s*&?", "", (made.root / "a.f90").read_text())
    return [re.sub(r"\s", "", one) for one in re.findall(r"call asphalt_charge\((.*)\)\n", after)]


def _lost(*trips: str, lines: int = 1000) -> str:
    number = "*".join(trips)
    return f"max(0.0_8,sign({number},{number}-{lines}.0_8))"


def test_a_transposition_loses_the_lines_of_what_it_crosses(tmp_path: Path) -> None:
    assert _charges(tmp_path, TRANSPOSED) == [f"1.0e-9_8*{N}*{_lost(M)}"]


def test_all_loops_between_two_iterations_count(tmp_path: Path) -> None:
    body = """\
        do k = 1, n
          do j = 1, m
            do i = 1, n
              c(k, j, i) = c(k, j, i) + a(i, j)
            end do
          end do
        end do
        """
    assert _charges(tmp_path, body) == [f"1.0e-9_8*{N}*{_lost(M, N)}"]


@pytest.mark.parametrize(
    ("columns", "found"), [(999, []), (1000, [1000]), (3000, [3000])], ids=["fits", "full", "more"]
)
def test_what_fits_into_the_cache_stays_there(
    columns: int, found: list[int], tmp_path: Path
) -> None:
    body = f"do i = 1, n\n  do j = 1, {columns}\n    a(j, 1) = w(i, j)\n  end do\nend do\n"
    charged = _charges(tmp_path, body)
    assert charged == [f"{number / 1000:.1f}e-6_8*{N}" for number in found]


def test_arrays_that_are_crossed_together_share_the_cache(tmp_path: Path) -> None:
    body = """\
        do i = 1, n
          do j = 1, m
            w(1, j) = a(i, j) + a(i + 1, j) + c(i - 1, j, 3) + a(i, j - 1)
          end do
        end do
        """
    # a(i, j - 1) is a line that a(i, j) has touched a turn ago
    assert _charges(tmp_path, body) == [f"2.0e-9_8*{N}*{_lost(M, lines=500)}"]


@pytest.mark.parametrize(
    "body",
    [
        "do j = 1, m\n  do i = 1, n\n    a(i, j) = 2*a(i, j)\n  end do\nend do\n",
        "do i = 1, n\n  do j = 1, m\n    v(5, j) = v(i, 2)\n  end do\nend do\n",
        "do i = 1, n\n  do j = 1, m\n    b(j, i) = a(2*i, j)\n  end do\nend do\n",
        "do i = 1, n\n  do j = 1, m\n    b(j, i) = a(i + j, j)\n  end do\nend do\n",
        "do i = 1, n\n  do j = 1, m\n    b(j, i) = a(i, l(j))\n  end do\nend do\n",
        "do i = 1, n\n  do j = 1, m\n    b(j, i) = c(i, j, i)\n  end do\nend do\n",
        "do i = 1, n\n  a(i, 1) = a(i, 2)\nend do\n",
    ],
    ids=["along", "one line", "far", "together", "by index", "diagonal", "no nest"],
)
def test_what_is_not_crossed_loses_nothing(body: str, tmp_path: Path) -> None:
    assert _charges(tmp_path, body) == []


def test_bounds_that_change_with_the_loop_are_evaluated_in_each_iteration(tmp_path: Path) -> None:
    body = TRANSPOSED.replace("j = 1, m", "j = i, m")
    (charged,) = _charges(tmp_path, body)
    assert charged == f"1.0e-9_8*{_lost(TIMES.format('m+1-i'))}"
    body = TRANSPOSED.replace("do j", "k = k + 1\n  do j").replace("1, m", "1, k")
    assert _charges(tmp_path / "changed", body) == []


def test_nothing_is_lost_from_a_cache_of_unknown_size(tmp_path: Path) -> None:
    assert _charges(tmp_path, TRANSPOSED, replace(MACHINE, cache=CoreCache())) == []


def test_a_program_may_have_a_sign_of_its_own(tmp_path: Path) -> None:
    body = "l(1) = sign(2)\n" + TRANSPOSED
    own = _unit(body).replace("l(n)\n", "l(n), sign(3)\n")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.f90").write_text(own)
    charge_tree(tmp_path / "source", tmp_path / "out", MACHINE, Settings(cache=False, jobs=1))
    assert (tmp_path / "out" / "a.f90").read_text() == own


def test_a_large_number_does_not_overflow(tmp_path: Path) -> None:
    """60000 x 60000 lines are more than a default integer holds; what is charged compiles."""
    body = """\
        do k = 1, 2
          do j = 1, m
            do i = 1, n
              c(k, j, i) = 1
            end do
          end do
        end do
        """
    (charged,) = _charges(tmp_path, body)
    text = f"integer :: n, m\nn = 60000; m = n\nprint '(es8.2)', {charged}\nend\n"
    (tmp_path / "main.f90").write_text(text.replace("*", " &\n *"))
    subprocess.run(["gfortran", "main.f90", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(2 * 60000.0**2 * 1e-9)


def test_one_iteration_is_not_few() -> None:
    assert [TripCount(Lit("integer", str(n)), 5).value for n in (-1, 4, 5, 6)] == [0, 0, 5, 6]


def test_optimisation_takes_them_into_account(tmp_path: Path) -> None:
    found = []
    for number, turns in enumerate((10, 900, 1100)):
        body = TRANSPOSED.replace("1, m", f"1, {turns}").replace("1, n", "1, 7")
        stepped = Stepped.of(tmp_path / str(number), {"a.f90": _unit(body)})
        (facts,) = stepped.facts()
        seconds = Model((INFINIBAND_HDR,), machine=MACHINE).seconds(stepped.tree, facts.located)
        found.append(seconds(facts.located.unit.body))
    assert found == pytest.approx([0, 0, 7 * 1100e-9])


def test_the_machine_file_says_how_large_the_cache_is(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    full = Machine("m", "gfortran", ("-O2",), SECONDS, dict.fromkeys(LATENCIES, 1e-9), 0.0, CACHE)
    file.write_text(machine_text(full))
    assert load_machine(file) == full
    for wrong in ("-1", "1.5", "true", "'1 MB'"):
        file.write_text(machine_text(full).replace(f"cache = {CACHE.size}", f"cache = {wrong}"))
        with pytest.raises(InputError, match="cache: must be a number of bytes"):
            load_machine(file)


def test_a_machine_file_may_leave_them_out(tmp_path: Path) -> None:
    text = BUILT_IN.read_text()
    text = re.sub(r"^(line|conflict|cache|ways?) = .*\n", "", text, flags=re.MULTILINE)
    (tmp_path / "old.toml").write_text(text)
    old = load_machine(tmp_path / "old.toml")
    assert (old.cache, old.seconds["line"], old.seconds["conflict"]) == (CoreCache(), 0.0, 0.0)


@pytest.mark.parametrize(
    ("size", "found"), [("512K", 512 * 1024), ("2M", 2 * 1024**2), ("3000", 3000), ("?", 0)]
)
def test_the_cache_of_this_machine_is_that_of_the_second_level(
    size: str, found: int, tmp_path: Path
) -> None:
    for number, (level, own) in enumerate((("1", "32K"), ("2", size), ("3", "32768K"))):
        index = tmp_path / f"index{number}"
        index.mkdir()
        (index / "level").write_text(f"{level}\n")
        (index / "size").write_text(f"{own}\n")
    assert own_cache(tmp_path) == CoreCache(found)
    assert own_cache(tmp_path / "none") == CoreCache()
