"""The MPI names of an inlined procedure: its caller must have, or get, the same binding of MPI."""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.inlining.external_functions import check_undeclared_externals
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.intrinsic_modules import MPI_MODULES
from asphalt.analysis.names.mpi_constants import is_standard_name
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.names.visibility import chain
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Call, UseItem

_PREFIXES = ("mpi_", "pmpi_", "smpi_")
_ANOTHER = "the caller uses another MPI binding than the procedure"


@dataclass
class MpiNames:
    """The names of MPI in one procedure that is inlined into a caller.

    ``here``: all words of the caller.  ``uses``: gets the modules that the caller lacks.
    ``header``: whether it lacks the include file.
    """

    callee: Scope
    caller: Scope
    here: frozenset[str]
    uses: dict[tuple[str, UseItem | None], None]
    header: bool = False

    def procedure(self, call: Call, binding: str) -> None:
        """Resolve the procedure of a call of MPI, which has this binding in the callee.

        Raises:
            RefusedError: the caller has another binding, or demands that external procedures are
                declared: MPI's modules need not have interfaces of all (MPI-4.0 section 19.1.3).
        """
        assert isinstance(call.procedure, Ref)
        if "f08" not in binding and call.procedure.name not in self.here:
            check_undeclared_externals(self.caller.located.chain)
        found = mpi_call(call, self.caller)
        if found is not None and found.binding == binding:
            return
        if binding not in MPI_MODULES:
            if found is None or "f08" in found.binding or found.binding == "unknown":
                raise RefusedError(MEANING, _ANOTHER)
            return  # an explicit interface is only stricter
        self._module(binding, call.procedure.name)

    def name(self, name: str, symbol: Symbol) -> None:
        """Resolve a constant or type of MPI.

        Raises:
            RefusedError: the caller has another binding.
        """
        other = self.caller.lookup(name)
        known = other is not None and other.origin is Origin.MPI and other.name == symbol.name
        if other is not None and known and ("f08" in other.owner) == ("f08" in symbol.owner):
            return
        if symbol.owner in MPI_MODULES:
            self._module(symbol.owner, name)
        else:
            self._check_free()
            self.header = True

    def given_by(self, name: str, symbol: Symbol) -> str | None:
        """The module of the program from which the procedure has a name of the include file, or
        another name of a constant, if the caller does not have that."""
        other = self.caller.lookup(name)
        renamed = symbol.name != name
        if renamed and other is not None and other.identity == symbol.identity:
            return None
        of_mpi = symbol.owner in MPI_MODULES or (other is not None and other.origin is Origin.MPI)
        if of_mpi and not renamed:
            return None
        for scope in chain(self.callee):
            if scope.declared.mpif and not renamed:
                return None
            for use in scope.declared.uses:
                module = self.callee.scopes.module(use.module)
                names = [item.name for item in use.items if item.local == name]
                if module is None or (use.only and names != [name]):
                    continue
                found = module.exported(name)
                if isinstance(found, Symbol) and found.origin is Origin.MPI:
                    return use.module
        return None

    def _module(self, module: str, name: str) -> None:
        own = {use.module for one in chain(self.caller) for use in one.declared.uses}
        header = any(one.declared.mpif for one in chain(self.caller))
        if own & MPI_MODULES == {module} and not header:
            other = self.caller.lookup(name)  # an ONLY list does not have it
            if other is None and name not in self.here:
                self.uses[module, UseItem(name, name)] = None
                return
            items = (i for s in chain(self.callee) for u in s.declared.uses for i in u.items)
            original = next((i.name for i in items if i.local == name != i.name), None)
            if original is not None:
                raise RefusedError(MEANING, f"the procedure renames {original}")
            raise RefusedError(MEANING, f"{name} is something else in the caller")
        self._check_free()
        for scope in chain(self.callee):
            for use in scope.declared.uses:
                if use.module == module:
                    for item in use.items:
                        if item.local != item.name:
                            raise RefusedError(MEANING, f"the procedure renames {item.name}")
                    for listed in use.items if use.only else (None,):
                        self.uses[module, listed] = None
                    return
        raise RefusedError(MEANING, f"the procedure has the names of {module} from another module")

    def _check_free(self) -> None:
        """Refuse a caller with another MPI binding, or with names that the modules declare."""
        for scope in chain(self.caller):
            if scope.declared.mpif or any(u.module in MPI_MODULES for u in scope.declared.uses):
                raise RefusedError(MEANING, _ANOTHER)
        for name in self.here:
            if name.startswith(_PREFIXES) and is_standard_name(name):
                message = f"the caller declares {name} without the declarations of MPI"
                raise RefusedError(MEANING, message)
