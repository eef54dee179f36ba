"""What is proved of two statements is kept for other texts, where it holds there, too."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from asphalt.analysis.data_flow import feasible_statements
from asphalt.analysis.data_flow.error_code_flow import ErrorCodeFlow
from asphalt.analysis.data_flow.same_statements import SameStatements
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.messages import messages
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.requests.matching import Matched, Unknown, matching
from asphalt.analysis.tiling.edge_iterations import EdgeCounts, ends_of
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves
from asphalt.optimiser.phases import TRANSFORMATIONS
from asphalt.optimiser.statement_numbers import StatementNumbers
from asphalt.transforms.loops import index_set_splitting, rotation, unrolling
from asphalt.transforms.loops.index_set_splitting import DividedNest, Nest
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, b, c, n, k)
  implicit none
  integer, intent(in) :: n, k
  real(8), intent(inout) :: a(n), b(n), c(n)
  real(8) :: t
  integer :: i, m
{body}
end subroutine unit
"""


class _Texts:
    """Texts of one unit, with the numbers of their statements."""

    def __init__(self, folder: Path, body: str) -> None:
        lines = "".join(f"  {line}\n" for line in body.splitlines())
        self.tree = Stepped.of(folder, {"a.f90": _UNIT.format(body=lines.rstrip("\n"))}).tree
        self.path = self.tree.files[0].path
        self.numbers = StatementNumbers(self.path)

    def facts(self) -> UnitFacts:
        (facts,) = Stepped(self.tree).facts()
        return replace(facts, same=self.numbers.of(self.tree))

    @property
    def same(self) -> SameStatements:
        return self.numbers.of(self.tree)

    def body(self) -> tuple[Node, ...]:
        (located,) = self.tree.units_of(self.path)
        return located.unit.body

    def of(self, node: Node) -> tuple[int, ...] | None:
        return self.same.of(leaves(node))

    def put(self, *body: Node, noted: bool = True) -> None:
        """The unit with other statements."""
        before = self.tree
        (located,) = before.units_of(self.path)
        file = replace_unit(before.file(self.path), located.unit, replace(located.unit, body=body))
        self.tree = before.edited({self.path: unparse(file).encode("latin-1")})
        if noted:
            self.numbers.note(self.tree, before, file)

    def why_not(self, one: int, other: int) -> str | None:
        body, facts = self.body(), self.facts()
        return Independence(facts, Messages(facts)).why_not(body[one], body[other])


def test_a_moved_statement_keeps_its_number(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, "a(1) = 1\ndo i = 1, n\n  b(i) = i\nend do\nc(1) = 3")
    first, loop, last = texts.body()
    before = [texts.of(node) for node in (first, loop, last)]
    assert None not in before
    texts.put(loop, last, first)
    assert [texts.of(node) for node in texts.body()] == [before[1], before[2], before[0]]


def test_copies_and_changed_statements_are_others(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, "a(1) = 1\nb(1) = 2\nc(1) = 3")
    first, second, third = texts.body()
    old = {number for node in texts.body() for number in texts.of(node) or ()}
    (other,) = leaves(second)
    texts.put(first, first, replace(other, body="b(1) = 4"), third)
    new = [texts.of(node) for node in texts.body()]
    assert new[3] is not None
    assert set(new[3]) <= old
    assert all(numbers is not None and not old & set(numbers) for numbers in new[:3])
    assert len(set(new)) == 4


def test_a_step_that_is_not_noted_leaves_nothing(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, "a(1) = 1\nb(1) = 2")
    old = [texts.of(node) for node in texts.body()]
    texts.put(*reversed(texts.body()), noted=False)
    assert not {*old} & {texts.of(node) for node in texts.body()}


def test_steps_across_iterations_are_not_in_place() -> None:
    """What stands in one iteration with another statement may stand in the next one then."""
    crossing = {rotation.TRANSFORMATION, rotation.BEFORE_TAKES, unrolling.TRANSFORMATION}
    in_place = {one.title for one in TRANSFORMATIONS if one.in_place}
    assert not {one.title for one in crossing} & in_place
    assert "code motion" in in_place


