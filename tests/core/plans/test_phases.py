"""Several phases on one placement: data, language, evaluation, and the independent check against a third count."""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyomo.environ as pyo
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Largest,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Replicate,
    Used,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import ConstraintError, Refused, SpecError, UsageError, VerificationError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Device, Links, Shared, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import result_to_json, schema
from mtpp_dsl.solving.answers.plans import false_devices
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.solving.api import find_method, method_names
from tests.amount import part
from tests.networks import random_links, random_tree
from tests.phases import GOALS, by_hand, phased_problem, random_case
from tests.tree import ROOT

SPEC = """
phase prefill, decode (weight = 3)
graph {
  node a (work = {prefill: 3 ms, decode: 1 ms}, output = {prefill: 8 MB, decode: 8 kB})
  node b (work = 2 ms, output = 0 B)
  edge a -> b (size = {prefill: 1 MB, decode: 2 MB})
}
device d[2] (memory = 1 GB)
interconnect shared (bandwidth = 8 GB/s)
"""


def test_a_spec_with_phases() -> None:
    """Work, outputs and times go by phase, and all together are the sums of what the phases weigh."""
    problem = mtpp_dsl.load(SPEC + "minimize bottleneck\ntime b on d[0] in decode = 7 ms\ntime a on d[1] = 5 ms\n")
    assert problem.phases == ("prefill", "decode")
    assert not problem.phased  # nothing is asked of one phase alone
    assert np.allclose(problem.phase("prefill").time, [[3e-3, 5e-3], [2e-3, 2e-3]])
    assert np.allclose(problem.phase("decode").time, [[1e-3, 5e-3], [7e-3, 2e-3]])
    assert np.allclose(problem.time, problem.phase("prefill").time + 3 * problem.phase("decode").time)
    assert problem.graph.memory.tolist() == [8e6, 0.0]  # the most of any phase
    assert problem.graph.output[0] == 8e6 + 3 * 8e3
    assert [phase.graph.sizes[0] for phase in problem.graph.phases] == [1e6, 2e6]
    assert mtpp_dsl.solve(problem, method="exact").value == pytest.approx(
        min(cost_of(problem, Plan.create(problem, where)) for where in itertools.product(range(2), repeat=2))
    )


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ("minimize bottleneck(prefil)", "nothing is called 'prefil'"),
        ('minimize bottleneck("x")', "there is no phase 'x'"),
        ("minimize bottleneck(3)", "a phase is wanted here"),
        ("minimize bottleneck(a)", "a phase is wanted here"),
        ("minimize bottleneck\nphase prefill", "already declared"),
        ("minimize bottleneck\nphase slow (weight = 0)", "more than zero"),
        ("minimize bottleneck\nphase b", "is both a phase and a node"),
        ("minimize makespan", "a schedule is of one phase"),
        ("maximize throughput (batch = 4)", "a batch has no phases"),
        ("minimize bottleneck\nconstraint replicate d up to 2", "has no meaning in several phases yet"),
        ("minimize bottleneck(prefill)\ntime a on d[0] at batch 2 = 3 ms", "times of batches go with no phases"),
        ("minimize bottleneck(prefill)\ntime a on d[0] in a = 3 ms", "a phase is wanted here"),
        ("maximize max(load(d[0]), load(d[1], prefill))", "not linear"),
        ("minimize load(d[0], prefill, decode)", "load(device, [phase]) got 3 arguments"),
    ],
)
def test_what_is_wrong_with_phases_is_said(added: str, says: str) -> None:
    """A phase that is not there, is there twice, or has no meaning in what is asked."""
    with pytest.raises(SpecError) as caught:
        mtpp_dsl.load(f"{SPEC}{added}\n")
    assert says in str(caught.value)


