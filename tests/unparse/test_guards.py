"""Changes of one configuration in the text of all, with the preprocessor as the oracle."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence

import pytest

from asphalt.frontend.lexical.conditionals import Conditionals, conditionals, selected
from asphalt.frontend.lexical.source_text import source_text
from asphalt.ir.configuration import MARK, MacroTest, condition
from asphalt.ir.source import Form
from asphalt.unparse.guards import Merging, NotConfinedError

MACROS = ("A", "B", "C")
CONFIGURATIONS = [
    tuple(name for bit, name in enumerate(MACROS) if number >> bit & 1) for number in range(8)
]


def preprocessed(text: str, defines: Sequence[str]) -> list[str]:
    options = [f"-D{define}" for define in defines]
    command = ["gfortran", "-E", "-P", "-cpp", *options, "-x", "f95-cpp-input", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.strip()]


def text_with_branches(chance: random.Random, depth: int = 0) -> list[str]:
    """Lines of which each is another one, in nested branches."""
    lines: list[str] = []
    for _ in range(chance.randint(1, 4)):
        kind = chance.random()
        if kind < 0.6 or depth > 2:
            tail = " &" if chance.random() < 0.15 else ""
            lines.append(f"  x{chance.randrange(10**9)} = 1{tail}")
            if tail:
                lines.append("    + 2")
            continue
        test = chance.choice(
            [
                "#ifdef A",
                "#ifndef B",
                "#if defined(A) && !defined(C)",
                "#if defined (B) || defined C",
                "#if A == 1",
                "#if 0",
            ]
        )
        lines += [test, *text_with_branches(chance, depth + 1)]
        if chance.random() < 0.4:
            lines += ["#elif defined(C)", *text_with_branches(chance, depth + 1)]
        if chance.random() < 0.5:
            lines += ["#else", *text_with_branches(chance, depth + 1)]
        lines.append("#endif")
    return lines


def edited(lines: list[str], chance: random.Random) -> list[str]:
    """The lines with some removed, moved and added, those of the preprocessor among them."""
    lines = list(lines)
    for _ in range(chance.randint(1, 4)):
        kind = chance.random()
        at, to = chance.randrange(len(lines) + 1), chance.randrange(len(lines) + 1)
        if kind < 0.4 or not lines:
            lines.insert(at, f"  new{chance.randrange(10**9)} = 1")
        elif kind < 0.7:
            moved = lines.pop(min(at, len(lines) - 1))
            lines.insert(min(to, len(lines)), moved)
        else:
            del lines[min(at, len(lines) - 1)]
    return lines


def all_tests(here: Conditionals) -> tuple[MacroTest, ...]:
    return tuple(dict.fromkeys(test for one in here.found for test in one.tests))


def without_columns(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


@pytest.mark.parametrize("seed", [*range(30), 159])
def test_each_configuration_compiles_what_is_meant_for_it(seed: int) -> None:
    chance = random.Random(seed)
    text = "\n".join(text_with_branches(chance)) + chance.choice(["\n", ""])
    defines = chance.choice(CONFIGURATIONS)
    source = source_text("a.F90", text.encode())
    here = conditionals(source, defines, ())
    assert here.clear
    shown = selected(text, here)
    left = [line for line in preprocessed(shown, defines) if not line.startswith(MARK)]
    assert left == preprocessed(text, defines)
    lines = edited(shown.splitlines(), chance)
    after = "\n".join(lines) + "\n"
    merging = Merging(text, shown, after, Form.FREE, here.path)
    tests = all_tests(here)
    result = merging.text([tests for _ in merging.places])
    meant = [line for line in lines if not line.startswith(MARK)]
    holds = f"#if {condition(tests) or 1}\nyes\n#endif\n"
    for other in CONFIGURATIONS:
        if preprocessed(holds, other):
            assert preprocessed(result, other) == meant
        else:
            assert preprocessed(result, other) == preprocessed(text, other)
    moved = "\n".join(line if line.startswith(MARK) else f"  {line}" for line in lines) + "\n"
    left_there = Merging(text, shown, moved, Form.FREE, here.path, shifted=False)
    again = left_there.text([tests for _ in left_there.places])
    assert without_columns(again.splitlines()) == without_columns(result.splitlines())


def test_lines_that_only_move_to_the_right_stand_there_once() -> None:
    text = "#ifdef A\n#endif\ndo i = 1, n\n  s(i) = 2 + &\n    i\nend do\n"
    here = conditionals(source_text("a.F90", text.encode()), ("A",), ())
    shown = selected(text, here)
    after = shown.replace("do i", "do while (next())\n  do i = lo, hi !")
    after = after.replace(
        "  s(i) = 2 + &\n    i\nend do", "    s(i) = 2 + &\n      i\n  end do\nend do"
    )
    tests = [MacroTest("defined(A)", True)]
    made = []
    for form, shifted in ((Form.FREE, True), (Form.FREE, False), (Form.FIXED, False)):
        merging = Merging(text, shown, after, form, here.path, shifted=shifted)
        assert merging.needs_conditions([tests for _ in merging.places])
        made.append(merging.text([tests for _ in merging.places]))
    assert [one.count("s(i) = 2") for one in made] == [2, 1, 2]
    condition_of = "#if defined(A)\n"
    assert made[1] == (
        f"#ifdef A\n#endif\n{condition_of}do while (next())\n  do i = lo, hi ! = 1, n\n#else\n"
        "do i = 1, n\n#endif\n  s(i) = 2 + &\n    i\nend do\n"
        f"{condition_of}end do\n#endif\n"
    )


_IN_A = [MacroTest("defined(A)", True)]


def _merged(text: str, *changes: tuple[str, str], form: Form = Form.FREE) -> str:
    """A text below a conditional of A, with parts replaced where A is defined."""
    text = f"#ifdef A\n#endif\n{text}"
    here = conditionals(source_text("a.F90", text.encode()), ("A",), ())
    shown = selected(text, here)
    after = shown
    for old, new in changes:
        assert shown.count(old) == 1
        after = after.replace(old, new)
    merging = Merging(text, shown, after, form, here.path, shifted=False)
    made = merging.text([_IN_A for _ in merging.places])
    meant = [line for line in after.splitlines() if not line.startswith(MARK)]
    assert [line.split() for line in preprocessed(made, ["A"])] == [
        line.split() for line in meant if line.strip()
    ]
    return made.removeprefix("#ifdef A\n#endif\n")


def test_the_end_of_a_statement_stays_once() -> None:
    call = "call f(s, &\n  r)\n"
    guarded = "if (g()) &\n  call f(s, &\n    r)\n"
    made = _merged(f"x = 1\n{call}y = 1\n", (call, guarded))
    assert made == f"x = 1\n#if defined(A)\nif (g()) &\n#endif\n{call}y = 1\n"
    fixed = "      call f(s,\n     &  r)\n"
    other = "      if (g()) call f(s,\n     &  r)\n"
    made = _merged(fixed, (fixed, other), form=Form.FIXED)
    assert made == f"#if defined(A)\n{other}#else\n{fixed}#endif\n"


def test_lines_between_two_changes_are_not_repeated() -> None:
    changes = ("do i = 1, n\n", "do i = lo, hi\n"), ("end do\n", "end do\nend do\n")
    made = _merged("do i = 1, n\n  s(i) = 1\nend do\n", *changes)
    assert made == (
        "#if defined(A)\ndo i = lo, hi\n#else\ndo i = 1, n\n#endif\n  s(i) = 1\nend do\n"
        "#if defined(A)\nend do\n#endif\n"
    )


@pytest.mark.parametrize(("between", "once"), [("\n! words\n", True), ("!dir$ x\n", False)])
def test_one_condition_goes_past_comments(between: str, once: bool) -> None:
    changes = ("end do\n", "end do\nend do\n"), ("call f\n", "if (g()) &\n  call f\n")
    made = _merged(f"do i = 1, n\nend do\n{between}call f\n", *changes)
    assert made.count("#if") == (1 if once else 2)
    assert made.count(between) == 1
    assert "#else" not in made


def test_a_removed_line_stands_under_the_opposite_condition() -> None:
    made = _merged("x = 1\ny = 2\n", ("y = 2\n", ""))
    assert made == "x = 1\n#if !defined(A)\ny = 2\n#endif\n"
    text = "#ifndef B\n#endif\nx = 1\ny = 2\n"
    here = conditionals(source_text("a.F90", text.encode()), (), ())
    shown = selected(text, here)
    merging = Merging(text, shown, shown.replace("y = 2\n", ""), Form.FREE, here.path)
    both = [MacroTest("defined(B)", False), MacroTest("C == 1", True)]
    assert "#if defined(B)\ny = 2\n#endif\n" in merging.text([both[:1]])
    assert "#if !(!defined(B) && C == 1)\ny = 2\n" in merging.text([both])


def test_a_place_with_more_tests_than_the_change_is_refused() -> None:
    text = "#ifdef A\nx = 1\n#endif\n"
    here = conditionals(source_text("a.F90", text.encode()), ("A",), ())
    shown = selected(text, here)
    merging = Merging(text, shown, shown.replace("x", "y"), Form.FREE, here.path)
    with pytest.raises(NotConfinedError):
        merging.text([()])
    assert merging.text([(MacroTest("defined(A)", True),)]) == text.replace("x", "y")
