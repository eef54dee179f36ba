"""Which completion belongs to which start."""

from __future__ import annotations

import pytest

from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.directives.directives import matches
from asphalt.analysis.requests.matching import Match, Matched, Unknown, Unmatched, matching
from support.analysed import Analysed

UNIT = """\
subroutine unit(n, m, outside)
  use mpi
  implicit none
  integer, intent(in) :: n, m
  integer :: outside
  integer :: r, q, rs(20), i, j, k, ierr, done, statuses(MPI_STATUS_SIZE, 20)
  logical :: flag
  integer :: sides(2, 0:1), v(n, 2)
  real :: b(100), x, y
{body}
end subroutine unit
"""
BODY = 10
ANY = "MPI_STATUS_IGNORE, ierr)"
ALL = "MPI_STATUSES_IGNORE, ierr)"


def receive(request: str) -> str:
    return f"call MPI_Irecv(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, {request}, ierr)\n"


def send(request: str) -> str:
    return f"call MPI_Isend(b(50), 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, {request}, ierr)\n"


def wait(request: str) -> str:
    return f"call MPI_Wait({request}, {ANY}\n"


def wait_all(count: str, requests: str = "rs") -> str:
    return f"call MPI_Waitall({count}, {requests}, {ALL}\n"


def answers(body: str, text: str = UNIT) -> tuple[Match, ...]:
    unit = Analysed(text.format(body=body.rstrip("\n")))
    reaching = ReachingDefinitions(unit.scope, unit.effects)
    return matching(unit.scope, unit.values, reaching, matches(unit.scope.unit))


def described(found: Match) -> str:
    """``3: matched 5 6``; ``3: unmatched by line 4: it returns``."""
    line = (found.leaf.span.first if found.leaf.span else 0) - BODY + 1
    match found:
        case Matched(partners=partners):
            lines = [leaf.span.first - BODY + 1 for leaf in partners if leaf.span is not None]
            return f"{line}: matched {' '.join(map(str, lines))}"
        case Unmatched():
            return f"{line}: unmatched"
        case Unknown():
            return f"{line}: unknown"


