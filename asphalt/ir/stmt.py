"""What a statement means.

``Leaf.what`` is one of these classes.  ``Raw`` is a statement that has not been interpreted yet.
``Opaque`` is a statement that asphalt could not interpret: it counts as reading and writing
everything in scope, branching, calling MPI and creating aliases.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from asphalt.ir.expr import Arg, Expr, Keyword, TypeSpec
from asphalt.ir.records import record


@record
class Raw:
    """Not interpreted; ``code`` is the logical line: continuations joined, comments removed.

    ``fixed``: it is of fixed form, where blanks may stand inside of names.
    """

    code: str
    fixed: bool = field(default=False, compare=False)


@record
class Opaque:
    """Could not be interpreted; ``reason`` says why, ``names`` are the folded names in it."""

    code: str
    reason: str
    names: frozenset[str]


@record
class Assign:
    """``target = value``, or ``target => value`` with ``pointer``."""

    target: Expr
    value: Expr
    pointer: bool = False


@record
class Call:
    """``call procedure(args)``; the procedure is a ``Ref`` without args or a ``Component``."""

    procedure: Expr
    args: tuple[Arg, ...]


@record
class DoHead:
    """The head of a DO loop.

    ``kind``: ``count`` (``var = first, last [, step]``), ``while`` (``condition``), ``forever`` or
    ``concurrent`` (kept whole in ``condition`` as an OpaqueExpr).  ``label``: ``do 10 ...``.
    """

    kind: str
    var: Expr | None = None
    first: Expr | None = None
    last: Expr | None = None
    step: Expr | None = None
    condition: Expr | None = None
    label: int | None = None


@record
class ConcurrentHeader:
    """The header of DO CONCURRENT or FORALL: an index with its values each, and a mask."""

    indexes: tuple[DoHead, ...]
    mask: Expr | None = None


@record
class ArmHead:
    """The head of an arm of a construct.

    ``kind``: ``if else_if else select_case case case_default select_type type_is class_is
    class_default where elsewhere forall associate block critical``.
    ``exprs`` are all expressions that the head evaluates.  For ``associate`` they are
    ``Keyword(name, spelled, selector)``.
    """

    kind: str
    exprs: tuple[Arg, ...] = ()


@record
class Guarded:
    """A one-line ``if (condition) action``, ``where (mask) a = b`` or ``forall (...) a = b``."""

    condition: Expr
    action: What
    kind: str = "if"


class JumpKind(Enum):
    """How a statement transfers control."""

    GOTO = "goto"
    COMPUTED_GOTO = "computed goto"
    ASSIGNED_GOTO = "assigned goto"
    ARITHMETIC_IF = "arithmetic if"
    CYCLE = "cycle"
    EXIT = "exit"
    RETURN = "return"
    STOP = "stop"
    ERROR_STOP = "error stop"


@record
class Jump:
    """A transfer of control; ``labels`` it may go to, ``construct`` named by cycle or exit."""

    kind: JumpKind
    labels: tuple[int, ...] = ()
    construct: str | None = None
    exprs: tuple[Expr, ...] = ()


@record
class IO:
    """An input/output statement: what it reads, what it defines, the labels it may go to."""

    kind: str  # read write print open close inquire rewind backspace endfile flush wait
    reads: tuple[Arg, ...] = ()
    writes: tuple[Arg, ...] = ()
    labels: tuple[int, ...] = ()


@record
class Allocation:
    """``allocate``, ``deallocate`` or ``nullify``.

    ``objects``: what is (de)allocated; for ``allocate`` a Ref or Component whose args are the shape
    (``Section(lower, upper, None)`` for ``lower:upper``).  ``options`` are the keywords
    (``stat=``, ``source=``, ...).
    """

    kind: str
    objects: tuple[Expr, ...]
    options: tuple[Keyword, ...] = ()


@record
class Dim:
    """A declared dimension.

    ``kind``: ``explicit`` (``upper``, and ``lower`` or 1), ``assumed_shape`` (dummy ``:`` or
    ``lower:``), ``deferred`` (``:`` of an allocatable or pointer), ``assumed_size`` (``*``),
    ``assumed_rank`` (``..``).  The frontend writes every ``:`` as ``assumed_shape``; the symbol
    table turns it into ``deferred`` where the entity is allocatable or a pointer.
    """

    kind: str
    lower: Expr | None = None
    upper: Expr | None = None


@record
class Entity:
    """A declared name: its own dimensions, character length and initial value."""

    name: str
    spelled: str
    dims: tuple[Dim, ...] | None = None
    length: Arg | None = None
    initial: Expr | None = None
    points_to_initial: bool = False


@record
class Decl:
    """A declaration.

    ``kind``: ``type`` for a type declaration statement, else the attribute statement's keyword:
    ``dimension common parameter equivalence save external intrinsic pointer target allocatable
    optional intent contiguous asynchronous volatile value public private protected bind data
    namelist import enumerator codimension cray_pointer implicit procedure``.

    ``attrs``: folded attributes of a type declaration (``intent(in)``, ``allocatable``, ...), with
    ``dimension`` in ``dims``.  ``common``: entities with ``block`` (folded name, '' for blank);
    a statement with several blocks is several groups in ``groups``.  ``equivalence``: each group is
    one equivalence set.  ``save``/``public``/... without a list: ``entities`` is empty.
    ``implicit``: ``attrs`` is ``('none',)`` or the spelled rules.  ``data``: ``entities`` are the
    names that get a value.
    """

    kind: str
    type: TypeSpec | None = None
    attrs: tuple[str, ...] = ()
    dims: tuple[Dim, ...] | None = None
    entities: tuple[Entity, ...] = ()
    groups: tuple[tuple[str, tuple[Entity, ...]], ...] = ()


@record
class UseItem:
    """An item of an only list or rename list: ``local => name`` (equal when not renamed)."""

    local: str
    name: str


@record
class Use:
    """``use module [, only: items]``; ``only`` False: everything, with ``items`` renamed."""

    module: str
    only: bool
    items: tuple[UseItem, ...] = ()
    intrinsic: bool = False

    def original_name(self, local: str) -> str | None:
        """The module's name for what this statement makes accessible as ``local``; None: nothing.

        Without ONLY, a name that an item renames is not accessible itself (F2018 14.2.2).
        """
        for item in self.items:
            if item.local == local:
                return item.name
        renamed = any(item.name == local for item in self.items)
        return None if self.only or renamed else local

    def with_items_of(self, other: Use) -> Use:
        """The USE statement that makes accessible what this one and another one of the same module
        do.

        A name that one of them renames is accessible itself only where an ONLY list has it.
        """
        items = dict.fromkeys((*self.items, *other.items))
        return Use(self.module, self.only and other.only, tuple(items), self.intrinsic)


@record
class Include:
    """A Fortran ``include 'path'`` line."""

    path: str


@record
class StatementFunction:
    """``name(args) = value`` in a specification part."""

    name: str
    args: tuple[str, ...]
    value: Expr


@record
class UnitHead:
    """The first statement of a program unit, procedure, interface, type or enum.

    ``prefix``: folded prefixes (``pure``, ``recursive``, ``elemental``, ``module`` ...).
    ``args``: folded dummy names (``*`` for an alternate return).
    """

    kind: str
    name: str
    args: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    result: str | None = None
    type: TypeSpec | None = None

    @property
    def parent(self) -> tuple[str, str | None] | None:
        """The module of which a submodule is a descendant, and the submodule between them whose
        child it is, if there is one; None: it begins no submodule."""
        if self.kind != "submodule" or not self.prefix:
            return None
        names = self.prefix[0].removeprefix("parent(").removesuffix(")")
        module, _, submodule = names.partition(":")
        return module.strip(), submodule.strip() or None


@record
class Plain:
    """A statement without data flow: continue, end..., contains, format, sequence, null, entry."""

    keyword: str


What = (
    Raw
    | Opaque
    | Assign
    | Call
    | DoHead
    | ArmHead
    | Guarded
    | Jump
    | IO
    | Allocation
    | Decl
    | Use
    | Include
    | StatementFunction
    | UnitHead
    | Plain
)
