"""Files of other languages in the tree: whether they may call a Fortran procedure.

``main`` is taken from the text of C: no tree of C is read.  What is not plain there, a main program
in one configuration or names that are put together, is no main program here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from asphalt.frontend.source_tree.scan import find_foreign
from asphalt.support.word_sets import words

_PASTE = re.compile(r"\w\s*##\s*_")
_UNDERSCORED = re.compile(r"\w\s*##\s*__?(?!\w)")
_NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.MULTILINE)
_MAIN = re.compile(r"\bmain\s*\(", re.IGNORECASE)
_DEFINED_MAIN = re.compile(r"(?<!\w)int\s+main\s*\([^(){};]*\)\s*\{")
_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include\b(?:[ \t]*<([^>\n]*)>|[ \t]*\"([^\"\n]*)\"|(.*))", re.MULTILINE
)
_BY_STRING = re.compile(r"\bdlsym\b|\bgetprocaddress\b")
_RENAMED = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+main\b", re.MULTILINE)
_COMPILED = frozenset([".c", ".cc", ".cpp", ".cxx"])
_KNOWN_HEADERS = words(
    "assert ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool"
    " stddef stdint stdio stdlib string tgmath time unistd mpi omp getopt libgen strings"
)
"""The headers of C (C11 7.1.2), of POSIX, and of MPI and OpenMP, which name nothing of Fortran."""


class ForeignFiles:
    """The C and C++ files below some roots; each is read on the first question about it.

    ``parts``: files whose text stands in a Fortran file, and is asked for there, whatever their
    suffix.
    """

    def __init__(self, roots: Sequence[Path], parts: Iterable[str] = ()) -> None:
        self._roots = roots
        self._parts = frozenset(map(os.path.abspath, parts))
        self._texts: dict[str, str] | None = None
        self._mains: dict[str, bool] = {}
        self._mentioning: dict[str, tuple[str, ...]] = {}

    def mentioning(self, name: str) -> tuple[str, ...]:
        """The files that hold a procedure or module variable of Fortran by a name that compilers or
        header macros give it: ``name_``, ``__module_MOD_name``, ``FC_FUNC(name, NAME)``,
        ``F77(name)`` with ``##``."""
        if name not in self._mentioning:
            self._mentioning[name] = tuple(self._search(name))
        return self._mentioning[name]

    def containing(self, name: str) -> tuple[str, ...]:
        """The files that contain an identifier, in any case."""
        return tuple(self._matching(name, rf"(?<!\w){re.escape(name)}(?!\w)"))

    def naming(self, name: str) -> tuple[str, ...]:
        """The files that contain an identifier, in any case, by itself or at the end of another one
        behind an underscore, with or without underscores behind it."""
        return tuple(self._matching(name, rf"(?<![^\W_]){re.escape(name)}_*(?!\w)"))

    def _matching(self, name: str, pattern: str) -> Iterator[str]:
        """The files that a pattern matches which contains a name."""
        return (path for path, text in self._with(name) if re.search(pattern, text))

    def _with(self, name: str) -> Iterator[tuple[str, str]]:
        """Path and text of the files that contain some letters: most questions end here."""
        return ((path, text) for path, text in self._foreign if name in text)

    def has_main(self, procedures: Iterable[str]) -> bool:
        """Whether one file has the main program, it refers to one of some procedures of Fortran,
        and all names of procedures that such files refer to stand in them."""
        mains = self.mains()
        if list(mains.values()) != [True] or not self._names_are_whole():
            return False
        (main,) = mains
        return any(main in self.mentioning(name) for name in procedures)

    def mains(self) -> Mapping[str, bool]:
        """The files in which ``main`` seems to be declared or called, and whether this is surely
        the definition of a main program, whatever is given to the preprocessor."""
        self.texts()
        parts = self._parts
        return {p: sure for p, sure in self._mains.items() if os.path.abspath(p) not in parts}

    def _names_are_whole(self) -> bool:
        """Whether no macro, string or header that is not in the tree can name a procedure whose
        name does not stand in the files."""
        known = {os.path.basename(path).lower() for path in self.texts()}
        known |= {f"{name}.h" for name in _KNOWN_HEADERS}
        return not any(
            "##" in _UNDERSCORED.sub("", text)
            or _BY_STRING.search(text)
            or any(not _is_header(one, known) for one in _INCLUDE.finditer(text))
            for text in self.texts().values()
        )

    def _search(self, name: str) -> Iterator[str]:
        word = re.escape(name)
        given = (
            rf"(?<!\w)(?:{word}__?(?!\w)|{word}\s*,\s*{word}\b|(?:\w*_mod_|_qm\w+p){word}(?!\w))"
        )
        pasted = rf"\w\s*\(\s*{word}\s*\)"
        for path, text in self._with(name):
            if re.search(given, text) or (re.search(pasted, text) and self._pastes()):
                yield path

    def _pastes(self) -> bool:
        """Whether a macro puts names together."""
        return any(_PASTE.search(text) for _, text in self._foreign)

    @cached_property
    def _foreign(self) -> tuple[tuple[str, str], ...]:
        """Path and text of the files that are no parts of Fortran files."""
        texts = self.texts().items()
        return tuple(one for one in texts if os.path.abspath(one[0]) not in self._parts)

    def texts(self) -> dict[str, str]:
        """The content of each file in lower case, by path, sorted."""
        if self._texts is None:
            self._texts = {}
            for path in find_foreign(self._roots):
                try:
                    content = path.read_bytes().decode("latin-1")
                except OSError:
                    continue
                self._texts[str(path)] = content.lower()
                code = _NO_CODE.sub(" ", content)
                if _MAIN.search(code) or _RENAMED.search(code):
                    self._mains[str(path)] = path.suffix.lower() in _COMPILED and _defines_main(
                        code
                    )
        return self._texts


def _is_header(directive: re.Match[str], known: Collection[str]) -> bool:
    """Whether the name in an #include directive is that of a header in the tree, or of one that
    names nothing of Fortran: of C, POSIX, or (without a dot) C++."""
    system, own, other = directive.groups()
    if other is not None:
        return False
    name = os.path.basename(system or own)
    return name in known or (system is not None and ("." not in name or system.startswith("sys/")))


def _defines_main(code: str) -> bool:
    """Whether text of C, without comments, defines a main program under no condition and in no
    braces."""
    found = [one.start() for one in _DEFINED_MAIN.finditer(code)]
    if len(found) != 1 or len(_MAIN.findall(code)) != 1 or _RENAMED.search(code):
        return False
    before = [one.group(1) for one in _DIRECTIVE.finditer(code[: found[0]])]
    depth = sum(word.startswith("if") for word in before) - before.count("endif")
    plain = _DIRECTIVE.sub("", code[: found[0]])
    return depth == 0 and plain.count("{") == plain.count("}")
