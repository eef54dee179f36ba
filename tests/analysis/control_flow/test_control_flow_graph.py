"""The control-flow graph of a unit: which statement may follow which."""

from __future__ import annotations

import pytest

from asphalt.analysis.control_flow.graph import Point, PointRole
from support.flow_graphs import HEAD, flow

MARK = {PointRole.TEST: "?", PointRole.ACTION: "!", PointRole.INITIAL: "=", PointRole.STEP: "+"}


def name(point: Point) -> str:
    if point.leaf is None:
        return ("entry", "exit", "stop")[point.number]
    return f"{point.line - 1}{MARK.get(point.role, '')}"


def edges(body: str, head: str = HEAD, suffix: str = ".f90") -> dict[str, str]:
    """What may follow each point: ``1?: 1! 2`` is the one-line IF of line 1."""
    graph = flow(body, head, suffix)
    return {
        name(point): " ".join(sorted(name(graph.points[n]) for n in graph.successors[point.number]))
        for point in graph.points
        if point.number not in (1, 2)
    }


def parsed(text: str) -> dict[str, str]:
    return dict(part.strip().split(": ") for part in text.split(";"))


CASES = {
    "in-order": (
        "a = 1\na = 2\n",
        "entry: 1; 1: 2; 2: 3; 3: exit",
    ),
    "one-line-if": (
        "if (l) a = 1\na = 2\n",
        "entry: 1?; 1?: 1! 2; 1!: 2; 2: 3; 3: exit",
    ),
    "if": (
        "if (l) then\na = 1\nelse if (n > 1) then\na = 2\nelse\na = 3\nend if\n",
        "entry: 1; 1: 2 3; 2: 7; 3: 4 5; 4: 7; 5: 6; 6: 7; 7: 8; 8: exit",
    ),
    "if-without-else": (
        "if (l) then\nend if\n",
        "entry: 1; 1: 2; 2: 3; 3: exit",
    ),
    "counted": (
        "do i = 1, n\na = 1\nend do\n",
        "entry: 1=; 1=: 1+; 1+: 2 4; 2: 3; 3: 1+; 4: exit",
    ),
    "while-cycle-exit": (
        "do while (l)\nif (n > 1) cycle\nif (n < 1) exit\na = 1\nend do\n",
        "entry: 1; 1: 2? 6; 2?: 2! 3?; 2!: 5; 3?: 3! 4; 3!: 6; 4: 5; 5: 1; 6: exit",
    ),
    "forever": (
        "do\na = 1\nend do\n",
        "entry: 1; 1: 2; 2: 3; 3: 1; 4: exit",
    ),
    "concurrent": (
        "do concurrent (i = 1:n)\na = 1\nend do\n",
        "entry: 1; 1: 2 4; 2: 3; 3: 1; 4: exit",
    ),
    "named": (
        "outer: do i = 1, n\ndo j = 1, n\nif (l) cycle outer\nexit outer\nend do\nend do outer\n",
        "entry: 1=; 1=: 1+; 1+: 2= 7; 2=: 2+; 2+: 3? 6; 3?: 3! 4; 3!: 6; 4: 7; 5: 2+; 6: 1+;"
        "7: exit",
    ),
    "exit-from-a-construct": (
        "b: block\nif (l) exit b\na = 1\nend block b\n",
        "entry: 1; 1: 2?; 2?: 2! 3; 2!: 5; 3: 4; 4: 5; 5: exit",
    ),
    "exit-from-an-if-inside-a-loop": (
        "do\nb: if (l) then\nexit b\nexit\nend if b\nend do\n",
        "entry: 1; 1: 2; 2: 3 5; 3: 6; 4: 7; 5: 6; 6: 1; 7: exit",
    ),
    "shared-terminal": (
        "do 10 i = 1, n\ndo 10 j = 1, n\nif (l) goto 10\na = 1\n10 a = 2\n",
        "entry: 1=; 1=: 1+; 1+: 2= 6; 2=: 2+; 2+: 1+ 3?; 3?: 3! 4; 3!: 5; 4: 5; 5: 2+; 6: exit",
    ),
    "shared-terminal-from-the-outer-loop": (
        "do 10 i = 1, n\nif (l) goto 10\ndo 10 j = 1, n\n10 a = 2\n",
        "entry: 1=; 1=: 1+; 1+: 2? 5; 2?: 2! 3=; 2!: 4; 3=: 3+; 3+: 1+ 4; 4: 1+ 3+; 5: exit",
    ),
    "own-terminal": (
        "do 10 i = 1, n\n10 a = 2\n",
        "entry: 1=; 1=: 1+; 1+: 2 3; 2: 1+; 3: exit",
    ),
    "labelled-continue": (
        "do 10 i = 1, n\nif (l) goto 10\na = 1\n10 continue\n",
        "entry: 1=; 1=: 1+; 1+: 2? 5; 2?: 2! 3; 2!: 4; 3: 4; 4: 1+; 5: exit",
    ),
    "guarded-terminal": (
        "do 10 i = 1, n\n10 if (l) a = 2\n",
        "entry: 1=; 1=: 1+; 1+: 2? 3; 2?: 1+ 2!; 2!: 1+; 3: exit",
    ),
    "select": (
        "select case (n)\ncase (1)\na = 1\ncase (2:)\na = 2\nend select\n",
        "entry: 1; 1: 2 4 6; 2: 3; 3: 6; 4: 5; 5: 6; 6: 7; 7: exit",
    ),
    "select-default": (
        "select case (n)\ncase default\na = 1\ncase (2:)\nend select\n",
        "entry: 1; 1: 2 4; 2: 3; 3: 5; 4: 5; 5: 6; 6: exit",
    ),
    "select-type": (
        "select type (a)\ntype is (integer)\nn = 1\nclass default\nn = 2\nend select\n",
        "entry: 1; 1: 2 4; 2: 3; 3: 6; 4: 5; 5: 6; 6: 7; 7: exit",
    ),
    "select-rank": (
        "select rank (a)\nrank (0)\nn = 1\nrank default\nn = 2\nend select\n",
        "entry: 1; 1: 2 4; 2: 3; 3: 6; 4: 5; 5: 6; 6: 7; 7: exit",
    ),
    "goto": (
        "goto 20\n10 a = 1\nreturn\n20 a = 2\ngoto 10\n",
        "entry: 1; 1: 4; 2: 3; 3: exit; 4: 5; 5: 2; 6: exit",
    ),
    "computed-goto": (
        "goto (10, 20), n\na = 1\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 2 3 4; 2: 3; 3: 4; 4: 5; 5: exit",
    ),
    "assigned-goto": (
        "assign 10 to n\ngoto n\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 2; 2: 3 4; 3: 4; 4: 5; 5: exit",
    ),
    "assigned-goto-with-a-list": (
        "assign 10 to n\ngoto n, (20)\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 2; 2: 4; 3: 4; 4: 5; 5: exit",
    ),
    "arithmetic-if": (
        "if (n) 10, 20, 20\na = 1\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 3 4; 2: 3; 3: 4; 4: 5; 5: exit",
    ),
    "where": (
        "where (a > 0)\na = 1\nelsewhere (a < 0)\na = 2\nelsewhere\nend where\n",
        "entry: 1; 1: 2; 2: 3; 3: 4; 4: 5; 5: 6; 6: 7; 7: exit",
    ),
    "forall": (
        "forall (i = 1:n)\na(i) = 1\nend forall\nforall (i = 1:n) a(i) = 1\nwhere (a > 0) a = 1\n",
        "entry: 1; 1: 2; 2: 3; 3: 4; 4: 5; 5: 6; 6: exit",
    ),
    "associate-critical": (
        "associate (b => a)\ncritical\nb = 1\nend critical\nend associate\n",
        "entry: 1; 1: 2; 2: 3; 3: 4; 4: 5; 5: 6; 6: exit",
    ),
    "return-and-stop": (
        "if (l) return\nif (n > 1) return 1\nif (n > 2) stop\nerror stop\n",
        "entry: 1?; 1?: 1! 2?; 1!: exit; 2?: 2! 3?; 2!: exit; 3?: 3! 4; 3!: stop; 4: stop; 5: exit",
    ),
    "alternate-returns": (
        "call p(a, *10, *20)\na = 1\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 2 3 4; 2: 3; 3: 4; 4: 5; 5: exit",
    ),
    "io-labels": (
        "read (1, *, err=10, end=20) a\na = 1\n10 a = 2\n20 a = 3\n",
        "entry: 1; 1: 2 3 4; 2: 3; 3: 4; 4: 5; 5: exit",
    ),
    "guarded-io": (
        "if (l) read (1, *, end=10) a\na = 1\n10 continue\n",
        "entry: 1?; 1?: 1! 2; 1!: 2 3; 2: 3; 3: 4; 4: exit",
    ),
    "entry": (
        "return\nentry other(n)\na = 1\n",
        "entry: 1 2; 1: exit; 2: 3; 3: 4; 4: exit",
    ),
    "label-on-the-end": (
        "if (l) goto 10\na = 1\n10 end subroutine\nsubroutine next\n",
        "entry: 1?; 1?: 1! 2; 1!: 3; 2: 3; 3: exit",
    ),
    "not-understood": (
        "do i = 1, n\nvendor extension\nend do\n10 a = 1\n",
        "entry: 1=; 1=: 1+; 1+: 2 4; 2: 3 4 exit stop; 3: 1+; 4: 5; 5: exit",
    ),
    "label-that-is-not-there": (
        "goto 30\n10 a = 1\n",
        "entry: 1; 1: 2 exit stop; 2: 3; 3: exit",
    ),
    "empty": ("", "entry: 1; 1: exit"),
    "declarations-in-a-block": (
        "block\ninterface\nsubroutine q\nend subroutine\nend interface\ninteger :: i\n"
        "a = 1\nend block\n",
        "entry: 1; 1: 6; 6: 7; 7: 8; 8: 9; 9: exit",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_edges(case: str) -> None:
    body, expected = CASES[case]
    assert edges(body) == parsed(expected)


def test_fixed_form_with_loops_that_share_their_end() -> None:
    body = """\
      do 30 i = 1, n
      do 20 j = 1, n
      do 20 k = 1, n
   20 a = 1
   30 continue
"""
    expected = (
        "entry: 1=; 1=: 1+; 1+: 2= 6; 2=: 2+; 2+: 3= 5; 3=: 3+; 3+: 2+ 4; 4: 3+; 5: 1+; 6: exit"
    )
    assert edges(body, "      subroutine unit(a, n)\n", ".f") == parsed(expected)


def test_what_is_masked() -> None:
    graph = flow("where (a > 0)\na = 1\nend where\nforall (i = 1:n)\na(i) = 1\nend forall\na = 2\n")
    masked = {point.line - 1 for point in graph.points if point.masked and point.what is not None}
    assert {2, 5} <= masked
    assert not masked & {4, 7}


def test_what_an_edge_says() -> None:
    graph = flow("if (l) goto 10\ndo i = 1, n\nend do\n10 continue\n")
    said = {
        (name(graph.points[a]), name(graph.points[b])): t for (a, b), t in graph.edge_labels.items()
    }
    assert said == {
        ("1?", "1!"): "the condition is true",
        ("1?", "2="): "the condition is false",
        ("1!", "4"): "it goes to label 10",
        ("2+", "3"): "there is another iteration",
        ("2+", "4"): "there are no more iterations",
    }


def test_the_points_of_a_statement() -> None:
    graph = flow("if (l) a = 1\ndo i = 1, n\na = 2\nend do\n")
    guarded, head, inner = (graph.points[n].leaf for n in (3, 5, 7))
    assert guarded is not None
    assert head is not None
    assert inner is not None
    assert (graph.of(guarded), graph.of(head), graph.of(inner)) == ((3, 4), (5, 6), (7,))
    assert (graph.action(guarded), graph.action(head)) == (4, 5)