def test_a_value_for_every_phase_is_wanted() -> None:
    """A map of an option names every phase, and no other."""
    for wrong, says in (
        ("{prefill: 3 ms}", "no value for phase decode"),
        ("{prefill: 1 ms, decod: 1 ms}", "'decode'?"),
    ):
        with pytest.raises(SpecError) as caught:
            mtpp_dsl.load(SPEC.replace("{prefill: 3 ms, decode: 1 ms}", wrong) + "minimize bottleneck\n")
        assert says in str(caught.value)


def test_what_is_asked_of_phases_reads_back_as_it_is_written() -> None:
    """Problems with phases are written as specs, with weights, tables of times, objectives and rows."""
    asked = """
minimize cost: bottleneck(prefill) + 2 * max(bottleneck(decode), 3 * load(d[0], prefill) + 1 ms)
time b on d[0] in decode = 7 ms
constraint limit: latency(decode) <= 50 ms
constraint each: max(load(d[1], p) for p in phases) <= 40 ms
constraint soft: max(load(d[0], decode), load(d[1], prefill)) <= 4 ms (penalty = 2)
constraint memory
"""
    problem = mtpp_dsl.load(SPEC + asked)
    again = mtpp_dsl.load(problem.to_spec())
    assert again.objectives == problem.objectives
    assert again.constraints == problem.constraints
    assert sum(row.label == "each" for row in problem.of(Linear)) == 2  # one for every phase
    assert again.to_spec() == problem.to_spec()
    for phase in problem.phases:
        assert (again.phase(phase).time == problem.phase(phase).time).all()
        assert (again.phase(phase).graph.output == problem.phase(phase).graph.output).all()
        assert (again.phase(phase).graph.sizes == problem.phase(phase).graph.sizes).all()
    limited = list(problem.phase("decode").of(Linear))
    assert {(row.label, row.terms) for row in limited} == {
        ("limit", ((Latency(), 1.0),)),
        ("each", ((Load(1), 1.0),)),
    }


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(40))
def test_plans_cost_what_is_counted_by_hand(seed: int) -> None:
    """The evaluation, the check and a third count agree on every goal, through text too."""
    case = random_case(seed)
    for goal in GOALS:
        problem = phased_problem(case, goal)
        again = mtpp_dsl.load(problem.to_spec())
        rng = random.Random(seed)
        for _ in range(4):
            where = [rng.randrange(problem.k) for _ in range(problem.graph.n)]
            value, holds = by_hand(case, goal, where)
            for one in (problem, again):
                plan = Plan.create(one, where)
                assert evaluate(one, plan).cost == pytest.approx(value, rel=1e-9)
                assert cost_of(one, plan) == pytest.approx(value, rel=1e-9)
                broken = [violation for violation in verify(one, plan) if "limit" in violation.constraint]
                assert (not broken) == holds


@pytest.mark.parametrize("method", method_names())
def test_methods_that_know_no_phases_refuse(method: str) -> None:
    """What is asked of single phases is refused by every method whose scope does not say that it knows them."""
    found = find_method(method)
    scopes = getattr(found, "scopes", ())
    if method in ("auto", "expert", "single-device") or any(scope.phases for scope in scopes):
        pytest.skip("it knows phases")
    for goal in ("separate", "worst"):
        problem = phased_problem(random_case(1), goal)
        assert found.accepts(problem) is not None
        with pytest.raises(Refused):
            mtpp_dsl.solve(problem, method=method, time_limit=1)


