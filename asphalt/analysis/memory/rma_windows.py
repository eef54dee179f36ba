"""Variables that may be window memory: other ranks may access them while this rank calls MPI.

After a message is received, the receiver may get what the sender had stored in its own window, and
may access what the sender had put into the receiver's (MPI-4.0 sections 12.4 and 12.7).  Only the
order of the statements expresses this.  A statement that accesses window memory therefore keeps its
order with whatever starts or completes a transfer.

Window memory is any argument of ``MPI_Win_create`` and ``MPI_Win_attach``, and what MPI allocates,
which Fortran accesses through pointers.  In a program with windows, a variable may be window memory
unless it belongs to one unit, has one name, and is passed to no procedure that may create a window
of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.aliasing import ADDRESS_FUNCTIONS, calls_of, root_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.mentions import mpi_mentions
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.references import actions, expressions_of, passed_on
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Scopes
from asphalt.ir.expr import Ref, Unstructured, walk
from asphalt.ir.program import Program
from asphalt.ir.stmt import Call, Opaque, Raw, What
from asphalt.ir.tree import leaves
from asphalt.support.word_sets import words

_MAKING = frozenset({"mpi_win_create", "mpi_win_attach"})
_FETCHING = words(
    """
    mpi_get mpi_rget mpi_get_accumulate mpi_rget_accumulate mpi_fetch_and_op mpi_compare_and_swap
    """
)
_SENDS = words("mpi_isend mpi_ibsend mpi_issend mpi_irsend mpi_isendrecv")
_OWN = (Origin.LOCAL, Origin.RESULT)
_ANY = None
_Makers = frozenset[str] | None
"""The names of procedures that may make a window of an argument; None: any may."""
_MOVED: WeakKeyDictionary[Scopes, bool] = WeakKeyDictionary()
_KNOWN: WeakKeyDictionary[Scopes, tuple[bool, _Makers]] = WeakKeyDictionary()
_FREED: WeakKeyDictionary[Scopes, _Makers] = WeakKeyDictionary()


def has_windows(scope: Scope) -> bool:
    """Whether the program has windows."""
    return _known(scope.scopes)[0]


def may_be_window_memory(storage: str, scope: Scope) -> bool:
    """Whether other ranks may access a storage of a unit through a window (see
    ``storage.storage_of``)."""
    windows, makers = _known(scope.scopes)
    if not windows:
        return False
    if storage == ALIASED or "::" in storage:
        return True
    return _may_be_made(storage.split("%")[0], scope, makers, _MAKING)


def may_be_read_by_freed_send(storage: str, scope: Scope) -> bool:
    """Whether a send whose request the program has freed may read a storage of a unit.

    Only a message of the receiver shows that such a send is complete (MPI-4.0 section 3.7.3), and
    that message may come with any call that completes a transfer.
    """
    makers = _freeing(scope.scopes)
    if makers == frozenset():
        return False
    if storage == ALIASED or "::" in storage:
        return True
    return _may_be_made(storage.split("%")[0], scope, makers, _SENDS)


def frees_sends(scope: Scope) -> bool:
    """Whether the program may free the request of a send that is not complete."""
    return _freeing(scope.scopes) != frozenset()


def _freeing(scopes: Scopes) -> _Makers:
    if scopes not in _FREED:
        called = {_operation(mention.operation) for mention in scopes.program.mpi_calls()}
        frees = "mpi_request_free" in called
        _FREED[scopes] = _makers(scopes.program, _SENDS) if frees else frozenset()
    return _FREED[scopes]


def access_variables(scope: Scope) -> bool:
    """Whether the RMA operations of the program may change other memory than what MPI allocates for
    windows: they get something into a variable, or a variable is window memory."""
    scopes = scope.scopes
    if scopes not in _MOVED:
        _MOVED[scopes] = not has_windows(scope) or any(
            (name := _operation(mention.operation)) in _MAKING | _FETCHING
            or table().get(name) is None
            for mention in mpi_mentions(scopes)
        )
    return _MOVED[scopes]


def _known(scopes: Scopes) -> tuple[bool, _Makers]:
    if scopes not in _KNOWN:
        windows = _has_windows(scopes)
        _KNOWN[scopes] = windows, _makers(scopes.program, _MAKING) if windows else frozenset()
    return _KNOWN[scopes]


def _has_windows(scopes: Scopes) -> bool:
    for mention in mpi_mentions(scopes):
        procedure = table().get(_operation(mention.operation))
        if procedure is None and "win" in mention.operation:
            return True
        if procedure is not None and any(p.kind == "WINDOW" for p in procedure.parameters):
            return True
    return False


def _operation(name: str) -> str:
    return name.removeprefix("p")


def _makers(program: Program, making: frozenset[str]) -> _Makers:
    """The names by which the program calls procedures that may pass an argument to one of some MPI
    procedures, such as those that create a window of it."""
    found: set[str] = set()
    new = {m.unit for m in program.mpi_calls() if _operation(m.operation) in making}
    while new:
        name = new.pop()
        if not name:
            return _ANY
        found.add(name)
        for located in program.mentions(name):
            if passed_on(located, name):
                return _ANY  # a generic name, say, or another procedure calls it
            new |= {located.unit.name} - found
    return frozenset(found)


def _may_be_made(name: str, scope: Scope, makers: _Makers, making: frozenset[str]) -> bool:
    """Whether a variable that no pointer points to may become window memory, or whatever ``making``
    makes of a buffer."""
    symbol = scope.lookup(name)
    if symbol is None or name in scope.shadowed:
        return True
    if symbol.origin is Origin.HOST and scope.host is not None:
        return _may_be_made(name, scope.host, makers, making)
    if symbol.origin not in _OWN:
        return symbol.origin.is_variable
    return any(
        inner is None
        or any(_makes(what, name, inner, makers, making) for what in _statements(inner))
        for inner in _seeing(name, scope)
    )


def _seeing(name: str, scope: Scope) -> Iterator[Scope | None]:
    """A unit and those inside of it that may use its variable; None: unknown."""
    yield scope
    if named_inside(name, scope):
        for unit in scope.unit.contained:
            located = scope.program.contained(scope.located, unit.name)
            yield None if located is None else scope.scopes.of(located)


def _statements(scope: Scope) -> Iterator[What]:
    for node in scope.unit.body:
        for leaf in leaves(node):
            yield from actions(leaf.what)


def _makes(what: What, name: str, scope: Scope, makers: _Makers, making: frozenset[str]) -> bool:
    """Whether a statement may create a window of a variable."""
    match what:
        case Opaque(names=names) if name in names:
            return True
        case Raw(code=code) if name in code.lower():
            return True
    for part in (part for expr in expressions_of(what) for part in walk(expr)):
        if isinstance(part, Unstructured) and name in part.names:
            return True
    return any(_may_make(call, name, scope, makers, making) for call in calls_of(what, scope))


def _may_make(call: Call, name: str, scope: Scope, makers: _Makers, making: frozenset[str]) -> bool:
    """Whether a procedure has a variable as its argument and may create a window of it."""
    if not any(root_of(arg) == name for arg in call.args):
        return False
    mpi = mpi_call(call, scope)
    if mpi is not None:
        buffers = (root_of(actual) for p, actual in mpi.bound() if p.kind == "BUFFER")
        return mpi.procedure.name in making and name in buffers
    if not isinstance(call.procedure, Ref):
        return True
    symbol = scope.lookup(call.procedure.name)
    if symbol is not None and symbol.origin is Origin.INTRINSIC:
        return symbol.name in ADDRESS_FUNCTIONS
    located = procedure_named(call.procedure, scope)
    if located is None or makers is _ANY:
        return True
    passed = {root_of(arg) for arg in call.args}
    return located.unit.name in makers or bool(passed & makers)
