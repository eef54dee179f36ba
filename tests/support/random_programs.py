"""Random procedures with an exchange: loops that carry values, late writes, phases, odd shapes,
planes that are set before, receive buffers that are in use.

All variables are defined before they are read and all subscripts stay in their bounds, so that any
difference between two runs is one of the transformation.
"""

from __future__ import annotations

from random import Random

_HEAD = """\
subroutine {name}(n, nz, np, me)
  use mpi
  use showing, only: show, show_integers
  implicit none
  integer, intent(in) :: n, nz, np, me
  real(8) :: {arrays}
  real(8) :: w(n, -2:nz*np+3), v(n), x, y
  integer :: i, j, z, p, m, step, ierr
{lists}  s = -1
  r = -2
  w = 3
  v = 4
  x = 5
  y = 6
  m = 1
  i = 0
  j = 0
  p = 0
  z = 0
"""
_LISTS = """\
  integer :: ends(0:np)
  integer, dimension(np) :: scounts, sdispls, rcounts, rdispls
"""
_UNEVEN_CALL = """\
call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""
# How many of the nz planes of a block (of the nz*np planes of a slab) go from rank a to rank b.
_SLAB_LISTS = """\
ends = [(min(nz*np, (p*nz*np + {more})/max(1, np + {less})), p=0,np)]
ends(np) = nz*np
scounts = n*(ends(1:) - ends(:np-1))
sdispls = n*ends(:np-1)
rcounts = n*(ends(me+1) - ends(me))
rdispls = [(sum(rcounts(:p-1)), p=1,np)]
"""
_BLOCK_LISTS = """\
scounts = [(mod({more}*me + {less}*p, n*nz + 1), p=0,np-1)]
rcounts = [(mod({more}*p + {less}*me, n*nz + 1), p=0,np-1)]
sdispls = [(n*nz*p, p=0,np-1)]
rdispls = [(sum(rcounts(:p-1)), p=1,np)]
"""
_CALL = """\
call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                  MPI_COMM_WORLD, ierr)
"""


class Procedure:
    """One random procedure: ``text`` is its source, ``name`` its name."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.slab = random.random() < 0.4
        self.down = random.random() < 0.15
        self.uneven = random.random() < 0.3
        self.text = self._text()

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _maybe(self, chance: float, text: str) -> str:
        return text if self.random.random() < chance else ""

    def _text(self) -> str:
        arrays = "s(n, nz*np), r(n, nz*np)" if self.slab else "s(n, nz, np), r(n, nz, np)"
        if self.uneven and self.slab:
            # the planes of one rank from all, up to all planes of all
            arrays = "s(n, nz*np), r(n, nz*np*np)"
        body = "".join(
            [
                self._maybe(0.5, self._loop(self._work())),
                self._maybe(0.2, f"m = {self._pick('2', 'n', 'nz')}\n"),
                self._loop(self._packing()),
                self._maybe(
                    0.15, self._pick("x = 1\n", "y = x\n", "w(1,1) = 0\n", "v = r(:,1)\n")
                ).replace("r(:,1)", "r(:,1)" if self.slab else "r(:,1,1)"),
                _UNEVEN_CALL if self.uneven else _CALL,
                self._maybe(0.3, "w(1,1) = r(1,1" + ("" if self.slab else ",1") + ")\n"),
            ]
        )
        if self.uneven:
            lists = _SLAB_LISTS if self.slab else _BLOCK_LISTS
            more, less = self._pick("0", "1", "3", "5"), self._pick("-1", "0", "1", "2")
            if not self.slab:
                less = self._pick("0", "1", "7")
            body = lists.format(more=more, less=less) + body
        if self.random.random() < 0.3:
            body = f"do step = 1, 3\n{body}end do\n"
        shown = [f"call show('{self.name}', r, size(r))\n"]
        shown.append(self._maybe(0.7, f"call show('{self.name} s', s, n*nz*np)\n"))
        for variable in ("x", "y", "dble(z)", "dble(i)", "dble(j)", "dble(m)"):
            shown.append(
                self._maybe(0.2, f"call show('{self.name} {variable}', [{variable}], 1)\n")
            )
        shown.append(self._maybe(0.3, f"call show('{self.name} v', v, n)\n"))
        shown.append(self._maybe(0.3, f"call show('{self.name} w', w, size(w))\n"))
        lines = (body + "".join(shown)).splitlines(keepends=True)
        text = "".join(f"  {line}" for line in lines)
        lists = _LISTS if self.uneven else ""
        head = _HEAD.format(name=self.name, arrays=arrays, lists=lists)
        return f"{head}{text}end subroutine {self.name}\n\n"

    def _bounds(self) -> str:
        last = "nz*np" if self.slab else "nz"
        first = self._pick("1", "1", "1", "1", "2", "3")
        if self.random.random() < 0.2:
            last = f"{last}-1" if self.random.random() < 0.7 else "n"
        return f"{last}, {first}, -1" if self.down else f"{first}, {last}"

    def _loop(self, body: str) -> str:
        return f"do z = {self._bounds()}\n{_indented(body)}end do\n"

    def _plane(self) -> str:
        return self._pick("z", "z", "z", "z", "z-1", "z+1", "1", "m", "z+mod(m,2)")

    def _value(self) -> str:
        return self._pick(
            "z + 10*i + 1000*me", "x + i", "w(i,z)", f"w(i,{self._plane()}) + me", "v(i) + z",
            "2*w(i,z) + x", "y", "w(n+1-i,z) - me", "w(i,z) + r(i,1)" if self.slab else
            "w(i,z) + r(i,1,1)",
        )  # fmt: skip

    def _statement(self) -> str:
        return self._pick(
            "x = z\n",
            "x = x + z\n",
            "if (mod(z, 2) == 0) x = z\n",
            "y = x + me\n",
            "do i = 1, n\n  v(i) = z + i\nend do\n",
            "do i = 2, n\n  v(i) = z + i\nend do\n",
            "v = z\n",
            "do j = 1, mod(z, 3)\n  y = y + j\nend do\n",
            "m = mod(z, 2) + 1\n",
        )

    def _work(self) -> str:
        target = f"w(i,{self._plane()})"
        loop = f"do i = 1, n\n  {target} = {self._value()}\nend do\n"
        return self._maybe(0.5, self._statement()) + loop + self._maybe(0.2, self._statement())

    def _late_statement(self) -> str:
        """Changes a plane of an iteration before."""
        back = self._pick("1", "1", "2", "3")
        plane = f"z+{back}" if self.down else f"z-{back}"
        inside = f"z <= nz-{back}" if self.down else f"z > {back}"
        if self.down and self.slab:
            inside = f"z <= nz*np-{back}"
        element = f"s(i,{plane})" if self.slab else f"s(i,{plane},p)"
        return f"if ({inside}) {element} = {self._pick(f'{element} + z', 'x + 2*z')}\n"

    def _packing(self) -> str:
        plane = "z" if self.random.random() < 0.85 else self._pick("max(1,z-1)", "z")
        element = f"s(i,{plane})" if self.slab else f"s(i,{plane},p)"
        statement = f"{element} = {self._value()}\n"
        statement = self._pick(
            statement,
            statement,
            f"if (mod(i + z, 3) > 0) {statement}",
            f"{statement}{element} = {element} + 1\n",
        )
        statement += self._maybe(0.25, self._late_statement())
        statement += self._maybe(0.1, f"{element.replace('s(', 'r(')} = {self._value()}\n")
        loop = f"do i = {self._pick('1', '1', '2')}, n\n{_indented(statement)}end do\n"
        if not self.slab:
            loop = f"do p = 1, np\n{_indented(loop)}end do\n"
        before = self._maybe(0.5, self._statement())
        return before + loop + self._maybe(0.3, self._statement())


def _indented(text: str) -> str:
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))


def random_program(seed: int, procedures: int) -> tuple[str, list[str]]:
    """A file of procedures, and the calls of all of them."""
    random = Random(seed)
    found = [Procedure(f"case_{seed}_{number}", random) for number in range(procedures)]
    return "".join(p.text for p in found), [f"call {p.name}(n, nz, np, me)\n" for p in found]
