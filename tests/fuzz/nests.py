"""The loop nests that compute and pack what is sent."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.names import Names
from fuzz.oddities import Oddity
from fuzz.program import DROPPED

_ELEMENT_CALLS = ("block", "slab", "planes")


def nest(names: Names, oddity: Oddity) -> list[str]:
    """The nest that defines the send buffer, and those before it that it copies from."""
    e = names.exchange
    value, before = e.value, []
    if e.work:
        before, value = _work(names)
        before += _format(e.middle, names)
        value += e.copied
    body = _plane(names, value, oddity)
    return [*before, *body]


def _over(
    variable: str, names: Names, body: Sequence[str], label: str = "", against: bool = False
) -> list[str]:
    e = names.exchange
    first, last = {
        "i": ("1", "n"),
        "c": ("1", "2"),
        "p": tuple(names.ranks.split(", ")),
        "z": (names.first, names.last),
    }[variable]
    bounds = f"{first}, {last}"
    if variable == "z" and e.down != against:
        bounds = f"{last}, {first}, -1"
    if label:
        return [f"do {label} {variable} = {bounds}", *body, f"{label} continue"]
    return [f"do {variable} = {bounds}", *body, "end do"]


def _order(names: Names) -> str:
    """The loops, from the outermost to the innermost."""
    e, inner = names.exchange, effective_inner(names)
    order = e.order
    if names.slab:
        order = order.replace("p", "")
    if e.shape == "line" or inner in ("section", "column call"):
        order = order.replace("i", "")
    if inner == "plane call":
        order = "z"
    if e.shape == "planes" and inner != "plane call":
        order += "c"
    return order


def _filled(template: str, names: Names, i: str, index: str, p: str = "p", c: str = "c") -> str:
    e = names.exchange
    element = names.subscripts(index, names.plane, p, c)
    corner = names.subscripts(index, str(e.lower), str(e.base), "1")
    words = names.known() | {
        "i": i,
        "I": index,
        "e": names.s + element,
        "received": names.r + corner,
    }
    return template.format(**words)


def _plane(names: Names, value: str, oddity: Oddity) -> list[str]:
    """The loops around the statements that define one plane."""
    e = names.exchange
    inner = effective_inner(names)
    index, i = ("i", "i")
    if e.shape == "line":
        index, i = "1", "1"
    elif inner == "section":
        index, i = ":", "2"
    target = names.s + names.subscripts(index, names.plane, "p")
    if oddity.subscript and inner == "loops":
        target = names.s + oddity.subscript.format(**_words(names))
    statements = _statements(names, value, inner, target, i, index, oddity)
    for loop in reversed(_order(names)):
        if loop == "z":
            lines = [*_format(e.each, names), *_format(oddity.each, names)]
            lines += statements
            lines += [*_format(e.end, names), *_format(oddity.end, names)]
            statements = _over("z", names, lines, f"{10 + names.q}" if e.labelled else "")
            if oddity.bounds:
                statements[0] = (
                    statements[0].split("=")[0] + "= " + oddity.bounds.format(**names.known())
                )
        else:
            statements = _over(loop, names, statements)
    return statements


def _words(names: Names) -> dict[str, str]:
    e = names.exchange
    plane, most = names.subscripts, f"max(1, {names.plane_count})"
    return names.known() | {
        "shuffled": plane("ix(i)", names.plane, "p"),
        "plane_shuffled": plane("i", f"iz({names.plane})", "p"),
        "elsewhere": plane("i", plane_of(names, 1), "p"),
        "modulo": plane("i", f"{e.lower}+mod(2*({names.plane}-({e.lower})), {most})", "p"),
    }  # fmt: skip


def plane_of(names: Names, back: int) -> str:
    """The plane that was completed ``back`` iterations before."""
    e = names.exchange
    return f"z{-e.shift + (back if e.down else -back):+d}".replace("+0", "")


def effective_inner(names: Names) -> str:
    """How a plane is written, where the shape allows it."""
    e = names.exchange
    if e.inner == "section" and e.shape == "line":
        return "loops"
    if e.inner == "column call" and e.shape not in _ELEMENT_CALLS:
        return "loops" if e.shape == "line" else "section"
    if e.inner == "plane call" and e.shape not in ("block", "slab"):
        return "loops"
    return e.inner


def _statements(
    names: Names, value: str, inner: str, target: str, i: str, index: str, oddity: Oddity
) -> list[str]:
    e = names.exchange
    if inner == "column call":
        section = names.s + names.subscripts(":", names.plane, "p")
        element = names.s + names.subscripts("1", names.plane, "p")
        actual = section if names.storage in ("pointer", "assumed") else element
        return [f"call {names.tag}_fill{names.q}({actual}, n, z + 10*me)"]
    if inner == "plane call":
        plane = f"z{-e.shift - e.lower + 1:+d}".replace("+0", "")
        return [f"call {names.tag}_plane{names.q}({names.s}, n, nz, np, {plane}, me)"]
    if inner == "function":
        value = f"{names.tag}_value{names.q}({i}, z, me)"
    right = _filled(value, names, i, "1:n" if inner == "section" else index)
    condition = f"if ({e.condition.format(**names.known())}) " if e.condition else ""
    condition = "" if inner == "section" else condition
    statements = [f"{condition}{target} = {right}"]
    if e.late and inner == "loops":
        plane = plane_of(names, e.late)
        inside = f"z <= {names.last}-{e.late}" if e.down else f"z >= {names.first}+{e.late}"
        before = names.s + names.subscripts(index, plane, "p")
        statements.append(f"if ({inside}) {before} = {before} + z")
    if inner != "section":
        statements += _format(oddity.inside, names)
    return statements


def _work(names: Names) -> tuple[list[str], str]:
    """A nest that computes first, and the value that is copied from it."""
    e, w = names.exchange, f"w{names.q}"
    index = i = "1" if e.shape == "line" else "i"
    if e.work in DROPPED:
        return _dropped(names, _filled(e.value, names, i, index), index)
    value = _filled(e.value, names, i, index, str(e.base), "1")  # there is no loop over ranks
    target = f"{w}({index},z)"
    body = [f"{target} = {value}"]
    if e.work == "carried":
        body = [f"{target} = 0.5d0*{w}({index},z-1) + {value}"]
    if e.shape != "line" and e.work != "columns":
        body = _over("i", names, body)
    lines = _over("z", names, body)
    if e.work == "reverse":
        first, last = names.first, names.last
        bounds = f"{first}, {last}" if e.down else f"{last}, {first}, -1"
        lines[0] = f"do z = {bounds}"
    if e.work == "columns" and e.shape != "line":
        lines = _over("i", names, lines)
    return lines, "{w}({I},z+1)" if e.work == "shifted" else "{w}({I},z)"


def _dropped(names: Names, value: str, index: str) -> tuple[list[str], str]:
    """A nest into an array that is only copied."""
    e = names.exchange
    body = [f"t{names.q}{names.source(index)} = {value}"]
    order = "z" if names.slab else "zp"
    order += "" if e.shape == "line" else "i"
    order += "c" if e.shape == "planes" else ""
    for loop in reversed(order):
        body = _over(loop, names, body, against=e.against)
    return body, f"t{names.q}{names.source('{I}')}"


def _format(templates: Sequence[str], names: Names) -> list[str]:
    return [line for template in templates for line in template.format(**names.known()).split("\n")]
