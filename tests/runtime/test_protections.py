"""What keeps a compiler from moving accesses to the buffers of an exchange: copies of the runtime
in which it is left out.

Three protections stand in ``asphalt_exchange``: the dummy arguments whose addresses are kept are
TARGET, ``next_tile`` and ``finished`` have the buffers as arguments, and pass them to the fence,
which no compiler can look into.  gfortran 12.2 was tried at -O1, -O2, -O3, -O2 -flto and -O3 -flto
with ``straight.f90``, and from -O2 on with ``kept.f90``, under Open MPI 4.1:

- without the arguments and TARGET it removes the stores to the send buffer, from -O1 on;
- without the fence and TARGET it does so with -flto, where it sees that nothing reads the argument;
- without one of the three alone both programs are right: the compiler takes it that the address of
  a TARGET dummy may be used by any procedure later on.  The standard does not say so once the
  procedure has returned, since the buffers are no TARGET (Fortran 2018, 15.5.2.4), and another
  compiler need not: so all three stay.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.runtime import needed
from asphalt.running import process
from support.mpi_run import MPICH, OPENMPI, build, installed, run
from support.places import RUNTIME_PROGRAMS

PROGRAM = (RUNTIME_PROGRAMS / "straight.f90").read_text()
TARGET = re.compile(r"(integer\(asphalt_byte\), dimension\(\*\), intent\(\w+\)), target ::")
BUFFERS = (
    r"    !GCC\$ attributes no_arg_check.*\n    !DIR\$.*\n(?:    integer\(asphalt_byte\),.*\n)+"
)
FENCES = re.compile(r"    call (?:fence\(c_loc\(send\)\)|asphalt_sync\(receive\))\n")


def procedure(text: str, name: str) -> str:
    """A procedure of a module."""
    found = re.search(
        rf"^  (?:subroutine|logical function) {name}\(.*?^  end \w+ {name}\n", text, re.M | re.S
    )
    assert found is not None
    return found[0]


def without_target(runtime: str) -> str:
    """No dummy argument that transformed code passes a buffer to is TARGET."""
    inner = procedure(runtime, "keep_buffers")
    return TARGET.sub(r"\1 ::", runtime.replace(inner, "@@")).replace("@@", inner)


def without_fence(runtime: str) -> str:
    """The buffers are arguments, but nothing is done with them."""
    made, count = FENCES.subn("", runtime)
    assert count == 3
    return made


def without_arguments(runtime: str) -> str:
    """The buffers are arguments of ``begin`` alone; what is completed is found by its address."""
    made = without_fence(runtime)
    for name, buffers in (("next_tile", ", send"), ("finished", ", send, receive")):
        old = procedure(made, name)
        new, count = re.subn(BUFFERS, "", old.replace(f"(x{buffers}", "(x"))
        assert count == 1
        made = made.replace(old, new)
    copied = "unused = memcpy(receive, x%clone,"
    assert copied in made
    return made.replace(copied, "unused = memcpy(x%clone, x%clone,")  # nothing here has a clone


def printed(runtime: str, program: str, flags: tuple[str, ...], folder: Path) -> str:
    """What the program prints with this text of ``asphalt_exchange``."""
    mpi = installed(OPENMPI, MPICH)[0]
    modules = [module.source for module in needed(["asphalt_exchange"])]
    (folder / "asphalt_exchange.f90").write_text(runtime)
    (folder / "straight.f90").write_text(program)
    sources = [*modules[:-1], folder / "asphalt_exchange.f90", folder / "straight.f90"]
    outcome = run(mpi, build(mpi, sources, folder, [*flags, "-w"], runtime=flags), 1)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout.strip()


def is_known(folder: Path) -> bool:
    """Whether the compiler is the one of which the module says what it does."""
    mpi = installed(OPENMPI, MPICH)[0]
    told = process.run([mpi.free, "-dumpversion"], folder, 30.0).stdout
    return told.decode().split(".")[0].strip() == "12"


@pytest.mark.parametrize(
    ("kinds", "flags", "expected"),
    [
        ((), ("-O2",), "PASS"),
        (("arguments", "target"), ("-O2",), "FAIL"),
        (("fence", "target"), ("-O3", "-flto"), "FAIL"),
        pytest.param(("arguments",), ("-O3", "-flto"), "PASS", marks=pytest.mark.wide),
        pytest.param(("fence",), ("-O3", "-flto"), "PASS", marks=pytest.mark.wide),
        pytest.param(("fence", "target"), ("-O2",), "PASS", marks=pytest.mark.wide),
    ],
)
def test_without_protections(
    kinds: tuple[str, ...], flags: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    if kinds and not is_known(tmp_path):
        pytest.skip("it is not known what this compiler does without them")
    (module,) = (m for m in needed(["asphalt_exchange"]) if m.name == "asphalt_exchange")
    runtime, program = module.source.read_text(), PROGRAM
    if "arguments" in kinds:
        runtime = without_arguments(runtime)
        program = program.replace("next_tile(s)", "next_tile()")
        program = program.replace("finished(s, r)", "finished()")
    if "fence" in kinds:
        runtime = without_fence(runtime)
    if "target" in kinds:
        runtime = without_target(runtime)
    assert printed(runtime, program, flags, tmp_path) == expected