def test_graphs_that_are_no_phases_of_each_other() -> None:
    """Phases have the same nodes and edges; weights are of phases and more than zero."""
    one, two = Graph.create(["a"], [], work=1.0), Graph.create(["b"], [], work=1.0)
    for graphs, weights, says in (
        ({"p": one, "q": two}, {}, "other names"),
        ({}, {}, "needs one at least"),
        ({"p": one}, {"q": 2.0}, "no phase 'q'"),
        ({"p": one}, {"p": 0.0}, "more than zero"),
        ({"p": phased_graph({"q": one})}, {}, "phases itself"),
    ):
        with pytest.raises(UsageError, match=says):
            phased_graph(graphs, weights)
    devices, graph = [Device("d"), Device("e")], phased_graph({"p": one, "q": one})
    maximal = Linear(label="c", terms=((Largest((((((Load(0), 1.0)),), 0.0),)), 1.0),), sense=">=", rhs=1.0)
    for objective, rows, says in (
        (Objective.linear([(Bottleneck("r"), 1.0)]), [], "no phase 'r'"),
        (Objective("bottleneck"), [maximal], "only be limited from above"),
        (Objective("bottleneck"), [Replicate(most=2)], "has no meaning"),
    ):
        with pytest.raises((UsageError, ConstraintError), match=says):
            Problem.create(graph, devices, Shared(1.0), objective, rows)
    with pytest.raises(UsageError, match="overflow"):
        Problem.create(graph, [Device("d", memory=1.0)], Shared(1.0, overflow=True))
    assert Problem.create(graph, devices, Shared(1.0), constraints=[Memory()]).phase("p").graph.n == 1


REFERENCES = ROOT.parent / "shared/prototypes/extensions/references.json"


def test_the_file_of_references_has_phases() -> None:
    """Four references of phases are in the notes' file, which the tests of methods solve."""
    if not REFERENCES.exists():
        pytest.skip("the notes' references are not here")
    assert sum(one["feature"] == 7 for one in json.loads(REFERENCES.read_text())) == 4


def test_answers_have_the_loads_of_phases(tmp_path: Path) -> None:
    """Devices of an answer have their load in each phase, the schema holds, and a false one is found."""
    spec = tmp_path / "spec.mtpp"
    spec.write_text(SPEC + "minimize bottleneck(prefill) + bottleneck(decode)\nconstraint acyclic\n")
    problem = mtpp_dsl.load(spec)
    result = mtpp_dsl.solve(problem, method="ideals")
    answer = result_to_json(problem, result)
    jsonschema.validate(answer, schema())
    row = answer["devices"][0]
    assert result.evaluation is not None
    assert row["phases"]["decode"]["load"] == result.evaluation.phases["decode"].load[0]
    assert result.plan is not None
    assert not list(false_devices(problem, result.plan, answer["devices"]))
    row["phases"]["decode"]["load"] += 1.0
    assert "in decode is" in "".join(false_devices(problem, result.plan, answer["devices"]))
    del row["phases"]["decode"]
    assert "phase decode" in "".join(false_devices(problem, result.plan, answer["devices"]))


@pytest.mark.parametrize("overlap", ["none", "full"])
def test_phases_on_links(overlap: Any) -> None:
    """On links, too, the evaluation and the check agree on what is asked of single phases."""
    for seed in range(6):
        case = replace(random_case(seed), host=False)
        before = phased_problem(case, "separate")
        rng = random.Random(seed)
        bandwidth = np.array([[0.0 if d == e else rng.choice([0.5, 1.0, 2.0]) for e in range(3)] for d in range(3)])
        links = Links(bandwidth=bandwidth, latency=np.zeros((3, 3)), overlap=overlap)
        for objective in (before.objective, Objective.linear([(Latency("q"), 1.0)]), Objective("bottleneck")):
            problem = Problem.create(before.graph, before.devices, links, objective)
            plan = Plan.create(problem, [rng.randrange(3) for _ in range(5)])
            assert evaluate(problem, plan).cost == pytest.approx(cost_of(problem, plan), rel=1e-9)
            assert not verify(problem, plan)
            assert mtpp_dsl.load(problem.to_spec()).to_spec() == problem.to_spec()
            assert find_method("auto").accepts(problem) is None


ONE_PHASE = (
    [(Bottleneck("q"), 1.0)],
    [(Latency("q"), 1.0)],
    [(Latency("q"), 2.0), (Bottleneck("q"), 0.5), (On(0, 1), 3.0)],
    [(Load(0, "q"), 1.0), (Load(1, "q"), 2.0), (Used(1), 4.0)],
)


