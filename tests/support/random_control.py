"""Random procedures with every kind of control flow, in which each definition has its own number.

Definitions assign the number of their line; each use prints the number of its line and the value
that it sees, so that a run tells which definition reached which use, and in which order.  Every
condition comes from ``coin``, which gives 0 when it was asked too often: then all loops and jumps
end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

MODULE = """\
module coins
  implicit none
  integer :: state = 1, fuel = 0
  character(1) :: digits(0:1) = ['1', 'x']
contains
  integer function coin(n)
    integer, intent(in) :: n
    fuel = fuel - 1
    state = modulo(state*75 + 74, 65537)
    coin = 0
    if (fuel > 0) coin = modulo(state/7, n)
  end function coin
  subroutine put(x, number)
    integer, intent(out) :: x
    integer, intent(in) :: number
    x = number
  end subroutine put
  subroutine put_maybe(x, number)
    integer, intent(inout) :: x
    integer, intent(in) :: number
    if (coin(2) > 0) x = number
  end subroutine put_maybe
  subroutine branch(n, *, *)
    integer, intent(in) :: n
    if (n > 0) return n
  end subroutine branch
end module coins
"""
MAIN = """\
program main
  use coins
  implicit none
  integer :: seed
  do seed = 1, {runs}
{calls}
  end do
