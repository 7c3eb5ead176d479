"""Several batches of a node on one device: plans, their figures, their check, and what is said without them."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Repeat
from mtpp_dsl.core.errors import ConstraintError, SpecError, UsageError
from mtpp_dsl.core.plans.batches import Batches, timed
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.plans import false_rows
from tests.repeats import reference, references

SPEC = """
graph {{ node a (work = 5, params = 2, output = 1) }}
device gpu (memory = 4)
interconnect links (bandwidth = 1)
maximize throughput (batch = 64)
constraint batch in [32]
time a on gpu at batch 32 = 5
{}
"""


NAMES = ("two of 32", "pipelined", "weights once", "closure", "overhead")


@pytest.mark.parametrize("name", NAMES)
def test_references(name: str, data: Path) -> None:
    """Brute force finds the optima by hand; with one batch on a device what they are without ``repeat``."""
    case = references(data)[name]
    problem = reference(case)
    assert min(evaluate(problem, plan).cost for plan in plans(problem)) == case["optimum"]
    one = case["data"]["one_batch"]
    if one is None or one >= 1e9:
        with pytest.raises(ConstraintError, match="constraint repeat up to 2"):
            reference(case, repeat=1)
    else:
        alone = reference(case, repeat=1)
        assert min(evaluate(alone, plan).cost for plan in plans(alone)) == one


def repeated(slots: int = 2) -> tuple[Problem, Plan]:
    """Return the spec with two batches of 32, and the plan that runs one after the other."""
    problem = mtpp_dsl.load(SPEC.format(f"constraint repeat up to {slots}"))
    where = np.array([[0, 1]])
    return problem, Plan.of_batches(timed(problem, where, np.array([[0.0, 1.0]]), slots=2))


def test_plan_is_written_and_read() -> None:
    """The slots are in the JSON of the schedule, and a plan is the same after a round trip."""
    problem, plan = repeated()
    rows = plan.to_json(problem)["schedule"]
    assert [(row["slot"], row["batch"], row["start"], row["end"], row["inputs"]) for row in rows] == [
        (0, 32, 0.0, 5.0, [[0, 32]]),
        (1, 32, 5.0, 10.0, [[32, 64]]),
    ]
    again = Batches.from_json(problem, json.loads(json.dumps(rows)))
    assert plan.batches is not None
    assert np.array_equal(again.lane, plan.batches.lane)
    assert np.array_equal(again.start, plan.batches.start)
    with pytest.raises(UsageError, match="two batches of 'a' on gpu"):
        Batches.from_json(problem, [{**row, "slot": 0} for row in rows])


def test_one_batch_each_is_read_as_it_is_written() -> None:
    """Where a node could have several batches on a device, and none has, rows keep their slots."""
    problem = mtpp_dsl.load(SENDS.replace("memory = 5", "memory = 50").replace("in [2]", "in [4]"))
    for plan in plans(problem):
        rows = plan.to_json(problem)
        again = Plan.from_json(problem, rows)
        assert again.to_json(problem) == rows
        assert list(false_rows(problem, again, rows)) == []


def test_parameters_count_once() -> None:
    """Work is that of both batches; memory that of the parameters and of all inputs on the device."""
    problem, plan = repeated()
    found = evaluate(problem, plan)
    assert (found.cost, found.work.tolist(), found.memory.tolist()) == (10.0, [10.0], [66.0])
    assert verify(problem, plan) == []


def test_what_is_wrong_is_found() -> None:
    """Batches at once on one device, and more of them than ``repeat`` lets it run, are violations."""
    problem, plan = repeated()
    assert plan.batches is not None
    where, slot = plan.batches.device, plan.batches.slot
    at_once = Plan.of_batches(Batches.create(problem, where, np.zeros((1, 2)), slot=slot))
    assert any("at once on" in violation.message for violation in verify(problem, at_once))
    alone = replace(problem, constraints=tuple(c for c in problem.constraints if not isinstance(c, Repeat)))
    assert "there are 2 batches of a on gpu; 1 is the most" in [v.message for v in verify(alone, plan)]


def test_errors_and_warnings_name_it() -> None:
    """Sizes that add up with several batches only, and those that no device can run all of, say what would help."""
    with pytest.raises(SpecError, match="'constraint repeat up to 2' lets a device run several batches"):
        mtpp_dsl.load(SPEC.format(""))
    text = SPEC.format("").replace("device gpu ", "device gpu[2] ")
    assert any("'constraint repeat up to 2' lets it run several" in said for said in mtpp_dsl.load(text).warnings)
    wrong = SPEC.format("constraint repeat up to 2").replace("maximize throughput (batch = 64)", "minimize makespan")
    wrong = wrong.replace("constraint batch in [32]", "").replace("at batch 32", "")
    with pytest.raises(SpecError, match="several batches of a node need 'maximize throughput"):
        mtpp_dsl.load(wrong)


def test_of_two_constraints_the_later_counts() -> None:
    """``repeat`` for one device follows one for all, and more batches than can be of use are not counted."""
    text = SPEC.format("constraint repeat up to 9 constraint repeat up to 1 on gpu[1]").replace("gpu ", "gpu[2] ", 1)
    assert mtpp_dsl.load(text.replace("[32]", "[16, 32]") + "time a on gpu at batch 16 = 3").batching.repeat == (4, 1)


def test_spec_is_written_again() -> None:
    """``to_spec`` says the constraint, and reading it gives an equal one."""
    problem, _ = repeated(7)
    again = mtpp_dsl.load(problem.to_spec())
    assert [c for c in again.constraints if isinstance(c, Repeat)] == [Repeat(most=7)]
    assert again.batching.repeat == (2,)


def test_no_batch_is_shorter_than_it_takes() -> None:
    """A batch has a length that its device supports: sizes without a time are refused."""
    problem, _ = repeated()
    with pytest.raises(UsageError):
        timed(problem, np.array([[0, 0]]), np.array([[0.0, inf]]), slots=2)


SENDS = """
graph {
  node a (work = 1, memory = 2, output = 1)
  node b (work = 1)
  edge a -> b
}
device gpu[2] (memory = 5)
interconnect links (bandwidth = 1)
maximize throughput (batch = 8)
constraint batch in [2]
constraint repeat up to 2
constraint pin a on gpu[0], gpu[1]
constraint memory
"""


def test_rows_of_an_answer_are_compared() -> None:
    """Rows of batches and of transfers between them are the plan's own; a changed one is named, with its slots."""
    problem = mtpp_dsl.load(SENDS.replace("memory = 5", "memory = 50"))

    plan = next(found for found in plans(problem) if not verify(problem, found) and found.to_json(problem)["transfers"])

    said = plan.to_json(problem)
    assert list(false_rows(problem, plan, said)) == []
    moved = json.loads(json.dumps(said))
    moved["schedule"][0]["slot"] = 7
    moved["transfers"][0]["slots"] = [7, 7]
    wrong = list(false_rows(problem, plan, moved))
    assert any("plan.schedule[0]: " in each and " 7 is none of the plan" in each for each in wrong)
    assert any("plan.transfers[0]: " in each and "[7, 7] is none of the plan" in each for each in wrong)


@pytest.mark.parametrize("solver", ["cp-sat", "highs"])
def test_what_clashes_is_not_said_of_one_batch_each(solver: str) -> None:
    """Memory for too few of the inputs: it is what clashes, not the sizes that need several batches."""
    text = SENDS.replace("work = 1)", "work = 1, memory = 1)").replace("(memory = 5)", "(memory = 9) device cpu")
    text = text.replace("up to 2", "up to 2 on gpu").replace("gpu[1]", "gpu[1], cpu")
    found = mtpp_dsl.solve(mtpp_dsl.load(text), "batched", solver=solver, time_limit=20)
    assert found.status == "infeasible"
    assert found.infeasibility is not None
    assert [each.split()[0] for each in found.infeasibility.clash] == ["memory"]