CASES = {
    "plain": (receive("r") + wait("r"), ["1: matched 2"]),
    "never": (receive("r"), ["1: unmatched"]),
    "another-request": (receive("r") + wait("q"), ["1: unmatched", "2: unmatched"]),
    "on-one-branch": (
        f"{receive('r')}if (n > 1) then\n{wait('r')}end if\n",
        ["1: unmatched"],
    ),
    "on-both-branches": (
        f"{receive('r')}if (n > 1) then\n{wait('r')}else\n{wait('r')}end if\n",
        ["1: matched 3 5"],
    ),
    "under-an-if": (f"{receive('r')}if (n > 1) {wait('r')}", ["1: unmatched"]),
    "both-under-the-same-condition": (
        f"if (n > 1) {receive('r')}b = 1\nif (N > 1) {wait('r')}",
        ["1: matched 3"],
    ),
    "else-of-the-same-condition": (
        f"if (n > 1) then\nb = 1\nelse\n{receive('r')}end if\nif (.not. (n > 1)) {wait('r')}",
        ["4: matched 6"],
    ),
    "the-condition-changes": (
        f"k = n\nif (k > 1) {receive('r')}k = m\nif (k > 1) {wait('r')}",
        ["2: unknown"],
    ),
    "under-different-conditions": (
        f"if (n > 1) {receive('r')}if (m > 1) {wait('r')}",
        ["1: unknown"],
    ),
    "under-contrary-conditions": (
        f"if (n > 1) {receive('r')}if (.not. n > 1) {wait('r')}",
        ["1: unknown"],
    ),
    "early-return": (f"{receive('r')}if (n > 1) return\n{wait('r')}", ["1: unmatched"]),
    "early-stop": (f"{receive('r')}if (n > 1) stop\n{wait('r')}", ["1: matched 3"]),
    "started-again": (
        receive("r") + receive("r") + wait("r"),
        ["1: unmatched", "2: matched 3"],
    ),
    "started-again-in-a-loop": (
        f"do i = 1, n\n{receive('r')}end do\n{wait('r')}",
        ["2: unmatched"],
    ),
    "each-iteration": (f"do i = 1, n\n{receive('r')}{wait('r')}end do\n", ["2: matched 3"]),
    "the-iteration-before": (
        f"{receive('r')}do i = 1, n\n{wait('r')}{receive('r')}end do\n{wait('r')}",
        ["1: matched 3 6", "4: matched 3 6"],
    ),
    "element-of-each-iteration": (
        f"do i = 1, n\n{receive('rs(i)')}b(60) = i\n{wait('rs(i)')}end do\n",
        ["2: matched 4"],
    ),
    "element-by-a-variable": (
        f"k = m\n{receive('rs(2*k-n)')}j = 2\n{wait('rs(2*k-n)')}k = 1\n",
        ["2: matched 4"],
    ),
    "element-whose-number-changes": (
        f"k = m\n{receive('rs(k)')}k = k + 1\n{wait('rs(k)')}",
        ["2: unknown"],
    ),
    "element-whose-number-may-change": (
        f"k = m\n{receive('rs(k)')}call other(k)\n{wait('rs(k)')}",
        ["2: unknown"],
    ),
    "element-of-each-iteration-sometimes": (
        f"do i = 1, n\n{receive('rs(i)')}if (m > 1) cycle\n{wait('rs(i)')}end do\n",
        ["2: unmatched"],
    ),
    "element-of-the-next-iteration": (
        f"do i = 1, n\nif (i > 1) {wait('rs(i)')}{receive('rs(i)')}end do\n",
        ["3: unmatched"],
    ),
    "elements": (
        receive("rs(1)") + send("rs(2)") + wait_all("2"),
        ["1: matched 3", "2: matched 3"],
    ),
    "too-few": (receive("rs(1)") + send("rs(2)") + wait_all("1"), ["1: matched 3", "2: unmatched"]),
    "one-by-one": (
        receive("rs(1)") + send("rs(2)") + wait("rs(2)") + wait("rs(1)"),
        ["1: matched 4", "2: matched 3"],
    ),
    "loop-and-all": (f"do i = 1, n\n{receive('rs(i)')}end do\n{wait_all('n')}", ["2: matched 4"]),
    "loop-and-fewer": (
        f"do i = 1, n\n{receive('rs(i)')}end do\n{wait_all('n - 1')}",
        ["2: unmatched"],
    ),
    "loop-and-another-number": (
        f"do i = 1, n\n{receive('rs(i)')}end do\n{wait_all('m')}",
        ["2: unknown"],
    ),
    "loop-that-is-left-and-fewer": (
        f"do i = 1, 4\nif (i > m) exit\n{receive('rs(i)')}end do\n{wait_all('3')}",
        ["3: unknown"],
    ),
    "some-iterations-and-fewer": (
        f"do i = 1, 4\nif (i > m) then\n{receive('rs(i)')}end if\nend do\n{wait_all('3')}",
        ["3: unknown"],
    ),
    "loop-and-the-rest-apart": (
        f"do i = 1, 4\n{receive('rs(i)')}end do\n{wait_all('3')}{wait('rs(4)')}",
        ["2: unknown"],
    ),
    "loop-and-the-rest-maybe": (
        f"do i = 1, 4\n{receive('rs(i)')}end do\n{wait_all('3')}j = rs(4)\n",
        ["2: unknown"],
    ),
    "loop-and-a-stop": (
        f"do i = 1, 4\n{receive('rs(i)')}end do\n{wait_all('3')}stop\n",
        ["2: unknown"],
    ),
    "steps-and-fewer": (
        f"do k = 1, n\ndo i = 1, 4\n{receive('rs(i)')}end do\n{wait_all('3')}end do\n",
        ["3: unmatched"],
    ),
    "two-loops-and-fewer": (
        f"do k = 1, 2\ndo i = 1, 3\n{receive('rs(3*k + i - 3)')}end do\nend do\n{wait_all('5')}",
        ["3: unmatched"],
    ),
    "number-that-changes": (
        f"k = 4\ndo i = 1, k\n{receive('rs(i)')}end do\nk = 3\n{wait_all('k')}",
        ["3: unknown"],
    ),
    "number-that-may-change": (
        f"k = n\ndo i = 1, k\n{receive('rs(i)')}end do\nif (m > 1) k = k - 1\n{wait_all('k')}",
        ["3: unknown"],
    ),
    "more-than-started": (
        f"{receive('rs(1)')}{receive('rs(2)')}{wait_all('4')}",
        ["1: matched 3", "2: matched 3", "3: unmatched"],
    ),
    "more-than-a-loop-starts": (
        f"do i = 1, n\n{receive('rs(i)')}end do\n{wait_all('n + 1')}",
        ["2: matched 4", "4: unmatched"],
    ),
    "null-and-more-than-started": (
        f"rs = MPI_REQUEST_NULL\n{receive('rs(1)')}{wait_all('4')}",
        ["2: matched 3"],
    ),
    "pairs": (
        f"do i = 1, n\n{receive('rs(2*i-1)')}{send('rs(2*i)')}end do\n{wait_all('2*n')}",
        ["2: matched 5", "3: matched 5"],
    ),
    "halves": (
        f"do i = 1, n\n{receive('rs(i)')}{send('rs(n+i)')}end do\n"
        f"{wait_all('n', 'rs(n+1)')}{wait_all('n')}",
        ["2: matched 6", "3: matched 5"],
    ),
    "loop-of-waits": (
        f"do i = 1, n\n{receive('rs(i)')}end do\ndo j = n, 1, -1\n{wait('rs(j)')}end do\n",
        ["2: matched 5"],
    ),
    "loop-of-waits-that-is-left": (
        f"do i = 1, n\n{receive('rs(i)')}end do\n"
        f"do j = 1, n\nif (b(j) > 0) exit\n{wait('rs(j)')}end do\n",
        ["2: unknown"],
    ),
    "loop-of-waits-behind-another-start": (
        f"{receive('rs(1)')}do i = 1, 2\n{send('rs(n)')}{wait('rs(n)')}{wait('rs(i)')}end do\n",
        ["1: unknown", "3: matched 4"],
    ),
    "loop-of-waits-behind-other-requests": (
        f"{receive('rs(1)')}{send('rs(2)')}do i = 1, 2\n{send('r')}{wait('r')}{wait('rs(i)')}"
        "end do\n",
        ["1: matched 6", "2: matched 6", "4: matched 5"],
    ),
    "loop-of-waits-that-skips": (
        f"do i = 1, n\n{receive('rs(i)')}end do\n"
        f"do j = 1, n\nif (b(j) > 0) cycle\n{wait('rs(j)')}end do\n",
        ["2: unknown"],
    ),
    "the-bound-changes": (
        f"k = n\ndo i = 1, k\n{receive('rs(i)')}end do\nk = m\n{wait_all('k')}",
        ["3: unknown"],
    ),
    "same-element-again": (
        f"do i = 1, n\n{receive('rs(1)')}end do\n{wait_all('1')}",
        ["2: unmatched"],
    ),
    "counter": (
        f"k = 0\nif (n > 1) then\nk = k + 1\n{receive('rs(k)')}end if\ndo i = 1, m\nk = k + 1\n"
        f"{send('rs(k)')}end do\n{wait_all('k')}",
        ["4: matched 10", "8: matched 10"],
    ),
    "counter-set-back": (
        f"k = 0\ndo i = 1, m\nk = k + 1\n{send('rs(k)')}k = 0\nend do\n{wait_all('k')}",
        ["4: unknown"],
    ),
    "counter-not-counted": (
        f"k = 1\ndo i = 1, m\n{send('rs(k)')}end do\n{wait_all('k')}",
        ["3: unmatched"],
    ),
    "counter-each-step": (
        f"do j = 1, n\nk = 0\ndo i = 1, m\nk = k + 1\n{send('rs(k)')}end do\n"
        f"{wait_all('k')}end do\n",
        ["5: matched 7"],
    ),
    "counter-behind-the-starts": (
        f"k = 0\n{receive('rs(k+1)')}{send('rs(k+2)')}k = k + 2\n{wait_all('k')}",
        ["2: matched 5", "3: matched 5"],
    ),
    "counter-under-conditions": (
        f"k = 0\nif (n > 1) then\n{receive('rs(k+1)')}{send('rs(2 + k)')}k = k + 2\nend if\n"
        f"if (m > 1) then\n{send('rs(k+1)')}k = k + 1\nend if\n{wait_all('k')}",
        ["3: matched 11", "4: matched 11", "8: matched 11"],
    ),
    "counter-of-a-one-line-branch": (
        f"k = 0\n{receive('rs(k+1)')}if (n > 1) k = k + 1\n{send('rs(k+1)')}k = k + 1\n"
        f"{wait_all('k')}",
        ["2: unknown", "4: unknown"],
    ),
    "counter-too-small": (
        f"k = 0\n{receive('rs(k+1)')}{send('rs(k+2)')}k = k + 1\n{wait_all('k')}",
        ["2: matched 5", "3: unknown"],
    ),
    "counter-too-small-on-a-way": (
        f"k = 0\n{receive('rs(k+1)')}{send('rs(k+2)')}k = k + 1\nif (n > 1) k = k + 1\n"
        f"{wait_all('k')}",
        ["2: matched 6", "3: unknown"],
    ),
    "counter-with-the-same-twice": (
        f"k = 0\nif (n > 1) k = k + 1\n{receive('rs(k+2)')}k = k + 1\n{send('rs(k+1)')}"
        f"k = k + 1\n{wait_all('k')}",
        ["3: unknown", "5: unknown"],
    ),
    "counter-set-back-between": (
        f"k = 0\nif (n > 1) k = k + 4\n{receive('rs(k+1)')}k = k + 1\nif (m > 1) k = 0\n"
        f"{wait_all('k')}",
        ["3: unknown"],
    ),
    "counter-given-by-the-caller": (
        f"k = n\n{receive('rs(k+1)')}k = k + 1\n{wait_all('k')}",
        ["2: unknown"],
    ),
    "counter-of-the-first-ones-only": (
        f"k = 0\nif (n > 1) k = k + 1\n{receive('rs(k+1)')}k = k + 1\n{wait_all('k', 'rs(2)')}",
        ["3: unknown"],
    ),
    "counter-from-the-caller": (
        f"{receive('rs(outside)')}outside = outside + 1\n{send('rs(outside)')}"
        f"outside = outside + 1\n{wait_all('20')}",
        ["1: matched 5", "3: matched 5"],
    ),
    "counter-from-the-caller-in-a-loop": (
        f"do i = 1, n\n{receive('rs(outside)')}outside = outside + 1\n{send('rs(outside)')}"
        f"outside = outside + 1\nend do\n{wait_all('size(rs)')}",
        ["2: matched 7", "4: matched 7"],
    ),
    "counter-from-the-caller-with-the-same-twice": (
        f"{receive('rs(outside)')}{send('rs(outside)')}outside = outside + 1\n{wait_all('20')}",
        ["1: unmatched", "2: matched 4"],
    ),
    "counter-from-the-caller-under-a-condition": (
        f"{receive('rs(outside)')}if (n > 1) outside = outside + 1\n{send('rs(outside)')}"
        f"{wait_all('20')}",
        ["1: unknown", "3: matched 4"],
    ),
    "counter-from-the-caller-set-back": (
        f"{receive('rs(outside)')}outside = outside + 1\nif (n > 1) outside = 1\n"
        f"{send('rs(outside)')}{wait_all('20')}",
        ["1: unknown", "4: matched 5"],
    ),
    "counter-from-the-caller-changed-by-a-call": (
        f"{receive('rs(outside)')}outside = outside + 1\ncall other(outside)\n"
        f"{send('rs(outside)')}{wait_all('20')}",
        ["1: unknown", "4: matched 5"],
    ),
    "counter-from-the-caller-waited-for": (
        f"{receive('rs(outside)')}outside = outside + 1\n{wait_all('outside')}",
        ["1: unknown"],
    ),
    "all-but-one-of-the-array": (
        f"rs = MPI_REQUEST_NULL\n{receive('rs(outside)')}{wait_all('19')}",
        ["2: unknown"],
    ),
    "as-many-from-the-second-one-on": (
        f"rs = MPI_REQUEST_NULL\n{receive('rs(outside)')}{wait_all('20', 'rs(2)')}",
        ["2: unknown"],
    ),
    "elements-of-rank-two": (
        f"{receive('sides(1,0)')}{send('sides(2,1)')}{wait('sides(2,1)')}{wait('sides(1,0)')}",
        ["1: matched 4", "2: matched 3"],
    ),
    "all-of-rank-two": (
        f"{receive('sides(2,1)')}{send('sides(1,0)')}{send('sides(2,0)')}{send('sides(1,1)')}"
        f"{wait_all('4', 'sides')}",
        [f"{number}: matched 5" for number in range(1, 5)],
    ),
    "as-many-as-there-are": (
        f"sides = MPI_REQUEST_NULL\n{receive('sides(2,1)')}{wait_all('size(sides)', 'sides')}",
        ["2: matched 3"],
    ),
    "a-column-of-rank-two": (
        f"{receive('sides(1,1)')}{send('sides(2,1)')}{send('sides(2,0)')}"
        f"{wait_all('2', 'sides(:,1)')}{wait('sides(2,0)')}",
        ["1: matched 4", "2: matched 4", "3: matched 5"],
    ),
    "too-few-of-rank-two": (
        f"{receive('sides(2,1)')}{send('sides(1,0)')}{wait_all('3', 'sides')}",
        ["1: unmatched", "2: matched 3", "3: unmatched"],
    ),
    "a-row-is-not-contiguous": (
        f"{receive('sides(1,1)')}{wait_all('2', 'sides(1,:)')}",
        ["1: unknown"],
    ),
    "extents-that-may-be-any": (
        f"{receive('v(2,1)')}{send('v(1,2)')}{wait('v(2,1)')}{wait('v(1,2)')}",
        ["1: unknown", "2: matched 4 3"],
    ),
    "loops-over-rank-two": (
        f"do j = 0, 1\ndo i = 1, 2\n{receive('sides(i,j)')}end do\nend do\n"
        f"{wait_all('4', 'sides')}",
        ["3: matched 6"],
    ),
    "loops-over-half-of-rank-two": (
        f"do j = 0, 1\ndo i = 1, 2\n{receive('sides(i,j)')}end do\nend do\n"
        f"{wait_all('2', 'sides')}",
        ["3: unmatched"],
    ),
    "test": (f"{receive('r')}call MPI_Test(r, flag, {ANY}\n", ["1: unknown"]),
    "test-until": (
        f"{receive('r')}do\ncall MPI_Test(r, flag, {ANY}\nif (flag) exit\nend do\n",
        ["1: unknown"],
    ),
    "test-and-wait": (
        f"{receive('r')}call MPI_Test(r, flag, {ANY}\n{wait('r')}",
        ["1: matched 3 2"],
    ),
    "any": (
        f"{receive('rs(1)')}{send('rs(2)')}call MPI_Waitany(2, rs, done, {ANY}\n",
        ["1: unknown", "2: unknown"],
    ),
    "free": (f"{send('r')}call MPI_Request_free(r, ierr)\n", ["1: matched 2"]),
    "dummy": (receive("outside"), ["1: unknown"]),
    "dummy-that-is-waited-for": (receive("outside") + wait("outside"), ["1: matched 2"]),
    "passed-on": (f"{receive('r')}call finish(r)\n", ["1: unknown"]),
    "copied": (f"{receive('r')}q = r\n{wait('q')}", ["1: unknown"]),
    "wait-alone": (wait("r"), ["1: unmatched"]),
    "null-request": (f"r = MPI_REQUEST_NULL\n{wait('r')}", []),
    "null-or-started": (
        f"r = MPI_REQUEST_NULL\nif (n > 1) {receive('r')}{wait('r')}",
        ["2: matched 3"],
    ),
    "persistent": (
        "call MPI_Recv_init(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, r, ierr)\ndo i = 1, n\n"
        f"call MPI_Start(r, ierr)\n{wait('r')}end do\ncall MPI_Request_free(r, ierr)\n",
        ["3: matched 4"],
    ),
    "persistent-not-waited-for": (
        "call MPI_Recv_init(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, r, ierr)\ndo i = 1, n\n"
        "call MPI_Start(r, ierr)\nend do\n",
        ["3: unmatched"],
    ),
    "start-all": (
        f"call MPI_Startall(4, rs, ierr)\n{wait_all('2')}{wait_all('2', 'rs(3)')}",
        ["1: unknown"],
    ),
    "start-all-wait-all": (f"call MPI_Startall(4, rs, ierr)\n{wait_all('4')}", ["1: matched 2"]),
    "collective": (
        f"call MPI_Ibarrier(MPI_COMM_WORLD, r, ierr)\n{wait('r')}",
        ["1: matched 2"],
    ),
    "goto": (
        f"{receive('r')}if (n > 1) goto 10\n{wait('r')}return\n10 b = 0\n{wait('r')}",
        ["1: matched 3 6"],
    ),
    "goto-past": (
        f"{receive('r')}if (n > 1) goto 10\n{wait('r')}10 b = 0\n",
        ["1: unmatched"],
    ),
    "conditional-line": (f"{receive('r')}!$ b = 1\n{wait('r')}", ["1: matched 3"]),
    "conditional-lines": (f"{receive('r')}!$ b = 1; b = 2\n{wait('r')}", ["1: unknown"]),
    "conditional-completion": (f"{receive('r')}!$ {wait('r')}", ["1: unknown"]),
    "blocking": (
        "call MPI_Send(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, ierr)\n",
        ["1: unknown"],
    ),
    "directive": (
        f"!$asphalt match(halo)\n{receive('outside')}!$asphalt match(halo)\n{wait('rs(outside)')}",
        ["2: matched 4"],
    ),
    "blocking-with-a-directive": (
        "!$asphalt match(ring)\ncall MPI_Send(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, ierr)\n"
        f"!$asphalt match(ring)\ncall MPI_Recv(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, {ANY}\n",
        ["2: matched 4", "4: matched 2"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_matching(case: str) -> None:
    body, expected = CASES[case]
    assert [described(found) for found in answers(body)] == expected


def test_reasons() -> None:
    """What is not known says why, and what is unmatched by which way."""
    (found,) = answers(receive("outside"))
    assert isinstance(found, Unknown)
    assert found.reason == "the request outlives the procedure, whose caller may complete it"
    first, _ = answers(receive("r") + receive("r") + wait("r"))
    assert isinstance(first, Unmatched)
    assert first.reason == "the request is used again before the operation is complete"
    assert str(first.path) == f"line {BODY + 1}"
    (tested,) = answers(f"{receive('r')}call MPI_Test(r, flag, {ANY}\n")
    assert isinstance(tested, Unknown)
    assert tested.reason == f"MPI_Test in line {BODY + 1} completes it only if its flag is true"
    loop = f"do i = 1, n\n{receive('rs(i)')}end do\n"
    (fewer,) = answers(loop + wait_all("n - 2"))
    assert isinstance(fewer, Unmatched)
    assert fewer.certain
    assert fewer.reason == "no call completes some elements of rs"
    _, more = answers(loop + wait_all("n + 2"))
    assert isinstance(more, Unmatched)
    assert not more.certain  # it may wait for nothing
    assert more.reason == "no call starts an operation with some elements of rs"
    _, four = answers(loop.replace("1, n", "1, 3") + wait_all("4"))
    assert isinstance(four, Unmatched)
    assert four.certain
    assert four.reason == "no call starts an operation with rs(4)"
    (slots,) = answers(f"do i = 1, n\n{receive('rs(mod(i,2)+1)')}end do\n{wait_all('2')}")
    assert isinstance(slots, Unknown)
    assert slots.reason == (
        f"another iteration of the loop of line {BODY} may use the same request, before it is "
        "complete"
    )


def guarded(head: str, condition: str, between: str = "b = 1\n", again: str = "") -> str:
    """A loop that starts and completes under one condition."""
    body = f"{head}\nif ({condition}) {receive('r')}{between}"
    return f"{body}if ({again or condition}) {wait('r')}end do\n"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (guarded("do i = 1, n", "i /= 1"), "2: matched 4"),
        (guarded("do i = 1, n", "v(i, 1) > 2"), "2: matched 4"),
        (guarded("do while (k < n)", "k > 3").replace("end", "k = k + 1\nend"), "2: matched 4"),
        (guarded("do i = 1, n", "i /= 1", "do j = 1, n\nb(j) = 1\nend do\n"), "2: matched 6"),
        (guarded("do i = 1, n", "i /= 1", again=".not. i == 1"), "2: matched 4"),
        (guarded("do i = 1, n", "i > 1", again=".not. (1 >= i)"), "2: matched 4"),
        (guarded("do i = 1, n", "x >= y", again="y <= x"), "2: matched 4"),
        (guarded("do i = 1, n", "x /= y", again=".not. x == y"), "2: matched 4"),
        (guarded("do i = 1, n", "x >= y", again=".not. x < y"), "2: unknown"),  # not of a NaN
        (guarded("do i = 1, n", "i > 1", again=".not. (1 > i)"), "2: unknown"),
        (guarded("do i = 1, n", "i /= 1", "k = i\n", "k /= 1"), "2: unknown"),
        (guarded("do i = 1, n", "i /= 1", again="i > 2"), "2: unknown"),
        (guarded("do i = 1, n", "v(i, 1) > 2", "v(j, 1) = k\n"), "2: unknown"),
        (guarded("do i = 1, n", "k > 2", "k = k - 1\n"), "2: unknown"),
        (guarded("do i = 1, n", "k > 2", "do j = 1, n\nk = k - 1\nend do\n"), "2: unknown"),
        (guarded("do i = 1, n", "i /= 1", "if (m > 2) cycle\n"), "2: unknown"),
        (guarded("do i = 1, n", "i /= 1", "if (m > 2) exit\n"), "2: unknown"),
        (guarded("do i = 1, n", "i /= 1", "10 j = j + 1\nif (j < m) goto 10\n"), "2: matched 5"),
        (guarded("do i = 1, n", "j < m", "10 j = j + 1\nif (j < m) goto 10\n"), "2: unknown"),
    ],
)
def test_one_iteration_starts_and_completes(loop: str, expected: str) -> None:
    """A condition on the variable of a loop is the same until the next iteration."""
    found = [described(one) for one in answers(loop)]
    assert expected in found, found


def ring(head: str, completes: str, starts: str, between: str = "") -> str:
    """A loop whose iterations wait for what the iteration before has started."""
    body = f"do {head}\n{completes} then\n{wait('r')}end if\n{between}"
    return body + f"{starts} then\n{send('r')}end if\nend do\n"


UP = "i = 1, n", "if (i /= 1)", "if (i /= n)"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (ring(*UP), "6: matched 3"),
        (ring("i = n, 1, -1", "if (n > i)", "if (1 < i .and. m > 2)"), "6: matched 3"),
        (ring("i = n, 1, -1", "if (n > i)", "if (1 < i)"), "6: matched 3"),
        (ring("i = 2, n, 1", "if (i .ge. 3)", "if (i - n <= -1)"), "6: matched 3"),
        (ring(*UP, "b = 1\nif (m > 2) b = 2\n"), "8: matched 3"),
        (ring(*UP, f"do j = 1, m\n{wait('q')}{receive('q')}end do\n"), "10: matched 3"),
        (
            ring("i = 1, n", "if (i == 1) then\nb = 1\nelse if (.not. i == 1)", UP[2]),
            "8: matched 5",
        ),
        (f"do j = 1, m\n{ring(*UP)}end do\n", "7: matched 4"),
        (f"do j = 1, m\n{ring(UP[0], UP[1], 'if (j /= m)')}end do\n", "7: unknown"),
        (ring("i = 1, n", "if (i /= 2)", UP[2]), "6: unknown"),
        (ring("i = 1, n", "if (i /= 1 .and. m > 2)", UP[2]), "6: unknown"),
        (ring("i = 1, n", UP[1], "if (i /= n - 1)"), "6: unknown"),
        (ring("i = 1, n", UP[1], "if (i /= n .or. m > 2)"), "6: unknown"),
        (ring("i = 1, n", UP[1], "if (i >= n)"), "6: unknown"),
        (ring("x = 1., y", "if (x /= 1.)", "if (x /= y)"), "6: unknown"),
        (ring("i = 1, n, 2", UP[1], UP[2]), "6: unknown"),
        (ring("i = 1, n, k", UP[1], UP[2]), "6: unknown"),
        (ring("i = k, n", "if (i /= k)", UP[2], "k = k + 1\n"), "7: unknown"),
        (ring("i = 1, k", UP[1], "if (i /= k)", "k = k - 1\n"), "7: unknown"),
        (ring("i = 1, v(1, 1)", UP[1], "if (i /= v(1, 1))", "v(j, 2) = 2\n"), "7: unknown"),
        (ring(*UP).replace("end do", "if (m > 2) exit\nend do"), "6: unknown"),
        (ring(*UP).replace("end do", "if (m > 2) return\nend do"), "6: unknown"),
        (ring(*UP).replace("do i = 1, n\n", "do i = 1, n\nif (v(i, 1) > 2) cycle\n"), "7: unknown"),
        (ring(*UP).replace("do i = 1, n\n", "do i = 1, n\nif (m > 2) stop\n"), "7: matched 4"),
        # two starts in one iteration, and one whose own iteration may complete it
        (
            f"do i = 1, n\ndo j = 1, m\n{ring('k = 1, 1', UP[1], UP[2])}end do\nend do\n",
            "8: unknown",
        ),
        (f"do i = 1, n\nif (i /= n) {send('r')}if (i /= 1) {wait('r')}end do\n", "2: unknown"),
        (f"do i = 1, n\nif (i /= n) {send('r')}10 if (m > 2) goto 10\nend do\n", "2: unmatched"),
    ],
)
def test_the_next_iteration_completes(loop: str, expected: str) -> None:
    """What every iteration but the last starts, and every one but the first completes."""
    found = [described(one) for one in answers(loop)]
    assert expected in found, found


