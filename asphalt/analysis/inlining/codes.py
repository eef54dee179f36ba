"""Why a call of a procedure that communicates is not inlined."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

RECURSION = Code(
    "ASP040",
    "the called procedure calls itself",
    "The procedure calls itself or its caller, directly or through others.  Each call has "
    "variables of its own, so that no body can replace it.",
    "Write the recursion as a loop.",
)
WAYS = Code(
    "ASP041",
    "the called procedure has another entry or exit",
    "ENTRY, alternate returns, and a RETURN in the middle of the body enter or leave the "
    "procedure where a part of another procedure cannot be entered or left.  Allowed are a RETURN "
    "as the last statement, `if (condition) return` outside of constructs, and there IF constructs "
    "without ELSE each arm of which ends with RETURN.",
    "Put the statements that would be skipped into an IF construct.",
)
KEPT = Code(
    "ASP042",
    "the called procedure has a saved variable",
    "A variable with SAVE, DATA or an initial value is the same in all calls of the procedure, "
    "wherever they are.",
    "Make it a module variable or an argument.",
)
ARGUMENT = Code(
    "ASP043",
    "an actual argument cannot replace its dummy argument",
    "The dummy argument and the actual argument differ in type, in rank, or in the extent of a "
    "dimension, so that their subscripts do not correspond; or a value is passed for a dummy "
    "argument that the procedure changes; or an optional argument is missing; or the dummy "
    "argument has an attribute (POINTER, TARGET, VOLATILE ...) that the variable does not have.",
    "Declare the dummy argument with the extents of the array that is passed, and pass the whole "
    "array.",
)
TWICE = Code(
    "ASP044",
    "a variable has two names in the called procedure",
    "The procedure changes a variable that it can access through two arguments, or through an "
    "argument and by the variable's own name.  Fortran forbids this (F2018 15.5.2.13), and "
    "compilers rely on that: the call need not do what the body would do in its place.",
    "Pass different variables, or only one of the two.",
)
MEANING = Code(
    "ASP045",
    "a name of the called procedure is not accessible in the caller",
    "A name in the procedure's body stands for something that the caller cannot access, or cannot "
    "access under an unambiguous name: a private variable of a module, a COMMON block that the "
    "caller does not declare in the same way, a module that is compiled after the caller.",
    "Declare in the caller what the procedure declares (the COMMON block, USE of the module).",
)
TEXT = Code(
    "ASP046",
    "a statement cannot be copied to the place of the call",
    "Preprocessor lines, directives, OpenMP, several statements on a line, a construct that gives "
    "names another meaning, a statement that is not understood, or text in the other source form "
    "may mean something else at the place of the call.",
    "Write the statements of the procedure, and its call, plainly and on lines of their own.",
)
LONG = Code(
    "ASP047",
    "the called procedure is too long",
    "The body would be written a second time, and it has more statements than an exchange needs.",
    "Divide the procedure, so that the exchange is one of its own.",
)

CODES = (RECURSION, WAYS, KEPT, ARGUMENT, TWICE, MEANING, TEXT, LONG)


class RefusedError(Exception):
    """An obligation that does not hold, with its code."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