@pytest.mark.parametrize("seed", range(part(48)))
def test_what_is_asked_of_one_phase_is_an_ordinary_problem(seed: int) -> None:
    """Plan by plan it is the same, on every interconnect, with rows, penalties and memory; and solved it is proved."""
    rng = random.Random(seed)
    case = random_case(seed, n=4, k=2)
    stated = phased_problem(case, "together")
    joined = rng.choice(
        [
            stated.interconnect,
            Links(np.array([[np.inf, 2.0], [1.0, np.inf]]), np.array([[0.0, 1.0], [2.0, 0.0]])),
            Tree(("root",), np.array([0, 0, -1]), np.array([1.0, 2.0, np.inf]), np.zeros(3), np.zeros(3) > 0),
        ]
    )
    rows: list[Constraint] = [Acyclic()] if rng.random() < 0.4 else []
    if rng.random() < 0.5:
        rows.append(Linear(label="most", terms=((Load(0, "q"), 1.0),), sense="<=", rhs=14.0))
    if rng.random() < 0.5:
        rows.append(Linear(label="soft", terms=((Bottleneck("q"), 1.0),), sense="<=", rhs=3.0, penalty=2.0))
    objective = Objective.linear(ONE_PHASE[seed % len(ONE_PHASE)])
    problem = Problem.create(stated.graph, [Device("d0"), Device("d1")], joined, objective, rows)
    alone = problem.in_one_phase
    assert alone is not None
    assert not alone.phases
    costs = []
    for where in itertools.product(range(2), repeat=4):
        one, other = Plan.create(problem, where), Plan.create(alone, where)
        assert bool(verify(problem, one)) == bool(verify(alone, other))
        assert cost_of(alone, other) == pytest.approx(cost_of(problem, one), rel=1e-12)
        costs += [] if verify(problem, one) else [cost_of(problem, one)]
    result = mtpp_dsl.solve(problem, time_limit=20)
    assert result.status == ("optimal" if costs else "infeasible")
    if costs:
        assert result.cost == pytest.approx(min(costs), abs=1e-5)
        assert result.bound is not None
        assert result.bound.cost <= min(costs) * (1 + 1e-9) + 1e-9
        claim = BoundClaim.of(problem, result_to_json(problem, result))
        assert claim is not None
        assert check_bound(problem, claim, Limits(time=20)).text.startswith("bound")


@pytest.mark.parametrize("method", ["simple", "node", "count", "configuration"])
def test_bounds_on_one_phase_are_proved_again(method: str) -> None:
    """The certificate of a bound on one phase proves it, and does not prove twice as much."""
    problem = phased_problem(random_case(1), "together").asking(Objective.linear([(Bottleneck("q"), 1.0)]))
    answer = result_to_json(problem, mtpp_dsl.solve(problem, method=method, time_limit=20))
    claim = BoundClaim.of(problem, answer)
    assert claim is not None
    assert claim.value > 0
    assert claim.certificate is not None
    assert check_bound(problem, claim, Limits(time=20)).proved
    with pytest.raises(VerificationError, match="not proved"):
        check_bound(problem, replace(claim, value=2 * claim.value, cost=2 * claim.cost), Limits(time=20))


