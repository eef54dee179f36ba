"""Constant branches: a branch whose condition is constant is replaced by the arm that is executed.

Before::

    if (1 == 0) then
      call MPI_Recv(...)
    else
      call MPI_Send(...)
    end if

After::

    call MPI_Send(...)

Inlining and unrolling put constants where conditions had variables (Danalis et al., ICS 2009,
section 5, "preliminary transformations").  A condition is constant if it consists of literal
constants and of variables equal to such (``Values``).  Where sizes may change, named constants do
not count, because somebody may edit them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.constant_conditions import ConstantConditions
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import IO, ArmHead, Guarded, Plain
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import column, rewrite_list
from asphalt.transforms.rewriting.indentation import further_in
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, together

_KEPT = (TriviaKind.BLANK, TriviaKind.COMMENT)


@record
class Decided(Step):
    """The branch that ``path`` leads to, and the statements that replace it."""

    path: tuple[int, ...]
    left: tuple[Node, ...]

    @property
    def place(self) -> tuple[int, ...]:
        """The positions that lead to the branch."""
        return self.path


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The branches of a unit with constant conditions, the outermost first."""
    truth = ConstantConditions(facts.scope, facts.values)
    found: list[Decided] = []
    for path, siblings in _lists(facts.unit.body, ()):
        for number, node in enumerate(siblings):
            left = _left(node, truth, facts)
            following = siblings[number + 1] if number + 1 < len(siblings) else None
            if left is None or not _is_movable(node, following):
                continue
            head = next(iter(leaves(node)))
            evidence = ("its condition is made of constants", "nothing else depends on it")
            does = f"the branch in {facts.at(head)} is decided"
            found.append(Decided(line_of(head), does, evidence, (*path, number), left))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one branch replaced by the statements that are executed."""
    assert isinstance(step, Decided)
    number = step.path[-1]

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        node, before, after = nodes[number], nodes[:number], nodes[number + 1 :]
        first, *_, last = (*leaves(node), *leaves(node))
        lead = first.lead if step.left else ()
        left = step.left
        if left:
            left = (in_front(left[0], lead), *left[1:])
        if after:
            kept = last.lead if isinstance(node, Branch) and step.left else ()
            kept = (*kept, *(() if step.left else first.lead))
            after = (in_front(after[0], kept), *after[1:])
        return (*before, *left, *after)

    return replace(facts.unit, body=rewrite_list(facts.unit.body, step.path, change))


def _lists(
    nodes: tuple[Node, ...], path: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[Node, ...]]]:
    yield path, nodes
    for number, node in enumerate(nodes):
        match node:
            case Do(body=body) | Block(body=body):
                yield from _lists(body, (*path, number))
            case Branch(arms=arms):
                for which, arm in enumerate(arms):
                    yield from _lists(arm.body, (*path, number, which))


def _left(node: Node, truth: ConstantConditions, facts: UnitFacts) -> tuple[Node, ...] | None:
    """What is left of a statement; None: it is not decided."""
    match node:
        case Leaf(what=Guarded(condition=condition, action=action, kind="if")):
            value = truth.of(condition, node)
            if value is None or (value and isinstance(action, IO)):
                return None  # input and output are only ever printed from their own text
            return (replace(node, what=action, body=None, lead=()),) if value else ()
        case Branch(kind="if"):
            return _of_if(node, truth, facts)
        case Branch(kind="select", arms=(Arm(head=Leaf(what=ArmHead(kind="select_case"))), *_)):
            return _of_select(node, truth, facts)
    return None


def _of_if(branch: Branch, truth: ConstantConditions, facts: UnitFacts) -> tuple[Node, ...] | None:
    arms: list[Arm] = []
    decided = False
    for arm in branch.arms:
        what = arm.head.what
        if not isinstance(what, ArmHead):
            return None
        value = True if what.kind == "else" else truth.of(what.exprs[0], branch.arms[0].head)
        if value is not None and what.kind != "else":
            decided = True
        if value is not False:
            arms.append(arm)
        if value:
            break
    if not decided:
        return None
    if not arms:
        return ()
    first = arms[0]
    always = truth_of_head(first, truth, branch)
    if always:
        return _taken_out(branch, first, facts)
    return (_fewer(branch, arms, truth),)


def truth_of_head(arm: Arm, truth: ConstantConditions, branch: Branch) -> bool | None:
    """Whether an arm of an IF construct is taken if none before it is."""
    what = arm.head.what
    assert isinstance(what, ArmHead)
    return True if what.kind == "else" else truth.of(what.exprs[0], branch.arms[0].head)


def _fewer(branch: Branch, arms: list[Arm], truth: ConstantConditions) -> Branch:
    """The construct with fewer arms."""
    changed: list[Arm] = []
    for number, arm in enumerate(arms):
        what, head = arm.head.what, arm.head
        assert isinstance(what, ArmHead)
        if number == 0 and what.kind != "if":
            head = replace(head, what=replace(what, kind="if"), body=None)
        elif what.kind != "else" and truth_of_head(arm, truth, branch):
            head = replace(head, what=ArmHead("else"), body=None)
        changed.append(Arm(head if number else replace(head, lead=()), arm.body))
    return replace(branch, arms=tuple(changed))


def _of_select(
    branch: Branch, truth: ConstantConditions, facts: UnitFacts
) -> tuple[Node, ...] | None:
    first, *cases = branch.arms
    assert isinstance(first.head.what, ArmHead)
    value = truth.integer(first.head.what.exprs[0], first.head)
    if value is None:
        return None
    default: Arm | None = None
    for arm in cases:
        what = arm.head.what
        if not isinstance(what, ArmHead):
            return None
        if what.kind == "case_default":
            default = arm
            continue
        matching = [truth.matches(value, item, first.head) for item in what.exprs]
        if None in matching:
            return None
        if True in matching:
            return _taken_out(branch, arm, facts)
    return () if default is None else _taken_out(branch, default, facts)


def _taken_out(branch: Branch, arm: Arm, facts: UnitFacts) -> tuple[Node, ...]:
    """The statements of an arm, as far in as the construct was."""
    if not arm.body:
        return ()
    first = next(iter(leaves(arm.body[0])))
    columns = column(branch.arms[0].head) - column(first)
    if first.name is not None or (facts.free and first.label is not None):
        columns = 0
    return tuple(further_in(node, columns, facts.free) for node in arm.body)


def _is_movable(node: Node, following: Node | None) -> bool:
    """Whether a statement can be replaced as text, and nothing refers to its parts."""
    own = tuple(leaves(node))
    if following is not None and next(iter(leaves(following))).joined:
        return False
    for number, leaf in enumerate(own):
        if leaf.frozen or leaf.joined or leaf.span is None:
            return False
        if any(entry.kind not in _KEPT for entry in leaf.lead):
            return False
        if isinstance(leaf.what, Plain) and leaf.what.keyword == "format":
            return False
        if leaf.name is not None and number == 0:
            return False
    heads = [own[0], own[-1]]
    heads += [arm.head for arm in node.arms] if isinstance(node, Branch) else []
    return all(leaf.label is None for leaf in heads)


TRANSFORMATION = Transformation(
    "constant branches",
    Pass.BRANCHES,
    Phase.PREPARATION,
    "A branch whose condition is constant is replaced by the arm that is executed.",
    together(check),
    apply,
    in_place=True,
)