FLAG = "if (i == n) then\nk = 1\nelse\nk = 0\nend if\n"
SHORT = "k = 0\nif (i == n) k = 1\n"
TURN = "do i = 1, n\nk = 0\nif (i == n) k = 1"
BEYOND = TURN.replace("i == n", "i > done")
FIRST = "flag = .false.\nif (i == 1) flag = .true.\n"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (ring("i = 1, n", UP[1], "if (k == 0)", FLAG), "11: matched 3"),
        (ring("i = 1, n", UP[1], "if (k == 0)", SHORT), "8: matched 3"),
        (ring("i = 1, n", UP[1], "if (k < 1)", SHORT + "if (m > 2) k = 3\n"), "9: matched 3"),
        (ring("i = 1, n", UP[1], "if (.not. k > 0)", FLAG + "k = k\n"), "12: unknown"),
        (
            ring("i = n, 1, -1", f"{FIRST}if (.not. flag)", "if (i /= 1)").replace(
                "i == 1", "i == n"
            ),
            "8: matched 5",
        ),
        # another value, a value that both branches give, one that the test does not tell apart
        (ring("i = 1, n", UP[1], "if (k == 1)", FLAG), "11: unknown"),
        (ring("i = 1, n", UP[1], "if (k == 0)", FLAG.replace("k = 1", "k = 0")), "11: unknown"),
        (ring("i = 1, n", UP[1], "if (k <= 1)", FLAG), "11: unknown"),
        (ring("i = 1, n", UP[1], "if (k /= 2)", FLAG), "11: unknown"),
        # a value of the iteration before
        (
            ring("i = 1, n", UP[1], "if (k == 0)", "if (i == n) k = 1\nif (m > 2) k = 0\n"),
            "8: unknown",
        ),
        (
            ring("i = 1, n", UP[1], "if (k == 0)", "if (m > 2) then\n" + FLAG + "end if\n"),
            "13: unknown",
        ),
        # a definition behind the branch, by a call, by a value that is not known
        (ring("i = 1, n", UP[1], "if (k == 0)", FLAG + "if (m > 2) k = 0\n"), "12: unknown"),
        (ring("i = 1, n", UP[1], "if (k == 0)", FLAG + "call change(k)\n"), "12: unknown"),
        (ring("i = 1, n", UP[1], "if (k == 0)", FLAG.replace("k = 1", "k = m")), "11: unknown"),
        # another iteration of an inner loop has set it
        (
            ring(
                "i = 1, n",
                UP[1],
                "if (k == 0)",
                f"do j = 1, m\nif (j == 2) then\n{FLAG}else\nk = 0\nend if\nend do\n",
            ),
            "17: unknown",
        ),
        (ring("i = 1, n", UP[1], "if (k == 0)", f"do j = 1, m\n{FLAG}end do\n"), "13: unknown"),
        (
            ring("i = 1, n", UP[1], "if (k == 0)", f"k = 1\ndo j = 1, m\n{FLAG}end do\n"),
            "14: matched 3",
        ),
        # the condition is another one, or the next iteration tests another variable
        (ring("i = 1, n", UP[1], "if (k == 0)", SHORT.replace("i == n", "i == m")), "8: unknown"),
        (ring("i = 1, n", "if (j == 0)", "if (k == 0)", SHORT), "8: unknown"),
        # both in one iteration
        (guarded(TURN, "k == 0", again="i /= n"), "4: matched 6"),
        (guarded(TURN, "i /= n", again="k == 0"), "4: matched 6"),
        (guarded(TURN, "k == 0", "k = 1\n", "i /= n"), "4: matched 6"),
        (guarded(TURN, "i /= n", "k = 1\n", "k == 0"), "4: unknown"),
        (guarded(TURN, "i /= n", again="k == 1"), "4: unknown"),
        (
            guarded(BEYOND + "\ndone = 2", "k == 0", again=".not. i > done"),
            "5: unknown",
        ),
        (
            guarded(BEYOND, "k == 0", again=".not. i > done"),
            "4: matched 6",
        ),
    ],
)
def test_a_variable_keeps_a_condition_of_the_iteration(loop: str, expected: str) -> None:
    """The test of a variable that the iteration sets under a condition is one of the condition."""
    found = [described(one) for one in answers(loop)]
    assert expected in found, found


