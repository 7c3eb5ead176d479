"""Tests of how two answers differ: moves lead from one to the other, and what is better is."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.show.explaining.compared import side_of
from mtpp_dsl.show.explaining.comparing import amounts, diff, holders_of_side
from mtpp_dsl.show.explaining.difference import Difference, diff_schema
from tests.hostile_names import hostile_problem
from tests.show.explaining.mixed import KINDS, every_plan, problem_of
from tests.strategies import plain_problems

SPEC = """mtpp 1
param k = 2
graph {
  node embed (work = 2 ms, output = 1 MB)
  node layer[i in 0..7] (work = 1 ms, output = 1 MB)
  node head (work = 2 ms)
  edge embed -> layer[0]
  edge layer[i] -> layer[i + 1] for i in 0..6
  edge layer[7] -> head
}
device gpu[k]
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic
"""


def result_of(problem: Problem, plan: Plan, bound: float | None = None) -> Result:
    """Return a plan as the result of a method."""
    proof = None if bound is None else Bound(bound, "by hand", "trusted", "nobody")
    found = Result("complete", plan=plan, evaluation=evaluate(problem, plan), bound=proof, method="by hand")
    return found.of(problem)


def split(problem: Problem, *ends: int) -> Plan:
    """Return the plan that gives gpu[i] the nodes before the i-th of *ends*."""
    device = np.zeros(problem.graph.n, np.int64)
    for i, end in enumerate(ends[:-1], 1):
        device[end:] = i
    return Plan.create(problem, device)


def compared(a: Result, b: Result) -> Difference:
    found = diff(a, b)
    Draft202012Validator(diff_schema()).validate(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert found.words()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_moves_lead_from_one_plan_to_the_other(kind: str) -> None:
    """With devices renamed, the moves and what stays make the second plan; the better one costs less."""
    seen = 0
    for seed in range(6):
        problem = problem_of(kind, seed)
        for one, other in pairwise(every_plan(problem, 5)):
            a, b = result_of(problem, one), result_of(problem, other)
            found = compared(a, b)
            where, there = (
                {
                    name: tuple(problem.devices[d].name for d in sorted(plan.replicas.get(lead, (lead,))))
                    for name, lead in zip(problem.graph.names, plan.assignment.tolist(), strict=True)
                }
                for plan in (one, other)
            )
            where = {v: tuple(found.renamed.get(d, d) for d in devices) for v, devices in where.items()}
            for move in found.moved:
                for node in move.nodes:
                    assert where[node] == move.source
                    where[node] = move.target
            assert where == there, (kind, seed)
            assert found.same_plan == (not found.moved and not found.stages)
            if found.better in ("a", "b") and not problem.timed:  # a plan is not better than itself
                assert not found.same_plan, (kind, seed)
            assert found.stayed + sum(len(move.nodes) for move in found.moved) == problem.graph.n
            assert a.evaluation is not None
            assert b.evaluation is not None
            x, y = a.evaluation.costs, b.evaluation.costs
            differ = next(
                (i for i, (p, q) in enumerate(zip(x, y, strict=True)) if not np.isclose(p, q, 1e-8, 1e-12)), None
            )
            if found.better is None:  # a plan that no method has made says nothing of later objectives
                assert problem.later
            elif differ is not None and found.better != "equal":
                assert found.better == ("a" if x[differ] < y[differ] else "b"), (kind, seed)
            seen += 1
    assert seen > 2


@settings(max_examples=15, deadline=None)
@given(plain_problems(most_devices=4), st.randoms(use_true_random=False))
def test_plans_that_differ_in_names_of_alike_devices_are_the_same(problem: Problem, random: Random) -> None:
    plan = mtpp_dsl.solve(problem, "ideals").plan
    assert plan is not None
    names = list(range(problem.k))
    random.shuffle(names)
    assert interchangeable(problem) == [tuple(range(problem.k))]
    other = Plan.create(problem, np.array(names)[plan.assignment])
    found = compared(result_of(problem, plan), result_of(problem, other))
    assert found.same_plan
    assert found.better == "equal"


def test_says_what_held_the_worse_one_back() -> None:
    problem = mtpp_dsl.load(SPEC)
    a, b = result_of(problem, split(problem, 3, 10)), result_of(problem, split(problem, 5, 10), 0.007)
    words = "\n".join(compared(a, b).words())
    assert "B is better, by 22 %: less bottleneck" in words
    assert "gpu[1] holds A back, with 9 ms; in B it has 7 ms" in words
    assert "layer[2..3] went to gpu[0]" in words
    assert "  layer[2..3]: gpu[1] -> gpu[0]" in words
    assert "2 nodes moved, 8 stayed:" in words
    assert "  gpu[1]: 9 ms -> 7 ms (-22 %)" in words
    back = "\n".join(compared(b, a).words())
    assert "A is better, by 22 %: less bottleneck" in back
    assert "layer[2..3] went to gpu[0]" in back


def test_compares_answers_to_other_questions_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other params, a changed spec, another objective, other nodes: each is said, and what is left is compared."""
    spec = tmp_path / "a.mtpp"
    spec.write_text(SPEC)
    paths = []
    for k in (2, 3):
        result = mtpp_dsl.solve(mtpp_dsl.load(spec, k=k), "ideals")
        paths.append(tmp_path / f"{k}.json")
        paths[-1].write_text(result.to_json())
    found = diff(*paths)
    assert found.asked == ("param k: 2 and 3",)
    assert found.better == "b"
    assert not found.reasons
    spec.write_text(SPEC.replace("work = 2 ms", "work = 3 ms").replace("head", "tail"))
    paths.append(tmp_path / "new.json")
    paths[-1].write_text(mtpp_dsl.solve(mtpp_dsl.load(spec), "ideals").to_json())
    assert run(["diff", str(paths[0]), str(paths[2])]) == 0
    out = capsys.readouterr().out
    assert "is compared by its JSON alone: " in out
    assert "2.json, which is not checked, says: optimal" in " ".join(out.split())
    assert "new.json: optimal" in " ".join(out.split())
    assert "say different things" in out
    assert "only A has 1 node: head" in out
    assert "only B has 1 node: tail" in out
    spec.write_text(SPEC.replace("minimize bottleneck", "minimize latency"))
    paths[0].write_text(mtpp_dsl.solve(mtpp_dsl.load(spec), time_limit=5).to_json())
    found = diff(paths[0], paths[2])
    assert found.better is None
    assert "their objectives differ" in "\n".join(found.words())


