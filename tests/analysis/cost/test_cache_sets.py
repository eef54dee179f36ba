"""Lines that the first cache loses since they fall into few of its sets: where they are charged."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

from asphalt.analysis.cost.classes import UNKNOWN, CoreCache
from asphalt.config.errors import InputError
from asphalt.machine.core_caches import own_cache
from asphalt.machine.machine import BUILT_IN, load_machine
from support.charges import charges

WAYS, WAY = 8, 4096
CACHE = CoreCache(0, WAYS, WAY)
HEAD = """\
subroutine s(n, m, a, b, c)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), b(m, n)
  complex(8), intent(inout) :: c(:, :, :)
  real(8) :: v(512, 4000), w(640, 4000)
  integer :: i, j, k
"""
ACROSS = """\
do i = 1, 10
  do j = 1, m
    b(j, 1) = a(i, j)
  end do
end do
"""
ODD = "min({0},iand(size({1},1),-size({1},1)))"


def _charged(folder: Path, body: str, cache: CoreCache = CACHE) -> list[str]:
    text = HEAD + indent(dedent(body), "  ") + "end subroutine s\n"
    return charges(folder, text, cache=cache, conflict=1.0)


def _value(amount: str, extents: dict[str, tuple[int, ...]], **integers: int) -> float:
    """What is charged where the arrays have these extents."""
    names: dict[str, object] = dict(integers)
    names |= {"max": max, "min": min, "real": lambda number, kind: float(number)}
    names |= {"iand": lambda one, other: one & other}
    names |= {"size": lambda array, dim: array[dim - 1]}
    return float(eval(amount.replace("_8", ""), names | extents))


def test_a_loop_across_an_array_asks_how_many_sets_its_steps_use(tmp_path: Path) -> None:
    """512 columns of n elements of 8 bytes are in 512 places of a set, where n is odd."""
    amount = f"1.953125e-2_8*max(0.0_8,real(m*{ODD.format(512, 'a')}-4096,8))"
    assert _charged(tmp_path, ACROSS) == [amount]


@pytest.mark.parametrize("m", [8, 9, 64, 130, 5000])
def test_what_a_set_cannot_hold_is_lost(m: int, tmp_path: Path) -> None:
    (amount,) = _charged(tmp_path, ACROSS)
    for n in (512, 1024, 1536, 256, 768, 640, 576, 520, 513, 500, 8, 1):
        sets = len({(8 * n * turn) % WAY for turn in range(WAY)})
        expected = 10 * max(0.0, m / sets - WAYS)
        assert _value(amount, {"a": (n, m)}, m=m) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("b(j, 1) = v(i, j)", 300 - 8),  # 4096 bytes apart
        ("v(i, j) = b(j, 1)", 300 - 8),
        ("v(i, 2*j) = b(j, 1)", 300 - 8),
        ("b(j, 1) = v(i, j) + v(i, j + 1)", 300 - 8),  # the line of the turn before
        ("b(j, 1) = v(i, j)*w(i, j)", 300 - 8 + 300 / 4 - 8),  # 5120 bytes: four sets
        ("v(j, i) = b(j, 1)", 0),  # along
        ("v(1, j) = b(j, 1)", 0),  # one line, not needed again
    ],
)
def test_extents_that_are_known_are_not_asked(
    statement: str, expected: float, tmp_path: Path
) -> None:
    found = _charged(
        tmp_path, f"do i = 1, 512\n  do j = 1, 300\n    {statement}\n  end do\nend do\n"
    )
    assert sum(_value(one, {"b": (0, 0)}) for one in found) == pytest.approx(512 * expected)


def test_steps_are_products_of_extents(tmp_path: Path) -> None:
    body = """\
        do k = 1, n
          do j = 1, 3
            do i = 1, m
              c(k, j, i) = 1
            end do
          end do
        end do
        """
    (amount,) = _charged(tmp_path, body)
    assert _value(amount, {"c": (64, 4, 100)}, n=1, m=100) == pytest.approx(3 * 92)
    assert _value(amount, {"c": (64, 3, 100)}, n=1, m=100) == pytest.approx(3 * (25 - 8))
    assert _value(amount, {"c": (65, 4, 100)}, n=1, m=100) == 0


def test_loops_of_few_iterations_are_part_of_those_around(tmp_path: Path) -> None:
    body = """\
        do k = 1, n
          do i = 1, m
            do j = 1, 3
              c(k, j, i) = 1
            end do
          end do
        end do
        """
    (amount,) = _charged(tmp_path, body)
    assert _value(amount, {"c": (64, 4, 100)}, n=1, m=100) == pytest.approx(3 * 92)


def test_sections_across_an_array_count_each_time(tmp_path: Path) -> None:
    body = "do i = 1, n\n  b(:, 1) = a(i, :)\n  call t(b)\n  a(i, :) = b(:, 2)\nend do\n"
    found = _charged(tmp_path, body)
    turns = f"size(a,2)*{ODD.format(512, 'a')}"
    assert found == [f"3.90625e-3_8*max(0.0_8,real({turns}-4096,8))"]  # two 512th


@pytest.mark.parametrize("cache", [UNKNOWN, CoreCache(0, 8, 0), CoreCache(2**20)])
def test_nothing_is_lost_from_sets_that_are_not_known(cache: CoreCache, tmp_path: Path) -> None:
    assert _charged(tmp_path, ACROSS, cache) == []


def test_a_program_may_have_an_iand_of_its_own(tmp_path: Path) -> None:
    text = HEAD.replace("i, j, k", "i, j, k, iand(3)") + ACROSS + "end subroutine s\n"
    assert charges(tmp_path, text, cache=CACHE, conflict=1.0) == []


def test_the_machine_file_says_how_many_lines_a_set_holds(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    text = BUILT_IN.read_text()
    file.write_text(f"ways = 12\nway = 4096\n{text}")
    assert load_machine(file).cache == CoreCache(load_machine().cache.size, 12, 4096)
    for lines, said in (
        ("ways = -1", "ways: must be a number of lines, not -1"),
        ("ways = 8\nway = 'a'", "way: must be a number of bytes, not 'a'"),
        ("ways = 8\nway = 3000", "way: must be a power of two, not 3000"),
    ):
        file.write_text(f"{lines}\n{text}")
        with pytest.raises(InputError, match=re.escape(said)):
            load_machine(file)


@pytest.mark.parametrize(
    ("size", "ways", "found"),
    [("48K", "12", CoreCache(0, 12, 4096)), ("64K", "0", UNKNOWN), ("48K", "16", UNKNOWN)],
    ids=["sets", "unknown", "no power of two"],
)
def test_the_sets_of_this_machine_are_those_of_its_first_cache_of_data(
    size: str, ways: str, found: CoreCache, tmp_path: Path
) -> None:
    for number, (kind, own) in enumerate((("Data", size), ("Instruction", "32K"))):
        index = tmp_path / f"index{number}"
        index.mkdir()
        for name, text in (
            ("level", "1"),
            ("type", kind),
            ("size", own),
            ("ways_of_associativity", ways),
        ):
            (index / name).write_text(f"{text}\n")
    assert own_cache(tmp_path) == found
