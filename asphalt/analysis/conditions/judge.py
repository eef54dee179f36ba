"""The judgement of one site: the eleven conditions in order, for every way to tile the producer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asphalt.analysis.conditions import (
    available,
    contiguous,
    finality,
    one_decision,
    one_producer,
    one_site,
    own_messages,
    pairing,
    parallel_producers,
    receive_side,
    same_bits,
    send_side,
    site,
    visible_effects,
)
from asphalt.analysis.exchange.missing_inputs import first_missing
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.names.visibility import words_of
from asphalt.analysis.tiling.geometry import layout_of
from asphalt.analysis.tiling.layout import Layout, Misfit
from asphalt.analysis.tiling.packed_blocks import open_coded_layout, packed_layout_of
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.tiling.uneven_blocks import uneven_layout_of
from asphalt.analysis.tiling.without_copy import layout_without_copy
from asphalt.analysis.uniformity.uniformity import Uniformity
from asphalt.analysis.verdicts.verdict import Answer, Holds, Refused
from asphalt.config.assumptions import PURE
from asphalt.ir.records import record


@record
class _Failure:
    """A refusal and how many conditions held before it; the furthest one is reported."""

    passed: int
    refused: Refused


def judge(exchange: Exchange, uniformity: Uniformity) -> Plan | Refused:
    """The plan for a site, or the first condition that does not hold.

    Of several ways to tile the producer, the first that satisfies all conditions is chosen; if none
    does, the refusal is that of the way that satisfied the most.
    """
    skipped = site.check_skip(exchange)
    if isinstance(skipped, Refused):
        _refuse_contradictions(exchange)
        return skipped
    for first in (
        site.check,
        visible_effects.check_understood,
        site.check_modules,
        send_side.check_names,
    ):
        answer = first(exchange)
        if isinstance(answer, Refused):
            return answer
    judged = _judged(exchange, uniformity)
    return _with_missing(exchange, judged) if isinstance(judged, Refused) else judged


def _with_missing(exchange: Exchange, refused: Refused) -> Refused:
    """The refusal with a module that may be its reason: the unit uses names of it, and it is not
    given."""
    missing = first_missing(exchange.scope, words_of(exchange.unit))
    if missing is None or missing.cause == refused.cause:
        return refused
    message = f"{refused.message}; {missing.why}"
    return replace(refused, message=message, marks=(*refused.marks, missing.mark))


def _judged(exchange: Exchange, uniformity: Uniformity) -> Plan | Refused:
    """The judgement without regard to missing modules."""
    nest = one_producer.definer(exchange)
    if isinstance(nest, Refused):
        return nest
    for early in (site.check_text, parallel_producers.check_directives):
        answer = early(exchange, nest)
        if isinstance(answer, Refused):
            return answer
    failures: list[_Failure] = []
    for producer in one_producer.producers(exchange, nest):
        if isinstance(producer, Refused):
            failures.append(_Failure(0, producer))
            continue
        result = _Checks(exchange, producer, uniformity).run()
        if isinstance(result, Plan):
            return result
        failures.append(result)
    refused = max(failures, key=lambda failure: failure.passed).refused
    if refused.code is finality.SUBSCRIPTS:
        # other subscripts would not help a nest that only copies
        return one_producer.refused_as_copy(exchange, nest) or refused
    return refused


def _refuse_contradictions(exchange: Exchange) -> None:
    """Raise InputError where a site is skipped and another directive of its producer is not."""
    if isinstance(site.check(exchange), Holds):
        nest = one_producer.definer(exchange)
        if not isinstance(nest, Refused):
            site.check_skip(exchange, nest)


class _Checks:
    """The conditions for one way to tile, each checked once, in order."""

    def __init__(self, exchange: Exchange, producer: Producer, uniformity: Uniformity) -> None:
        self.exchange = exchange
        self.producer = producer
        self.uniformity = uniformity
        self.evidence: list[str] = []
        self.assumptions: list[str] = []

    def run(self) -> Plan | _Failure:
        """The plan, or the first condition that does not hold."""
        for effect in self.exchange.values.footprint.effects:
            if effect.kind is EffectKind.ASSUMED:
                self.assumptions.append(f"{PURE.word}:{effect.detail}")
        early: tuple[Callable[[], Answer], ...] = (
            lambda: site.check_text(self.exchange, self.producer.start),
            lambda: one_producer.check(self.producer),
            lambda: visible_effects.check(self.producer),
        )
        for check in early:
            answer = check()
            if isinstance(answer, Refused):
                return self._failure(answer)
            self._note(answer)
        arguments = self.exchange.call.procedure.exchange
        uneven = arguments is not None and arguments.send_displacements is not None
        copy = self.producer.copy
        if copy is not None:
            answer = send_side.check_source(self.exchange, copy.source)
            if isinstance(answer, Refused):
                return self._failure(answer)
            self._note(answer)
            layout = layout_without_copy(self.producer, copy)
        else:
            layout = self._layout(uneven)
        if isinstance(layout, Misfit):
            return self._failure(finality.misfit(layout))
        return self._with_layout(layout)

    def _layout(self, uneven: bool) -> Layout | Misfit:
        if uneven and self.producer.counter is not None:
            return packed_layout_of(self.producer)
        layout = (uneven_layout_of if uneven else layout_of)(self.producer)
        if self.exchange.open_coded is not None and isinstance(layout, Layout):
            return open_coded_layout(self.producer, layout)
        return layout

    def _with_layout(self, layout: Layout) -> Plan | _Failure:
        answer = available.check(self.producer, layout)
        if isinstance(answer, Refused):
            return self._failure(answer)
        self._note(answer)
        by_counter = layout.packed is not None and layout.packed.counter is not None
        check_final = finality.check_counted if by_counter else finality.check
        final = check_final(self.producer, layout)
        if isinstance(final, Refused):
            return self._failure(final)
        self._note(final.holds)
        layout = final.layout
        landing = receive_side.check(self.producer, layout)
        if isinstance(landing, Refused):
            return self._failure(landing)
        self._note(landing.holds)
        late: tuple[Callable[[], Answer], ...] = (
            lambda: send_side.check(self.producer, layout),
            lambda: contiguous.check(self.exchange, layout),
            lambda: pairing.check(self.producer, layout),
            lambda: same_bits.check(self.producer),
        )
        for check in late:
            answer = check()
            if isinstance(answer, Refused):
                return self._failure(answer)
            self._note(answer)
        own = own_messages.check(self.exchange)  # it may read the whole tree, as the next one
        if isinstance(own, Refused):
            return self._failure(own)
        self._note(own.holds)
        answer = one_site.check(self.exchange, self.uniformity)
        if isinstance(answer, Refused):
            return self._failure(answer)
        self._note(answer)
        decision = one_decision.check(self.producer, layout, self.uniformity)
        if isinstance(decision, Refused):
            return self._failure(decision)
        self._note(decision.holds)
        return Plan(
            self.producer,
            layout,
            decision.proved,
            tuple(self.evidence),
            tuple(dict.fromkeys(self.assumptions)),
            landing.clone,
            alone=own.alone,
        )

    def _note(self, holds: Holds) -> None:
        self.evidence.append(holds.evidence)
        self.assumptions += holds.assumptions

    def _failure(self, refused: Refused) -> _Failure:
        return _Failure(len(self.evidence) + 1, refused)
