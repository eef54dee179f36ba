"""Conditions that distinguish ranks: which arm of a branch the ranks of a role take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.symbol import Origin
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Op, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, DoHead
from asphalt.ir.tree import Branch, Do, Leaf, leaves

_OPPOSITES = {"/=": "==", ">=": "<", ">": "<="}
_SHARED = (Origin.MODULE, Origin.HOST, Origin.PARAMETER)


@record
class AtomicCondition:
    """A condition without negations, ANDs and ORs.  ``owner``: the identity of the unit whose
    variables it uses; None: it means the same in all units."""

    what: Arg
    owner: int | None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.what, self.owner)))

    def __hash__(self) -> int:
        """Worked out once: roles look conditions up again and again."""
        return self._hash


Decided = Mapping[AtomicCondition, bool]
"""What holds for some ranks, and what does not."""


@record
class Open:
    """An unknown about some ranks.  ``condition``: the first one that would have to be."""

    condition: AtomicCondition | None


@dataclass
class Conditions:
    """The conditions of a unit."""

    facts: UnitFacts
    _found: dict[int, tuple[Branch, tuple[Arg | None, ...], frozenset[AtomicCondition]]] = field(
        default_factory=dict
    )
    _atoms: dict[int, tuple[Arg, AtomicCondition, bool]] = field(default_factory=dict)

    def arm_of(self, branch: Branch, decided: Decided) -> int | Open | None:
        """The arm taken by ranks for which some conditions are decided; None: they take none."""
        for number, condition in enumerate(self._of(branch)[0]):
            if condition is None:
                return number if branch.kind == "if" else Open(None)
            value = self.truth(condition, decided)
            if value is not False:
                return number if value is True else value
        return None

    def truth(self, condition: Arg, decided: Decided) -> bool | Open:
        """Whether a condition holds if some are decided."""
        match condition if isinstance(condition, Op) else None:
            case Op(op="()", operands=(inner,)):
                return self.truth(inner, decided)
            case Op(op=".not.", operands=(inner,)):
                value = self.truth(inner, decided)
                return value if isinstance(value, Open) else not value
            case Op(op=".and." | ".or." as op, operands=(left, right)):
                ends = op == ".or."
                values = self.truth(left, decided), self.truth(right, decided)
                if any(value is ends for value in values):
                    return ends
                return next((value for value in values if isinstance(value, Open)), not ends)
        one, held = self._plain(condition)
        known = decided.get(one)
        return Open(one) if known is None else known is held

    def within(self, branch: Branch) -> frozenset[AtomicCondition]:
        """The conditions that those of a branch consist of."""
        return self._of(branch)[1]

    def tells_ranks_apart(self, condition: AtomicCondition) -> bool:
        """Whether it has the same value in all iterations of all loops; otherwise it distinguishes
        iterations."""
        names = names_in(condition.what)
        return bool(names) and not names & self._changing

    @cached_property
    def _changing(self) -> frozenset[str]:
        """The variables that loops set."""
        found: set[str] = set()
        loops = [loop for node in self.facts.unit.body for loop in _loops(node)]
        for leaf in (leaf for loop in loops for leaf in leaves(loop)):
            what = leaf.action
            target = what.target if isinstance(what, Assign) else None
            if isinstance(what, DoHead):
                target = what.var
            if isinstance(target, Ref):
                found.add(target.name)
        return frozenset(found)

    def _of(self, branch: Branch) -> tuple[tuple[Arg | None, ...], frozenset[AtomicCondition]]:
        """The condition of each arm, and all conditions that they consist of."""
        if id(branch) not in self._found:
            arms = tuple(_conditions(branch))
            parts = frozenset(part for arm in arms if arm is not None for part in self.parts(arm))
            self._found[id(branch)] = branch, arms, parts
        return self._found[id(branch)][1:]

    def parts(self, condition: Arg) -> Iterator[AtomicCondition]:
        """The conditions that one consists of."""
        match condition:
            case Op(op="()" | ".not.", operands=(inner,)):
                yield from self.parts(inner)
            case Op(op=".and." | ".or.", operands=(left, right)):
                yield from self.parts(left)
                yield from self.parts(right)
            case _:
                yield self._plain(condition)[0]

    def _plain(self, condition: Arg) -> tuple[AtomicCondition, bool]:
        """A condition or its negation, whichever stands for both; and whether it is the condition
        itself."""
        found = self._atoms.get(id(condition))
        if found is None:  # the condition is kept, so that no other one gets its identity
            what, held = folded(condition), True
            if isinstance(what, Op) and what.op in _OPPOSITES and len(what.operands) == 2:
                what, held = Op(_OPPOSITES[what.op], what.operands), False
            owner = None if self._is_shared(what) else id(self.facts.unit)
            found = self._atoms[id(condition)] = condition, AtomicCondition(what, owner), held
        return found[1:]

    def _is_shared(self, what: Arg) -> bool:
        symbols = (self.facts.scope.lookup(name) for name in names_in(what))
        return all(symbol is not None and symbol.origin in _SHARED for symbol in symbols)


def _conditions(branch: Branch) -> Iterator[Arg | None]:
    """The condition of each arm; None: it has none."""
    for arm in branch.arms:
        what = arm.head.what
        match what:
            case ArmHead(kind="if" | "else_if", exprs=(condition, *_)):
                yield condition
            case _:
                yield None


def _loops(node: object) -> Iterator[Do]:
    """The outermost loops in a statement or construct."""
    match node:
        case Do():
            yield node
        case Leaf():
            return
        case Branch(arms=arms):
            for arm in arms:
                for inner in arm.body:
                    yield from _loops(inner)
        case _:
            for inner in getattr(node, "body", ()):
                yield from _loops(inner)
