"""The invariant everything is built on: text to tree to text loses nothing, tree to text to tree
changes nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText, read_source
from asphalt.frontend.lexical.split import split
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Arm, Block, Branch, Do, File, Leaf, Node, Unit, leaves
from asphalt.unparse.reprint import text_of
from support.places import ROOT

SUFFIXES = (".f90", ".F90", ".f95", ".f03", ".f08", ".f", ".F", ".for", ".inc")


def _sources(*folders: Path) -> list[Path]:
    found = []
    for folder in folders:
        for directory, _, names in os.walk(folder):
            found += [Path(directory, name) for name in names if name.endswith(SUFFIXES)]
    return sorted(found)


def _no_printer(leaf: Leaf, indent: int) -> str:
    raise AssertionError(f"{leaf} printed at {indent}")


def _print_raw(leaf: Leaf, indent: int) -> str:
    assert isinstance(leaf.what, Raw)
    assert leaf.label is None
    return " " * indent + leaf.what.code + "\n"


def _joined(source: SourceText, cpp: CppFacts | None = None) -> str:
    """The text of all leaves and trivia of a split."""
    found, tail = split(source, cpp)
    parts = []
    for leaf in found:
        assert leaf.body is not None
        parts += [*(entry.text for entry in leaf.lead), leaf.head, leaf.body, leaf.trail]
    return "".join(parts) + "".join(entry.text for entry in tail)


def _mapped(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    def all_of(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(_mapped(inner, change) for inner in nodes)

    match node:
        case Leaf():
            return change(node)
        case Do(head, body, end):
            return Do(change(head), all_of(body), None if end is None else change(end))
        case Branch(kind, arms, end):
            changed = tuple(Arm(change(arm.head), all_of(arm.body)) for arm in arms)
            return Branch(kind, changed, change(end))
        case Block(kind, head, body, end):
            return Block(kind, change(head), all_of(body), change(end))
        case Unit():
            return _mapped_unit(node, change)


def _mapped_unit(unit: Unit, change: Callable[[Leaf], Leaf]) -> Unit:
    return replace(
        unit,
        head=None if unit.head is None else change(unit.head),
        spec=tuple(_mapped(node, change) for node in unit.spec),
        body=tuple(_mapped(node, change) for node in unit.body),
        contains=None if unit.contains is None else change(unit.contains),
        contained=tuple(_mapped_unit(inner, change) for inner in unit.contained),
        end=change(unit.end),
    )


def _mapped_file(file: File, change: Callable[[Leaf], Leaf]) -> File:
    return replace(
        file,
        units=tuple(_mapped_unit(unit, change) for unit in file.units),
        stray=tuple(change(leaf) for leaf in file.stray),
    )


def _meaning(file: File) -> File:
    """The tree without what text around the statements may differ in."""

    def bare(leaf: Leaf) -> Leaf:
        assert isinstance(leaf.what, Raw)
        code = " ".join(leaf.what.code.split())
        return Leaf(Raw(code), label=leaf.label, name=leaf.name)

    return replace(_mapped_file(file, bare), tail=(), path="")


def _check_file(path: Path) -> bool:
    """Checks one file; whether its units nest (without a preprocessor they may not)."""
    source = read_source(path)
    assert _joined(source) == source.text
    try:
        file = parse_file(source)
    except InputError:
        return False
    assert text_of(file, _no_printer) == source.bom + source.text
    if source.form is Form.FREE:
        moved = text_of(_mapped_file(file, lambda leaf: replace(leaf, shift=2)), _no_printer)
        again = parse_file(replace(source, text=moved.removeprefix(source.bom)))
        assert _meaning(again) == _meaning(file)
    return True


@pytest.mark.parametrize(
    "path", _sources(ROOT / "kernels", ROOT / "tests", ROOT / "fortran_runtime"), ids=str
)
def test_own_sources(path: Path) -> None:
    assert _check_file(path) or any(
        line.startswith("#") for line in path.read_text("latin-1").split("\n")
    )


def test_corpus() -> None:
    paths = _sources(ROOT / "build" / "corpus")
    if not paths:
        pytest.skip("there is no build/corpus (make corpus)")
    assert sum(_check_file(path) for path in paths) > 0.95 * len(paths)


# Awkward sources


_PIECES = st.sampled_from(
    [
        *("x = 1", "call f(a, b)", "10 continue", "do 10 i = 1, n", "do i = 1, n", "end do"),
        *("if (a) then", "end if", "end", "else", "subroutine s", "end subroutine", "contains"),
        *("name: do", "&", "&& ", ";", "; ;", "!", "! c & d", "!$omp do", "!$ x = 2", "c$omp"),
        *("#if A", "#endif", '#include "x"', "# define a \\", "'", '"', "'it''s'", '"a;b!c"'),
        *("'open &", "& closed'", "      ", "     1", "\t", "\t1", "5hdon't", "format (6h'; !'')"),
        *("/* c", "*/", "\f", "\x1a", "\xe9", "\xa0", "\x85", "1234", "  7 ", "C comment", "d bug"),
        *("*", "include 'x'"),
    ]
)
_LINES = st.tuples(
    st.sampled_from(["", " ", "      ", "     &", "   10 ", "\t"]),
    st.lists(_PIECES, max_size=4).map(" ".join),
    st.sampled_from(["", "", " &", " ! c", ";", " " * 60 + "seq"]),
    st.sampled_from(["\n", "\n", "\r\n", "\r", "\f\n", ""]),
).map("".join)
_TEXTS = st.one_of(
    st.lists(_LINES, max_size=12).map("".join),
    st.text(st.sampled_from(" \t\r\n&;!'\"#$*%()=,:/\\cdx019h\x0c"), max_size=120),
    st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=80),
)
_FORMS = st.sampled_from(list(Form))
_WIDTHS = st.sampled_from([0, 72, 80, 132])


@given(_TEXTS, _FORMS, _WIDTHS)
@settings(max_examples=600, deadline=None)
def test_awkward_text_is_kept(text: str, form: Form, width: int) -> None:
    source = SourceText("t", text, form, width)
    assert _joined(source) == text
    with contextlib.suppress(InputError):
        assert text_of(parse_file(source), _no_printer) == text


@st.composite
def _facts(draw: st.DrawFn, lines: int) -> CppFacts:
    numbers = st.integers(1, max(lines, 1))
    return CppFacts(
        dead=draw(st.frozensets(numbers, max_size=3)),
        changed=draw(st.dictionaries(numbers, _LINES.map(str.strip), max_size=3)),
        included=draw(st.dictionaries(numbers, _TEXTS, max_size=2)),
    )


@given(st.data(), _TEXTS, _FORMS)
@settings(max_examples=300, deadline=None)
def test_awkward_text_is_kept_whatever_the_preprocessor_does(
    data: st.DataObject, text: str, form: Form
) -> None:
    facts = data.draw(_facts(text.count("\n") + 1))
    assert _joined(SourceText("t", text, form, 72), facts) == text


_STATEMENTS = st.sampled_from(
    [
        "x = 1",
        "  x = 1 + & ! c\n\n     & 2",
        "x = 1; y = 2;",
        "call f('a&\n  &b', \"it's\") ! why",
        "10 continue ; 20 y = 3",
        "! comment\n  if (a) b = 1",
        "!$omp barrier\nend = 3",
        "#define A\nprint *, 'a;b' ; ; z = 1",
    ]
)


def _construct(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    many = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        many.map(lambda text: f"do i = 1, n ! loop\n{text}\nend do"),
        many.map(lambda text: f"outer: do; x = 0\n{text}\nend do outer"),
        many.map(lambda text: f"!$omp do\n  do 77 i = 1, n\n{text}\n  77 continue"),
        st.tuples(many, many).map(lambda two: f"if (a) then\n{two[0]}\nelse\n{two[1]}\nendif"),
        many.map(lambda text: f"select case (i)\ncase (1)\n{text}\nend select"),
    )


_BODIES = st.lists(st.recursive(_STATEMENTS, _construct, max_leaves=6), min_size=1, max_size=4).map(
    "\n".join
)


@given(_BODIES, st.integers(-3, 5), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=200, deadline=None)
def test_moving_changes_no_meaning(body: str, shift: int, eol: str) -> None:
    text = f"subroutine s\n{body}\nend\n".replace("\n", eol)
    source = SourceText("t", text, Form.FREE, 132, eol)
    file = parse_file(source)
    moved = text_of(_mapped_file(file, lambda leaf: replace(leaf, shift=shift)), _no_printer)
    assert _meaning(parse_file(replace(source, text=moved))) == _meaning(file)


_FIXED_STATEMENTS = st.lists(
    st.sampled_from(
        [
            "      x = 1",
            "\tx = 1\n\t1 + 2",
            "   10 x = 1 +\nc comment\n     & 2 ! why",
            "      x = 1; y = 2;  20 z = 3 ! c",
            "      x = 1".ljust(72) + "00000010",
            "      do 30 i = 1, n\n   30 x = x + 1",
            "* comment\n      if (a) then\n!$omp barrier\n      a = 'it''s'; end if",
        ]
    ),
    min_size=1,
    max_size=5,
).map("\n".join)


@pytest.mark.parametrize("form", list(Form))
@given(data=st.data(), chosen=st.sets(st.integers(0, 20)))
@settings(max_examples=200, deadline=None)
def test_rewriting_some_statements_changes_no_other(
    form: Form, data: st.DataObject, chosen: set[int]
) -> None:
    fixed = form is Form.FIXED
    body = data.draw(_FIXED_STATEMENTS if fixed else _BODIES)
    blank = "      " if fixed else ""
    text = f"{blank}subroutine s\n{body}\n{blank}end\n"
    source = SourceText("t", text, form, 72 if fixed else 132)
    file = parse_file(source)
    order = {id(leaf): number for number, leaf in enumerate(leaves(file))}

    def change(leaf: Leaf) -> Leaf:
        return replace(leaf, body=None) if order[id(leaf)] in chosen else leaf

    printed = text_of(_mapped_file(file, change), _print_raw)
    again = parse_file(replace(source, text=printed))
    assert _meaning(again) == _meaning(file)
