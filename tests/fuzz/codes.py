"""Where the error code of a random procedure is, and who looks at it.

The code is a local variable, is passed out, or is a variable of a module or a COMMON block; then a
procedure around prints what is left in it.  Sometimes a statement between the others stores another
value, or reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

CODES = ("local", "local", "passed", "passed", "module", "common")
_SEEN = ("t = t + ierr", "if (ierr /= 0) s = s + 1", "if (ierr == MPI_SUCCESS) t = t - 0.5d0")
_OTHER = "ierr = 7"
_CHECKS = (
    ("if (ierr /= MPI_SUCCESS) stop 3",),
    ("if (ierr /= 0) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)",),
    ("if (ierr /= MPI_SUCCESS) then", "print *, 'error', ierr", "stop 4", "end if"),
    ("if (ierr .ne. 0) return",),
    ("if (ierr /= MPI_SUCCESS) then", "print *, 'error', ierr", "return", "end if"),
    ("call look_{tag}(ierr)",),
)


@dataclass(frozen=True)
class Code:
    """One choice, for the procedure of a tag."""

    tag: str
    where: str

    @classmethod
    def chosen(cls, random: Random, tag: str) -> Code:
        """One of all."""
        return cls(tag, random.choice(CODES))

    @property
    def is_seen(self) -> bool:
        """Whether somebody outside may look at it."""
        return self.where != "local"

    @property
    def name(self) -> str:
        """The procedure with the statements."""
        return f"codes_{self.tag}" if self.is_seen else self.tag

    @property
    def before(self) -> tuple[str, ...]:
        """What stands in front of all procedures."""
        if self.where != "module":
            return ()
        module = f"code_of_{self.tag}"
        return (f"module {module}", "implicit none", "integer :: ierr", f"end module {module}")

    @property
    def uses(self) -> tuple[str, ...]:
        """Where the variable comes from."""
        return (f"use code_of_{self.tag}",) if self.where == "module" else ()

    @property
    def declared(self) -> tuple[str, ...]:
        """Its declaration in the procedure."""
        match self.where:
            case "passed":
                return ("integer, intent(inout) :: ierr",)
            case "common":
                return ("integer :: ierr", f"common /error_{self.tag}/ ierr")
        return () if self.is_seen else ("integer :: ierr",)

    @property
    def _look(self) -> tuple[str, ...]:
        """A procedure that does something in case of an error."""
        return (
            f"subroutine look_{self.tag}(code)", "implicit none", "integer :: code",
            "if (code == 0) return", "print *, 'error', code", "stop 5",
            f"end subroutine look_{self.tag}",
        )  # fmt: skip

    @property
    def around(self) -> tuple[str, ...]:
        """The procedure that calls the one with the statements."""
        if not self.is_seen:
            return ()
        own = self.declared if self.where == "common" else ()
        own = ("integer :: ierr",) if self.where == "passed" else own
        given = "(ierr)" if self.where == "passed" else ""
        return (
            f"subroutine {self.tag}", *self.uses, "implicit none", *own, _OTHER,
            f"call {self.name}{given}", "call fz_integer('ierr', [ierr], 1)",
            f"end subroutine {self.tag}", *self._look,
        )  # fmt: skip

    def arguments(self, *others: str) -> str:
        """The dummy arguments of the procedure, in parentheses, or nothing."""
        given = (*others, "ierr") if self.where == "passed" else others
        return f"({', '.join(given)})" if given else ""

    def body(self, lines: list[str], random: Random) -> list[str]:
        """The statements with some that store or read the code, or do something in case of an
        error."""
        found = list(lines)
        kinds = random.choice([_CHECKS, ((_OTHER,), *((seen,) for seen in _SEEN))])
        for _ in range(random.choice([0, 1, 2, 3]) if self.is_seen else 0):
            place = random.randint(0, len(found))
            found[place:place] = [line.format(tag=self.tag) for line in random.choice(kinds)]
        return found


def is_code_seen(text: str) -> bool:
    """Whether a procedure prints the error code of another one."""
    return "'ierr', [ierr]" in text
