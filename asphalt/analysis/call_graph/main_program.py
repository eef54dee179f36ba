"""Whether the main program is in the tree, and what files of other languages may do to names."""

from __future__ import annotations

from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.ir.program import Program


def has_main(program: Program) -> bool:
    """Whether the tree holds the main program, of Fortran or C: only then are all callers in it."""
    return bool(program.main_programs()) or program.has_foreign_main()


def named_elsewhere(program: Program, *names: str) -> str | None:
    """The file of another language that names one of some procedures or variables, where the main
    program is in such a language: it may call them, or define them."""
    if program.main_programs():
        return None
    return next((path for one in names for path in program.foreign_files_naming(one)), None)


def defined_elsewhere(program: Program, symbol: Symbol, holder: str) -> str | None:
    """Why the main program, in another language, may define a shared variable; None: it may not.

    ``holder``: the folded name of the COMMON block, or of the variable itself.  What has a binding
    label has another name there (F2018 18.10.2), also a COMMON block.
    """
    if program.main_programs():
        return None
    if "bind" in symbol.attrs or (
        symbol.origin is Origin.COMMON and _has_binding_labels(program, holder)
    ):
        return f"{symbol.name} may have a binding label, by which C may define it"
    path = named_elsewhere(program, symbol.name, holder)
    return None if path is None else f"{path} may define {symbol.name}"


def _has_binding_labels(program: Program, block: str) -> bool:
    """Whether a unit that names a COMMON block has the word BIND."""
    places = {
        (one.path, tuple(unit.name for unit in one.chain)) for one in program.mentions("bind")
    }
    return any(
        (one.path, tuple(unit.name for unit in one.chain)) in places
        for one in program.mentions(block)
    )
