"""Executable statements according to fparser, in the form of the IR."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from asphalt.frontend.second_opinion.fparser_io import IO_STATEMENTS
from asphalt.frontend.second_opinion.fparser_tree import (
    Tree,
    argument,
    arguments,
    class_of,
    expression,
    opaque,
    optional,
    parts,
    with_arguments,
)
from asphalt.ir.expr import Arg, Expr, Keyword, Section
from asphalt.ir.stmt import (
    Allocation,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    Plain,
    What,
)


def _assignment(node: Tree) -> Assign:
    target, _, value = node.items
    return Assign(expression(target), expression(value))


def _pointer_assignment(node: Tree) -> Assign:
    pointer, bounds, value = node.items
    target = expression(pointer)
    if bounds is not None:
        target = with_arguments(target, arguments(bounds))
    return Assign(target, expression(value), pointer=True)


def _call(node: Tree) -> Call:
    procedure, args = node.items
    return Call(expression(procedure), arguments(args))


def _do(node: Tree) -> DoHead:
    label = int(str(node.items[1])) if class_of(node) == "Label_Do_Stmt" else None
    control = node.items[-1]
    if control is None:
        return DoHead("forever", label=label)
    condition, counter, _, header = control.items
    if header is not None:
        return DoHead("concurrent", condition=opaque(header), label=label)
    if condition is not None:
        return DoHead("while", condition=expression(condition), label=label)
    variable, bounds = counter
    first, last, *steps = map(expression, bounds)
    step = steps[0] if steps else None
    return DoHead("count", expression(variable), first, last, step, label=label)


def _arm(kind: str) -> Callable[[Tree], ArmHead]:
    """An arm whose first item is the expression that it evaluates, if it evaluates one."""
    return lambda node: ArmHead(kind, (expression(node.items[0]),))


def _bare_arm(kind: str) -> Callable[[Tree], ArmHead]:
    return lambda node: ArmHead(kind)


def _select_type(node: Tree) -> ArmHead:
    name, selector = node.items
    return ArmHead("select_type", (_association(name, selector),))


def _association(name: Tree, selector: Tree) -> Arg:
    value = expression(selector)
    return value if name is None else Keyword(str(name).lower(), str(name), value)


def _case(node: Tree) -> ArmHead:
    selector = node.items[0].items[0]
    if selector is None:
        return ArmHead("case_default")
    return ArmHead("case", arguments(selector))


def _type_guard(node: Tree) -> ArmHead:
    return ArmHead("_".join(node.items[0].lower().split()))


def _associate(node: Tree) -> ArmHead:
    pairs = (pair.items for pair in parts(node.items[1]))
    return ArmHead("associate", tuple(_association(name, value) for name, _, value in pairs))


def _guarded(kind: str) -> Callable[[Tree], Guarded]:
    def convert(node: Tree) -> Guarded:
        condition, action = node.items
        return Guarded(expression(condition), EXECUTABLE[class_of(action)](action), kind)

    return convert


def _goto(node: Tree) -> Jump:
    return Jump(JumpKind.GOTO, _labels(node.items))


def _computed_goto(node: Tree) -> Jump:
    labels, index = node.items
    return Jump(JumpKind.COMPUTED_GOTO, _labels(parts(labels)), exprs=(expression(index),))


def _arithmetic_if(node: Tree) -> Jump:
    condition, *labels = node.items
    return Jump(JumpKind.ARITHMETIC_IF, _labels(labels), exprs=(expression(condition),))


def _labels(nodes: list[Tree] | tuple[Tree, ...]) -> tuple[int, ...]:
    return tuple(int(str(node)) for node in nodes)


def _loop_jump(kind: JumpKind) -> Callable[[Tree], Jump]:
    def convert(node: Tree) -> Jump:
        construct = node.items[1]
        return Jump(kind, construct=None if construct is None else str(construct).lower())

    return convert


def _leave(kind: JumpKind) -> Callable[[Tree], Jump]:
    def convert(node: Tree) -> Jump:
        code = node.items[-1]
        return Jump(kind, exprs=() if code is None else (expression(code),))

    return convert


def _allocate(node: Tree) -> Allocation:
    type_spec, objects, options = node.items
    found = _options(options)
    if type_spec is not None:
        found = (Keyword("type", "type", opaque(type_spec)), *found)
    return Allocation("allocate", tuple(map(_allocated, parts(objects))), found)


def _allocated(node: Tree) -> Expr:
    if class_of(node) != "Allocation":
        return expression(node)
    name, *shape = node.items
    return with_arguments(expression(name), tuple(map(_extent, parts(shape[0]))))


def _extent(node: Tree) -> Arg:
    lower, upper = node.items
    if lower is None:
        return argument(upper)
    return Section(optional(lower), expression(upper), None)


def _options(options: Tree) -> tuple[Keyword, ...]:
    pairs = (option.items for option in parts(options))
    return tuple(Keyword(name.lower(), name, expression(value)) for name, value in pairs)


def _deallocate(node: Tree) -> Allocation:
    objects, options = node.items
    return Allocation("deallocate", tuple(map(expression, parts(objects))), _options(options))


def _nullify(node: Tree) -> Allocation:
    return Allocation("nullify", tuple(map(expression, parts(node.items[1]))))


def _continue(node: Tree) -> Plain:
    return Plain("continue")


def _forall(node: Tree) -> ArmHead:
    return ArmHead("forall", (opaque(node.items[1]),))


EXECUTABLE: MappingProxyType[str, Callable[[Tree], What]] = MappingProxyType(
    {
        "Assignment_Stmt": _assignment,
        "Pointer_Assignment_Stmt": _pointer_assignment,
        "Call_Stmt": _call,
        "Nonlabel_Do_Stmt": _do,
        "Label_Do_Stmt": _do,
        "If_Then_Stmt": _arm("if"),
        "Else_If_Stmt": _arm("else_if"),
        "Else_Stmt": _bare_arm("else"),
        "Where_Construct_Stmt": _arm("where"),
        "Masked_Elsewhere_Stmt": _arm("elsewhere"),
        "Elsewhere_Stmt": _bare_arm("elsewhere"),
        "Forall_Construct_Stmt": _forall,
        "Select_Case_Stmt": _arm("select_case"),
        "Case_Stmt": _case,
        "Select_Type_Stmt": _select_type,
        "Type_Guard_Stmt": _type_guard,
        "Associate_Stmt": _associate,
        "Block_Stmt": _bare_arm("block"),
        "Critical_Stmt": _bare_arm("critical"),
        "If_Stmt": _guarded("if"),
        "Where_Stmt": _guarded("where"),
        "Forall_Stmt": _guarded("forall"),
        "Goto_Stmt": _goto,
        "Computed_Goto_Stmt": _computed_goto,
        "Arithmetic_If_Stmt": _arithmetic_if,
        "Cycle_Stmt": _loop_jump(JumpKind.CYCLE),
        "Exit_Stmt": _loop_jump(JumpKind.EXIT),
        "Return_Stmt": _leave(JumpKind.RETURN),
        "Stop_Stmt": _leave(JumpKind.STOP),
        "Error_Stop_Stmt": _leave(JumpKind.ERROR_STOP),
        "Allocate_Stmt": _allocate,
        "Deallocate_Stmt": _deallocate,
        "Nullify_Stmt": _nullify,
        "Continue_Stmt": _continue,
        **IO_STATEMENTS,
    }
)