@pytest.mark.parametrize("seed", range(part(60)))
def test_a_sum_of_latencies_is_the_latency_of_one_phase(seed: int) -> None:
    """Plan by plan it costs the same, on every interconnect, with delays and rows on places; and it is proved."""
    rng = random.Random(seed)
    case = random_case(seed, n=4, k=2)
    stated = phased_problem(case, "together")
    joined = stated.interconnect if seed % 3 == 0 else (random_tree if seed % 3 == 1 else random_links)(rng, 2)
    rows: list[Constraint] = [Acyclic()] if rng.random() < 0.4 else []
    if rng.random() < 0.5:
        rows.append(Linear(label="some", terms=((On(0, 1), 1.0), (Used(0), 2.0)), sense=">=", rhs=2.0, penalty=1.5))
    terms = [(Latency("p"), 2.0), (Latency(rng.choice(["q", None])), 0.5), (Latency("q"), 1.0)]
    objective = Objective.linear(terms, constant=3.0)
    problem = Problem.create(stated.graph, [Device("d0"), Device("d1")], joined, objective, rows)
    alone = problem.in_one_phase
    assert alone is not None
    assert not alone.phases
    costs = []
    for where in itertools.product(range(2), repeat=4):
        one, other = Plan.create(problem, where), Plan.create(alone, where)
        assert bool(verify(problem, one)) == bool(verify(alone, other))
        costs += [] if verify(problem, one) else [cost_of(problem, one)]
        assert verify(problem, one) or cost_of(alone, other) == pytest.approx(costs[-1], rel=1e-12)
    result = mtpp_dsl.solve(problem, time_limit=20)
    assert result.status == ("optimal" if costs else "infeasible")
    if costs:
        assert result.cost == pytest.approx(min(costs), abs=1e-5)
        assert result.bound is not None
        assert result.bound.cost <= min(costs) * (1 + 1e-9) + 1e-9


def test_tensors_of_several_sizes_are_of_no_mean() -> None:
    """The largest of the sums of sizes may be less than the sum of the largest: then phases stay apart."""
    sizes = {"p": [1.0, 2.0], "q": [2.0, 1.0]}
    graphs = {phase: Graph.create("abc", [(0, 1), (0, 2)], work=1.0, output=2.0, sizes=sizes[phase]) for phase in "pq"}
    links = Links(np.array([[np.inf, 2.0], [1.0, np.inf]]), np.zeros((2, 2)))
    objective = Objective.linear([(Latency("p"), 1.0), (Latency("q"), 1.0)])
    assert Problem.create(phased_graph(graphs), [Device("d0"), Device("d1")], links, objective).in_one_phase is None


def test_what_speaks_of_several_phases_is_not_one() -> None:
    stated = phased_problem(random_case(1), "together")
    assert stated.in_one_phase is None  # all phases together are an ordinary problem already
    for goal in ("separate", "worst", "latency", "sums"):
        assert phased_problem(random_case(1), goal).in_one_phase is None
    both = Linear(label="both", terms=((Latency(), 1.0),), sense="<=", rhs=9.0)
    one = Objective.linear([(Latency("q"), 1.0)])
    assert stated.asking(one).in_one_phase is not None
    assert stated.asking(one, [both]).in_one_phase is None


@dataclass(frozen=True, kw_only=True)
class Busy(CustomConstraint):
    """Each device works for so long, in all phases together."""

    keyword = "busy"
    least: float = 8.0

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        for d, nodes in enumerate(plan.nodes_on(problem.k)):
            if problem.time[list(nodes), d].sum() < self.least:
                yield f"{problem.devices[d].name} is idle"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        for d in range(problem.k):
            busy = sum(problem.time[v, d] * on(v, d) for v in range(problem.graph.n))
            model.add_component(f"busy{d}", pyo.Constraint(expr=busy >= self.least))


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_constraint_of_a_plug_in_sees_all_phases(method: str) -> None:
    """Each device works 8 of 24 in both phases together, and could not in phase q alone, which has 6 in all."""
    names, edges = ["a", "b", "c"], [(0, 1), (1, 2)]
    works = {"p": 6.0, "q": 2.0}
    graph = phased_graph({name: Graph.create(names, edges, work=work, output=1.0) for name, work in works.items()})
    objective = Objective.linear([(Latency("q"), 1.0)])
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), objective, [Busy()])
    result = mtpp_dsl.solve(problem, method=method)
    assert (result.status, result.cost) == ("optimal", pytest.approx(8.0))
