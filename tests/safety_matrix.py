"""The matrix of safety: for each pass and each rule, programs that show that the pass keeps it, or
why it cannot break it.

The rules are those of Danalis et al., ICS 2009, section 4.  The programs are the pairs of
``safety_pairs``, and those that the transformations have.  ``docs/safety.md`` is made of this:
``python tests/safety_page.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from safety_pairs import PAIRS, Pair

RULES = {
    "wildcard": "a wildcard for source or tag is equal to any rank and any tag",
    "order": "two messages of one rank, tag and communicator keep their order",
    "status": "a status that is read is that of its call",
    "buffer": "nothing touches a buffer between start and wait",
    "path": "a call on one path stays on it, and is there once",
    "return": "nothing that completes an operation comes behind a return",
    "request": "a request is used again when its operation is complete",
}


@dataclass(frozen=True)
class Elsewhere:
    """Programs that tests of a file ``tests/test_FILE.py`` have: names of functions, or of entries
    in its tables."""

    file: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Never:
    """It cannot be: why."""

    reason: str


Cell = tuple[Elsewhere, ...] | Never


@dataclass(frozen=True)
class Row:
    """What is known of a pass: for each rule, what there is beside the pairs.

    ``modules``: the transformations that have the name of the pass.
    """

    modules: frozenset[str]
    cells: dict[str, Cell]


def pairs(name: str, rule: str) -> tuple[Pair, ...]:
    """The pairs for a pass and a rule."""
    return PAIRS.get(name, {}).get(rule, ())


def _at(file: str, *names: str) -> tuple[Elsewhere, ...]:
    return (Elsewhere(file, names),)


_AS_THEY_ARE = Never("the calls that are executed stay in their order, with their arguments")
_NONE_MOVES = Never("no call of MPI moves or goes")
_BEHIND = Never("the wait stands right behind the start, where the call stood")
_NO_START = Never("no start moves, and waits for different operations are in no order")

MATRIX: dict[str, Row] = {
    "unrolling": Row(
        frozenset({"unrolling"}),
        {
            "wildcard": _AS_THEY_ARE,
            "order": _AS_THEY_ARE,
            "status": _AS_THEY_ARE,
            "buffer": _AS_THEY_ARE,
            "path": _at("preliminary", "exit", "cycle-inside"),
            "return": (),
            "request": _AS_THEY_ARE,
        },
    ),
    "inline": Row(
        frozenset({"inline", "hoisting", "opening"}),
        {
            "wildcard": _AS_THEY_ARE,
            "order": _AS_THEY_ARE,
            "status": _at("inline", "saved"),
            "buffer": _at("inline", "a-section", "target"),
            "path": _at("inline", "ends-a-loop-and-is-jumped-to"),
            "return": _at("inline", "return-in-a-loop"),
            "request": (),
        },
    ),
    "branches": Row(
        frozenset({"branches"}),
        {
            "wildcard": _AS_THEY_ARE,
            "order": _AS_THEY_ARE,
            "status": _AS_THEY_ARE,
            "buffer": _AS_THEY_ARE,
            "path": (),
            "return": _AS_THEY_ARE,
            "request": _AS_THEY_ARE,
        },
    ),
    "stores": Row(
        frozenset({"stores"}),
        {
            "wildcard": _at("stores", "any tag"),
            "order": _NONE_MOVES,
            "status": _NONE_MOVES,
            "buffer": _at("stores", "it is read", "it is sent"),
            "path": _at("stores", "the receive may be skipped", "a branch without the receive"),
            "return": _at("stores", "a way out"),
            "request": _at("stores", "a prepared send between"),
        },
    ),
    "renaming": Row(
        frozenset({"renaming"}),
        {
            "wildcard": _at("renaming", "any tag", "a number for any tag"),
            "order": _NONE_MOVES,
            "status": _NONE_MOVES,
            "buffer": _at("renaming", "it is on its way"),
            "path": (),
            "return": Never("only arrays of the procedure are renamed, whose values end with it"),
            "request": (),
        },
    ),
    "expansion": Row(
        frozenset({"expansion", "expanded_buffers", "departure"}),
        {
            "wildcard": _at("expansion", "any_rank", "any_tag"),
            "order": _at("expansion", "another_receive", "exchanges"),
            "status": _at("expansion", "status_decides"),
            "buffer": (
                *_at("expansion", "buffer_is_a_copy"),
                *_at("expanded_buffers", "a value goes into the next iteration"),
            ),
            "path": _at("expansion", "condition_is_received", "exit_is_received"),
            "return": _at("expansion", "returns", "goes_to"),
            "request": _at("expanded_buffers", "the operation may go on"),
        },
    ),
    "nonblocking": Row(
        frozenset({"nonblocking"}),
        {
            "wildcard": _BEHIND,
            "order": _BEHIND,
            "status": _at(
                "optimise_rules", "test_a_status_that_is_no_array_of_its_size_keeps_the_call"
            ),
            "buffer": _at("optimise", "test_a_copy_is_no_buffer_of_a_pending_transfer"),
            "path": _at(
                "optimise_rules", "test_a_message_that_changes_the_condition_by_another_name"
            ),
            "return": _BEHIND,
            "request": Never("each start has a request of its own"),
        },
    ),
    "decomposition": Row(
        frozenset({"decomposition"}),
        {
            "wildcard": Never("the messages travel on a communicator of their own"),
            "order": _at("decomposition", "message-between", "message-inside"),
            "status": Never("a collective operation has no status"),
            "buffer": _at("decomposition", "what-is-sent-is-filled-again", "two-blocks"),
            "path": _at("decomposition", "some-ranks", "one-line-if"),
            "return": _at("decomposition", "way-out"),
            "request": Never("each call has a variable of its own, which is finished in its list"),
        },
    ),
    "fission": Row(
        frozenset({"fission", "sends_first"}),
        {
            "wildcard": (),
            "order": (),
            "status": (),
            "buffer": _at(
                "optimise", "test_a_condition_that_the_first_half_changes_is_not_asked_twice"
            ),
            "path": _at("taking", "test_a_branch_whose_condition_changes_is_not_split"),
            "return": (),
            "request": (),
        },
    ),
    "motion": Row(
        frozenset({"motion", "copies", "taking"}),
        {
            "wildcard": (
                *_at("copies", "a start from any source", "a receive of any tag"),
                *_at("optimise", "test_orders_between_ranks_stay_where_a_receive_takes_any_source"),
                *_at("optimise_rules", "test_sends_keep_their_order_where_a_receive_takes_any_tag"),
            ),
            "order": _at("copies", "two messages of one envelope"),
            "status": _at("copies", "a status that is read"),
            "buffer": (
                *_at("copies", "the condition reads what comes"),
                *_at("taking", "fills the buffer"),
            ),
            "path": (
                *_at("copies", "a path without a case"),
                *_at("optimise", "test_a_call_on_one_path_only_stays_on_it"),
            ),
            "return": _at("copies", "RETURN", "RETURN under a condition"),
            "request": _at("copies", "a request of the same name"),
        },
    ),
    "waits": Row(
        frozenset({"waits", "draining"}),
        {
            "wildcard": _NO_START,
            "order": _NO_START,
            "status": _at("waits", "a-status-that-is-read"),
            "buffer": _at("draining", "all of it is read", "another message touches it"),
            "path": (
                *_at("waits", "under-a-condition"),
                *_at("draining", "not always waited for"),
            ),
            "return": _at("draining", "it is left early"),
            "request": _at("draining", "waited for twice"),
        },
    ),
    "splitting": Row(
        frozenset({"splitting", "sharing"}),
        {
            "wildcard": (),
            "order": (),
            "status": (),
            "buffer": _at("sharing", "first message"),
            "path": _at("splitting", "exit"),
            "return": _at("splitting", "return"),
            "request": (),
        },
    ),
    "peeling": Row(
        frozenset({"peeling", "rotation"}),
        {
            "wildcard": _NONE_MOVES,
            "order": _NONE_MOVES,
            "status": (),
            "buffer": _at("peeling", "everywhere", "middle"),
            "path": _at("rotation", "cycle", "exit"),
            "return": _at("rotation", "return", "goto"),
            "request": (),
        },
    ),
    "pipelining": Row(
        frozenset({"pipelining", "segmentation"}),
        {
            "wildcard": (
                *_at("pipelining", "any_source", "any_tag", "any_tag_elsewhere"),
                *_at("segmentation", "any_tag"),
            ),
            "order": (
                *_at("pipelining", "another_send", "another_receive"),
                *_at("segmentation", "another_send", "two_receives"),
            ),
            "status": _at("pipelining", "status"),
            "buffer": (
                *_at("pipelining", "later_part", "sent_before_it_is_complete"),
                *_at("segmentation", "all_in_each", "needs_later", "written_over"),
            ),
            "path": _at("pipelining", "one_path", "condition"),
            "return": _at("pipelining", "return"),
            "request": Never("each part of a message has an element of an array of requests"),
        },
    ),
}