def test_no_two_lines_are_empty() -> None:
    """An answer without a plan has no moves; what is said of it has one empty line between its parts."""
    problem = mtpp_dsl.load(SPEC)
    bound = Result("complete", bound=Bound(0.005, "by hand", "trusted", "nobody"), method="by hand").of(problem)
    plan = result_of(problem, split(problem, 5, 10), 0.005)
    for a, b in ((bound, bound), (bound, plan), (plan, bound), (plan, plan)):
        for notes in ((), ("something",)):
            said = replace(diff(a, b), notes=notes).words()
            assert said[-1]
            assert all(one or other for one, other in pairwise(said))


def test_finds_contradictions() -> None:
    """A bound of one answer beyond the plan of another to the same question is told."""
    problem = mtpp_dsl.load(SPEC)
    good = result_of(problem, split(problem, 5, 10))
    wrong = replace(result_of(problem, split(problem, 3, 10)), bound=Bound(0.0095, "by hand", "trusted", "nobody"))
    assert any("one of them is wrong" in note for note in compared(wrong, good).notes)
    assert not any("wrong" in note for note in compared(good, good).notes)


def test_the_command_writes_json_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = mtpp_dsl.load(SPEC)
    answer, front, other = tmp_path / "a.json", tmp_path / "front.json", tmp_path / "no.json"
    spec = tmp_path / "a.mtpp"
    spec.write_text(SPEC)
    problem = mtpp_dsl.load(spec)
    answer.write_text(mtpp_dsl.solve(problem, "ideals").to_json())
    front.write_text(mtpp_dsl.front(problem, ["bottleneck", "latency"], points=3).to_json())
    other.write_text('{"a": 1}')
    assert run(["diff", str(answer), str(answer), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["same_plan"] is True
    assert run(["diff", str(front), str(front), "--point", "1,2"]) == 0
    assert run(["diff", str(front), str(answer)]) == 2
    assert "of which one is to be chosen" in capsys.readouterr().err
    assert run(["diff", str(front), str(front), "--point", "0"]) == 2
    assert "write the numbers of the points" in capsys.readouterr().err
    assert run(["diff", str(answer), str(answer), "--point", "1,2"]) == 2
    assert "is a front that has points" in capsys.readouterr().err
    assert run(["diff", str(answer), str(other)]) == 2
    assert "is no answer of mtpp" in capsys.readouterr().err
    with pytest.raises(UsageError, match="does not know its problem"):
        diff(mtpp_dsl.solve(problem, "ideals").of(problem), Result("complete"))


def test_names_of_others_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever nodes and devices are called, words fit lines and hold no sign that a terminal obeys."""
    from mtpp_dsl.cli.explain import show_words
    from mtpp_dsl.solving.answers.json import dumps

    problem = hostile_problem()
    result = mtpp_dsl.solve(problem, "ideals")
    assert result.plan is not None
    other = result_of(problem, Plan.create(problem, np.zeros(problem.graph.n, np.int64)))
    name = problem.graph.names[7]
    explained = mtpp_dsl.explain(
        problem, result, only=["bottleneck", "next", "node", "what_if"], node=name, time_limit=1
    )
    for words, data in (
        (diff(result, other).words(), diff(result, other).to_json()),
        (explained.words(), explained.to_json()),
    ):
        show_words(words)
        out = capsys.readouterr().out
        assert visible(out) == out
        assert max(map(len, words)) < 2_000
        assert json.loads(dumps(data))


def test_a_stage_with_more_replicas_has_moved() -> None:
    """Two plans whose nodes are led by the same device are not the same where one of them replicates it."""
    problem = mtpp_dsl.load(SPEC + "constraint replicate gpu up to 2\n")
    nodes = np.zeros(problem.graph.n, np.int64)
    plans = [Plan.create(problem, nodes, replicas=given) for given in ({}, {0: (0, 1)}, {1: (1, 0)})]
    one, two, other = (result_of(problem, replace(plan, assignment=nodes + i // 2)) for i, plan in enumerate(plans))
    found = compared(one, two)
    assert (found.better, found.same_plan, found.stayed) == ("b", False, 0)
    (move,) = found.moved
    assert (move.source, move.target) == (("gpu[0]",), ("gpu[0]", "gpu[1]"))
    assert compared(two, other).same_plan


def test_a_stage_that_recomputes_is_told() -> None:
    """Plans with every node at the same place differ where a stage recomputes in one of them alone."""
    seen = 0
    for one, other in combinations(every_plan(problem_of("stages", 0), 40), 2):
        if (one.assignment == other.assignment).all() and one.recomputed != other.recomputed:
            problem = problem_of("stages", 0)
            found = compared(result_of(problem, one), result_of(problem, other))
            changed = sorted(problem.devices[d].name for d in set(one.recomputed) ^ set(other.recomputed))
            told = [line for line in found.words() if line.startswith("the stage on ") and "recomputes" in line]
            assert sorted(line.split()[3] for line in told) == changed
            assert not found.same_plan
            seen += 1
            if seen == 5:
                return
    assert seen


@pytest.mark.parametrize("seed", [1, 4, 7, 11])
def test_what_terms_and_broken_rows_cost_adds_up(seed: int) -> None:
    """What is told of a linear objective, with the rows that a plan breaks, sums up to its value."""
    problem = problem_of("objectives", seed)
    for plan in every_plan(problem, 10):
        result = result_of(problem, plan)
        found = holders_of_side(side_of(result, "A"))
        assert found is not None
        assert result.evaluation is not None
        value = problem.objective.value(result.evaluation.cost)
        assert sum(amounts(found, {}).values()) == pytest.approx(value, abs=1e-9)


def test_names_with_spaces_are_renamed_with_their_loads() -> None:
    spec = SPEC.replace("device gpu[k]", 'device "my gpu"\ndevice "your gpu"')
    problem = mtpp_dsl.load(spec)
    one = split(problem, 4, 10)
    found = diff(result_of(problem, one), result_of(problem, Plan.create(problem, 1 - np.asarray(one.assignment))))
    assert found.same_plan
    assert dict(found.renamed) == {"my gpu": "your gpu", "your gpu": "my gpu"}
    assert all(x == pytest.approx(y) for _, _, x, y in found.rows())
    assert "loads:" not in found.words()


def test_of_points_of_a_front_neither_is_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "two.mtpp"
    asked = "minimize used: sum(used(d) for d in devices)\nminimize bottleneck"
    spec.write_text(SPEC.replace("minimize bottleneck", asked), encoding="utf-8")
    front = tmp_path / "front.json"
    assert run(["solve", str(spec), "--pareto", "used,bottleneck", "--json", str(front), "-q"]) == 0
    found = diff(front, front, points=(1, 2))
    assert (found.better, found.ratio) == (None, None)
    Draft202012Validator(diff_schema()).validate(found.to_json())
    capsys.readouterr()
    assert run(["diff", "--point", "1,2", str(front), str(front)]) == 0
    said = capsys.readouterr().out
    assert "neither is better in all objectives of the front: A has less used, B has less bottleneck" in said
    assert "front.json point 2: optimal, used 2, bottleneck 7 ms" in said.replace("\n", " ")
    assert diff(front, front, points=(2, 2)).better == "equal"
