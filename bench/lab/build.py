"""Builds one version of one kernel: writes sizes into include files, then compiles.

Every build has a directory of its own, named by the hash of all its inputs, so that nothing is
built twice.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.runtime import is_runtime_source
from asphalt.running.mpi import SMPI, Mpi, environment
from bench.lab.case import KERNELS, ROOT, STAND_INS, Case
from bench.lab.counted import counted
from bench.lab.nonblocking import without_blocking
from bench.lab.places import place_for
from bench.lab.run import LabError
from bench.lab.transform import set_tiling, transform

BUILD = ROOT / "build" / "lab"
COMMON = ("results.f90",)
VERSIONS = ("original", "hand", "ialltoall", "transformed")
_SHARING = "shared_memory.c"
_UNCHARGED = {"charge": 0, "charge_after": 0, "noise": 0, "seed": 0}
"""Constants of the stand-ins: operations, their random increase for a plane in thousandths, and
the number of the run as the seed."""
_WRAPPED = ("-Wl,--wrap=malloc", "-Wl,--wrap=free")
_CONSTANT = re.compile(r"parameter\s*::\s*(\w+)\s*=\s*(-?\d+)")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to build.

    ``sizes`` overrides values of sizes.inc.  ``charge``: the charges of the stand-in to the
    simulated clock; None: the real work is computed.  ``tiling``: K and D; None: those of the
    kernel (hand) or of asphalt (transformed).  ``passes``: of the version ``transformed``; (): that
    for exchanges.  ``shared``: under SMPI, allocated arrays of different ranks can share memory, so
    that more ranks fit, and results are meaningless.
    """

    case: Case
    version: str
    mpi: Mpi
    sizes: Mapping[str, int] = field(default_factory=dict)
    charge: Mapping[str, int] | None = None
    tiling: tuple[int, int] | None = None
    flags: tuple[str, ...] = ("-O3",)
    shared: bool = False
    passes: tuple[str, ...] = ()


def constants(text: str) -> dict[str, int]:
    """The integer parameters that an include file declares."""
    return {name: int(value) for name, value in _CONSTANT.findall(text)}


def include_text(values: Mapping[str, int]) -> str:
    """An include file that declares ``values``; valid in free and in fixed form."""
    return "".join(
        f"      integer, parameter :: {name} = {value}\n" for name, value in values.items()
    )


def sources_of(recipe: Recipe) -> dict[str, bytes]:
    """The files of a version that is not transformed, in the order of compilation."""
    case = recipe.case
    files: dict[str, bytes] = {}
    for name in COMMON:
        files[name] = (KERNELS / "common" / name).read_bytes()
    for name in case.hand if recipe.version == "hand" else case.sources:
        files[name] = (case.directory / name).read_bytes()
    sizes = constants((case.directory / "sizes.inc").read_text(encoding="utf-8"))
    if unknown := recipe.sizes.keys() - sizes.keys():
        raise LabError(f"{case.name}: sizes.inc does not declare {', '.join(sorted(unknown))}")
    files["sizes.inc"] = include_text(sizes | dict(recipe.sizes)).encode()
    hand = case.directory / "hand.inc"
    if recipe.version == "hand" and hand.exists():
        tiling = constants(hand.read_text(encoding="utf-8"))
        if recipe.tiling is not None:
            tiling["tile"], tiling["depth"] = recipe.tiling
        files["hand.inc"] = include_text(tiling).encode()
    return files


def with_stand_in(recipe: Recipe, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, with the work replaced by its stand-in if time is charged."""
    case = recipe.case
    if recipe.charge is None or case.stand_in is None:
        return dict(files)
    changed = dict(files)
    work = "work" + Path(case.stand_in).suffix
    changed[work] = (STAND_INS / case.stand_in).read_bytes()
    changed["charge.inc"] = include_text(_UNCHARGED | dict(recipe.charge)).encode()
    return changed


def build(recipe: Recipe) -> Path:
    """The program of a recipe, built if it is missing.

    Versions with the same text have the same program.  Raises LabError with the messages.
    """
    files = sources_of(recipe)
    if recipe.version == "transformed":
        files = transform(files, recipe.passes)
        if recipe.tiling is not None:
            files = set_tiling(files, *recipe.tiling)
        if recipe.mpi is SMPI:
            shim = STAND_INS / "mpi_f_sync_reg.f90"
            files = {shim.name: shim.read_bytes()} | files
    elif recipe.version == "ialltoall":
        files = without_blocking(files)
    files = with_stand_in(recipe, files)
    if recipe.charge is not None and recipe.case.counted:
        files = counted(files, COMMON)
    flags = (*recipe.flags, *recipe.case.flags)
    if recipe.shared:
        files[_SHARING] = (STAND_INS / _SHARING).read_bytes()
    key = repr((recipe.mpi.name, flags, sorted(files.items())))
    directory = BUILD / recipe.case.name / hashlib.sha256(key.encode()).hexdigest()[:16]
    program = directory / recipe.case.name
    if program.exists():
        return program
    with place_for(directory) as unfinished:
        for name, content in files.items():
            (unfinished / name).write_bytes(content)
        compile_program(recipe.mpi, tuple(files), flags, unfinished, unfinished / program.name)
    return program


def build_all(recipes: Iterable[Recipe], at_once: int) -> None:
    """Build several programs in parallel; a failure is raised when the program is used."""

    def tried(recipe: Recipe) -> None:
        with suppress(LabError):
            build(recipe)

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(tried, recipes))


def compile_program(
    mpi: Mpi, names: tuple[str, ...], flags: tuple[str, ...], cwd: Path, program: Path
) -> None:
    """Compiles the sources among ``names``, in order, and links them into ``program``."""
    objects: list[str] = []
    where = ["-I."]
    own = {name: (cwd / name).read_bytes() for name in names if is_runtime_source(Path(name))}
    if own:
        runtime = _runtime(mpi, own, flags)
        where.append(f"-I{runtime}")
        objects += [str(runtime / _object(name)) for name in own]
    for name in names:
        source = Path(name)
        if name in own or source.suffix.lower() not in (".f", ".f90", ".c"):
            continue
        objects.append(_object(name))
        options = () if source.suffix == ".c" else flags
        _call([mpi.compiler(source), *options, *where, "-c", name, "-o", objects[-1]], cwd)
    wrapped = _WRAPPED if _SHARING in names else ()
    unfinished = program.with_suffix(".part")
    _call([mpi.free, *flags, *wrapped, *objects, "-o", unfinished.name], cwd)
    unfinished.rename(program)


def _object(name: str) -> str:
    return f"{Path(name).stem}.o"


def _runtime(mpi: Mpi, files: Mapping[str, bytes], flags: tuple[str, ...]) -> Path:
    """The directory with the run-time modules, which need no other source, compiled once."""
    key = hashlib.sha256(repr((mpi.name, flags, tuple(files.items()))).encode()).hexdigest()[:16]
    directory = BUILD / "runtime" / key
    if not directory.exists():
        with place_for(directory) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
                _call([mpi.free, *flags, "-c", name, "-o", _object(name)], unfinished)
    return directory


def _call(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)} (in {cwd})\n{done.stderr[-3000:]}")
