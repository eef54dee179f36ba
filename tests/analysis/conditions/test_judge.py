"""The judgement of a site: all conditions in order, for every way to tile the producer."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.conditions.judge import judge
from asphalt.analysis.exchange.site import exchanges
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.plan import GRAIN, Plan
from asphalt.analysis.uniformity.uniformity import Uniform, Uniformity
from asphalt.analysis.verdicts.verdict import Refused
from support.analysed import Analysed
from support.judging import CALL, NEST, program, project, site


def plan_of(folder: Path, text: str) -> Plan:
    judgement = site(folder, text).judgement
    assert isinstance(judgement, Plan), judgement
    return judgement


def test_a_plan_has_a_sentence_for_every_condition(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, program())
    assert len(plan.evidence) >= 11
    assert len(set(plan.evidence)) == len(plan.evidence)
    assert plan.assumptions == ()
    assert plan.exchange.call.operation == "mpi_alltoall"


def test_without_files(tmp_path: Path) -> None:
    unit = Analysed(program())
    (exchange,) = exchanges(unit.located, unit.effects)
    assert isinstance(judge(exchange, Uniformity(unit.scopes)), Plan)


def test_inputs_of_the_decision_are_proofs(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, program())
    assert plan.certain
    assert plan.proved is not None
    assert all(isinstance(proof, Uniform) for proof in plan.proved)


def test_grain(tmp_path: Path) -> None:
    innermost = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
    assert plan_of(tmp_path, program()).grain == 1
    assert plan_of(tmp_path, program(nest=innermost)).grain == GRAIN


def test_the_outer_loop_is_taken_if_both_would_do(tmp_path: Path) -> None:
    nest = "do p = 1, np\n  do z = 1, nz\n    s(:,z,p) = z\n  end do\nend do\n"
    plan = plan_of(tmp_path, program(nest=nest))
    assert (plan.producer.packing.variable, plan.layout.pattern) == ("p", TileShape.SLAB)


def test_the_inner_loop_is_taken_if_the_outer_one_will_not_do(tmp_path: Path) -> None:
    nest = "do p = np, 1, -1\n  do z = 1, nz\n    s(:,z,p) = z\n  end do\nend do\n"
    plan = plan_of(tmp_path, program(nest=nest))
    assert (plan.producer.packing.variable, plan.layout.pattern) == ("z", TileShape.EVERY_BLOCK)


def test_all_phases_are_taken_that_may_be(tmp_path: Path) -> None:
    declare = "real(8), allocatable :: w(:,:,:)\n"
    work = NEST.replace("s(", "w(")
    pack = NEST.replace("dble(i*z) + p*me", "w(i,z,p) + 1")
    plan = plan_of(tmp_path, program(declare=declare, nest=work + pack))
    assert [phase.variable for phase in plan.producer.phases] == ["z", "z"]


def test_fewer_phases_where_more_will_not_do(tmp_path: Path) -> None:
    declare = "real(8), allocatable :: w(:,:,:)\n"
    work = NEST.replace("s(", "w(").replace("  do p", "  print *, z\n  do p")
    pack = NEST.replace("dble(i*z) + p*me", "w(i,z,p) + 1")
    plan = plan_of(tmp_path, program(declare=declare, nest=work + pack))
    assert len(plan.producer.phases) == 1


def test_the_refusal_is_that_of_the_way_that_came_furthest(tmp_path: Path) -> None:
    nest = "do z = 1, nz\n  do p = 1, np\n    s(:,z,p) = 2*z\n  end do\nend do\ns(1,1,1) = 0\n"
    report = site(tmp_path, program(nest=nest)).report
    assert report.code == "ASP601"


@pytest.mark.parametrize(
    ("nest", "call", "code"),
    [
        ("s = 0\n", CALL, "ASP101"),
        (NEST + "print *, 1\n", CALL + "print *, 2\n", "ASP701"),
        (NEST.replace("1, nz", "1, nz, 3"), CALL, "ASP104"),
    ],
)
def test_refusals_have_a_place(nest: str, call: str, code: str, tmp_path: Path) -> None:
    judgement = site(tmp_path, program(nest=nest, call=call)).judgement
    assert isinstance(judgement, Refused)
    assert judgement.code.id in (code, "ASP902")
    assert judgement.span is not None
    assert judgement.message


def test_sites_of_a_file_are_judged_one_by_one(tmp_path: Path) -> None:
    text = program(after="s = 0\n" + CALL)
    verdicts = [found.verdict for found in project(tmp_path, text).sites()]
    assert verdicts == ["proved", "refused"]
