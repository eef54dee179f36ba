"""Branches for errors, in which the program ends, do not keep a nest from being tiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import program, site

_NEST = """\
do z = 1, nz
{branch}  do p = 1, np
    s(:,z,p) = z
  end do
end do
"""
_CHECKS = """\
subroutine check(k)
  integer, intent(in) :: k
  if (k > 100) then
    write (*, *) 'too many: ', k
    stop
  end if
end subroutine check
subroutine warn(k)
  integer, intent(in) :: k
  if (k > 100) then
    write (*, *) 'many: ', k
  end if
  if (k > 200) stop 2
end subroutine warn
subroutine fail(k)
  integer, intent(in) :: k
  integer :: code
  print *, 'failed with ', k
  call MPI_Abort(MPI_COMM_WORLD, k, code)
end subroutine fail
subroutine try(k)
  integer, intent(in) :: k
  if (k > 100) call fail(k)
  call check(k)
end subroutine try
integer function seen(k)
  integer, intent(in) :: k
  print *, k
  seen = k
end function seen
subroutine again(k)
  integer, intent(in) :: k
  if (k > 100) call again(k)
  if (k > 200) stop
end subroutine again
"""


def verdict(branch: str, folder: Path) -> tuple[str, str | None]:
    nest = _NEST.format(branch="".join(f"  {line}\n" for line in branch.splitlines()))
    report = site(folder, program(nest=nest, contained=_CHECKS)).report
    return report.verdict, report.code


@pytest.mark.parametrize(
    "branch",
    [
        "if (z > 100) stop 1",
        "if (z > 100) error stop",
        "if (z > 100) stop 'too many'",
        "if (z > 100) then\n  print *, z\n  stop\nend if",
        "if (z > 100) then\n  write (*, 10) z\n  10 format (i5)\n  error stop 3\nend if",
        "if (z > 100) then\n  i = z\n  if (me == 0) print *, i\n  call fail(i)\nend if",
        "if (z > 100) call fail(z)",
        "call check(z)",
        "call try(z)",
        "if (z < 100) then\n  call check(z)\nelse\n  print *, z\n  stop\nend if",
    ],
)
def test_the_nest_is_tiled(branch: str, tmp_path: Path) -> None:
    assert verdict(branch, tmp_path) == ("proved", None)


@pytest.mark.parametrize(
    ("branch", "code"),
    [
        ("if (z > 100) stop", "ASP704"),  # it may end as it should
        ("if (z > 100) stop 0", "ASP704"),
        ("if (z > 100) print *, z", "ASP701"),  # the program goes on
        ("if (z > 100) then\n  print *, z\n  if (me > 0) stop 1\nend if", "ASP701"),
        ("call warn(z)", "ASP701"),
        ("if (z > 100) then\n  read *, i\n  stop 1\nend if", "ASP701"),
        ("if (z > 100) then\n  print *, z\n  call MPI_Finalize(ierr)\n  stop 1\nend if", "ASP701"),
        ("if (z > 100) then\n  call MPI_Finalize(ierr)\n  stop 1\nend if", "ASP702"),
        ("if (z > 100) then\n  print *, seen(z)\n  stop 1\nend if", "ASP701"),
        ("if (seen(z) > 100) stop 1", "ASP701"),
        ("if (z > 100) stop\nprint *, z\nif (z > 200) stop 1", "ASP704"),
        ("call again(z)", "ASP704"),
    ],
)
def test_it_stays(branch: str, code: str, tmp_path: Path) -> None:
    assert verdict(branch, tmp_path) == ("refused", code)