ELEMENTS = UNIT.replace(
    "  real :: b(100)",
    "  type tile\n    integer :: w(3), level\n  end type\n  type(tile) :: e(3)\n  real :: b(100)",
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (wait("e(1)%w(1)"), "5: matched 6"),
        ("e(2)%level = 1\n" + wait("e(1)%w(1)"), "5: matched 7"),
        (wait("e(2)%w(1)"), "5: unknown"),
        ("e(1)%w(1) = MPI_REQUEST_NULL\n", "5: unknown, line 6 may access the request"),
        ("r = e(1)%w(1)\n" + wait("r"), "5: unknown, line 6 may access the request"),
    ],
)
def test_a_request_in_an_element_of_structures(body: str, expected: str) -> None:
    found = answers(receive("e(1)%w(1)") + body, ELEMENTS)[0]
    reason = f", {found.reason.replace('15', '6')}" if "," in expected else ""
    assert described(found) + reason == expected


def test_why_it_is_not_known_whether_a_request_is_lost() -> None:
    """The reason names what completes the operation, and the decision that leads past it."""
    body = f"do i = 1, n\nif (i /= 1) then\n{wait('r')}end if\n"
    body += f"if (i /= m) then\n{receive('r')}end if\nend do\n"
    (found,) = (one for one in answers(body) if not isinstance(one, Matched))
    assert isinstance(found, Unknown)
    assert found.reason == (
        f"line {BODY + 2} completes it, but the request is left before the operation is complete "
        f"on a path whose conditions may hold (line {BODY}: there are no more iterations)"
    )
    body = body.replace("if (i /= m) then\n", "").replace("end if\nend do", "end do")
    lost = answers(body)[-1]
    assert isinstance(lost, Unmatched)
