"""Input/output statements: what is read, what is defined, where control may go."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import Arg, Keyword
from asphalt.ir.stmt import IO, Opaque


def _io(kind: str, reads: str = "", writes: str = "", labels: tuple[int, ...] = ()) -> IO:
    """``reads`` and ``writes`` are words; ``unit=x`` is a Keyword."""

    def args(words: str) -> tuple[Arg, ...]:
        found: list[Arg] = []
        for word in words.split():
            key, equals, value = word.partition("=")
            found.append(Keyword(key, key, e(value)) if equals else e(word))
        return tuple(found)

    return IO(kind, args(reads), args(writes), labels)


STATEMENTS: list[tuple[str, IO]] = [
    ("print *, x, 'a'", _io("print", "x 'a'")),
    ("PRINT *", _io("print")),
    ("print 10, x", _io("print", "x")),
    ("print '(a)', x", _io("print", "x")),
    ("print'(a)',x", _io("print", "x")),
    ("print fmt, x", _io("print", "fmt x")),
    ("print nml", _io("print", "nml nml=nml")),
    ("type *, x", _io("print", "x")),
    ("write(*,*) x", _io("write", "x")),
    ("write(*,*), x", _io("write", "x")),
    ("write(6,'(a)') x, f(y)", _io("write", "6 x f(y)")),
    ("write(6,10) x", _io("write", "6 x")),
    ("write(6,fmt=10,err=20) x", _io("write", "6 x", labels=(20,))),
    ("write(iu,form) x", _io("write", "iu form x", "unit=iu")),
    ("write(unit=s(1:3),fmt='(i3)',iostat=ios,iomsg=m) n", _io(
        "write", "s(1:3) n", "unit=s(1:3) ios m")),
    ("write(6,nml=list)", _io("write", "6 list nml=list")),
    ("write(6,rec=n+1,advance='no') x", _io("write", "6 n+1 'no' x")),
    ("write(6,*) (a(i),i=1,n)", _io("write", "6 a(i) 1 n", "i")),
    ("write(6,*) ((a(i,j),b(j),i=1,n,2),j=1,m), c", _io(
        "write", "6 a(i,j) b(j) 1 n 2 1 m c", "i j")),
    ("write(6,*) (a+b)*c, (1.0,2.0), (/1,2/)", _io("write", "6 (a+b)*c (1.0,2.0) (/1,2/)")),
    ("write(6,*) (f(x,k=1)), g", IO("write", (e("6"), e("(f(x,k=1))"), e("g")))),
    ("write(6,*,asynchronous='yes',id=k) x", _io("write", "6 'yes' x", "k")),
    ("read *, x, y(i)", _io("read", "", "x y(i)")),
    ("read 10, x", _io("read", "", "x")),
    ("read(5,*) x", _io("read", "5", "x")),
    ("read(5,'(a)',end=10,err=20) x", _io("read", "5", "x", (10, 20))),
    ("read(5,*,iostat=ios,size=n,iomsg=m,eor=30) x", _io("read", "5", "ios n m x", (30,))),
    ("read(s,*) x", _io("read", "s", "x")),
    ("read(5,nml=list)", _io("read", "5 list", "nml=list")),
    ("read(5,list)", _io("read", "5 list", "nml=list")),
    ("read(5,form) x", _io("read", "5 form", "x")),
    ("read(5,*) (a(i),i=1,n)", _io("read", "5 1 n", "a(i) i")),
    ("read list", _io("read", "list", "nml=list")),
    ("accept *, x", _io("read", "", "x")),
    ("read ('(i5)'), x", _io("read", "('(i5)')", "x")),
    ("open(10,file='a'//b,status='old',iostat=ios,err=5)", _io(
        "open", "10 'a'//b 'old'", "ios", (5,))),
    ("open(newunit=u,file=f)", _io("open", "f", "u")),
    ("close(10)", _io("close", "10")),
    ("close(unit=u,status='delete')", _io("close", "u 'delete'")),
    ("inquire(file=f,exist=ex,number=n)", _io("inquire", "f", "ex n")),
    ("inquire(u,opened=op,err=7)", _io("inquire", "u", "op", (7,))),
    ("inquire(iolength=n) a, b", _io("inquire", "a b", "n")),
    ("rewind 10", _io("rewind", "10")),
    ("rewind(u)", _io("rewind", "u")),
    ("backspace(u,iostat=ios)", _io("backspace", "u", "ios")),
    ("endfile 10", _io("endfile", "10")),
    ("END FILE(u)", _io("endfile", "u")),
    ("flush(u)", _io("flush", "u")),
    ("wait(u,id=k,iostat=ios)", _io("wait", "u k", "ios")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATEMENTS, ids=[code for code, _ in STATEMENTS])
def test_statement(code: str, expected: IO) -> None:
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    "code", ["write x", "write(6,*,*) x", "print x y", "read(5,*) x y", "open 10 20", "read(5"]
)
def test_what_is_no_transfer_is_opaque(code: str) -> None:
    assert isinstance(statement(code, False), Opaque)
