"""Procedures with messages in the words of ``mpi_f08``: handles and statuses of derived types, and
calls without an error code."""

from __future__ import annotations

import re
from random import Random

_USE = re.compile(r"^(\s*)use mpi$", re.MULTILINE)
_DECLARED = re.compile(r"^(?P<begin>\s*)integer(?P<more>, allocatable)? :: (?P<names>.*)$")
_ENTITY = re.compile(r"\w+(?:\([^()]*\))?")
_STATUS = re.compile(r"\b(status|statuses|stats)\((MPI_\w+)(?:,(\w+))?\)")
_COMMUNICATOR = re.compile(
    r"\binteger (?=function (\w+)\(\)(?:\n.*)*?\n *\1 = MPI_COMM_WORLD$)", re.MULTILINE
)
# a module that only holds a request
_HOLDING = re.compile(r"^(\s*)(module holdpend_\w+)$", re.MULTILINE)
_CLEARED = re.compile(r"^(\s*)(status|statuses|stats) = 0$", re.MULTILINE)
_ONE_CLEARED = re.compile(r"^(\s*)status%MPI_SOURCE = 0$", re.MULTILINE)  # its count is asked for
_ERROR = re.compile(r",\s*(?:&\s*)?(?:\n\s*&?\s*)?ierr\)$", re.MULTILINE)
_ASKS = re.compile(r"MPI_Comm_(?:rank|size)\(.*$")
# what an argument list belongs to
_LISTED = re.compile(r"\b(?:subroutine |call (MPI_)?)")
# requests, and which variables are statuses and data types
_REQUESTS = re.compile(r"(req|r|requests|more)\(|[sr]req\b|pend_")
_STATUSES = re.compile(r"(status|statuses|stats)\(")
_SEVERAL = re.compile(r"\(MPI_STATUS_SIZE,(\w+)\)")
_DATATYPES = ("row", "column", "rows")  # declared together


def typed(text: str, random: Random) -> str | None:
    """The same procedure with ``mpi_f08``; None: it has no module for MPI.  All, some or none of
    its calls lack the error code, but those that ask for ranks, which define it."""
    if not _USE.search(text):
        return None
    text = _USE.sub(r"\1use mpi_f08", text)
    text = "\n".join(_declared(line) for line in text.split("\n"))
    text = re.sub(r"statuses\(MPI_STATUS_SIZE,(?:\s*&)?\s*", "statuses(", text)
    text = _CLEARED.sub(r"\1\2%MPI_SOURCE = 0", text)
    text = _ONE_CLEARED.sub(r"\g<0>\n\1call MPI_Status_set_elements(status, MPI_INTEGER, 0)", text)
    text = _COMMUNICATOR.sub("type(MPI_Comm) ", text)
    text = _HOLDING.sub(r"\1\2\n\1use mpi_f08, only: MPI_Request", text)
    text = _STATUS.sub(_component, text)
    given = random.choice([0.0, 0.5, 1.0])
    return _ERROR.sub(lambda found: _error(found, text, given, random), text)


def _declared(line: str) -> str:
    """A declaration of integers, and of what is none any more."""
    found = _DECLARED.match(line)
    if found is None:
        return line
    entities = _ENTITY.findall(found["names"])
    kinds: dict[str, list[str]] = {}
    for entity in entities:
        if _STATUSES.match(entity):
            name = entity.partition("(")[0]
            several = _SEVERAL.search(entity)
            own = name + ("(:)" if ":,:" in entity else f"({several[1]})" if several else "")
            kind = "type(MPI_Status)"
        elif entity in _DATATYPES and "column" in entities:
            kind, own = "type(MPI_Datatype)", entity
        else:
            kind, own = "type(MPI_Request)" if _REQUESTS.match(entity) else "integer", entity
        kinds.setdefault(kind, []).append(own)
    if set(kinds) == {"integer"}:
        return line
    more = found["more"] or ""
    return "\n".join(
        f"{found['begin']}{kind}{more} :: {', '.join(names)}" for kind, names in kinds.items()
    )


def _component(found: re.Match[str]) -> str:
    name, field, index = found.groups()
    return f"{name}%{field}" if index is None else f"{name}({index})%{field}"


def _error(found: re.Match[str], text: str, given: float, random: Random) -> str:
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    *_, of = _LISTED.finditer(text, 0, found.start())
    stays = of[1] is None or _ASKS.search(line) is not None or random.random() < given
    return found[0] if stays else ")"