def _block(number: int, target: str) -> str:
    return f"if (k > {number}) then\n  t = a({number})\n  {target} = t\nend if"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("a(1) = 1\nb(1) = a(2)\nm = k", True),
        # they only commute since nothing needs t behind them
        (f"{_block(1, 'b(1)')}\n{_block(2, 'c(1)')}\nm = k", False),
    ],
)
def test_independent_statements(body: str, kept: bool, tmp_path: Path) -> None:
    texts = _Texts(tmp_path, body)
    one, other, *_ = texts.body()
    assert texts.why_not(0, 1) is None
    pair = texts.same.pair(one, other)
    assert (pair in texts.same.known.independent) is kept


def test_the_answer_is_used(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, "a(1) = 1\nb(1) = 2\nc(1) = 3")
    one, other, last = texts.body()
    assert texts.why_not(0, 1) is None
    texts.put(last, one, other)
    pair = texts.same.pair(*texts.body()[1:])
    assert pair in texts.same.known.independent


def test_meetings_are_told_with_the_lines_of_now(tmp_path: Path) -> None:
    texts = _Texts(tmp_path, "c(1) = 3\na(1) = 1\nb(1) = a(1)")
    assert texts.why_not(1, 2) == "lines 8 and 9: a"
    first, one, other = texts.body()
    texts.put(one, other, first)
    assert len(texts.same.known.meetings) == 1
    assert texts.why_not(0, 1) == "lines 7 and 8: a"
    assert len(texts.same.known.meetings) == 1


def test_meetings_are_asked_again_where_less_is_defined_between(tmp_path: Path) -> None:
    """With m defined between them, two elements may be one; without, they are not."""
    texts = _Texts(tmp_path, "m = 1\na(m) = 1\nm = k\nb(1) = a(m + 1)")
    assert texts.why_not(1, 3) is not None
    zero, one, between, other = texts.body()
    texts.put(zero, one, other, between)
    assert texts.why_not(1, 2) is None


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each search for the iterations of a nest that other statements meet."""
    searches: list[object] = []

    def search(*args: Any) -> Any:
        searches.append(args[0])
        return ends_of(*args)

    monkeypatch.setattr(index_set_splitting, "ends_of", search)
    return searches


def _ends(texts: _Texts, *passed: int) -> tuple[EdgeCounts, ...] | None:
    """The ends of the only nest behind these statements that meet them; None: it is not split."""
    body, facts = texts.body(), texts.facts()
    position = passed[-1] + 1
    nest = body[position]
    assert isinstance(nest, Do)
    order = Independence(facts, Messages(facts))
    run = tuple(body[n] for n in passed)
    found = Nest(facts, order, nest, nest, (), position).divided([run])
    return found.ends if isinstance(found, DividedNest) else None


_NEST = "do i = 1, n\n  b(i) = a(i)\nend do"


def test_the_ends_of_a_nest_are_known_where_others_have_moved(
    tmp_path: Path, cut: list[object]
) -> None:
    texts = _Texts(tmp_path, f"a(1) = k\n{_NEST}\nc(1) = 3")
    first, nest, other = texts.body()
    assert _ends(texts, 0) == (EdgeCounts(1, 0),)
    texts.put(other, first, nest)
    assert _ends(texts, 1) == (EdgeCounts(1, 0),)
    assert len(cut) == 1


def test_the_ends_of_a_nest_are_searched_for_with_each_other_way(
    tmp_path: Path, cut: list[object]
) -> None:
    """Where one more statement is to be passed, and where one is a new one."""
    texts = _Texts(tmp_path, f"a(n) = k\na(1) = k\n{_NEST}")
    last, first, nest = texts.body()
    assert _ends(texts, 1) == (EdgeCounts(1, 0),)
    assert _ends(texts, 0, 1) == (EdgeCounts(1, 1),)
    texts.put(last, nest, first)
    assert _ends(texts, 0) == (EdgeCounts(0, 1),)
    assert isinstance(first, Leaf)
    texts.put(first, nest, last, noted=False)
    assert _ends(texts, 0) == (EdgeCounts(1, 0),)
    assert len(cut) == 4


def test_the_ends_of_a_nest_are_searched_for_where_a_temporary_is_needed_later(
    tmp_path: Path, cut: list[object]
) -> None:
    work = "do m = 1, 1\n  t = c(m)\n  a(m) = t\nend do"
    nest = "do i = 1, n\n  t = a(i)\n  b(i) = t\nend do"
    texts = _Texts(tmp_path, f"c(n) = t\n{work}\n{nest}")
    use, loop, other = texts.body()
    assert _ends(texts, 1) == (EdgeCounts(1, 0),)
    texts.put(loop, other, use)
    assert _ends(texts, 0) is None
    assert len(cut) == 2


_TRANSFER = """\
include 'mpif.h'
integer :: request, ierr
call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, k, 1, MPI_COMM_WORLD, request, ierr)
do i = 1, n
  b(i) = i
