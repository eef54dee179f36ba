"""What a name means in a unit: its own declarations, then its modules, its hosts, implicit typing.

``Scope.lookup`` answers None for a name that is not known: it may come from a module or an include
file that is not in the tree, from a statement that could not be interpreted, or an ASSOCIATE or
BLOCK construct of the unit binds it.  It never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TypeVar, cast

from asphalt.analysis.names.bound_names import called_functions, names_bound_in, plain_variables
from asphalt.analysis.names.constants import constant as constant
from asphalt.analysis.names.constants import element_bytes as element_bytes
from asphalt.analysis.names.declarations import (
    Declarations,
    included_behind_contains,
    own_names,
    parent_of,
    separate_interface,
    with_interface,
)
from asphalt.analysis.names.intrinsic_modules import (
    MPI_MODULES,
    intrinsic_module_name,
    is_intrinsic_module,
)
from asphalt.analysis.names.intrinsics import (
    ADDED,
    CONSTANT_MACROS,
    is_intrinsic,
)
from asphalt.analysis.names.known_library_names import LIBRARY_MODULES
from asphalt.analysis.names.mpi_constants import DECLARED, is_standard_name
from asphalt.analysis.names.symbol import Identity as Identity
from asphalt.analysis.names.symbol import Origin as Origin
from asphalt.analysis.names.symbol import Symbol as Symbol
from asphalt.analysis.names.symbol import Text as Text
from asphalt.analysis.names.symbol import built_in, seen_from_inside
from asphalt.config.limits import CONSTANTS, HEADER
from asphalt.ir.expr import TypeSpec
from asphalt.ir.program import Located, Program
from asphalt.ir.stmt import Call, Decl, Entity, UnitHead, Use
from asphalt.ir.tree import Block, Node, Unit
from asphalt.support.may_must import MayMustAnswer


class Absence(Enum):
    """Why there is no symbol."""

    ABSENT = "absent"  # certainly not declared there
    UNKNOWN = "unknown"  # may be declared in something that cannot be seen


Answer = Symbol | Absence


T = TypeVar("T")


class Scopes:
    """The scopes of one program; each is built once.

    ``any_sizes``: conclusions from them must hold for any values of the named constants except
    those in ``asked``.
    """

    def __init__(
        self,
        program: Program,
        any_sizes: bool = False,
        asked: frozenset[Text | Identity] = frozenset(),
    ) -> None:
        self.program = program
        self.any_sizes = any_sizes
        self.asked = asked
        self.given: Scopes | None = None  # those of the program of which this is an edited text
        self.is_circular = False  # whether modules use each other in a circle
        self.own_procedures: dict[str, bool] = {}  # whether an mpi_ name is the user's own
        self._by_unit: dict[int, Scope] = {}
        self._modules: dict[str, Scope | None] = {}
        self._found: dict[object, object] = {}

    def once(self, find: Callable[[Scopes], T]) -> T:
        """The result of ``find`` for the program, computed once; it depends on nothing else."""
        if find not in self._found:
            self._found[find] = find(self)
        return cast(T, self._found[find])

    def of(self, located: Located) -> Scope:
        """The scope of the last unit of ``located``."""
        key = id(located.unit)
        found = self._by_unit.get(key)
        if found is None or any(
            a is not b for a, b in zip(found.located.chain, located.chain, strict=False)
        ):
            found = self._by_unit[key] = Scope(located, self)
        return found

    def module(self, name: str) -> Scope | None:
        """The scope of a module of the tree."""
        if name not in self._modules:
            located = self.program.module(name)
            self._modules[name] = self.of(located) if located is not None else None
        return self._modules[name]

    def parent(self, located: Located) -> Scope | None:
        """The scope of the module or submodule of which a unit is a submodule; None: it is none, or
        the tree has not all of its ancestors, or two of one name."""
        parent = parent_of(located.unit)
        if parent is None or self.module(parent[0]) is None:
            return None
        below: dict[str, list[Located]] = {}
        for one in self.program.submodules(parent[0]):
            below.setdefault(one.unit.name, []).append(one)
        direct, seen = parent[1], {located.unit.name}
        here = direct
        while here is not None:
            if here in seen or len(below.get(here, ())) != 1:
                return None
            seen.add(here)
            above = parent_of(below[here][0].unit)
            here = None if above is None else above[1]
        return self.module(parent[0]) if direct is None else self.of(below[direct][0])


def scope_of(located: Located, program: Program) -> Scope:
    """The scope of one unit (use ``Scopes`` where several are wanted)."""
    return Scopes(program).of(located)


class Scope:
    """The names of one unit."""

    def __init__(self, located: Located, scopes: Scopes) -> None:
        self.located = located
        self.unit = located.unit
        self.scopes = scopes
        self._answers: dict[str, Answer] = {}
        self._exported: dict[str, Answer] = {}
        self._symbols: dict[str, Symbol | None] = {}
        # whether definitions of some kinds are accessible
        self.accessible: dict[Callable[[Node], bool], bool] = {}
        self.kinds: dict[tuple[str, bool], Enum] = {}  # the meanings of names that were asked for
        # the operations of CALL statements, by identity; the statements are kept, too
        self.operations: dict[int, tuple[Call, object]] = {}
        self.call_effects: dict[int, tuple[Call, object]] = {}  # of MPI's procedures, likewise
        # answers about its variables that were asked for
        self.findings: dict[str, MayMustAnswer] = {}
        self.common_views: dict[str, bool] = {}  # blocks that it sees under two lists of names
        self.procedures: dict[str, Located | None] = {}  # what procedure names resolve to
        # answers about names that come through USE statements, by the question and the name
        self.through_modules: dict[tuple[object, str], object] = {}
        # components of derived types, by type and name, with the scopes of their declarations
        self.components: dict[tuple[str, str], tuple[Decl, Entity, Scope] | None] = {}
        # definitions of derived types, by name and how far they are looked for, with their scopes
        self.types: dict[tuple[str, int], tuple[Block, Scope] | None] = {}
        self._stated = self._with_interface()
        self.declared: Declarations = own_names(self._stated, self, self._include)
        self._include_procedures()
        self._bound: frozenset[str] | None = None

    def _with_interface(self) -> Unit:
        """The unit; of a ``module procedure``, with what its interface body declares."""
        host = None if self.unit.kind != "module_procedure" else self.host
        below: list[Unit] = []
        while host is not None:
            body = separate_interface(self.unit.name, host.unit)
            if body is not None:
                return with_interface(self.unit, body, below)
            below.append(host.unit)
            host = host.host
        return self.unit

    def _include_procedures(self) -> None:
        """Note the names in the files that may hold procedures of the unit; of a file that is not
        found, any."""
        declared = self.declared
        for path in included_behind_contains(self.unit):
            names = self.program.included_words(self.located.path, path)
            declared.included |= names
            declared.unclear |= names or set(declared.symbols)
            declared.open |= not names

    def _include(self, path: str) -> Iterable[Node] | None:
        return self.scopes.program.include(self.located, path)

    @property
    def head(self) -> UnitHead | None:
        """The statement with the dummy arguments of the unit; of a ``module procedure``, that of
        its interface body."""
        what = None if self._stated.head is None else self._stated.head.what
        return what if isinstance(what, UnitHead) else None

    @property
    def kind(self) -> str:
        """What the unit is; of a ``module procedure``, what its interface body says it is, or
        ``module_procedure`` where that is not known."""
        return self._stated.kind

    @property
    def dummies(self) -> tuple[str, ...]:
        """The folded names of the dummy arguments, in order."""
        return () if self.head is None else self.head.args

    @property
    def program(self) -> Program:
        """The tree that this scope is in."""
        return self.scopes.program

    @property
    def any_sizes(self) -> bool:
        """Whether the values of named constants count as unknown."""
        return self.scopes.any_sizes

    @property
    def asked(self) -> frozenset[Text | Identity]:
        """The named constants whose values are known even so."""
        return self.scopes.asked

    @cached_property
    def host(self) -> Scope | None:
        """The scope around this one, if the unit is contained in another; of a submodule, that of
        its parent, if the tree has it (F2018 14.2.3)."""
        chain = self.located.chain
        if len(chain) < 2:
            return self.scopes.parent(self.located)
        return self.scopes.of(replace(self.located, chain=chain[:-1]))

    @property
    def lacks_host(self) -> bool:
        """Whether the unit is a submodule whose parent is not in the tree: any name may be one of
        the parent's."""
        return self.unit.kind == "submodule" and self.host is None

    @property
    def shadowed(self) -> frozenset[str]:
        """The names that a construct inside of the unit binds."""
        if self._bound is None:
            self._bound = frozenset(names_bound_in(self.unit.body))
        return self._bound

    @property
    def own(self) -> dict[str, Symbol]:
        """The symbols that the unit declares itself."""
        return self.declared.symbols

    def lookup(self, name: str) -> Symbol | None:
        """The symbol of a folded name in the unit; None: not known."""
        try:
            return self._symbols[name]
        except KeyError:
            answer = self.resolve(name)
            found = answer if isinstance(answer, Symbol) and name not in self.shadowed else None
            self._symbols[name] = found
            return found

    def resolve(self, name: str) -> Answer:
        """Like ``lookup``, but distinguishes absent from unknown, and does not look into
        constructs."""
        found = self._answers.get(name)
        if found is None:
            found = self._answers[name] = self._resolve(name)
        return found

    def _resolve(self, name: str) -> Answer:
        if not name.replace("$", "_").isidentifier():
            return Absence.UNKNOWN  # the name of a storage, which no declaration can mean
        if name in CONSTANT_MACROS:
            base = CONSTANT_MACROS[name]
            return built_in(name, "", Origin.PARAMETER, TypeSpec(base))
        visible = self.visible(name)
        if visible is not Absence.ABSENT:
            if isinstance(visible, Symbol):
                return self._implicitly_typed(visible)
            return visible
        return self._implicit(name)

    def visible(self, name: str) -> Answer:
        """The answer of declarations about a name: the unit's own, its modules' and its hosts'."""
        if name in self.declared.unclear:
            return Absence.UNKNOWN
        own = self.declared.symbols.get(name)
        if own is not None:
            return own
        used = self.used(name, frozenset())
        # what mpif.h declares here, no module can have as well (F2018 14.2.2)
        if used is not Absence.ABSENT and not (self.declared.mpif and name in DECLARED):
            return self._of_host(name, used)
        if self.declared.mpif and name.startswith(("mpi_", "pmpi_")):
            return self._of_host(name, built_in(name, "mpif.h", Origin.MPI))
        kind = next((CONSTANTS[start] for start in CONSTANTS if name.startswith(start)), None)
        if self.declared.tiled and kind is not None:
            return built_in(name, HEADER, Origin.PARAMETER, TypeSpec(kind))
        if self.declared.may_declare(name):
            return Absence.UNKNOWN
        if self.lacks_host:
            return Absence.UNKNOWN
        host = self.host
        if host is None:
            return Absence.ABSENT
        found = host.visible(name)
        return seen_from_inside(found, host.unit) if isinstance(found, Symbol) else found

    def _of_host(self, name: str, used: Answer) -> Answer:
        """What a name means that USE or mpif.h seems to bring: that of a host, if MPI has none."""
        by_prefix = isinstance(used, Symbol) and used.origin is Origin.MPI
        if self.host is None or not by_prefix or is_standard_name(name):
            return used
        found = self.host.visible(name)
        if isinstance(found, Symbol) and (found.origin is not Origin.MPI or found.name != name):
            return seen_from_inside(found, self.host.unit)
        return used

    def used(self, name: str, visiting: frozenset[str]) -> Answer:
        """The symbol that the unit's USE statements make accessible under a name.

        Of an MPI module only the prefix of its names is known.  Another module that is seen to have
        the name, as its own or for another one of MPI, is the one that is meant: no reference to it
        would be valid if both had it (F2018 14.2.2).
        """
        answers = [self._through(use, name, visiting) for use in self.declared.uses]
        symbols = [answer for answer in answers if isinstance(answer, Symbol)]
        others = [one for one in symbols if one.origin is not Origin.MPI]
        symbols = others or [one for one in symbols if one.name != name] or symbols
        if symbols:
            same = all(symbol.identity == symbols[0].identity for symbol in symbols)
            return symbols[0] if same else Absence.UNKNOWN
        return Absence.UNKNOWN if Absence.UNKNOWN in answers else Absence.ABSENT

    def _through(self, use: Use, name: str, visiting: frozenset[str]) -> Answer:
        original = use.original_name(name)
        if original is None:
            return Absence.ABSENT
        module = None if use.intrinsic else self.scopes.module(use.module)
        if module is not None:
            return module.exported(original, visiting)
        if use.module in MPI_MODULES:
            if original.startswith(("mpi_", "pmpi_")):
                return built_in(original, use.module, Origin.MPI)
            return Absence.ABSENT
        if is_intrinsic_module(use.module):
            return intrinsic_module_name(use.module, original) or Absence.ABSENT
        if use.module in LIBRARY_MODULES and (is_intrinsic(original) or original in ADDED):
            return Absence.ABSENT
        return Absence.UNKNOWN

    def exported(self, name: str, visiting: frozenset[str] = frozenset()) -> Answer:
        """The symbol that a module makes accessible to units that use it."""
        if self.unit.name in visiting:
            self.scopes.is_circular = True  # no program is; what is found now depends on the way
            return Absence.ABSENT
        found = self._exported.get(name)
        if found is None:
            found = self._seen_by_users(name, visiting)
            if not self.scopes.is_circular:
                self._exported[name] = found
        return found

    def _seen_by_users(self, name: str, visiting: frozenset[str]) -> Answer:
        declared = self.declared
        own = declared.symbols.get(name)
        if self.hides(name):
            return Absence.ABSENT
        if name in declared.unclear:
            return Absence.UNKNOWN
        if own is not None:
            return self._implicitly_typed(own)
        used = self.used(name, visiting | {self.unit.name})
        if used is Absence.ABSENT:
            if declared.mpif and name.startswith(("mpi_", "pmpi_")):
                return built_in(name, "mpif.h", Origin.MPI)
            if declared.may_declare(name):
                return Absence.UNKNOWN
        return used

    def hides(self, name: str) -> bool:
        """Whether a module does not make a name accessible to units that use it (F2018 8.6.1)."""
        own = self.declared.symbols.get(name)
        if own is not None and own.attrs & {"public", "private"}:
            return "private" in own.attrs
        return name in self.declared.private or (
            self.declared.private_default and name not in self.declared.public
        )

    def _implicit(self, name: str) -> Answer:
        """A name that nothing declares: an intrinsic procedure, or implicitly typed."""
        typed = not self._implicit_none()
        own = (typed and name in plain_variables(self.unit)) or name in called_functions(self.unit)
        if is_intrinsic(name) and not own:
            return built_in(name, "", Origin.INTRINSIC)
        if not typed:
            return Absence.ABSENT
        if name in MPI_MODULES or name.startswith(("mpi_", "pmpi_")):
            return Absence.ABSENT
        host = self.host
        if host is not None and host.unit.kind not in ("module", "submodule"):
            return Absence.UNKNOWN  # the host's body may make it a variable of the host
        symbol = Symbol(
            name, name, self._implicit_type(name), None, frozenset({"implicit"}), None, None,
            Origin.LOCAL, self.unit.name, home=self,
        )  # fmt: skip
        return symbol

    def _implicitly_typed(self, symbol: Symbol) -> Symbol:
        variable = symbol.origin in (
            Origin.LOCAL, Origin.DUMMY, Origin.RESULT, Origin.COMMON, Origin.MODULE, Origin.HOST,
            Origin.PARAMETER,
        )  # fmt: skip
        if symbol.type is not None or not variable or not isinstance(symbol.home, Scope):
            return symbol
        home = symbol.home
        if home._implicit_none() or "procedure" in symbol.attrs:
            return symbol
        spec = home._implicit_type(symbol.name)
        return replace(symbol, type=spec, attrs=symbol.attrs | {"implicit"})

    def _implicit_none(self) -> bool:
        if self.declared.implicit_none:
            return True
        host = self._host_of_types
        return not self.declared.implicit and host is not None and host._implicit_none()

    @property
    def _host_of_types(self) -> Scope | None:
        """The host whose implicit types are this unit's, too: a submodule has its own (F2018
        8.7)."""
        return None if self.unit.kind == "submodule" else self.host

    def _implicit_type(self, name: str) -> TypeSpec | None:
        if name[0] in self.declared.implicit:
            return self.declared.implicit[name[0]]
        if self._host_of_types is not None:
            return self._host_of_types._implicit_type(name)
        return TypeSpec("integer" if name[0] in "ijklmn" else "real")


__all__ = [
    "Absence", "Answer", "Origin", "Scope", "Scopes", "Symbol", "constant", "element_bytes",
    "scope_of",
]  # fmt: skip
