"""Accesses and effects: what the analysis says about statements.

An access names a storage (a variable of the unit, wherever it is declared) and the subscripts as
the source writes them; ``regions`` turns these into integer sets.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from asphalt.ir.expr import Component, Expr, Op, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import IO, Allocation, Assign, Call, Jump, What
from asphalt.ir.tree import Do, Leaf

if TYPE_CHECKING:
    from asphalt.analysis.memory.invariant_frame import Standpoint
    from asphalt.analysis.symbolic.index_sets import Elements


class Mode(Enum):
    """How a storage is accessed."""

    READ = "reads"
    WRITE = "writes"
    MAYBE_WRITE = "may write"
    INQUIRE = "inquires"  # bounds, size, allocation status: not the value


Subscript = Expr | Section


class CalledRegions(Protocol):
    """The regions of one variable of the caller that a called procedure accesses.

    Both are seen from a statement, at which parameters have values.  Raises nothing: an undecided
    region is the whole array (``touched``) or empty (``surely_written``).  ``passed``: the array
    whose bounds the indices must respect, because the procedure may see it under another shape.
    """

    @property
    def passed(self) -> str | None: ...

    def touched(self, here: Standpoint) -> Elements:
        """A superset of the elements that the call accesses."""

    def surely_written(self, here: Standpoint) -> Elements:
        """A subset of the elements that every execution of the call defines."""


@record
class Access:
    """An access.  ``subscripts`` None: the whole object, or an unknown part of it.

    ``part``: for an access of a called procedure, which elements it accesses; ``subscripts``
    include these.  ``loops``: the DO loops around it inside the examined nodes, outermost first.
    ``sure``: every iteration of these loops executes it.  ``path``: the component of the storage
    that is accessed (``subscripts`` are those of the component); empty: all of it.  Where elements
    stand on the way (``tiles(1)%field``), it is that component of some of them.

    ``resizable``: an assignment may change the size that an inquiry asks for.  ``named``: the
    designator of something that may have other names, and ``inside`` its subscripts; then the
    storage is ``ALIASED``, and ``subscripts`` is None.  Its ``path`` is the target that is named
    directly, with a component (``storage.target_of``); empty: any of them, through a pointer.
    ``by_others``: other ranks access it through a window while the statement is executed.
    """

    storage: str
    mode: Mode
    subscripts: tuple[Subscript, ...] | None
    leaf: Leaf
    loops: tuple[Do, ...] = ()
    sure: bool = True
    path: tuple[str, ...] = ()
    part: CalledRegions | None = field(default=None, compare=False, repr=False)
    named: str | None = None
    inside: tuple[Subscript, ...] | None = None
    resizable: bool = False
    by_others: bool = False

    def at(self, leaf: Leaf, loops: tuple[Do, ...], sure: bool) -> Access:
        """The access as another statement, which does the same, makes it.  It is not sure where
        this one is not."""
        return Access(
            self.storage,
            self.mode,
            self.subscripts,
            leaf,
            loops,
            sure and self.sure,
            self.path,
            self.part,
            self.named,
            self.inside,
            self.resizable,
            self.by_others,
        )

    @staticmethod
    def to_some_of(name: str, leaf: Leaf) -> Access:
        """An access that may write some of the object of this designator."""
        storage, *path = name.split("%")
        return Access(storage, Mode.MAYBE_WRITE, None, leaf, path=tuple(path))

    @property
    def asks_for_a_size(self) -> bool:
        """Whether it is an inquiry whose result depends on an earlier assignment to the whole
        object."""
        return self.mode is Mode.INQUIRE and self.resizable

    @property
    def may_resize(self) -> bool:
        """Whether the access may reallocate the object (F2018 10.2.1.3): it is not known to be to a
        part of it."""
        return self.writes and self.subscripts is None and self.part is None

    @property
    def writes(self) -> bool:
        """Whether the access may change the storage."""
        return self.mode is Mode.WRITE or self.mode is Mode.MAYBE_WRITE

    @property
    def is_open(self) -> bool:
        """Whether it is to all elements from some on, for it is not known how far they are."""
        last = self.subscripts[-1] if self.subscripts else None
        return isinstance(last, Section) and last.lower is not None and last.upper is None

    @property
    def object(self) -> str:
        """The designator of the storage with the component."""
        return "%".join((self.storage, *self.path))

    @property
    def spelled(self) -> str:
        """The object as messages tell it: without its module."""
        if self.storage != ALIASED:
            return self.object.split("::")[-1]
        target = self.path[0].split("::")[-1] if self.path else None
        return self.named or target or "a variable that pointers may point to"

    def touches(self, designator: str) -> bool:
        """Whether the access may be to a part of a storage, or of a component of one."""
        storage, *path = designator.split("%")
        return storage == self.storage and _one_in_the_other(self.path, tuple(path))

    def meets(self, other: Access) -> bool:
        """Whether two accesses may be to one object, whatever elements they access."""
        return self.storage == other.storage and _one_in_the_other(self.path, other.path)

    def conflicts(self, other: Access) -> bool:
        """Whether two accesses may conflict (Bernstein's conditions), whatever elements they
        access.

        An inquiry conflicts with whatever may reallocate its object.
        """
        if not (self.writes or other.writes) or not self.meets(other):
            return False
        if self.by_others and other.by_others:
            return False
        pairs = (self, other), (other, self)
        return not any(a.mode is Mode.INQUIRE and not b.may_resize for a, b in pairs)


def may_be_one(storage: str, other: str) -> bool:
    """Whether one of two storages may be, or be a part of, the other."""
    return _one_in_the_other(tuple(storage.split("%")), tuple(other.split("%")))


def _one_in_the_other(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether one of two components is, or is part of, the other."""
    common = min(len(one), len(two))
    return one[:common] == two[:common]


class EffectKind(Enum):
    """An effect other than an access to a variable."""

    IO = "input or output"
    MPI = "an MPI call"
    CLOCK = "a reading of a clock"
    STOP = "a stop"
    UNKNOWN_CALL = "a call with unknown effects"
    OPAQUE = "a statement that asphalt does not understand"
    STATE = "hidden state"
    SYSTEM = "a call that depends on what lies outside of the program"
    ALLOCATION = "an allocation"
    POINTER = "a pointer assignment"
    JUMP = "a jump"
    ASSUMED = "a call that is assumed to be pure"


OPERATION = "operator "
"""The beginning of the detail of an effect that a defined operation may have."""


@record
class Effect:
    """An effect at a statement; ``detail`` names the procedure or the reason."""

    kind: EffectKind
    leaf: Leaf
    detail: str
    loops: tuple[Do, ...] = ()

    @property
    def is_operation(self) -> bool:
        """Whether it is what an operation of an expression may do if the program defines it."""
        return self.kind is EffectKind.UNKNOWN_CALL and self.detail.startswith(OPERATION)

    @property
    def described(self) -> str:
        """The effect with its line, e.g. ``the PRINT in line 7``."""
        where, what = f"in line {self.leaf.line}", self.leaf.action
        if isinstance(what, IO) and self.kind is EffectKind.IO:
            return f"the {what.kind.upper()} {where}"
        if isinstance(what, Jump):
            return f"the {what.kind.value.upper()} {where}"
        if isinstance(what, Allocation):
            return f"the {what.kind.upper()} {where}"
        if self.kind is EffectKind.MPI:
            return f"{self.detail} {where}"
        if self.kind is EffectKind.CLOCK:
            return f"the reading of a clock {where}"
        return f"{self.kind.value} {where} ({self.detail})"


@record
class Footprint:
    """All accesses and effects of some statements, in source order."""

    accesses: tuple[Access, ...]
    effects: tuple[Effect, ...]

    def of(self, storage: str) -> tuple[Access, ...]:
        """The accesses to one storage, or to a component of one (``plan%send``)."""
        return tuple(a for a in self.accesses if a.touches(storage))

    def may_write(self, storage: str) -> bool:
        """Whether a storage, or a component of one, may be written."""
        return any(a.writes and a.touches(storage) for a in self.accesses)

    def written(self) -> frozenset[str]:
        """The storages that may be written."""
        return frozenset(a.storage for a in self.accesses if a.writes)

    def depends_on_own_size(self, storage: str) -> bool:
        """Whether the statements ask for the size of an object that they may reallocate."""
        found = self.of(storage)
        return any(a.asks_for_a_size for a in found) and any(a.may_resize for a in found)

    def read(self) -> frozenset[str]:
        """The storages whose value is read."""
        return frozenset(a.storage for a in self.accesses if a.mode is Mode.READ)


class NameKind(Enum):
    """The meaning of a name with or without a parenthesised list."""

    VARIABLE = "variable"
    CONSTANT = "constant"
    PURE_FUNCTION = "pure function"  # an intrinsic without effects
    INQUIRY = "inquiry"  # an intrinsic that does not read the value of its argument
    PROCEDURE = "procedure"
    UNKNOWN = "unknown"


@record
class CalledAccess:
    """An access of a called procedure to a storage of its caller (see ``Access``): of an
    ``ALIASED`` one, ``subscripts`` are those of the designator ``named``."""

    storage: str
    mode: Mode
    subscripts: tuple[Subscript, ...] | None = None
    part: CalledRegions | None = field(default=None, compare=False, repr=False)
    named: str | None = None


@record
class CallEffect:
    """The effect of a call in terms of the caller: accesses to storages, and other effects."""

    accesses: tuple[CalledAccess, ...]
    effects: tuple[tuple[EffectKind, str], ...]


@record
class Statement:
    """What a statement does that stands alone: once, in no loop.  ``what``: kept with it, so that
    no other statement can get its identity."""

    what: What
    leaf: Leaf
    accesses: tuple[Access, ...]
    effects: tuple[Effect, ...]


class NameSemantics(Protocol):
    """The meanings of names, operators and calls of one unit, for which ``examine`` asks.

    ``effects.unit_names.UnitNames`` answers from the declarations and from the effects of the
    called procedures.
    """

    @property
    def statements(self) -> dict[int, Statement] | None:
        """What statements do, by the identity of ``effective_statement``, if all other answers
        stay as they are; None: they may change."""

    def kind(self, name: str, listed: bool) -> NameKind:
        """The meaning of a name.  ``listed``: a parenthesised list follows it, or may follow."""

    def storage(self, name: str) -> str:
        """The storage behind a variable; ``ALIASED`` if it may have a second name."""

    def target(self, designator: Ref | Component) -> str | None:
        """What tells the target that is, or contains, a data object from all other targets; None:
        it may be any of them."""

    def component(self, component: Component) -> str | None:
        """The designator of a component whose storage has no other name, e.g. ``plan%send``.

        None: it may have one.
        """

    def part(self, component: Component) -> str | None:
        """The designator without subscripts of a component of some element, if no other name leads
        to it, e.g. ``tiles%field`` for ``tiles(1)%field``.

        None: one may.
        """

    def pointer(self, component: Component) -> tuple[str, str] | None:
        """The designator of a pointer component, and the storage of the pointer itself.

        None: it is no pointer, or another name may lead to the pointer.
        """

    def call(self, call: Call) -> CallEffect:
        """The effect of a CALL statement or a function reference."""

    def written_out(self, reference: Ref) -> Expr | None:
        """The expression of a statement function with the arguments of a reference to it; None: it
        is none, or not known."""

    def is_intrinsic_operation(self, op: Op) -> bool:
        """Whether an operation is intrinsic (F2018 10.1.5): it calls no procedure."""

    def is_intrinsic_assignment(self, assign: Assign) -> bool:
        """Whether an assignment is intrinsic (F2018 10.2.1.2) and finalizes nothing."""

    def may_finalize(self, item: Expr) -> bool:
        """Whether the deallocation of an object may call a final subroutine."""

    def may_be_function(self, component: Component) -> bool:
        """Whether a component with a list may be a reference to a type-bound function."""

    def may_be_resized(self, designator: Ref | Component) -> bool:
        """Whether an assignment may give an object another shape or length."""

    def effective_statement(self, what: What, leaf: Leaf) -> What:
        """The known effect of the statement ``leaf``, or of the action of a one-line IF.

        It may do less than ``what``, which stands there.
        """


class RefinedNames(NameSemantics):
    """The answers of ``names``.  Subclasses override some of them.  What statements do is only
    remembered by those that say so."""

    def __init__(self, names: NameSemantics) -> None:
        self.names = names

    @property
    def statements(self) -> dict[int, Statement] | None:
        return None

    def kind(self, name: str, listed: bool) -> NameKind:
        return self.names.kind(name, listed)

    def storage(self, name: str) -> str:
        return self.names.storage(name)

    def target(self, designator: Ref | Component) -> str | None:
        return self.names.target(designator)

    def component(self, component: Component) -> str | None:
        return self.names.component(component)

    def part(self, component: Component) -> str | None:
        return self.names.part(component)

    def pointer(self, component: Component) -> tuple[str, str] | None:
        return self.names.pointer(component)

    def call(self, call: Call) -> CallEffect:
        return self.names.call(call)

    def written_out(self, reference: Ref) -> Expr | None:
        return self.names.written_out(reference)

    def is_intrinsic_operation(self, op: Op) -> bool:
        return self.names.is_intrinsic_operation(op)

    def is_intrinsic_assignment(self, assign: Assign) -> bool:
        return self.names.is_intrinsic_assignment(assign)

    def may_finalize(self, item: Expr) -> bool:
        return self.names.may_finalize(item)

    def may_be_function(self, component: Component) -> bool:
        return self.names.may_be_function(component)

    def may_be_resized(self, designator: Ref | Component) -> bool:
        return self.names.may_be_resized(designator)

    def effective_statement(self, what: What, leaf: Leaf) -> What:
        return self.names.effective_statement(what, leaf)


ALIASED = "(aliased)"
"""The storage of everything that may have a second name: pointers, targets, and what EQUIVALENCE
associates.  Behind it stands, as a component would, the target that is named directly: another one
is other storage."""