end do
call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
c(1) = a(1)"""


def _matched(texts: _Texts) -> list[list[int]]:
    """The positions in the unit of each start and of what completes it."""
    places = {id(leaf): n for n, node in enumerate(texts.body()) for leaf in leaves(node)}
    return [
        [places[id(match.leaf)], *(places[id(one)] for one in match.partners)]
        for match in Messages(texts.facts()).matches
        if isinstance(match, Matched)
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each search for matches."""
    searches: list[object] = []

    def search(*args: Any, **more: Any) -> Any:
        searches.append(args[0])
        return matching(*args, **more)

    monkeypatch.setattr(messages, "matching", search)
    return searches


def test_matches_are_known_where_work_has_moved(tmp_path: Path, asked: list[object]) -> None:
    texts = _Texts(tmp_path, _TRANSFER)
    start, loop, wait, use = texts.body()
    assert _matched(texts) == [[0, 2]]
    texts.put(loop, start, wait, use)
    assert _matched(texts) == [[1, 2]]
    assert len(asked) == 1


def test_matches_are_searched_for_where_a_call_is_missing(
    tmp_path: Path, asked: list[object]
) -> None:
    texts = _Texts(tmp_path, _TRANSFER)
    start, loop, _, use = texts.body()
    assert _matched(texts) == [[0, 2]]
    texts.put(start, loop, use)
    assert _matched(texts) == []
    assert len(asked) == 2


def test_matches_are_searched_for_where_a_branch_is_new(
    tmp_path: Path, asked: list[object]
) -> None:
    texts = _Texts(tmp_path, f"{_TRANSFER}\nif (k > 3) then\n  b(1) = 0\nend if")
    start, loop, wait, use, branch = texts.body()
    assert _matched(texts) == [[0, 2]]
    assert isinstance(branch, Branch)
    texts.put(start, loop, replace(branch, arms=(replace(branch.arms[0], body=(wait,)),)), use)
    assert _matched(texts) == []
    assert len(asked) == 2


def test_matches_are_searched_for_where_a_way_out_is_new(
    tmp_path: Path, asked: list[object]
) -> None:
    texts = _Texts(tmp_path, f"{_TRANSFER}\nif (k > 3) return\nb(2) = 2")
    start, loop, wait, use, way_out, last = texts.body()
    assert _matched(texts) == [[0, 2]]
    texts.put(start, loop, way_out, wait, use, last)
    assert _matched(texts) == []
    assert len(asked) == 2


def test_matches_are_searched_for_behind_a_step_that_is_not_in_place(
    tmp_path: Path, asked: list[object]
) -> None:
    texts = _Texts(tmp_path, _TRANSFER)
    start, loop, wait, use = texts.body()
    assert _matched(texts) == [[0, 2]]
    texts.put(loop, start, wait, use, noted=False)
    assert _matched(texts) == [[1, 2]]
    assert len(asked) == 2


def test_what_is_not_proved_is_searched_for_again(tmp_path: Path, asked: list[object]) -> None:
    lost = _TRANSFER.replace("call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n", "")
    texts = _Texts(tmp_path, lost)
    start, loop, use = texts.body()
    assert _matched(texts) == []
    texts.put(loop, start, use)
    assert _matched(texts) == []
    assert len(asked) == 2


_UNANSWERED = """\
include 'mpif.h'
integer :: requests(n), ierr
call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, k, 1, MPI_COMM_WORLD, requests(k), ierr)
do i = 1, n
  b(i) = i
end do
call MPI_Wait(requests(n), MPI_STATUS_IGNORE, ierr)
c(1) = a(1)"""


