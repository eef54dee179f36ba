"""What several threads execute: parallel loops, with the names in their directives."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.parallel_loops import private_names, threads_of
from asphalt.frontend.lexical.source_text import FREE_WIDTH, SourceText
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.source import Form
from asphalt.ir.tree import Unit

_PROGRAM = """\
program p
  x = 1
{}  do i = 1, n
    do j = 1, n
{}      a(i) = s
    end do
  end do
  x = 2
end program p
"""


def _unit(text: str, form: Form = Form.FREE) -> Unit:
    (unit,) = parse_file(SourceText("p.f90", text, form, FREE_WIDTH)).units
    return interpret_unit(unit)


@pytest.mark.parametrize(
    ("directive", "evaluated", "listed", "private"),
    [
        ("!$omp parallel do\n", "", "", ""),
        ("!$OMP PARALLEL DO PRIVATE(T, U) ! two\n", "", "t u", "t u"),
        ("!$omp paralleldo if(parallel: (last-1)/nth .ge. 1_ip) private (t)\n",
         "last nth", "t", "t"),
        ("!$omp parallel do simd num_threads(p%count) reduction(+:s) &\n!$omp & lastprivate(l),"
         "shared(a)\n", "p", "s l a", ""),
        ("!$omp parallel do default(none) firstprivate(f) &\n\n! between\n!$omp schedule(dynamic,c)"
         " collapse(2) ordered proc_bind(close)\n", "c", "f", "f"),
        ("!$omp parallel do reduction(max: s) reduction(.and.: l)\n", "", "s l", ""),
    ],
)  # fmt: skip
def test_the_names_of_a_directive(
    directive: str, evaluated: str, listed: str, private: str
) -> None:
    unit = _unit(_PROGRAM.format(directive, ""))
    found = threads_of(unit)
    assert found.unknown is None
    (one,) = found.loops
    assert one.evaluated == frozenset(evaluated.split())
    assert one.listed == frozenset(listed.split())
    assert private_names(unit) == frozenset([*private.split(), "i", "j"])


@pytest.mark.parametrize(
    "directive",
    [
        "!$omp parallel do default(private)\n",
        "!$omp parallel do copyin(t)\n",
        "!$omp parallel do reduction(mine: s)\n",
        "!$omp parallel do linear\n",
        "!$omp parallel do private(t\n",
        "!$omp parallel\n",
        "!$omp do\n",
        "!$omp target teams distribute parallel do\n",
        "!$omp taskloop\n",
        "!$omp barrier\n!$omp parallel do\n",
        "!$acc parallel loop\n",
    ],
)
def test_what_is_not_understood(directive: str) -> None:
    unknown = threads_of(_unit(_PROGRAM.format(directive, ""))).unknown
    assert unknown is not None
    assert unknown.leaf.line == 2 + directive.count("\n") + 1


@pytest.mark.parametrize(
    ("inside", "known"),
    [
        ("!$omp atomic\n", True),
        ("!$omp atomic update\n", True),
        ("!$omp critical (sums)\n", True),
        ("!$omp ordered\n", True),
        ("!$omp barrier\n", False),
        ("!$omp task\n", False),
        ("!$omp cancel do\n", False),
        ("!$omp flush(a)\n", False),
    ],
)
def test_directives_inside(inside: str, known: bool) -> None:
    within = threads_of(_unit(_PROGRAM.format("!$omp parallel do\n", inside)))
    assert (within.unknown is None) == known
    assert threads_of(_unit(_PROGRAM.format("", inside))).unknown is not None


def test_the_directives_of_a_region() -> None:
    text = _PROGRAM.format(
        "!$omp parallel if(n > m) private(t) reduction(+:s)\n!$omp do schedule(static,k)\n", ""
    )
    assert threads_of(_unit(text)).unknown is not None  # its end does not stand behind the loop
    ended = text.replace("  x = 2", "!$omp end do nowait\n!$omp end parallel\n  x = 2")
    found = threads_of(_unit(ended))
    assert found.unknown is None
    (one,) = found.loops
    assert one.is_region
    assert (one.evaluated, one.listed, one.private) == ({"n", "m", "k"}, {"t", "s"}, {"t"})
    assert one.clauses == {"if", "private", "reduction", "schedule"}


def test_the_directives_of_a_region_of_several_loops() -> None:
    loop = "  do k = 1, 3\n    b(k) = 1\n  end do\n"
    text = _PROGRAM.format("!$omp parallel private(t)\n!$omp do schedule(static,k)\n", "")
    more = f"!$omp end do nowait\n!$omp do reduction(+:s)\n{loop}!$omp end do\n!$omp end parallel\n"
    found = threads_of(_unit(text.replace("  x = 2", f"{more}  x = 2")))
    assert found.unknown is None
    first, second = found.loops
    assert first.beside
    assert second.beside
    assert first.clauses == {"private", "schedule"}
    assert second.clauses == {"private", "reduction"}
    assert (second.listed, second.own) == ({"t", "s"}, {"t", "k"})
    assert found.around(first.loop) is first  # it stays beside the other one
    for wrong in (
        more.replace("!$omp end parallel\n", ""),
        more.replace("  do k", "  m = 1\n  do k"),
        more.replace("!$omp do red", "!$omp workshare\n!$omp do red"),
        more.replace("!$omp do reduction(+:s)\n", ""),
        more.replace("reduction", "inclusive"),
    ):
        assert threads_of(_unit(text.replace("  x = 2", f"{wrong}  x = 2"))).unknown is not None


def test_the_line_of_a_directive() -> None:
    text = _PROGRAM.format("! first\n!$omp target &\n!$omp teams\n\n! second\n!$omp loop\n", "")
    unknown = threads_of(_unit(text)).unknown
    assert unknown is not None
    assert unknown.text == "target teams"
    assert unknown.leaf.line - unknown.above == 4


def test_a_parallel_loop_in_another_one() -> None:
    text = _PROGRAM.format("!$omp parallel do if (n > 3)\n", "").replace(
        "    do j", "!$omp parallel do if (m > 3) private(t)\n    do j"
    )
    outer, inner = threads_of(_unit(text)).loops
    assert (outer.evaluated, inner.evaluated, inner.own) == ({"n"}, {"m"}, {"t", "j"})


def test_a_directive_continued_in_fixed_form() -> None:
    text = (
        "      program p\nc$omp parallel do if (n .gt. 3)\nc$omp+private(t)\n      do 10 i = 1, n\n"
        "   10 a(i) = 1\n      end\n"
    )
    (one,) = threads_of(_unit(text, Form.FIXED)).loops
    assert (one.evaluated, one.private) == ({"n"}, {"t"})
