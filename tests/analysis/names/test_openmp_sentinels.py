"""What `!$` lines and directives of threads may do counts, in whichever unit they stand."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.openmp_sentinels import hidden_statements, may_jump, threaded_nodes
from asphalt.analysis.uniformity.uniformity import Level
from asphalt.frontend.lexical.source_text import FREE_WIDTH, SourceText
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Plain
from asphalt.ir.tree import Leaf
from support.uniform_units import Q, U, V, level, main

CALLED = "subroutine work(x)\nuse mpi\ninteger :: x, me, ierr\nx = 1\n{0}\nend subroutine\n"


@pytest.mark.parametrize(
    ("body", "more", "value", "reached"),
    [
        ("n = 4\n!$ n = me\ncall site(n)", "", V, U),
        ("n = 4\n!$ m = me\ncall site(n)", "", U, U),
        ("n = 4\n!$ if (me == 0) n = 5\ncall site(n)", "", V, U),
        ("n = 4\n!$ if (me == 0) stop\ncall site(n)", "", U, U),
        ("n = 4\n!$ if (me == 0) return\ncall site(n)", "", Q, Q),
        ("n = 4\n!$ call set(n)\ncall site(n)", "", Q, U),
        ("n = 4\n!$ call set(*10)\ncall site(n)\n10 continue", "", Q, Q),
        ("n = 4\ncall site(n)\n!$ n = me", "", U, U),
        ("n = 4\ndo k = 1, 3\ncall site(n)\n!$ n = &\n!$& me\nend do", "", V, U),
        ("call work(n)\ncall site(n)", CALLED.format(""), U, U),
        ("call work(n)\ncall site(n)", CALLED.format("!$ x = 2"), U, U),
        ("call work(n)\ncall site(n)", CALLED.format("!$ write(*,*) x"), U, U),
        ("call work(n)\ncall site(n)", CALLED.format("!$ read(*,*) x"), Q, U),
        ("call work(n)\ncall site(n)", CALLED.format("!$ write(*,*,err=9) x\n9 x = x"), Q, U),
        ("call work(n)\ncall site(k)", CALLED.format("!$ x = 2"), U, U),
        ("n = 0\n!$omp parallel reduction(+: n)\nn = n + 1\n!$omp end parallel\ncall site(n)",
         "", Q, U),
        ("n = 0\n!$omp parallel\nm = 1\n!$omp end parallel\ncall site(n)", "", U, U),
        ("n = 0\n!$omp parallel\nn = 1\n!$omp end parallel\ncall site(n)", "", Q, U),
        ("n = 0\n!$omp parallel do\ndo k = 1, 3\nm = 1\nend do\nn = 1\n!$omp parallel do\n"
         "do k = 1, 3\nm = 1\nend do\ncall site(n)", "", U, U),
        ("n = 0\n!$omp parallel do reduction(+: n)\ndo k = 1, 3\nn = n + 1\nend do\ncall site(n)",
         "", Q, U),
        ("n = 0\n!dir$ ivdep\nn = 1\ncall site(n)", "", U, U),
        ("n = 0\n!$acc kernels\nn = 1\n!$acc end kernels\ncall site(n)", "", Q, U),
    ],
)  # fmt: skip
def test_what_may_be_executed_counts(body: str, more: str, value: Level, reached: Level) -> None:
    site = main(body, more=more) if "site(k)" not in body else main(f"k = 1\n{body}", more=more)
    if "site(k)" in body:
        value = U
    assert (level(site.value()), site.reached()) == (value, reached)


def test_a_hidden_line_may_call_a_procedure() -> None:
    body = "n = 4\ncall work(n)\n!$ call work(me)\n"
    text = "subroutine work(x)\ninteger :: x\ncall site(x)\nend subroutine\n"
    assert level(main(body.replace("!$ ", "! "), more=text).value()) is U
    assert level(main(body, more=text).value()) is V


@pytest.mark.parametrize(
    ("line", "jumps"),
    [
        ("!$ a = b", False),
        ("!$    a(i, 2) = b", False),
        ("!$ 10 a = b", False),
        ("!$ print *, a", False),
        ("!$ use omp_lib", False),
        ("!$ integer omp_get_thread_num", False),
        ("!$ write(6, *) a", False),
        ("!$ write(6, *, err=10) a", True),
        ("!$ a == b", True),
        ("!$ return", True),
        ("!$ goto 10", True),
        ("!$ do i = 1, n", True),
        ("C$    DO10I=1,N", True),
        ("!$ if (a) b = c", True),
        ("!$ else", True),
        ("!$omp parallel", False),
    ],
)
def test_what_may_go_elsewhere(line: str, jumps: bool) -> None:
    kind = TriviaKind.DIRECTIVE if "omp p" in line else TriviaKind.CONDITIONAL
    (hidden,) = hidden_statements(Leaf(Plain("continue"), lead=(Trivia(kind, line + "\n"),)))
    assert may_jump(hidden) == jumps


def test_a_directive_of_a_module_encloses_no_statement() -> None:
    text = "module m\n  real :: x\n  !$omp threadprivate(x)\nend module\n"
    (unit,) = parse_file(SourceText("m.f90", text, Form.FREE, FREE_WIDTH)).units
    assert list(threaded_nodes(interpret_unit(unit))) == []