def test_where_there_was_no_answer_there_is_none_where_work_has_moved(
    tmp_path: Path, asked: list[object]
) -> None:
    """Only who wants to know why has it searched for again."""
    texts = _Texts(tmp_path, _UNANSWERED)
    start, loop, wait, use = texts.body()
    first = Messages(texts.facts()).matches
    assert [type(one) for one in first] == [Unknown]
    texts.put(loop, start, wait, use)
    now = Messages(texts.facts())
    moved = texts.body()[1]
    assert isinstance(moved, Leaf)
    assert now.completion(moved) is None
    assert len(asked) == 1
    (told,) = now.matches
    assert len(asked) == 2
    assert isinstance(told, Unknown)
    assert told.leaf is moved
    alone = Messages(replace(texts.facts(), same=None)).matches
    assert [one.reason for one in alone if isinstance(one, Unknown)] == [told.reason]


def test_an_answer_is_searched_for_where_a_call_is_another_one(
    tmp_path: Path, asked: list[object]
) -> None:
    texts = _Texts(tmp_path, _UNANSWERED)
    start, loop, wait, use = texts.body()
    assert Messages(texts.facts()).matches
    assert isinstance(wait, Leaf)
    assert wait.body is not None
    own = replace(wait, body=wait.body.replace("requests(n)", "requests(k)"))
    texts.put(start, loop, own, use)
    found = Messages(texts.facts())
    first = texts.body()[0]
    assert isinstance(first, Leaf)
    assert found.completion(first) == (texts.body()[2],)
    assert len(asked) == 2


_CODES = """\
include 'mpif.h'
integer :: ierr
call MPI_Barrier(MPI_COMM_WORLD, ierr)
a(1) = 1
if (ierr {test}) b(1) = 2
c(1) = 3"""


@pytest.fixture
def fatal(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each text in which error codes are followed, as if errors were fatal."""
    followed: list[object] = []
    decides = ErrorCodeFlow.decides.func

    def following(flow: ErrorCodeFlow) -> bool:
        followed.append(flow)
        return bool(decides(flow))

    found = cached_property(following)
    found.__set_name__(ErrorCodeFlow, "decides")
    monkeypatch.setattr(ErrorCodeFlow, "decides", found)
    for name, answer in (("may_return", False), ("errors_return", False)):
        monkeypatch.setattr(feasible_statements, name, lambda effects, answer=answer: answer)
    return followed


def _never(texts: _Texts) -> list[int]:
    facts = replace(texts.facts(), effects=_with_fatal(texts.facts().effects))
    return [n for n, leaf in enumerate(leaves(facts.unit)) if facts.executed.never(leaf)]


def _with_fatal(effects: Effects) -> Effects:
    return Effects(effects.scopes, Assumed(frozenset(), True))


def test_codes_that_decide_nothing_are_not_followed_where_work_has_moved(
    tmp_path: Path, fatal: list[object]
) -> None:
    texts = _Texts(tmp_path, _CODES.format(test="== k"))
    call, first, branch, last = texts.body()[-4:]
    assert _never(texts) == []
    texts.put(call, branch, first, last)
    assert _never(texts) == []
    assert len(fatal) == 1


def test_codes_that_decide_are_followed_in_each_text(tmp_path: Path, fatal: list[object]) -> None:
    texts = _Texts(tmp_path, _CODES.format(test="/= MPI_SUCCESS"))
    call, first, branch, last = texts.body()[-4:]
    assert len(_never(texts)) == 1
    texts.put(first, call, branch, last)
    assert len(_never(texts)) == 1
    assert len(fatal) == 2


def test_codes_are_followed_where_a_call_is_new(tmp_path: Path, fatal: list[object]) -> None:
    """Before it, a condition was about a code that nothing had set."""
    texts = _Texts(tmp_path, _CODES.format(test="/= MPI_SUCCESS").replace("(ierr", "(m"))
    call, first, branch, last = texts.body()[-4:]
    assert _never(texts) == []
    assert isinstance(call, Leaf)
    assert call.body is not None
    own = replace(call, body=call.body.replace("ierr", "m"))
    texts.put(own, first, branch, last)
    assert len(_never(texts)) == 1
    assert len(fatal) == 2
