"""Summaries that are made again only where something else is known."""

from __future__ import annotations

from asphalt.analysis.effects.summary import Summary
from asphalt.analysis.effects.summary_provenance import ProcedureKey, Traces, Tracing

ONE, OTHER = ("a.f90", "one"), ("a.f90", "other")
PLAIN, READING = Summary(("n",)), Summary(("n",), read=frozenset({"n"}))


class Program:
    """Two procedures, of which one asks for the other."""

    def __init__(self, traces: Traces, other: Summary | None, usable: bool = True) -> None:
        self.tracing = Tracing(traces, lambda key: usable and key == ONE)
        self.other = other
        self.made: list[ProcedureKey] = []

    def ask(self, key: ProcedureKey) -> Summary | None:
        self.tracing.answered(key, self.other)
        return self.other

    def one(self) -> Summary:
        def make() -> Summary:
            self.made.append(ONE)
            return self.ask(OTHER) or PLAIN

        return self.tracing.summary(ONE, self.ask, make)


def test_a_summary_comes_back_with_what_it_was_made_from() -> None:
    traces = Traces()
    for other, made in (
        (PLAIN, [ONE]),
        (READING, [ONE]),
        (PLAIN, []),
        (READING, []),
        (None, [ONE]),
    ):
        program = Program(traces, other)
        assert program.one() == (other or PLAIN)
        assert program.made == made


def test_nothing_comes_back_where_the_text_or_more_than_summaries_may_differ() -> None:
    traces = Traces()
    Program(traces, PLAIN).one()
    other = Program(traces, PLAIN, usable=False)
    assert other.one() == PLAIN
    assert other.made == [ONE]
    again = Program(traces.without(frozenset({ONE})), PLAIN)
    again.one()
    assert again.made == [ONE]


def test_what_follows_from_more_than_summaries_is_not_kept() -> None:
    traces = Traces()
    for _ in range(2):
        program = Program(traces, PLAIN)

        def make(program: Program = program) -> Summary:
            program.made.append(ONE)
            program.ask(OTHER)
            program.tracing.untraced()
            return READING

        assert program.tracing.summary(ONE, program.ask, make) == READING
        assert program.made == [ONE]


def test_two_answers_to_one_question_are_not_kept() -> None:
    traces = Traces()
    program = Program(traces, PLAIN)

    def make() -> Summary:
        program.ask(OTHER)
        program.other = READING
        program.ask(OTHER)
        return PLAIN

    program.tracing.summary(ONE, program.ask, make)
    again = Program(traces, PLAIN)
    again.one()
    assert again.made == [ONE]