end program main
"""


@dataclass
class _Place:
    """Where the next statement stands: loops around it, and what names mean there."""

    depth: int
    loops: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ("a", "b", "c")  # scalars that can be defined
    values: tuple[str, ...] = ()  # names that can only be read
    arrays: tuple[str, ...] = ("e",)


@dataclass
class Procedure:
    """One procedure; its lines are counted in the file that it is written into."""

    name: str
    random: Random
    first_line: int
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.labels = [10 * n for n in range(1, 1 + self.random.randrange(4))]
        self._names = 0
        self._emit(f"subroutine {self.name}")
        for text in (
            "use coins", "implicit none",
            "integer :: a, b, c, e(3), i, j, k, l, shown, seen", "shown(k) = k + b - k",
        ):  # fmt: skip
            self._emit(text)
        for name in ("a", "b", "c", "e"):
            self._define(name)
        waiting = list(self.labels)
        for _ in range(self.random.randrange(5, 12)):
            self._statement(_Place(0))
            if waiting and self.random.random() < 0.4:
                self._emit(f"{waiting.pop(0)} continue")
        for label in waiting:
            self._emit(f"{label} continue")
            self._use("a")
        for name in ("a", "b", "c"):
            self._use(name)
        self._emit("end subroutine")

    @property
    def here(self) -> int:
        """The number of the next line."""
        return self.first_line + len(self.lines)

    def _emit(self, text: str) -> None:
        self.lines.append(text)

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _name(self) -> str:
        self._names += 1
        return f"n{self._names}"

    def _condition(self) -> str:
        return f"coin({self._pick('2', '3')}) > 0"

    def _define(self, name: str) -> None:
        self._emit(f"{name} = {self.here}")

    def _use(self, name: str) -> None:
        self._emit(f"print '(2i8)', {self.here}, {name}")

    def _block(self, place: _Place) -> None:
        inner = _Place(place.depth + 1, place.loops, place.numbers, place.values, place.arrays)
        for _ in range(self.random.randrange(1, 4)):
            self._statement(inner)

    def _statement(self, place: _Place) -> None:
        simple: list[tuple[int, Callable[[_Place], None]]] = [
            (6, lambda p: self._define(self._pick(*p.numbers))),
            (7, self._any_use),
            (3, lambda p: self._define(f"{self._pick(*p.arrays)}({self._pick('1', '2', '3')})")),
            (1, lambda p: self._define(self._pick(*p.arrays))),
            (3, self._one_line),
            (2, lambda p: self._called(p)),
            (1, self._masked),
            (3, self._jump),
        ]
        deep: list[tuple[int, Callable[[_Place], None]]] = [
            (4, self._if),
            (3, self._counted),
            (2, self._while),
            (2, self._forever),
            (2, self._select),
            (2, self._associate),
            (2, self._local),
            (1, self._shared),
        ]
        choices = simple + (deep if place.depth < 3 else [])
        weights = [weight for weight, _ in choices]
        self.random.choices([action for _, action in choices], weights)[0](place)

    def _any_use(self, place: _Place) -> None:
        elements = tuple(f"{array}({n})" for array in place.arrays for n in (1, 2, 3))
        functions = ("shown(1)",) if "b" in place.numbers else ()
        self._use(self._pick(*place.numbers, *place.numbers, *place.values, *elements, *functions))

    def _one_line(self, place: _Place) -> None:
        what = self._pick(f"{self._pick(*place.numbers)} = {self.here}", "return")
        if what == "return" and self.random.random() < 0.7:
            what = f"print '(2i8)', {self.here}, {self._pick(*place.numbers)}"
        self._emit(f"if ({self._condition()}) {what}")

    def _called(self, place: _Place) -> None:
        name = self._pick(*place.numbers)
        self._emit(f"call {self._pick('put', 'put_maybe')}({name}, {self.here})")

    def _masked(self, place: _Place) -> None:
        array = self._pick(*place.arrays)
        match self._pick("where", "construct", "forall", "concurrent"):
            case "where":
                self._emit(f"where (mod({array}, 2) == coin(2)) {array} = {self.here}")
            case "construct":
                self._emit(f"where (mod({array}, 2) == coin(2))")
                self._define(array)
                self._emit("elsewhere")
                self._define(array)
                self._emit("end where")
            case "forall":
                self._emit(f"forall (l = 1:2) {array}(l) = {self.here}")
            case _:
                self._emit("do concurrent (l = 2:3)")
                self._define(f"{array}(l)")
                self._emit("end do")

    def _jump(self, place: _Place) -> None:
        kinds = ["cycle", "exit"] if place.loops else []
        kinds += (
            ["goto", "goto", "computed", "io", "alternate", "arithmetic"] if self.labels else []
        )
        if not kinds:
            return
        one, two = (str(self.random.choice(self.labels)) if self.labels else "" for _ in "12")
        match self.random.choice(kinds):
            case "cycle" | "exit" as kind:
                loop = self._pick("", place.loops[-1], *place.loops)
                self._emit(f"if ({self._condition()}) {kind} {loop}")
            case "goto":
                self._emit(f"if ({self._condition()}) goto {one}")
            case "computed":
                self._emit(f"goto ({one}, {two}) coin(4)")
            case "io":
                self._emit(f"read (digits(min(1, coin(3))), *, err={one}) seen")
            case "alternate":
                self._emit(f"call branch(coin(3), *{one}, *{two})")
            case _:
                label = 1000 + self.here
                self._emit(f"if (coin(2)) {one}, {label}, {two}")
                self._emit(f"{label} continue")

    def _if(self, place: _Place) -> None:
        name = self._name()
        self._emit(f"{name}: if ({self._condition()}) then")
        self._block(place)
        if self.random.random() < 0.3:
            self._emit(f"if ({self._condition()}) exit {name}")
            self._block(place)
        if self.random.random() < 0.4:
            self._emit(f"else if ({self._condition()}) then {name}")
            self._block(place)
        if self.random.random() < 0.5:
            self._emit(f"else {name}")
            self._block(place)
        self._emit(f"end if {name}")

    def _loop(self, place: _Place, head: str, first: str = "") -> None:
        name = self._name()
        self._emit(f"{name}: {head}")
        if first:
            self._emit(first)
        inner = _Place(place.depth, (*place.loops, name), place.numbers, place.values, place.arrays)
        self._block(inner)
        self._emit(f"end do {name}")

    def _counted(self, place: _Place) -> None:
        # one variable a depth, and only where no other loop uses it
        if len(place.loops) < 2:
            variable = "ij"[len(place.loops)]
            self._loop(place, f"do {variable} = {self._pick('1', '0')}, coin(3)")

    def _while(self, place: _Place) -> None:
        self._loop(place, f"do while ({self._condition()})")

    def _forever(self, place: _Place) -> None:
        self._loop(place, "do", "if (coin(3) == 0) exit")

    def _shared(self, place: _Place) -> None:
        if place.loops:
            return
        label = 2000 + self.here
        self._emit(f"do {label} i = 1, coin(3)")
        self._any_use(place)
        self._emit(f"do {label} j = 1, coin(3)")
        self._define(self._pick(*place.numbers))
        self._emit(f"if ({self._condition()}) goto {label}")
        self._any_use(place)
        self._emit(f"{label} {self._pick(*place.numbers)} = {self.here}")

    def _select(self, place: _Place) -> None:
        self._emit("select case (coin(4))")
        for values in self.random.sample(["0", "1", "2:"], self.random.randrange(1, 4)):
            self._emit(f"case ({values})")
            self._block(place)
        if self.random.random() < 0.5:
            self._emit("case default")
            self._block(place)
        self._emit("end select")

    def _associate(self, place: _Place) -> None:
        scalar, value = self._name(), self._name()
        array = self._name()
        one = self._pick(*place.numbers, f"{place.arrays[0]}(2)")
        other = self._pick(*place.numbers)
        self._emit(
            f"associate ({scalar} => {one}, {value} => {other} + 0, {array} => {place.arrays[0]})"
        )
        inner = _Place(
            place.depth, place.loops, (scalar, *place.numbers[1:]), (*place.values, one),
            (array,),
        )  # fmt: skip
        self._use(scalar)
        self._block(inner)
        self._emit("end associate")

    def _local(self, place: _Place) -> None:
        """A BLOCK with a variable of its own that hides one from outside."""
        hidden = self._pick(*place.numbers)
        self._emit("block")
        self._emit(f"integer :: {hidden}")
        self._define(hidden)
        self._block(place)
        self._use(hidden)
        self._emit("end block")


def random_control(seed: int, procedures: int, runs: int) -> str:
    """A program of some procedures, each run with several sequences of coins."""
    random = Random(seed)
    lines = MODULE.splitlines()
    names: list[str] = []
    for number in range(procedures):
        names.append(f"p{number}")
        procedure = Procedure(names[-1], random, len(lines) + 1)
        lines += procedure.lines
    calls = "\n".join(
        f"    state = seed; fuel = 150; print '(a)', '{name}'; call {name}" for name in names
    )
    return "\n".join(lines) + "\n" + MAIN.format(runs=runs, calls=calls)
