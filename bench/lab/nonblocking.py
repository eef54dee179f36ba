"""The version ``ialltoall`` of a program: its exchanges non-blocking, and nothing else.

Before::

    call MPI_Alltoall(s, n, MPI_REAL, r, n, MPI_REAL, comm, ierr)

After::

    call MPI_Ialltoall(s, n, MPI_REAL, r, n, MPI_REAL, comm, asphalt_request, ierr)
    call MPI_Wait(asphalt_request, MPI_STATUS_IGNORE, ierr)

It shows the gain of the library's other algorithm alone.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from asphalt.analysis.exchange.site import calls_in
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing, procedure
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.expr import Arg, Expr, Keyword, Ref, TypeSpec
from asphalt.ir.insertion import last_declaration, last_use
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, Decl, Entity, Use, UseItem
from asphalt.ir.tree import File, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.declare import insert_behind
from asphalt.transforms.rewriting.edit import replace_unit, rewrite_list
from asphalt.transforms.rewriting.make import Maker, var
from asphalt.unparse.unparse import unparse
from bench.lab.case import ROOT
from bench.lab.places import place_for
from bench.lab.run import LabError
from bench.lab.transform import tool_state

NONBLOCKING = ROOT / "build" / "nonblocking"
REQUEST = "asphalt_request"
IGNORE = Ref("mpi_status_ignore", "MPI_STATUS_IGNORE")


def without_blocking(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with every all-to-all exchange made non-blocking, cached by content.

    Another process does it, since threads cannot share asphalt's workers.  Raises LabError for an
    exchange without such a form, and for one that is the action of an IF statement.
    """
    digest = hashlib.sha256(repr((tool_state(), sorted(files.items()))).encode()).hexdigest()
    place = NONBLOCKING / digest[:16]
    if not place.exists():
        with place_for(place) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
            done = subprocess.run(
                [sys.executable, "-m", "bench.lab.nonblocking", str(unfinished)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise LabError(f"no version without blocking\n{done.stderr[-3000:]}")
    return {name: (place / name).read_bytes() for name in files}


def change_in_place(folder: Path) -> None:
    """Make the exchanges of all files of a folder non-blocking."""
    tree = load_tree((folder,), Settings(cache=False, jobs=1))
    scopes = Scopes(tree)
    edited: dict[str, File] = {}
    for located in tree.site_units():
        file = edited.get(located.path) or tree.file(located.path)
        unit = _changed(located, scopes, file)
        if unit is not located.unit:
            edited[located.path] = replace_unit(file, located.unit, unit)
    tree.close()
    for path, file in edited.items():
        Path(path).write_bytes(unparse(file).encode("latin-1"))


def _changed(located: Located, scopes: Scopes, file: File) -> Unit:
    scope = scopes.of(located)
    unit = located.unit
    found = [
        (leaf, call, guarded, place)
        for leaf, call, guarded, place in calls_in(located, scope)
        if _all_to_all(call.procedure)
    ]
    if not found:
        return unit
    free = file.form is Form.FREE
    body = unit.body
    for leaf, call, guarded, place in reversed(found):
        if guarded:
            raise LabError(f"{Path(located.path).name}: an exchange under a one-line IF")
        make = Maker(_column(leaf, free), 2, free, file.eol)
        pair = _pair(leaf, call, make)

        def change(nodes: tuple[Node, ...], at: int = place.position) -> tuple[Node, ...]:
            return (*nodes[:at], *pair, *nodes[at + 1 :])  # noqa: B023

        body = rewrite_list(body, place.path, change)
    first = next(leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    make = Maker(_column(first, free), 2, free, file.eol)
    kind = TypeSpec("type", name="mpi_request") if _f08(found[0][1]) else TypeSpec("integer")
    entity = Entity(REQUEST, REQUEST, None)
    changed = replace(unit, body=body)
    if mpi_constant(IGNORE, scope) is None:
        item = UseItem(IGNORE.name, IGNORE.name)
        use = make.leaf(Use("mpi", True, (item,)))
        changed = insert_behind(changed, last_use(changed), (use,))
    declaration = make.leaf(Decl("type", kind, (), None, (entity,)))
    return insert_behind(changed, last_declaration(changed), (declaration,))


def _all_to_all(operation: MpiProcedure) -> bool:
    """Whether it is a blocking all-to-all exchange."""
    return (
        operation.exchange is not None
        and operation.collective
        and operation.timing is Timing.BLOCKING
        and operation.exchange.family.startswith("alltoall")
    )


def _f08(call: MpiCall) -> bool:
    return call.binding == "mpi_f08"


def _pair(leaf: Leaf, call: MpiCall, make: Maker) -> tuple[Leaf, Leaf]:
    """The two statements in place of the call."""
    spelled = call.procedure.spelled
    name = f"MPI_I{spelled.removeprefix('MPI_').lower()}"
    started = procedure(name.lower())
    if started is None:
        raise LabError(f"{spelled} has no non-blocking form")
    assert isinstance(leaf.what, Call)
    position = [p.name for p in started.parameters].index("request")
    given = leaf.what.args
    args: tuple[Arg, ...]
    if any(isinstance(arg, Keyword) for arg in given[:position]) or len(given) < position:
        args = (*given, Keyword("request", "request", var(REQUEST)))
    else:
        args = (*given[:position], var(REQUEST), *given[position:])
    error: tuple[Expr, ...] = () if call.error is None else (call.error,)
    wait = make.call("MPI_Wait", var(REQUEST), IGNORE, *error)
    return rewrite(leaf, Call(var(name), args)), wait


def _column(leaf: Leaf, free: bool) -> int:
    line = leaf.head.rsplit("\n", 1)[-1].expandtabs(8)
    return len(line) if free else max(0, len(line) - 6)


if __name__ == "__main__":
    change_in_place(Path(sys.argv[1]))
