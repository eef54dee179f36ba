"""What replaces the other names of an inlined procedure in its caller.

An entity that both can access is the same one, perhaps under another name.  Local variables and
named constants are declared in the caller, under their own names where these are free.  A module
that is compiled before the caller can be used.  No other entity can be made accessible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePath

from asphalt.analysis.call_graph.call_sites import unit_key
from asphalt.analysis.effects.argument_binding import same_constant
from asphalt.analysis.inlining.codes import KEPT, MEANING, TEXT, RefusedError
from asphalt.analysis.inlining.external_functions import has_function, is_external_function
from asphalt.analysis.inlining.mpi_names import MpiNames
from asphalt.analysis.inlining.publishing import may_become_public
from asphalt.analysis.inlining.replacement import Renamed, Replacement
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.intrinsic_modules import is_intrinsic_module
from asphalt.analysis.names.intrinsics import may_be_intrinsic
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.resolve import specific_named
from asphalt.analysis.names.scopes import Absence, Origin, Scope, Symbol
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.analysis.names.used_names import used_names
from asphalt.analysis.names.visibility import (
    chain,
    common_layout,
    constant_length,
    declared_in,
    has_interface,
    hidden_component,
    is_included,
    is_private,
    used_before,
    words_of,
)
from asphalt.ir.expr import Arg, ImpliedDo, Lit, OpaqueExpr, Ref, walk
from asphalt.ir.mapped import literal_kind
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Call, Include, Use, UseItem
from asphalt.ir.tree import Leaf, Node, leaves

_LONGEST = 50  # with a number, of the 63 characters of F2018 6.2.2
_IN_COMMON = frozenset({"implicit", "dimension", "save"})
_PLAIN = frozenset({"asynchronous", "target", "allocatable", "implicit", "dimension", "contiguous"})


@record
class Needed:
    """The declarations that the caller's specification part lacks.

    ``variables``: symbols of the procedure, each with its new name; ``constants`` likewise, in
    order of dependence; ``commons``: the members of COMMON blocks, by block.
    ``shown``: names that modules have to make public, by module.
    """

    uses: tuple[Use, ...]
    header: bool
    includes: tuple[str, ...]
    constants: tuple[tuple[str, Symbol], ...]
    variables: tuple[tuple[str, Symbol], ...]
    commons: Mapping[str, tuple[tuple[str, Symbol], ...]]
    shown: Mapping[str, tuple[str, ...]]


@dataclass
class InlinedNames:
    """The names of one procedure that is inlined into a caller; ``dummies`` are given.

    ``after_procedure``: new names end with that of the procedure, instead of having the prefix of
    asphalt, which a procedure with an exchange must not use.  ``reserved``: names that the caller
    does not have yet, and that are taken all the same.
    """

    callee: Scope
    caller: Scope
    dummies: frozenset[str]
    after_procedure: bool = False
    reserved: frozenset[str] = frozenset()
    names: dict[str, Replacement] = field(default_factory=dict)
    _uses: dict[tuple[str, UseItem | None], None] = field(default_factory=dict)
    _constants: list[tuple[str, Symbol]] = field(default_factory=list)
    _variables: list[tuple[str, Symbol]] = field(default_factory=list)
    _commons: dict[str, tuple[tuple[str, Symbol], ...]] = field(default_factory=dict)
    _includes: dict[str, None] = field(default_factory=dict)
    _included: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _shown: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._here = words_of(self.caller.unit) | self.reserved
        self._taken: set[str] = {*self._here} | words_of(self.callee.unit)
        self._from_modules = used_names(self.caller)
        self._mpi = MpiNames(self.callee, self.caller, self._here, self._uses)

    def body(self, nodes: Iterable[Node]) -> None:
        """Resolve all names in some statements.

        Raises:
            RefusedError: one of them is not accessible in the caller.
        """
        for node in nodes:
            for leaf in leaves(node):
                for what in actions(leaf.what):
                    if isinstance(what, Call):
                        self._called(what)
                    for expr in expressions_of(what):
                        self.expression(expr)
                    for option in what.options if isinstance(what, Allocation) else ():
                        if option.name == "type":
                            raise RefusedError(TEXT, "an ALLOCATE statement names a type")

    def needed(self) -> Needed:
        """The missing declarations."""
        modules: dict[str, list[UseItem] | None] = {}
        for module, item in self._uses:
            listed = modules.setdefault(module, [])
            if item is None:
                modules[module] = None
            elif listed is not None:
                listed.append(item)
        uses = tuple(
            Use(module, items is not None, tuple(items or ())) for module, items in modules.items()
        )
        constants, variables = tuple(self._constants), tuple(self._variables)
        shown = {module: tuple(names) for module, names in self._shown.items()}
        includes, commons = tuple(self._includes), dict(self._commons)
        return Needed(uses, self._mpi.header, includes, constants, variables, commons, shown)

    def new_name(self, name: str, spelled: str) -> str:
        """The name itself where it is free in the caller, else a new one."""
        if name not in self._here and self.caller.visible(name) is Absence.ABSENT:
            return spelled
        new = next(new for new in self._numbered(name) if not self._is_taken(new))
        self._taken.add(new)
        return new

    def _numbered(self, name: str) -> Iterator[str]:
        """New names for a variable."""
        own = f"{name}_{self.callee.unit.name}"
        if self.after_procedure and len(own) < _LONGEST:
            numbered = (own, *(f"{own}_{number}" for number in range(2, 10)))
            yield from (one for one in numbered if self.caller.visible(one) is Absence.ABSENT)
        yield from (f"asphalt_{name}_{number}" for number in count(1))

    def _is_taken(self, name: str) -> bool:
        """Whether the caller may not declare a name: it has it, or a module provides it."""
        return name in self._taken or name in self._from_modules

    # references

    def _called(self, call: Call) -> None:
        if not isinstance(call.procedure, Ref):
            raise RefusedError(MEANING, "a type-bound procedure is called")
        name = call.procedure.name
        if name in self._seen:
            return
        self._seen.add(name)
        mpi = mpi_call(call, self.callee)
        if mpi is not None:
            self._mpi.procedure(call, mpi.binding)
            return
        symbol = self.callee.lookup(name)
        if symbol is not None and symbol.origin is Origin.INTRINSIC:
            self._intrinsic(name)
        elif symbol is not None and symbol.origin is Origin.DUMMY:
            raise RefusedError(MEANING, f"{name} is a dummy procedure")
        else:
            self._procedure(name, symbol, called=True)

    def expression(self, expr: Arg) -> None:
        """Resolve the names in an expression."""
        hidden = hidden_component(expr, self.callee, self.caller)
        if hidden is not None:
            raise RefusedError(MEANING, f"the component {hidden} is private")
        for part in walk(expr):
            match part:
                case Ref(name=name):
                    self._name(name)
                case OpaqueExpr(names=names):
                    for name in sorted(names):
                        self._name(name)
                case ImpliedDo():  # its variable has the type of what has the name
                    for inner in (part.variable, *part.values, *part.bounds):
                        self.expression(inner)
                case Lit() if (kind := literal_kind(part)) is not None:
                    self._name(kind)

    def _name(self, name: str) -> None:
        if name in self._seen or name in self.dummies:
            return
        self._seen.add(name)
        symbol = self.callee.lookup(name)
        if symbol is None:
            raise RefusedError(MEANING, f"what {name} is in {self.callee.unit.name} is not known")
        if is_external_function(name, self.callee):
            if not has_function(name, self.callee, self.caller, self._here):
                self._taken.add(name)
                self._declared(symbol)
                self._variables.append((symbol.spelled, symbol))
            return
        match symbol.origin:
            case Origin.LOCAL:
                self._local(name, symbol)
            case Origin.PARAMETER:
                self._parameter(name, symbol)
            case Origin.COMMON:
                self._common(name, symbol)
            case Origin.MODULE | Origin.HOST:
                self._shared(name, symbol)
            case Origin.MPI:
                module = self._mpi.given_by(name, symbol)
                if module is None:
                    self._mpi.name(name, symbol)
                else:
                    self._use(name, module, name)
            case Origin.INTRINSIC:
                self._intrinsic(name)
            case Origin.PROCEDURE:
                self._procedure(name, symbol, called=False)
            case _:
                raise RefusedError(TEXT, f"{name} is a {symbol.origin.value}")

    # what belongs to the procedure alone

    def _local(self, name: str, symbol: Symbol) -> None:
        if symbol.attrs & {"save", "data"}:
            raise RefusedError(KEPT, f"{symbol.spelled} is saved")
        if symbol.equivalenced or symbol.attrs - _PLAIN:
            raise RefusedError(TEXT, f"{symbol.spelled} is not a plain variable")
        if symbol.type is None:
            raise RefusedError(MEANING, f"the type of {symbol.spelled} is not known")
        if symbol.type.base == "character" and constant_length(symbol) is None:
            raise RefusedError(TEXT, f"{symbol.spelled} has a length that is not constant")
        if symbol.type.base in ("type", "class"):
            self._derived(symbol)
        self.variable(name, symbol)

    def variable(self, name: str, symbol: Symbol) -> str:
        """The name of a new variable of the caller that replaces one of the procedure."""
        self._declared(symbol)
        new = self.new_name(name, symbol.spelled)
        self._rename(name, new)
        self._variables.append((new, symbol))
        return new

    def _derived(self, symbol: Symbol) -> None:
        """Accept a structure only if MPI declares its type, since that has no initial values."""
        name = (symbol.type.name or "").lower() if symbol.type is not None else ""
        of_mpi = self.callee.lookup(name)
        if of_mpi is None or of_mpi.origin is not Origin.MPI:
            raise RefusedError(
                TEXT, f"{symbol.spelled} is a structure whose type the procedure declares"
            )
        self._mpi.name(name, of_mpi)

    def _declared(self, symbol: Symbol) -> None:
        """The names in a declaration."""
        spec = symbol.type
        for expr in (spec.kind, spec.length) if spec is not None else ():
            if expr is not None:
                self.expression(expr)
        for dim in symbol.dims or ():
            for bound in (dim.lower, dim.upper):
                if bound is not None:
                    self.expression(bound)

    def _parameter(self, name: str, symbol: Symbol) -> None:
        other = self.caller.lookup(name)
        if (
            other is not None
            and other.origin is Origin.PARAMETER
            and (other.identity == symbol.identity or self._equal(name, symbol, other))
        ):
            return
        if symbol.home is not self.callee:
            self._use(name, symbol.owner, symbol.name)
            return
        if is_included(symbol, self.callee):
            self._include(name)
            return
        if symbol.initial is None or symbol.type is None:
            raise RefusedError(MEANING, f"the value of the constant {name} is not known")
        self._declared(symbol)
        self.expression(symbol.initial)
        new = self.new_name(name, symbol.spelled)
        self._rename(name, new)
        self._constants.append((new, symbol))

    def _equal(self, name: str, symbol: Symbol, other: Symbol) -> bool:
        if same_constant(symbol, other):
            return True
        ref = Ref(name, name)
        values = constant(ref, self.callee), constant(ref, self.caller)
        keys = symbol_key(symbol, self.callee), symbol_key(other, self.caller)
        return values[0] is not None and values[0] == values[1] and keys[0] == keys[1] is not None

    # what others see, too

    def _common(self, name: str, symbol: Symbol) -> None:
        other = self.caller.lookup(name)
        block = symbol.common_block or ""
        same = other is not None and other.origin is Origin.COMMON and other.common_block == block
        own = common_layout(self.callee, block)
        if own is not None and self._has_none(block):
            self._bring_common(block)
        elif not same or own is None or own != common_layout(self.caller, block):
            text = f"COMMON /{block}/ is not declared in {self.caller.unit.name or 'the caller'} "
            raise RefusedError(MEANING, f"{text}as in {self.callee.unit.name}")

    def _has_none(self, block: str) -> bool:
        """Whether the caller certainly does not declare a COMMON block, but could."""
        scopes = tuple(chain(self.caller))
        known = not any(one.declared.open or block in one.declared.unclear for one in scopes)
        own = block in self.callee.declared.commons and block not in self.caller.declared.symbols
        return known and own and not any(block in one.declared.commons for one in scopes)

    def _bring_common(self, block: str) -> None:
        """Declare a COMMON block in the caller; its members need not have the same names."""
        members = []
        for name in self.callee.declared.commons[block]:
            member = self.callee.lookup(name)
            if member is not None and is_included(member, self.callee):
                self._include(name)
                return
        for name in self.callee.declared.commons[block]:
            symbol = self.callee.lookup(name)
            if symbol is None or symbol.equivalenced or symbol.attrs - _IN_COMMON:
                raise RefusedError(MEANING, f"COMMON /{block}/ holds more than plain variables")
            if symbol.type is None or symbol.type.base in ("type", "class", "character"):
                raise RefusedError(MEANING, f"COMMON /{block}/ holds more than numbers")
            self._seen.add(name)
            self._declared(symbol)
            new = self.new_name(name, symbol.spelled)
            self._rename(name, new)
            members.append((new, symbol))
        self._commons[block] = tuple(members)

    def _include(self, name: str) -> None:
        """Brings in the include file that declares a name, with all else that it declares: it may
        be edited, so that nothing of it is copied."""
        here, there = (PurePath(s.located.path).parent for s in (self.callee, self.caller))
        for node in self.callee.unit.spec:
            what = node.what if isinstance(node, Leaf) else None
            found = None
            if isinstance(what, Include) and here == there:
                found = self.callee.program.include(self.callee.located, what.path)
            declared = declared_in(found or ())
            if not isinstance(what, Include) or declared is None or name not in declared:
                continue
            for other in sorted(declared):
                symbol = self.callee.lookup(other)
                own = symbol is None or symbol.origin in (Origin.LOCAL, Origin.DUMMY)
                taken = other in self._here or self.caller.visible(other) is not Absence.ABSENT
                if own or taken or other in self._seen - self._included - {name}:
                    raise RefusedError(MEANING, f"{what.path} declares {other}, too")
            self._seen |= declared
            self._included |= declared
            self._includes[what.path] = None
            return
        if name not in self._included:
            raise RefusedError(MEANING, f"the file that declares {name} is not included")

    def _shared(self, name: str, symbol: Symbol) -> None:
        other = self.caller.lookup(name)
        if other is not None and other.identity == symbol.identity:
            return
        if symbol.origin is Origin.HOST:
            raise RefusedError(MEANING, f"{name} belongs to the host of {self.callee.unit.name}")
        self._use(name, symbol.owner, symbol.name)

    def _procedure(self, name: str, symbol: Symbol | None, *, called: bool) -> None:
        """Resolve a procedure; ``called`` by a CALL statement, which needs no type."""
        other = self.caller.lookup(name)
        known = symbol is not None and symbol.span is not None and other is not None
        if symbol is not None and other is not None and known:
            known = symbol.identity == other.identity
        if known:
            return
        meant, here = specific_named(name, self.callee), specific_named(name, self.caller)
        of_module = meant is not None and len(meant.chain) > 1
        same = meant is not None and here is not None and unit_key(meant) == unit_key(here)
        if meant is not None and of_module:
            module = self.callee.scopes.module(meant.chain[0].name)
            inside = self.caller.located.chain[0].name == meant.chain[0].name
            private = not inside and is_private(meant.unit.name, module)
            if private and not may_become_public(meant.unit.name, module):
                raise RefusedError(MEANING, f"the procedure {name} is private")
        if same and of_module:
            return
        if meant is not None and len(meant.chain) == 2 and meant.chain[0].kind == "module":
            self._use(name, meant.chain[0].name, meant.unit.name)
            return
        plain = symbol is None or not symbol.attrs & {"generic", "procedure", "pointer"}
        unused = name not in self._here and self.caller.visible(name) is Absence.ABSENT
        external = plain and not of_module and not has_interface(name, self.callee)
        if may_be_intrinsic(name):  # where a unit does not declare it EXTERNAL
            declared = {one is not None and "external" in one.attrs for one in (symbol, other)}
            external = external and len(declared) == 1
        if external and called and (same or (meant is None and unused)):
            return
        if external and same and symbol is not None and other is not None:
            key = symbol_key(symbol, self.callee)
            if (
                "external" in other.attrs
                and key is not None
                and key == symbol_key(other, self.caller)
            ):
                return
        raise RefusedError(MEANING, f"the procedure {name} is not accessible in the caller")

    def _use(self, name: str, module: str, original: str) -> None:
        """Make a name of a module accessible."""
        if is_intrinsic_module(module):
            self._bring(name, module, original)
            return
        scope = self.caller.scopes.module(module)
        if scope is None or not isinstance(scope.exported(original), Symbol):
            given = scope is not None and specific_named(original, scope) is not None
            if not given or is_private(original, scope):
                if not may_become_public(original, scope):
                    message = f"{name} of module {module} is not accessible in the caller"
                    raise RefusedError(MEANING, message)
                self._shown.setdefault(module, {})[original] = None
        if module not in used_before(self.caller, (module,)):
            message = f"module {module}, which has {name}, may be compiled after the caller"
            raise RefusedError(MEANING, message)
        self._bring(name, module, original)

    def _bring(self, name: str, module: str, original: str) -> None:
        new = self.new_name(name, name)
        self._rename(name, new)
        self._uses[module, UseItem(new.lower(), original)] = None

    def _intrinsic(self, name: str) -> None:
        other, symbol = self.caller.lookup(name), self.callee.lookup(name)
        if other is None or other.origin is not Origin.INTRINSIC:
            raise RefusedError(MEANING, f"{name} is something else in the caller")
        if symbol is not None and symbol.owner != other.owner:
            raise RefusedError(MEANING, f"{name} is something else in the caller")

    def _rename(self, name: str, new: str) -> None:
        if new.lower() != name:
            self.names[name] = Renamed(new)
