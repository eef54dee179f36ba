"""Collective operations become messages, one for each block, where loops fill or use the blocks one
by one: what is made of them, what it computes, and when they stay one operation."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.verdicts import block_codes
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import TRANSFERS, Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.decomposition import decomposition
from asphalt.transforms.decomposition.block_iterators import with_iterators
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.collective_programs import (
    ALLTOALL,
    BCAST,
    BLOCKS,
    REAL,
    USE,
    WORLD,
    loop,
    program,
    units,
)
from support.mpi_run import OPENMPI, RUNTIME, SMPI, Mpi, build, installed, run
from support.stepping import Stepped


def at_root(text: str) -> str:
    return f"    if (me == root) then\n{text}    end if\n"


FILL = loop("s(i,p) = sqrt(dble(i*(p + me))) + x(i,p)")
TYPED = "same, bytes, types, {}, counts, bytes, types, "
ALLTOALLW = f"    call MPI_Alltoallw(s, {TYPED.format('r')}{WORLD}"
WORK = "    do i = 1, n\n      b(i) = b(i) + sqrt(dble(i))\n    end do\n"


def optimised(tmp_path: Path, text: str, passes: tuple[str, ...] = TRANSFERS) -> Optimised:
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    return optimise(tree, tree.units_of(str(path))[0], Options(passes))


def iterated(tmp_path: Path, content: bytes) -> bytes:
    """The program with iterators in place of turns."""
    tree = Stepped.of(tmp_path / "given", {"main.f90": content.decode()})
    (facts, *_) = tree.facts()
    file = tree.tree.file(str(tmp_path / "given" / "main.f90"))
    return unparse(replace_unit(file, facts.unit, with_iterators(facts))).encode()


def statements(found: Optimised) -> list[str]:
    """The calls of the runtime, heads of loops, and what is computed, by its array."""
    assert found.content is not None
    _, _, body = found.content.decode().partition("do q = 1, 3\n")
    short: list[str] = []
    for line in body.splitlines():
        text = line.strip()
        if text.startswith(("call asphalt_", "call MPI_")):
            short.append(text.removeprefix("call ").split("(")[0].removeprefix("asphalt_"))
        elif " = asphalt_to_" in text or text.startswith("do asphalt"):
            short.append(text.split(" = asphalt_")[-1].split("(")[0])
        elif computed := re.match(r"(\w+)\(.*\bi\b.*\) = ", text):
            short.append(computed[1])
    return short[: short.index("MPI_Finalize")]


def test_both_sides(tmp_path: Path) -> None:
    """Receives before the loop that fills; independent work stands between as it did."""
    found = optimised(tmp_path, program(FILL + ALLTOALL + WORK + USE))
    turns = "do asphalt_turn_1 = 1, np"
    assert statements(found) == [
        "alltoall_blocks", turns, "to_send", "s", "send_block", "send_blocks", "b",
        turns, "to_take", "await_block", "x", "finish_blocks",
    ]  # fmt: skip
    (transfer,) = found.transfers
    assert (transfer.operation, transfer.line) == ("MPI_Alltoall", 32)
    assert transfer.overlaps == ("do p = 1, np", "do p = 1, np")
    assert found.content is not None
    assert b"call asphalt_await_block(asphalt_blocks_1, p - 1, r)" in found.content
    assert b"p = asphalt_to_send(asphalt_blocks_1,asphalt_turn_1,1,np,1)" in found.content


def test_planes_instead_of_blocks_with_types(tmp_path: Path) -> None:
    """The runtime is told how long they are, where a loop works on them."""
    found = optimised(tmp_path, program(FILL + ALLTOALLW + USE, 5000))
    assert statements(found) == [
        "alltoallw_blocks", "do asphalt_turn_1 = 1, np", "to_send", "s", "send_block",
        "send_blocks", "do asphalt_turn_1 = 1, np", "to_take", "await_block", "x",
        "finish_blocks",
    ]  # fmt: skip
    both = " [n], storage_size(s), [n], storage_size(r), asphalt_blocks_1, later=.true.)"
    assert both in " ".join((found.content or b"").decode().replace("&", "").split())
    found = optimised(tmp_path, program(ALLTOALLW + USE, 5000))
    one = " [0], 0, [n], storage_size(r), asphalt_blocks_1)"
    assert one in " ".join((found.content or b"").decode().replace("&", "").split())


def test_sizes_of_planes_are_multiplied_at_run_time(tmp_path: Path) -> None:
    """Where their product may be no default integer."""
    text = program(BCAST.replace("n*np", "n*m*np") + loop("x(i,p) = x(i,p) + r(i,m,p)"), 5000)
    text = text.replace(" r(:,:)", " r(:,:,:)").replace(" r(n,np)", " r(n,m,np)")
    content = " ".join((optimised(tmp_path, text).content or b"").decode().replace("&", "").split())
    assert f"(r, n*m*np, {REAL}, root, MPI_COMM_WORLD, [n, n], asphalt_blocks_1)" in content


def test_a_root_keeps_its_order(tmp_path: Path) -> None:
    """The sum of the root is in the order of its loop; what is behind the loop may need it."""
    gather = f"    call MPI_Gather(a, {BLOCKS}, r, {BLOCKS}, root, {WORLD}"
    sums = at_root(loop("total = total + r(i,p)"))
    found = optimised(tmp_path, program(gather + sums + "    x(1,1) = r(1,1)\n"))
    assert statements(found) == ["gather_blocks", "await_block", "finish_blocks"]
    text = (found.content or b"").decode()
    assert re.search(
        r"do p = 1, np\n *call asphalt_await_block\(asphalt_blocks_1, p - 1, r\)", text
    )


@pytest.mark.wide
def test_what_is_scattered_leaves_when_it_is_filled(tmp_path: Path) -> None:
    scatter = f"    call MPI_Scatter(parts, {BLOCKS}, b, {BLOCKS}, root, {WORLD}"
    fill = at_root(loop("parts(n*p + i) = parts(n*p + i) + sqrt(dble(i*p))", "p = 0, np - 1"))
    found = optimised(tmp_path, program(fill + scatter + loop("x(i,p) = i*p")))
    assert statements(found) == [
        "scatter_blocks", "parts", "send_block", "send_blocks", "x", "finish_blocks",
    ]  # fmt: skip
    assert b"call asphalt_send_block(asphalt_blocks_1, p, parts)" in (found.content or b"")


def test_the_planes_of_a_broadcast(tmp_path: Path) -> None:
    """They leave when the root has filled them, and the loop over them keeps its order."""
    fill = at_root(loop("r(i,p) = r(i,p) + sqrt(dble(i*p))"))
    found = optimised(tmp_path, program(fill + BCAST + loop("total = total + r(i,p)"), 5000))
    assert statements(found) == [
        "bcast_blocks", "r", "send_block", "send_blocks", "await_block", "finish_blocks",
    ]  # fmt: skip
    text = (found.content or b"").decode()
    begin, later = text.index("call asphalt_bcast_blocks"), "asphalt_blocks_1, later=.true.)"
    assert later in text[begin : begin + 160]
    assert f"(r, n*np, {REAL}, root, MPI_COMM_WORLD, [n], " in text.replace(" &\n", " ").replace(
        "  ", ""
    )
    assert "call asphalt_send_block(asphalt_blocks_1, p - 1, r)" in text
    assert "call asphalt_finish_blocks(asphalt_blocks_1, r)" in text


@pytest.mark.wide
def test_work_beside_no_block_is_left_to_one_operation(tmp_path: Path) -> None:
    found = optimised(tmp_path, program(ALLTOALL + WORK + "    x = x + sum(r)\n"))
    assert statements(found) == ["ialltoall", "b", "wait_both"]
    assert optimised(tmp_path, program(ALLTOALL + "    x = x + sum(r)\n")).content is None


@pytest.mark.wide
def test_a_loop_between_two_operations_belongs_to_the_first(tmp_path: Path) -> None:
    both = loop("s(i,p) = 0.5d0*r(i,p)")
    first = ALLTOALL.replace("s,", "parts,")
    use = loop(FLAT)
    found = optimised(tmp_path, program(first + both + ALLTOALL.replace("r,", "flat,") + use))
    names = [name for name in statements(found) if name.endswith("blocks")]
    assert names == ["alltoall_blocks", "finish_blocks"] * 2


@pytest.mark.wide
def test_it_stands_alone(tmp_path: Path) -> None:
    found = optimised(tmp_path, program(ALLTOALL + USE), (Pass.DECOMPOSITION,))
    assert "alltoall_blocks" in statements(found)
    assert [step.transformation for step in found.steps] == [Pass.DECOMPOSITION]
    others = tuple(name for name in TRANSFERS if name != Pass.DECOMPOSITION)
    assert optimised(tmp_path, program(ALLTOALL + USE), others).content is None


ALLGATHERV = f"    call MPI_Allgatherv(a, counts(me), {REAL}, flat, counts, starts, {REAL}, {WORLD}"
SLICE = "x(i,p) = x(i,p) + flat(starts(p-1) + i)"
POINTED = f"    call MPI_Alltoall(s, {BLOCKS}, far, {BLOCKS}, {WORLD}"

FLAT = "x(i,p) = x(i,p) + sqrt(abs(flat(n*(p - 1) + i)))"

FLAT_ALLTOALL = f"    call MPI_Alltoall(parts, {BLOCKS}, flat, {BLOCKS}, {WORLD}"
SECTION = (
    "    do p = 1, np\n      m = n*(p - 1) + 1\n      i = {}\n"
    "      x(1:i-m+1,p) = x(1:i-m+1,p) + flat(m:i)\n    end do\n"
)
SECTION_BEFORE = (
    "    do p = 1, np\n      x(1:n,p) = x(1:n,p) + flat(m:m+n-1)\n"
    "      m = n*(p - 1) + 1\n    end do\n"
)
MOST = f"most, {REAL}"
GAPS = f"    call MPI_Alltoall(parts, {MOST}, flat, {MOST}, {WORLD}"
USE_GAPS = loop("x(i,p) = x(i,p) + flat(most*(p - 1) + i)", count="counts(p-1)")
MORE = "may use more than one block in an iteration"
STAYS = {
    "a-sum": (ALLTOALL + loop("total = total + r(i,p)"), "cannot be reordered: lines 30 and 30"),
    "a-recurrence": (ALLTOALL + loop("x(i,p) = x(i,p-1) + r(i,p)"), "cannot be reordered"),
    "one-more-than-a-block": (
        ALLTOALL + loop("flat(n*(p - 1) + i) = r(1,p)", count="n + 1"),
        "cannot be reordered: lines 30 and 30: one iteration over p may need flat of another",
    ),
    "section-that-is-not-a-block": (
        FLAT_ALLTOALL + SECTION.format("n*p + 1"), MORE,
    ),
    "section-that-is-set-behind": (
        FLAT_ALLTOALL + SECTION_BEFORE, MORE,
    ),
    "greatest-count-of-before": (GAPS + "    counts(0) = n\n" + USE_GAPS, MORE),
    "greatest-of-other-counts": (
        GAPS + USE_GAPS.replace("counts(p-1)", "same(p-1) + 1"), MORE,
    ),
    "shared-by-threads": (
        ALLTOALL + "!$omp parallel do private(i)\n" + USE, "several threads share the iterations",
    ),
    "what-comes-is-changed-before": (
        loop("s(i,p) = r(i,p)\n        r(i,p) = 0") + ALLTOALL, "no loop fills or uses",
    ),
    "another-block": (ALLTOALL + loop("x(i,p) = r(i,1)"), MORE),
    "two-blocks": (
        ALLTOALL + loop("x(i,p) = r(i,p) + r(i,p-1)", "p = 2, np"), MORE,
    ),
    "more-than-a-block": (
        ALLGATHERV + loop(SLICE, count="counts(p-1) + 1"), MORE,
    ),
    "one-dimension": (
        f"    call MPI_Bcast(flat, n*np, {REAL}, root, {WORLD}"
        + loop("x(i,p) = flat(n*(p - 1) + i)"), "one dimension",
    ),
    "sent-on-and-changed": (BCAST + loop("r(i,p) = r(i,p) + x(i,p)"), "changes what is sent on"),
    "two-planes": (BCAST + loop("x(i,p) = r(i,p) + r(i,p-1)", "p = 2, np"), MORE),
    "types-change": (
        ALLTOALLW + USE.replace("      do i", "      types(p) = MPI_REAL\n      do i"),
        "types is changed later",
    ),
    "types-and-one-dimension": (
        ALLTOALLW.replace("(s,", "(parts,").replace(" r,", " flat,") + loop(FLAT), "no planes",
    ),
    "types-and-two-planes": (
        ALLTOALLW + loop("x(i,p) = r(i,p) + r(i,p-1)", "p = 2, np"), MORE,
    ),
    "types-and-more-to-send": (
        FILL + "    s(1,1) = 2\n" + ALLTOALLW, "no loop fills or uses its blocks",
    ),
    "types-and-what-is-sent-changes": (
        ALLTOALLW + loop("s(i,p) = r(i,p)"), "changes s, which",
    ),
    "types-in-place": (ALLTOALLW.replace("(s,", "(MPI_IN_PLACE,") + USE, None),
    "not-from-a-plane": (BCAST.replace("(r,", "(r(2,1),") + USE, "to begin where r does"),
    "sent-before-it-is-filled": (
        at_root(loop("r(i,p) = x(i,p)") + "    r(1,1) = 7\n") + BCAST,
        "no loop fills or uses its blocks",
    ),
    "elsewhere": (ALLTOALL + "    b(1) = r(1,1)\n" + USE, "outside of a loop"),
    "what-is-sent-changes": (ALLTOALL + loop("s(i,p) = r(i,p)"), "line 28 changes s, which"),
    "what-is-sent-is-filled-again": (
        ALLTOALL + loop("s(i,p) = x(i,p)") + USE, "line 28 changes s, which",
    ),
    "other-planes": (ALLTOALL.replace("n,", "n - 1,") + USE, "not made of planes"),
    "not-from-its-beginning": (ALLTOALL.replace("r,", "r(2,1),") + USE, "to begin where r does"),
    "other-type": (ALLTOALL.replace(f"r, n, {REAL}", "r, 2*n, MPI_REAL") + USE, "the datatype"),
    "pointer": (POINTED + loop("x(i,p) = far(n*(p - 1) + i)"), None),
    "message-between": (
        ALLTOALL + "    call MPI_Barrier(MPI_COMM_WORLD, ierr)\n" + USE, "MPI_Barrier",
    ),
    "message-inside": (
        ALLTOALL + loop("call MPI_Bcast(x(i,p), 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)"),
        "MPI_Bcast",
    ),
    "output": (ALLTOALL + loop("print *, r(i,p)"), "the PRINT in line"),
    "stop": (ALLTOALL + loop("if (r(i,p) > 9) stop"), "the STOP in line"),
    "way-out": (
        ALLTOALL + USE.replace("      do i", "      if (x(1,p) > 9) exit\n      do i"),
        "the EXIT in line",
    ),
    "variable-read-behind": (ALLTOALL + USE + "    total = p\n", "p may be read after"),
    "backwards": (ALLTOALL + loop("x(i,p) = r(i,p)", "p = np, 1, -1"), "does not count"),
    "bounds-change": (
        ALLTOALL + loop("x(i,p) = r(i,p)", "p = 1, m").replace("  do i", "  m = np\n      do i"),
        "are not invariant default integers",
    ),
    "size-changes": (
        ALLTOALL.replace("n,", "m,").replace(" s,", " parts,").replace(" r,", " flat,")
        + "    m = n - 1\n" + loop("x(i,p) = flat(m*(p - 1) + i)", count="m"),
        "line 28 changes m",
    ),
    "displacements-change": (
        ALLGATHERV + "    starts(0) = 1\n" + loop(SLICE, count="counts(p-1)"),
        None,
    ),
    "nothing-to-do": (
        ALLTOALL + "    do p = 1, np\n      total = r(1,p)\n    end do\n", "does no work",
    ),
    "filled-beyond": (
        loop("s(i,p+1) = i", "p = 1, np - 1") .replace("p+1", "p + 1 - mod(p, 2)") + ALLTOALL,
        "no loop fills or uses its blocks",
    ),
    "one-line-if": (ALLTOALL.replace("    call", "    if (np > 1) call") + USE, None),
    "in-place": (
        f"    call MPI_Allgather(MPI_IN_PLACE, 0, {REAL}, r, {BLOCKS}, {WORLD}" + USE, None,
    ),
    "error-code": (
        "    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)\n"
        + ALLTOALL + USE + "    if (ierr /= MPI_SUCCESS) stop 1\n", None,
    ),
    "some-ranks": (f"    if (me > 0) then\n{ALLTOALL}{USE}    end if\n", None),
}  # fmt: skip
QUICK = {
    "one-more-than-a-block",
    "section-that-is-not-a-block",
    "section-that-is-set-behind",
    "a-sum",
    "greatest-count-of-before",
    "shared-by-threads",
    "two-blocks",
    "what-comes-is-changed-before",
    "more-than-a-block",
    "what-is-sent-is-filled-again",
    "way-out",
}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.wide) for n in STAYS]
)
def test_it_stays_one_operation(name: str, tmp_path: Path) -> None:
    body, reason = STAYS[name]
    facts = units(tmp_path, program(body))
    assert decomposition.check(facts) == ()
    refused = decomposition.refusals(facts)
    assert all(one.code in block_codes.DECOMPOSITION and one.witness for one in refused)
    kept = [one for one in nonblocking.splits(facts) if isinstance(one, Refused)]
    reasons = [one.message for one in (*refused, *kept)]
    if reason is not None:
        assert any(reason in text for text in reasons), reasons


def test_a_short_loop_and_a_cosine_stay(tmp_path: Path) -> None:
    """Another value of the named constant, and gfortran -O3 takes vector cosines of several blocks
    at once, with other last digits; not where a message is taken in between."""
    facts = units(tmp_path, program(ALLTOALL + loop("x(i,p) = x(i,p) + cos(r(i,p))")))
    assert decomposition.check(facts) == ()
    (refused,) = decomposition.refusals(facts)
    assert refused.code.id == "ASP063"
    assert "once what is in it is inlined and unrolled, and evaluates cos" in refused.message


def test_an_exchange_in_place_starts_as_one_operation(tmp_path: Path) -> None:
    """It is not decomposed, but nothing keeps it from being non-blocking."""
    body, _ = STAYS["types-in-place"]
    (found,) = nonblocking.splits(units(tmp_path, program(body)))
    assert isinstance(found, nonblocking.Split)


def test_a_check_of_an_error_code_is_in_the_way_only_where_errors_return(tmp_path: Path) -> None:
    """STAYS has the same program with a handler that lets errors return."""
    body = ALLTOALL + USE + "    if (ierr /= MPI_SUCCESS) stop 1\n"
    (step,) = decomposition.check(units(tmp_path, program(body)))
    assert not isinstance(step, Refused)


def test_refusals_name_the_lines_of_the_source(tmp_path: Path) -> None:
    """Those of a text that other steps have made, nobody sees."""
    body, _ = STAYS["what-is-sent-is-filled-again"]
    facts = replace(units(tmp_path, program(body)), places=lambda line: ("given.f90", line + 100))
    told = [one.message for one in decomposition.refusals(facts)]
    uses = "given.f90:128 changes s, which is in use until the operation ends"
    assert f"it is not decomposed: {uses}" in told


FILL_PARTS = loop("parts(n*p + i) = parts(n*p + i) + sqrt(dble(i*(p + me)))", "p = 0, np - 1")
FILL_SLICES = loop(
    "parts(starts(p) + i) = parts(starts(p) + i) + x(i,p)", "p = 0, np - 1", "counts(p)"
)
USE_SLICES = loop(SLICE, count="counts(p-1)")
SUM_SLICES = loop("total = total + flat(starts(p-1) + i)", count="counts(p-1)")
LISTED = f"counts, starts, {REAL}"
ALL = (
    FILL + ALLTOALL + WORK + USE,
    f"    call MPI_Alltoall(parts, {BLOCKS}, flat, {BLOCKS}, {WORLD}" + loop(FLAT),
    FILL_PARTS + f"    call MPI_Alltoall(parts, {BLOCKS}, flat, {BLOCKS}, {WORLD}" + WORK,
    f"    call MPI_Alltoallv(parts, same, starts, {REAL}, flat, {LISTED}, {WORLD}" + USE_SLICES,
    FILL + ALLTOALLW + WORK + USE,
    f"    call MPI_Allgather(a, {BLOCKS}, flat, {BLOCKS}, {WORLD}" + loop(FLAT, "p = 2, np"),
    ALLGATHERV + USE_SLICES,
    f"    call MPI_Gather(a, {BLOCKS}, r, {BLOCKS}, root, {WORLD}"
    + at_root(loop("total = total + r(i,p)")),
    f"    call MPI_Gatherv(a, counts(me), {REAL}, flat, {LISTED}, root, {WORLD}"
    + at_root(SUM_SLICES),
    at_root(FILL_PARTS) + f"    call MPI_Scatter(parts, {BLOCKS}, a, {BLOCKS}, root, {WORLD}",
    at_root(FILL_SLICES)
    + f"    call MPI_Scatterv(parts, {LISTED}, b, counts(me), {REAL}, root, {WORLD}"
    + loop("x(i,p) = x(i,p) + i"),
    BCAST + USE,
    at_root(loop("r(i,p) = r(i,p) + sqrt(dble(i*p))"))
    + BCAST
    + loop("total = total + r(i,p)", "p = 2, np"),
    loop("x(i,p) = x(i,p) + me", "p = 0, np")
    + f"    call MPI_Bcast(x(1,1), n*np, {REAL}, 0, {WORLD}"
    + loop("s(i,p) = s(i,p) + x(i,p)"),
)


@pytest.mark.wide
@pytest.mark.parametrize(("n", "parted"), [(61, 13), (2501, len(ALL))])
@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_all_of_them_compute_the_same(mpi: Mpi, n: int, parted: int, tmp_path: Path) -> None:
    """As messages, and with blocks that are too short for that, most of which stay whole in the
    source, too; with blocks of length 0, and on numbers of ranks that divide nothing."""
    text = program("".join(ALL), n)
    found = optimised(tmp_path, text)
    assert found.content is not None
    assert len(found.transfers) == parted
    flags = ["-O1", "-w", "-fallow-argument-mismatch", "-fcheck=all"]
    numbers = (2, 3, 4) if mpi is SMPI else (1, 2, 3, 4)  # its MPI_Ibcast fails on one rank
    results: dict[str, list[list[str]]] = {}
    for kind, content in (("before", text.encode()), ("after", iterated(tmp_path, found.content))):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        runtime = [] if kind == "before" else [*RUNTIME]
        built = build(mpi, [*runtime, folder / "main.f90"], folder, flags)
        for ranks in numbers:
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.setdefault(kind, []).append(sorted(outcome.stdout.splitlines()))
    assert results["before"] == results["after"]
    assert [len(lines) for lines in results["after"]] == list(numbers)


THREADS = "      !$omp parallel do\n      do i"
RUNNING = (
    "    m = 0\n"
    + loop("s(i,p) = s(i,p) + x(i,p) + m").replace(
        "    end do\n    end", "    end do\n      m = m + p\n    end"
    )
    + ALLTOALL
)
FLAT_BLOCKS = (
    ALLTOALL + loop("flat(n*(p - 1) + i) = flat(n*(p - 1) + i) + sqrt(r(i,p))"),
    FLAT_ALLTOALL + SECTION.format("n*p"),
    RUNNING,
    loop("s(i,p) = s(i,p) + r(i,np + 1 - p)").replace("      do i", THREADS) + ALLTOALL,
    GAPS + USE_GAPS.replace("      do i", THREADS),
)


@pytest.mark.skipif(not installed(OPENMPI), reason="Open MPI is not installed")
def test_flat_blocks_compute_the_same(tmp_path: Path) -> None:
    text = program("".join(FLAT_BLOCKS), 2501)
    found = optimised(tmp_path, text)
    assert found.content is not None
    assert found.content.count(b"call asphalt_await_block") == 3
    assert found.content.count(b"call asphalt_send_block(") == 2
    assert found.content.count(b"receives_later=.true.") == 1
    assert iterated(tmp_path, found.content).count(b"do while (asphalt_next_to_take(") == 3
    results: list[list[str]] = []
    for kind, content in (("before", text.encode()), ("after", iterated(tmp_path, found.content))):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        flags = ["-O1", "-fcheck=all", "-fopenmp"]
        built = build(OPENMPI, [*RUNTIME, folder / "main.f90"], folder, flags)
        outcome = run(OPENMPI, built, 3)
        assert outcome.code == 0, outcome.stderr
        results.append(sorted(outcome.stdout.splitlines()))
    assert results[0] == results[1]


_WORKS = """\
module works
  implicit none
  {external}
