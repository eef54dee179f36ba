"""Small programs with a statement that asks what is the same on all ranks."""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.uniformity.uniformity import Level, NotUniform, Uniform, Uniformity
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Leaf, leaves
from support.fortran_program import FortranProgram

U, V, Q = Level.UNIFORM, Level.VARYING, Level.UNKNOWN
SITE = "subroutine site(n)\ninteger, intent(in), optional :: n\nend subroutine\n"


def _call_of_site(leaf: Leaf) -> Call | None:
    what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
    if isinstance(what, Call) and isinstance(what.procedure, Ref) and what.procedure.name == "site":
        return what
    return None


class Site:
    """The statement ``call site(expression)`` of a program: what it asks about.

    ``comm`` there is the communicator, if the unit knows it, else MPI_COMM_WORLD.
    """

    def __init__(self, program: FortranProgram, comm: str = "mpi_comm_world") -> None:
        self.scopes = Scopes(program)
        self.uniformity = Uniformity(self.scopes)
        root, *path = comm.split("%")
        self.comm: Expr = Ref(root, root)
        for name in path:
            self.comm = Component(self.comm, name, name)
        self.leaf: Leaf
        self.scope: Scope
        self.expr: Expr
        for located in program.all:
            for node in located.unit.body:
                for leaf in leaves(node):
                    call = _call_of_site(leaf)
                    if call is not None:
                        self.leaf = leaf
                        self.scope = self.scopes.of(located)
                        arg = call.args[0] if call.args else Ref("n", "n")
                        assert isinstance(arg, Expr)
                        self.expr = arg

    def value(self) -> Uniform | NotUniform:
        return self.uniformity.value(self.expr, self.scope, self.leaf, self.comm)

    def control(self) -> Level:
        return self.uniformity.control(self.scope, self.leaf, self.comm).level

    def reached(self) -> Level:
        return self.uniformity.reached(self.scope, self.leaf, self.comm).level


def level(found: Uniform | NotUniform) -> Level:
    return U if isinstance(found, Uniform) else found.level


def main(body: str, declarations: str = "", more: str = "", comm: str = "mpi_comm_world") -> Site:
    text = (
        f"program p\nuse mpi\n{'use types' if 'type(' in declarations else ''}\nimplicit none\n"
        "integer :: n, m, me, np, ierr, i, k, a(10), row, status(mpi_status_size)\n"
        f"{declarations}\ncall MPI_Init(ierr)\ncall MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)\n"
        f"call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)\n{body}\nend program\n"
    )
    return Site(FortranProgram(text, SITE, *([more] if more else [])), comm)
