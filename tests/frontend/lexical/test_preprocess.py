"""The preprocessor's facts are exact by line, and hostile input runs nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from asphalt.config.errors import InputError
from asphalt.frontend.lexical import preprocess as module
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.preprocess import preprocess
from asphalt.frontend.lexical.source_text import source_text


def facts(tmp_path: Path, text: str, *defines: str, name: str = "a.F90") -> CppFacts:
    path = tmp_path / name
    path.write_text(text, encoding="latin-1")
    found = preprocess(source_text(str(path), path.read_bytes()), defines)
    assert found is not None
    return found


def test_a_file_without_cpp_lines_has_no_facts(tmp_path: Path) -> None:
    assert preprocess(source_text(str(tmp_path / "a.F90"), b"end\n")) is None


def test_dead_and_changed_lines(tmp_path: Path) -> None:
    text = "#ifdef __MPI\n  a = N\n#else\n  b = N\n#endif\n  c = 1\n"
    assert facts(tmp_path, text, "__MPI", "N=3") == CppFacts(frozenset({4}), {2: "  a = 3"})
    assert facts(tmp_path, text).dead == {2}


@pytest.mark.parametrize("name", ["a.f90", "a.f", "a.F", "a.txt"])
def test_the_suffix_does_not_matter(tmp_path: Path, name: str) -> None:
    assert facts(tmp_path, "#if 0\n      x = 1\n#endif\n", name=name).dead == {2}


def test_long_dead_stretches_keep_line_numbers(tmp_path: Path) -> None:
    text = "#if 0\n" + "  x = 1\n" * 40 + "#endif\n  y = ONE\n"
    found = facts(tmp_path, text, "ONE=1")
    assert found.dead == frozenset(range(2, 42))
    assert found.changed == {43: "  y = 1"}


def test_included_text_is_kept_by_line(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text('#define A 1\ninteger :: h\n#include "n.h"\n')
    (tmp_path / "n.h").write_text("integer :: n\n")
    found = facts(tmp_path, 'program p\n#include "h.h"\nx = A\nend\n')
    assert found.included == {2: "integer :: h\ninteger :: n"}
    assert found.changed == {3: "x = 1"}


def test_missing_includes_are_empty_and_named(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text('#include "sub/generated.h"\n#define A 1\n')
    text = '#if 0\n#include "dead.h"\n#endif\n#include "config.h"\n#include "h.h"\nx = A\n'
    found = facts(tmp_path, text)
    assert found.missing == ((4, "config.h"), (None, "sub/generated.h"))
    assert found.changed == {6: "x = 1"}
    assert found.dead == frozenset()


def test_crlf_and_latin_1(tmp_path: Path) -> None:
    found = facts(tmp_path, "#if 0\r\n  x = 1\r\n#endif\r\n! \xe9t\xe9\r\n  y = A\r\n", "A=2")
    assert found == CppFacts(frozenset({2}), {5: "  y = 2"})


def test_a_preprocessor_error_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no REALCASE") as caught:
        facts(tmp_path, "x = 1\n#error no REALCASE\n")
    assert caught.value.line == 2
    with pytest.raises(InputError, match="unterminated #if"):
        facts(tmp_path, "#if 1\n")


@pytest.mark.parametrize(
    "line",
    [
        "#if __import__('os').system('touch X')",
        "#define A __import__('os').system('touch X')",
        '#if system("touch X")',
        '#pragma GCC system("touch X")',
        '#include "|touch X"',
        '#include "$(touch X)"',
        "#include </etc/passwd>",
        '#include "/etc/passwd"',
        '#line 1 "`touch X`"',
    ],
)
def test_hostile_lines_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(InputError):
        facts(tmp_path, f"{line}\nx = A\n#endif\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.F90"]


def test_line_directives_do_not_move_lines(tmp_path: Path) -> None:
    text = '# 7 "other.F90"\n#line 100\n#if 0\n x = 1\n#endif\n'
    assert facts(tmp_path, text) == CppFacts(frozenset({4}))


def test_macros_that_explode_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTPUT_LIMIT", 1 << 20)
    text = "#define A0 xxxxxxxxxxxxxxxx\n"
    text += "".join(f"#define A{i + 1} A{i} A{i} A{i} A{i}\n" for i in range(9))
    with pytest.raises(InputError, match="larger than"):
        facts(tmp_path, text + "A9\n")


def test_a_device_is_not_read_for_ever(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        facts(tmp_path, '#include "/dev/zero"\n')


def test_what_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIME_LIMIT", 0.0)
    with pytest.raises(InputError, match="takes longer"):
        facts(tmp_path, "#if 1\n#endif\n")


def test_without_gfortran_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="install gfortran"):
        facts(tmp_path, "#if 1\n#endif\n")
