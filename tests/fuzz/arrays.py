"""Random procedures as ``halos`` has them, with statements for whole arrays and sections in place
of most loops.

``procedure(seed, number)`` is the text of one.  Sections overlap or lie apart, have strides of
either sign and vector subscripts; there are masks, reductions, functions with side effects, and an
allocatable array that gets its shape by assignment and is what a message sends.
"""

from __future__ import annotations

from random import Random

from fuzz.halos import HEAD, NEIGHBOURS, TAIL, Halos, Lines
from fuzz.text import free_form

_MORE = """\
  real(8), allocatable :: h(:)
  integer :: p(n)
"""
_BEGIN = """\
  p = [(n + 1 - i, i = 1, n)]
  h = 0.5d0*w
"""
_ENDS = """\
  call fz_real8('h', h, size(h))
"""
_INSIDE = """\
contains
  impure elemental function damped(z) result(d)
    real(8), intent(in) :: z
    real(8) :: d
    t = t*0.5d0 + z
    d = 0.5d0*z
  end function damped
"""
_COLUMNS = (("1", "n"), ("1", "n"), ("2", "n-1"), ("1", "n-1"), ("2", "n"))
_ROWS = (("1", "m"), ("1", "m"), ("2", "m-1"), ("1", "m-1"), ("max(1,k-1)", "m"), ("2", "m"))


def _shifted(ends: tuple[str, str], by: int) -> str:
    return ":".join(end if by == 0 else f"{end}{by:+d}" for end in ends)


class _Arrays(Halos):
    """The statements of one procedure."""

    def nest(self) -> Lines:
        """A statement for a part of a field, or two loops."""
        if self.random.random() < 0.2:
            return super().nest()
        a, b = self.random.sample(["u", "v"], 2)
        columns, rows = self.random.choice(_COLUMNS), self.random.choice(_ROWS)

        def part(name: str, i: int = 0, j: int = 0) -> str:
            return f"{name}({_shifted(columns, i)}, {_shifted(rows, j)})"

        near = [part(b, -1), part(b, 1), part(b, 0, -1), part(b, 0, 1), part(b)]
        value = "0.25d0*(" + " + ".join(self.random.sample(near, self.random.randint(1, 4))) + ")"
        target = part(a)
        match self.random.randrange(12):
            case 0 | 1:
                return [f"{target} = {target}*0.5d0 + {value}"]
            case 2:
                return [f"where ({part(b)} > 1) {target} = {value}"]
            case 3:
                return [f"where ({part(b)} > 1)", f"{target} = {value}",
                        "elsewhere", f"{target} = {target} + 1", "end where"]  # fmt: skip
            case 4:
                found = self.random.choice([f"sum({value})", f"max(0d0, maxval({value}))"])
                return [f"s = s*0.5d0 + {found}"]
            case 5:
                return [f"{target} = {part(a, 0, -1)}*0.5d0 + {value}"]
            case 6:
                return [self.random.choice([f"{a} = {a}*0.5d0 + {b}", f"{a} = {b}"])]
            case 7:
                (c, d), (r, q) = columns, rows
                return [f"forall (i = {c}:{d}, j = {r}:{q}) {a}(i,j) = {a}(i,j) + {b}(i,j-1)"]
            case 8:
                (c, d), (r, q) = columns, rows
                return [f"do concurrent (j = {r}:{q}, i = {c}:{d})",
                        f"{a}(i,j) = {a}(i,j)*0.5d0 + {b}(i-1,j)", "end do"]  # fmt: skip
            case 9:
                row = self.random.choice(["1:m:2", "m:1:-1", "2:m:2", "m:1:-2"])
                column = self.random.choice(["1:n:2", "n:1:-1", "2:n:2", "p", "1:n"])
                return [f"{a}({column}, {row}) = {a}({column}, {row})*0.5d0 + 1"]
        return [f"{target} = {value}"]

    def loop(self) -> Lines:
        """A statement for a line of elements, or what ``halos`` has."""
        if self.random.random() < 0.25:
            return super().loop()
        a = self.random.choice(["w", "x", "y", "e%low", "f%high", "u(1:n,2)", "h"])
        b = self.random.choice(["w", "x(p)", "y(n:1:-1)", "e%high", "f%low", "v(1:n,1)", "h(1:n)"])
        return [
            self.random.choice(
                [
                    f"{a} = 0.5d0*{a} + {b}" if a != "h" else f"h = {b}",
                    f"{a} = {b}",
                    "w(p(2:n) + 1) = w(p(2:n)) + 1",
                    f"x(p) = 0.5d0*{b}",
                    "x(1:n:2) = x(1:n:2)*0.5d0",
                    "x(2:n:2) = 1 - x(2:n:2)",
                    "h = [h(1:n), x]",
                    "s = s + size(h)",
                    f"y = damped({b})",
                    f"s = s*0.5d0 + dot_product(w, {b})",
                    "if (any(w > 9)) y = y*0.5d0",
                    "e%west = 0.5d0*f%east",
                ]
            )
        ]

    def side(self, field: str, columns: bool, number: int) -> tuple[Lines, str, str, str]:
        """The same with what is packed at once, also into an array that is allocated by that."""
        packed, sent, got, count = super().side(field, columns, number)
        if not packed or self.random.random() < 0.2:
            return packed, sent, got, count
        near = (("m", "n"), ("1", "1"))[number][columns]
        if columns:
            return [f"{sent} = {field}({near},1:m)"], sent, got, count
        if number == 0 and self.random.random() < 0.5:
            sent = "h"
        return [f"{sent} = {field}(1:n,{near})"], sent, got, count

    def unpacked(self, both: list[tuple[Lines, str, str, str]], field: str, columns: bool) -> Lines:
        """The same with sections."""
        if self.random.random() < 0.2:
            return super().unpacked(both, field, columns)
        lines: Lines = []
        for number, (packed, _, got, _) in enumerate(both):
            halo = (("0", "n+1") if columns else ("0", "m+1"))[number]
            if packed:
                part = f"{halo},1:m" if columns else f"1:n,{halo}"
                lines.append(f"{field}({part}) = {got}")
        return lines


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The name of the file and the text of one random procedure."""
    random = Random(f"arrays/{seed}/{number}")
    tag = f"y{number}"
    left, right = random.choice(NEIGHBOURS)
    n, m = random.randint(65, 70), random.randint(1, 6)  # fewer elements are no work
    own = "integer :: ierr\n"
    head = HEAD.format(name=tag, n=n, m=m, left=left, right=right, uses="", declared=own)
    declarations, begin = head.split("\n\n")
    tail = TAIL.format(name=tag).splitlines()
    body = _Arrays(random).body()
    inside = _INSIDE.splitlines() if any("damped(" in line for line in body) else []
    text = [
        *declarations.splitlines(), *_MORE.splitlines(), "", *begin.splitlines(),
        *_BEGIN.splitlines(), *body, *tail[:-1], *_ENDS.splitlines(), *inside, tail[-1],
    ]  # fmt: skip
    return f"{tag}.f90", free_form(line.strip() for line in text)
