"""The matrix of safety: for each pass and each rule, programs that show that the pass keeps it, or
why it cannot break it.

The rules are those of Danalis et al., ICS 2009, section 4.  The programs are the pairs of
``safety_pairs``, and those that the transformations have.  ``docs/safety.md`` is made of this:
``make docs`` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from support.safety_pair import Pair
from support.safety_pairs import PAIRS

RULES = {
    "wildcard": "a wildcard for source or tag equals every rank or tag",
    "order": "two messages of one rank, tag and communicator keep their order",
    "status": "a status that is read is that of its call",
    "buffer": "nothing accesses a buffer between start and wait",
    "path": "a call on one path remains on it, exactly once",
    "return": "nothing that completes an operation moves past a return",
    "request": "a request is reused only after its operation is complete",
}


@dataclass(frozen=True)
class Elsewhere:
    """A test of the suite with a program to which the pass may not do something.

    ``test``: a function of ``tests/FILE.py``; ``parameters``: its identifier for that program,
    as pytest has it.
    """

    file: str
    test: str
    parameters: str = ""

    @property
    def node(self) -> str:
        """What pytest calls it."""
        which = f"[{self.parameters}]" if self.parameters else ""
        return f"tests/{self.file}.py::{self.test}{which}"


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


def _at(file: str, test: str, *parameters: str) -> tuple[Elsewhere, ...]:
    """A test, or its cases with these identifiers."""
    return tuple(Elsewhere(file, test, one) for one in parameters or ("",))


_AS_THEY_ARE = Never("the executed calls keep their order and arguments")
_NONE_MOVES = Never("no MPI call moves or is removed")
_BEHIND = Never("the wait directly follows the start, at the place of the call")
_NO_START = Never("no start moves, and waits for different operations have no order")

_ALL_GOES = Never("all that the call sends, receives and completes is left out with it")

MATRIX: dict[str, Row] = {
    "removal": Row(
        frozenset({"removal"}),
        {
            "wildcard": _at(
                "transforms/exchanges/test_removal",
                "test_an_exchange_stays",
                "any source",
                "any tag",
            ),
            "order": _at(
                "transforms/exchanges/test_removal",
                "test_an_exchange_stays",
                "another call with its tag",
                "partners that change",
                "two communicators",
                "a token that orders output",
                "output before and behind",
                "a file that one rank writes and another one reads",
            ),
            "status": _at(
                "transforms/exchanges/test_removal",
                "test_an_exchange_stays",
                "a status that is read",
            ),
            "buffer": _at(
                "transforms/exchanges/test_removal",
                "test_an_exchange_stays",
                "changed on one rank only",
                "through a pointer",
                "in COMMON",
                "in a called procedure",
                "it changes what it sends",
                "what it starts is completed elsewhere",
            ),
            "path": _at(
                "transforms/exchanges/test_removal",
                "test_an_exchange_stays",
                "a jump around the first",
                "not on all ranks",
            ),
            "return": _ALL_GOES,
            "request": _ALL_GOES,
        },
    ),
    "combination": Row(
        frozenset({"combination", "joining"}),
        {
            "wildcard": _at(
                "transforms/exchanges/test_combination",
                "test_exchanges_stay_apart",
                "any source",
                "other tags that an MPI_ANY_TAG may meet",
            )
            + _at("transforms/exchanges/test_joining", "test_started_exchanges_stay", "any source"),
            "order": _at(
                "transforms/exchanges/test_combination",
                "test_exchanges_stay_apart",
                "other partners",
                "a tag that is another message's, too",
                "other communicators",
                "partners that change between",
                "another call with the tag",
                "output before and behind",
                "a message that is awaited before the next is sent",
            )
            + _at(
                "transforms/exchanges/test_joining",
                "test_started_exchanges_stay",
                "a blocking message before the wait",
                "messages that cross",
                "one tag for two neighbours",
                "a message to a third rank that waits for the first",
                "sends that wait before the receives are there",
                "another call with the tag",
                "output before the wait",
            ),
            "status": _at(
                "transforms/exchanges/test_combination",
                "test_exchanges_stay_apart",
                "a status that is read",
            )
            + _at(
                "transforms/exchanges/test_joining",
                "test_started_exchanges_stay",
                "statuses that are stored",
                "an error code that is read",
            ),
            "buffer": _at(
                "transforms/exchanges/test_combination",
                "test_exchanges_stay_apart",
                "a corner that goes on",
                "what the first brings is sent by another name",
                "another name",
                "a receive that is longer than its message",
                "lengths that differ between ranks",
                "a size that changes between",
            ),
            "path": _at(
                "transforms/exchanges/test_combination",
                "test_exchanges_stay_apart",
                "not on all ranks",
            )
            + _at(
                "transforms/exchanges/test_joining",
                "test_started_exchanges_stay",
                "not on all ranks",
            ),
            "return": Never("a statement with a return in it ends the list of what is combined"),
            "request": _at(
                "transforms/exchanges/test_joining",
                "test_started_exchanges_stay",
                "a wait for some",
                "an argument that changes between",
            ),
        },
    ),
    "unrolling": Row(
        frozenset({"unrolling"}),
        {
            "wildcard": _AS_THEY_ARE,
            "order": _AS_THEY_ARE,
            "status": _AS_THEY_ARE,
            "buffer": _AS_THEY_ARE,
            "path": _at(
                "transforms/loops/test_unrolling_and_branches",
                "test_loops_that_stay",
                "cycle-inside",
            ),
            "return": (),
            "request": _AS_THEY_ARE,
        },
    ),
    "inline": Row(
        frozenset({"inline", "allocation_hoisting", "opening"}),
        {
            "wildcard": _AS_THEY_ARE,
            "order": _AS_THEY_ARE,
            "status": (),
            "buffer": _at("transforms/inlining/test_inline", "test_it_stays", "target"),
            "path": _at(
                "transforms/inlining/test_inline", "test_it_stays", "ends-a-loop-and-is-jumped-to"
            ),
            "return": (),
            "request": (),
        },
    ),
    "branches": Row(
        frozenset({"constant_branches"}),
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
        frozenset({"redundant_stores"}),
        {
            "wildcard": (),
            "order": _NONE_MOVES,
            "status": _NONE_MOVES,
            "buffer": _at(
                "transforms/buffers/test_redundant_stores",
                "test_other_stores_are_not_looked_at",
                "it is sent",
            ),
            "path": _at(
                "transforms/buffers/test_redundant_stores",
                "test_what_may_be_missed_stays",
                "a branch without the receive",
            ),
            "return": (),
            "request": _at(
                "transforms/buffers/test_redundant_stores",
                "test_what_may_be_missed_stays",
                "a prepared send between",
            ),
        },
    ),
    "renaming": Row(
        frozenset({"renaming"}),
        {
            "wildcard": _at(
                "transforms/buffers/test_renaming", "test_it_stays", "a number for any tag"
            ),
            "order": _NONE_MOVES,
            "status": _NONE_MOVES,
            "buffer": _at("transforms/buffers/test_renaming", "test_it_stays", "it is on its way"),
            "path": (),
            "return": Never("only local arrays are renamed, whose values end with the procedure"),
            "request": (),
        },
    ),
    "expansion": Row(
        frozenset({"receive_queues", "array_expansion", "buffered_sends"}),
        {
            "wildcard": (),
            "order": _at(
                "transforms/buffers/test_receive_queues", "test_a_loop_stays", "exchanges"
            ),
            "status": (),
            "buffer": _at(
                "transforms/buffers/test_receive_queues",
                "test_other_loops_stay",
                "buffer_is_a_copy",
            ),
            "path": _at(
                "transforms/buffers/test_receive_queues", "test_a_loop_stays", "exit_is_received"
            ),
            "return": _at("transforms/buffers/test_receive_queues", "test_a_loop_stays", "goes_to"),
            "request": _at(
                "transforms/buffers/test_array_expansion",
                "test_one_buffer_for_all_iterations",
                "the operation may go on",
            ),
        },
    ),
    "nonblocking": Row(
        frozenset({"nonblocking"}),
        {
            "wildcard": _BEHIND,
            "order": _BEHIND,
            "status": _at(
                "optimiser/test_optimise_rules",
                "test_a_status_that_is_no_array_of_its_size_keeps_the_call",
                "integer :: seen(2)-seen-seen(1)",
            ),
            "buffer": (),
            "path": _at(
                "optimiser/test_optimise_rules",
                "test_a_message_that_changes_the_condition_by_another_name",
                "real(8) :: f(5), g(5)\\n  common /both/ f, g-",
            ),
            "return": _BEHIND,
            "request": Never("each start has a request of its own"),
        },
    ),
    "decomposition": Row(
        frozenset({"decomposition"}),
        {
            "wildcard": Never("the messages use a private communicator"),
            "order": _at(
                "transforms/decomposition/test_decomposition",
                "test_it_stays_one_operation",
                "message-inside",
            ),
            "status": Never("a collective operation has no status"),
            "buffer": (),
            "path": (),
            "return": (),
            "request": Never("each call has its own variable, complete within its statement list"),
        },
    ),
    "fission": Row(
        frozenset({"branch_fission", "loop_fission", "sends_first"}),
        {
            "wildcard": (),
            "order": (),
            "status": (),
            "buffer": (
                *_at(
                    "optimiser/test_optimise",
                    "test_a_condition_that_the_first_half_changes_is_not_asked_twice",
                ),
                *_at(
                    "transforms/loops/test_loop_fission",
                    "test_a_nest_stays_whole",
                    "nothing is free",
                ),
            ),
            "path": (
                *_at(
                    "transforms/motion/test_later_receives",
                    "test_a_branch_whose_condition_changes_is_not_split",
                ),
                *_at("transforms/loops/test_loop_fission", "test_a_nest_stays_whole", "EXIT"),
            ),
            "return": (),
            "request": (),
        },
    ),
    "motion": Row(
        frozenset(
            {
                "code_motion",
                "called_motion",
                "branch_copies",
                "later_receives",
                "counted_starts",
                "receive_loops",
            }
        ),
        {
            "wildcard": (
                *_at(
                    "optimiser/test_optimise",
                    "test_orders_between_ranks_stay_where_a_receive_takes_any_source",
                ),
                *_at(
                    "optimiser/test_optimise_rules",
                    "test_sends_keep_their_order_where_a_receive_takes_any_tag",
                    "MPI_ANY_TAG",
                ),
            ),
            "order": _at(
                "transforms/motion/test_branch_copies",
                "test_what_is_not_safe_is_not_found",
                "two messages of one envelope",
            ),
            "status": (),
            "buffer": (
                *_at(
                    "transforms/motion/test_later_receives",
                    "test_messages_are_taken_where_they_were",
                    "fills the buffer",
                ),
                *_at(
                    "transforms/motion/test_called_motion",
                    "test_what_may_meet_the_messages_stays",
                    "work reads a receive buffer",
                    "a copy of a buffer is written back",
                ),
            ),
            "path": (
                *_at(
                    "transforms/motion/test_branch_copies",
                    "test_it_stays_in_front_of_the_branch",
                    "a path without a case",
                ),
                *_at("optimiser/test_optimise", "test_a_call_on_one_path_only_stays_on_it"),
                *_at(
                    "transforms/motion/test_called_motion",
                    "test_what_may_meet_the_messages_stays",
                    "the loop may end between",
                ),
            ),
            "return": _at(
                "transforms/motion/test_branch_copies",
                "test_what_is_not_safe_is_not_found",
                "RETURN in an arm",
            ),
            "request": _at(
                "transforms/motion/test_called_motion",
                "test_what_may_meet_the_messages_stays",
                "the request has a second start",
            ),
        },
    ),
    "waits": Row(
        frozenset({"single_waits", "waits_behind_loop"}),
        {
            "wildcard": _NO_START,
            "order": _NO_START,
            "status": (),
            "buffer": _at(
                "transforms/buffers/test_waits_behind_loop",
                "test_the_wait_stays",
                "another message touches it",
            ),
            "path": _at(
                "transforms/buffers/test_waits_behind_loop",
                "test_the_wait_stays",
                "not always waited for",
            ),
            "return": (),
            "request": _at(
                "transforms/buffers/test_waits_behind_loop",
                "test_the_wait_stays",
                "waited for twice",
            ),
        },
    ),
    "splitting": Row(
        frozenset({"splitting", "sharing", "versions"}),
        {
            "wildcard": (),
            "order": (),
            "status": (),
            "buffer": _at(
                "transforms/inlining/test_versions",
                "test_no_copy_of_an_argument_is_made_beside_a_message",
                "with gaps",
            ),
            "path": _at("transforms/loops/test_splitting", "test_a_nest_stays_whole", "exit"),
            "return": _at(
                "transforms/inlining/test_versions", "test_a_call_stays_as_it_is", "a stop"
            ),
            "request": (),
        },
    ),
    "peeling": Row(
        frozenset({"peeling", "rotation", "versions"}),
        {
            "wildcard": _NONE_MOVES,
            "order": _NONE_MOVES,
            "status": (),
            "buffer": _at("transforms/loops/test_peeling", "test_a_nest_stays_whole", "everywhere"),
            "path": _at(
                "transforms/loops/test_rotation", "test_a_loop_begins_where_it_began", "cycle"
            ),
            "return": _at(
                "transforms/loops/test_rotation", "test_a_loop_begins_where_it_began", "goto"
            ),
            "request": (),
        },
    ),
    "pipelining": Row(
        frozenset({"pipelining", "segmentation"}),
        {
            "wildcard": (),
            "order": _at(
                "transforms/tiling/test_segmentation", "test_messages_stay_whole", "two_receives"
            ),
            "status": (),
            "buffer": _at(
                "transforms/tiling/test_segmentation", "test_messages_stay_whole", "written_over"
            ),
            "path": (),
            "return": (),
            "request": Never("each part of a message has an element of an array of requests"),
        },
    ),
}