contains
  subroutine work(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(inout) :: y(n)
    integer :: i
    do i = 1, n
      y(i) = y(i) + cos(x(i))
    end do
    {time}
  end subroutine work
end module works
"""
_TIMED = """\
program main
  use mpi
  use works
  implicit none
  integer :: me, np, ierr, p, n
  real(8) :: time
  real(8), allocatable :: s(:,:), r(:,:), x(:,:), a(:), b(:)
  integer, allocatable :: same(:), counts(:), bytes(:), types(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  n = 65536
  allocate(s(n,np), r(n,np), x(n,np), a(n), b(n), same(np), counts(np), bytes(np), types(np))
  same = n; counts = n; types = MPI_DOUBLE_PRECISION; bytes = [(8*n*(p - 1), p = 1, np)]
  s = me; r = 0; x = 0; a = me; b = 0
  time = MPI_Wtime()
{body}  time = MPI_Wtime() - time
  call MPI_Reduce(time, a, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(f12.9)', a(1)
  call MPI_Finalize(ierr)
end program main
"""
_ASIDE = "    call work(n, a, b)\n"
_EACH = "    do p = 1, np\n      call work(n, r(1,p), x(1,p))\n    end do\n"
_FILLS = "    do p = 1, np\n      call work(n, x(1,p), s(1,p))\n    end do\n"
_ROOT = _FILLS.replace("    do", "    if (me == 0) then\n    do").replace(
    "end do", "end do\n    end if"
)
TIMED = {
    "used-by-all": ALLTOALL + _ASIDE + _EACH,
    "filled-and-used": _FILLS + ALLTOALL + _EACH,
    "types": ALLTOALLW + _ASIDE + _EACH,
    "filled-and-types": _FILLS + ALLTOALLW + _EACH,
    "gathered": f"    call MPI_Allgather(a, {BLOCKS}, r, {BLOCKS}, {WORLD}" + _ASIDE + _EACH,
    "at-the-root": f"    call MPI_Gather(a, {BLOCKS}, r, {BLOCKS}, 0, {WORLD}"
    + _EACH.replace("x(1,p)", "b"),
    "broadcast": f"    call MPI_Bcast(r, n*np, {REAL}, 0, {WORLD}" + _EACH,
    "filled-and-broadcast": _ROOT
    + f"    call MPI_Bcast(s, n*np, {REAL}, 0, {WORLD}"
    + _EACH.replace("r(", "s("),
    "scattered": _ROOT + f"    call MPI_Scatter(s, {BLOCKS}, b, {BLOCKS}, 0, {WORLD}",
}


@pytest.mark.wide
@pytest.mark.skipif(not installed(SMPI), reason="SMPI is not installed")
@pytest.mark.parametrize("name", TIMED)
def test_it_is_faster_than_one_operation(name: str, tmp_path: Path) -> None:
    """Than the blocking one, and than the non-blocking one, in simulated time."""
    source = tmp_path / "source"
    source.mkdir()
    text = _TIMED.format(body=TIMED[name])
    (source / "main.f90").write_text(text)
    (source / "works.f90").write_text(_WORKS.format(external="", time=""))
    tree = load_tree([source], Settings(cache=False, jobs=1))
    (located,) = tree.units_of(str(source / "main.f90"))
    whole = tuple(one for one in TRANSFERS if one != Pass.DECOMPOSITION)
    texts = [text.encode()]
    for passes in (whole, TRANSFERS):
        found = optimise(tree, located, Options(passes)).content
        texts.append(text.encode() if found is None else found)
    assert b"_blocks" in texts[2]
    times: list[float] = []
    for number, content in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        timed = _WORKS.format(
            external="external :: smpi_execute_flops", time="call smpi_execute_flops(6.4d0*n)"
        )
        (folder / "works.f90").write_text(timed)
        sources = [*RUNTIME, folder / "works.f90", folder / "main.f90"]
        outcome = run(SMPI, build(SMPI, sources, folder, ["-O1", "-w"]), 8)
        assert outcome.code == 0, outcome.stderr
        times.append(float(outcome.stdout))
    assert times[2] < 0.95 * min(times[:2]), times
