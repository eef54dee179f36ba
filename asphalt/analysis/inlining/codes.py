"""Why a call of a procedure that communicates is not replaced by the procedure's body."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

RECURSION = Code(
    "ASP040",
    "the called procedure calls itself",
    "A procedure that calls itself, or its caller, directly or through others, has no body that "
    "could stand for the call: each call has variables of its own.",
    "Write the recursion as a loop.",
)
WAYS = Code(
    "ASP041",
    "the called procedure has other ways in or out",
    "ENTRY, alternate returns, and a RETURN in the middle of the body end or begin the procedure "
    "where a piece of another procedure cannot end or begin.  A RETURN as the last statement is "
    "none of these, nor is `if (condition) return` among the first level of statements.",
    "Put what would be skipped into an IF construct.",
)
KEPT = Code(
    "ASP042",
    "the called procedure keeps a variable from call to call",
    "A variable with SAVE, DATA or an initial value is one for all calls of the procedure, "
    "wherever they are.",
    "Make it a variable of a module, or an argument.",
)
ARGUMENT = Code(
    "ASP043",
    "an argument cannot stand for its dummy",
    "The dummy argument and what is passed for it differ in type, in rank, or in the extents of a "
    "dimension, so that a subscript of the one is none of the other; or a value is passed where "
    "the procedure changes its dummy; or an optional argument is missing; or the dummy has an "
    "attribute (POINTER, TARGET, VOLATILE ...) that the variable has not.",
    "Declare the dummy with the extents of the array that is passed, and pass the whole array.",
)
TWICE = Code(
    "ASP044",
    "one variable is passed under two names",
    "The procedure can reach the same variable through two arguments, or through an argument and "
    "by its own name, and changes it.  Fortran forbids this (F2018 15.5.2.13), and compilers make "
    "use of it: what happens differs from what the body would do in place of the call.",
    "Pass different variables, or only one of the two.",
)
MEANING = Code(
    "ASP045",
    "a name of the called procedure cannot be had in the caller",
    "A name in the procedure's body stands for something that the caller cannot see, or cannot see "
    "under a name of its own: a private variable of a module, a COMMON block that the caller does "
    "not declare in the same way, a module that is compiled after the caller.",
    "Declare in the caller what the procedure declares (the COMMON block, USE of the module).",
)
TEXT = Code(
    "ASP046",
    "a statement cannot be moved",
    "Preprocessor lines, directives, OpenMP, several statements on a line, a construct that gives "
    "names another meaning, a statement that is not understood, or text in the other source form: "
    "it may mean something else at the place of the call.",
    "Write the statements of the procedure, and its call, plainly and on lines of their own.",
)
LONG = Code(
    "ASP047",
    "the called procedure is too long",
    "The body would be written a second time, and has more statements than an exchange has.",
    "Divide the procedure, so that the exchange is one of its own.",
)

CODES = (RECURSION, WAYS, KEPT, ARGUMENT, TWICE, MEANING, TEXT, LONG)


class RefusedError(Exception):
    """An obligation that does not hold: a code, and what is the matter."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
