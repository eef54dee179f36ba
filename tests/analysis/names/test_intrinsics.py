"""The table of intrinsic procedures."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.intrinsics import (
    has_hidden_effects,
    is_intrinsic,
    is_pure_function,
    is_pure_subroutine,
)


@pytest.mark.parametrize("name", ["sin", "mod", "max", "storage_size", "dsqrt", "cmplx", "dconjg"])
def test_pure_functions(name: str) -> None:
    assert is_intrinsic(name)
    assert is_pure_function(name)
    assert not has_hidden_effects(name)


@pytest.mark.parametrize(
    "name",
    [
        "random_number",
        "system_clock",
        "date_and_time",
        "execute_command_line",
        "get_command_argument",
        "move_alloc",
        "cpu_time",
        "random_seed",
    ],
)
def test_subroutines_with_hidden_effects(name: str) -> None:
    assert is_intrinsic(name)
    assert not is_pure_function(name)
    assert not is_pure_subroutine(name)
    assert has_hidden_effects(name)


def test_functions_that_ask_about_the_image_are_not_functions_of_their_arguments() -> None:
    assert is_intrinsic("this_image")
    assert not is_pure_function("this_image")
    assert not is_pure_function("failed_images")


@pytest.mark.parametrize("name", ["etime", "flush", "fft1d", "mpi_wtime", "sleep", ""])
def test_what_is_not_in_the_standard_is_not_known(name: str) -> None:
    assert not is_intrinsic(name)
    assert not is_pure_function(name)
    assert not has_hidden_effects(name)


def test_mvbits_defines_its_argument_and_nothing_else() -> None:
    assert is_pure_subroutine("mvbits")
    assert not is_pure_function("mvbits")
