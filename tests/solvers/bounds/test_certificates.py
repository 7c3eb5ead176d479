"""Bounds with certificates: never above the optimum, proved again by other code, refused when they prove nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import e, inf, pi, sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mtpp_dsl.cli.run import run
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, InOrder, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Checker
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.bounds.configuration import pricing_loop
from mtpp_dsl.solving.answers.json import dumps, result_to_json, schema
from tests.oracle import optimum
from tests.tree import files

METHODS = ("simple", "node", "anchor", "count", "configuration")
FEW = st.integers(0, 3).map(float)  # ties are where proofs go wrong
WEIGHTS = st.one_of(FEW, FEW, st.floats(0, 10, width=32), st.sampled_from([0.0, 1e6]))


@st.composite
def split_problems(draw: st.DrawFn, most: int = 5, most_devices: int = 3) -> Problem:
    """Draw splits over accelerators and CPUs, with memory, colocation, pins, a backward part, contiguity or none."""
    n, k = draw(st.integers(1, most)), draw(st.integers(1, most_devices))
    column = st.lists(WEIGHTS, min_size=n, max_size=n)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    cpus = draw(st.integers(0, k - 1))
    first_backward = draw(st.sampled_from([n, n, n // 2]))
    slow = st.lists(st.one_of(WEIGHTS, st.just(inf)), min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        work=draw(column),
        output=draw(column),
        params=draw(column),
        backward=[v >= first_backward for v in range(n)],
        times={"cpu": draw(slow)} if cpus else {},
    )
    memory = draw(st.sampled_from([None, float(graph.memory.sum()) / 2, float(graph.memory.sum()) * 1.3 / k]))
    devices = [Device(f"acc{d}", memory=memory) for d in range(k - cpus)]
    devices += [Device(f"cpu{d}", type="cpu", pays_io=False) for d in range(cpus)]
    rules = [
        Memory(),
        Acyclic(parts=draw(st.sampled_from(["both", "forward"]))),
        Contiguous(devices=draw(st.sampled_from([None, (0,)]))),
        Colocate(nodes=(0, n - 1)),
        Pin(nodes=(draw(st.integers(0, n - 1)),), devices=(k - 1,)),
    ]
    link = Host(draw(st.sampled_from([0.5, 1.0])), overflow=memory is not None and draw(st.booleans()))
    return Problem.create(graph, devices, link, constraints=draw(st.lists(st.sampled_from(rules), unique=True)))


def solved(name: str, problem: Problem, seconds: float = 10.0) -> Result:
    result: Result = registry.load(registry.METHODS, name)().solve(problem, Limits(time=seconds), Progress())
    return result


def checker(kind: str) -> Checker:
    found: Checker = registry.load(registry.PROOFS, kind)()
    return found


def proves(kind: str, problem: Problem, data: Mapping[str, Any]) -> float:
    """Return what a certificate proves, 0 if it is refused."""
    try:
        return checker(kind).prove(problem, data, Limits(time=60.0))
    except Refused:
        return 0.0


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=40)
@given(split_problems())
def test_bounds_hold_and_are_proved_again(name: str, problem: Problem) -> None:
    """No bound is above the optimum by more than 1e-9; its certificate proves it by other code."""
    best = optimum(problem)
    result = solved(name, problem)
    if result.infeasibility is not None:
        assert best is None
        return
    assert result.bound is not None
    assert best is None or result.bound.cost <= best * (1 + 1e-9)
    certificate = result.bound.certificate
    assert certificate is not None or result.bound.cost == 0
    if certificate is not None:
        proved = checker(certificate.kind).prove(problem, certificate.data, Limits(time=60.0))
        assert proved >= result.bound.cost * (1 - 1e-9)


@settings(max_examples=40)
@given(split_problems())
def test_the_last_target_is_the_cost_of_a_plan_but_for_a_solvers_tolerance(problem: Problem) -> None:
    """Where the best plan is known, no bound is above it, and what loads in digits prove is proved again."""
    best = optimum(problem)
    assume(best is not None and best > 0)
    assert best is not None
    progress = Progress()
    progress.report_cost(best)
    result = registry.load(registry.METHODS, "configuration")().solve(problem, Limits(time=10.0), progress)
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    certificate = result.bound.certificate
    if certificate is not None:
        assert proves(certificate.kind, problem, certificate.data) >= result.bound.cost * (1 - 1e-9)


def test_loads_without_a_common_unit_are_proved_optimal() -> None:
    """One row of loads is told apart by 1.5e-5 only, where 1e-6 is a proof."""
    graph = Graph.create(
        list("abcdef"), [(0, 1), (1, 2), (3, 4)], work=[pi, e, sqrt(2), sqrt(3), sqrt(5), sqrt(7)], output=sqrt(11) / 9
    )
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0))
    best, progress = optimum(problem), Progress()
    assert best is not None
    progress.report_cost(best)
    result = registry.load(registry.METHODS, "configuration")().solve(problem, Limits(time=60.0), progress)
    assert best * (1 - 1e-6) <= result.bound.cost <= best
    assert proves("configuration", problem, result.bound.certificate.data) == result.bound.cost
    above = {**result.bound.certificate.data, "target": best * (1 + 1e-6)}
    assert proves("configuration", problem, above) == 0.0


@settings(max_examples=40)
@given(split_problems(), st.data())
def test_fuzzed_certificates_prove_nothing_false(problem: Problem, data: st.DataObject) -> None:
    """Whatever stands in a certificate, what it proves is not above the optimum."""
    best = optimum(problem)
    assume(best is not None and best > 0)
    assert best is not None
    result = solved(data.draw(st.sampled_from(METHODS)), problem)
    assume(result.bound is not None and result.bound.certificate is not None)
    assert result.bound is not None
    certificate = result.bound.certificate
    assert certificate is not None
    fuzzed = dict(certificate.data)
    if "target" in fuzzed:
        fuzzed["target"] = best * data.draw(st.sampled_from([1.0 + 1e-6, 1.01, 2.0]))
    for key in ("weights", "most", "shares"):
        for name in list(fuzzed.get(key, ())):
            if data.draw(st.booleans()):
                number = fuzzed[key][name] * data.draw(st.sampled_from([0, 2, 10]))
                fuzzed[key] = {**fuzzed[key], name: number}
    assert proves(certificate.kind, problem, fuzzed) <= best * (1 + 1e-9)


def chain(k: int = 2, **options: Any) -> Problem:
    graph = Graph.create(["a", "b", "c", "d"], [(0, 1), (1, 2), (2, 3)], work=[3, 3, 3, 3], output=2.0)
    return Problem.create(graph, [Device(f"d{i}", **options) for i in range(k)], Shared(1.0))


def test_integers_prove_the_optimum_itself() -> None:
    """Where loads are small whole numbers nothing is rounded, and the optimum is reached, not approached."""
    problem = chain()
    best = optimum(problem)
    result = solved("configuration", problem)
    assert result.bound is not None
    assert best == 8.0
    assert result.bound.cost == pytest.approx(best, rel=2e-4)
    start = registry.load(registry.METHODS, "configuration")()
    progress = Progress()
    progress.report_cost(best)
    exact = start.solve(problem, Limits(time=10.0), progress)
    assert exact.bound.cost == best
    assert exact.termination == "gap"


def test_anchor_sees_what_a_tensor_costs() -> None:
    """A node between huge tensors costs its neighbours or its tensors, wherever it is."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=[5, 1, 5], output=[100, 100, 0])
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0))
    result = solved("anchor", problem)
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(11.0)
    assert result.bound.certificate is not None
    assert result.bound.certificate.data["nodes"]


def test_a_budget_of_cpus_counts() -> None:
    """Nodes that no accelerator takes below the bound share the CPU."""
    graph = Graph.create(
        ["a", "b", "c", "d"], [(0, 1), (2, 3)], output=[50, 0, 50, 0], work=30.0, times={"cpu": [6.0, 6.0, 6.0, 6.0]}
    )
    devices = [Device("acc0"), Device("acc1"), Device("cpu", type="cpu", pays_io=False)]
    problem = Problem.create(graph, devices, Host(1.0))
    result = solved("anchor", problem)
    assert optimum(problem) == pytest.approx(24.0)
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(24.0)


def test_convexity_is_used() -> None:
    """Where device sets must be convex the bound is higher than without."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=[1, 4, 1])
    devices = [Device("d0"), Device("d1")]
    free = solved("configuration", Problem.create(graph, devices, Shared(1.0)))
    convex = solved("configuration", Problem.create(graph, devices, Shared(1.0), constraints=[Contiguous()]))
    assert free.bound is not None
    assert convex.bound is not None
    assert free.bound.cost == pytest.approx(4.0, rel=1e-3)
    assert convex.bound.cost == pytest.approx(5.0, rel=1e-3)


def test_an_order_of_all_devices_makes_sets_convex() -> None:
    """What ``stages`` asks of all devices counts in the certificate as ``acyclic`` does."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[2, 0, 3, 2], output=[1, 0, 0, 1])
    rules = [InOrder(), Colocate(nodes=(0, 3)), Pin(nodes=(3,), devices=(0,))]
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(4.0), constraints=rules)
    result = solved("anchor", problem)
    assert result.bound is not None
    assert result.bound.certificate is not None
    assert result.bound.cost > 4.0
    certificate = result.bound.certificate
    assert proves(certificate.kind, problem, certificate.data) > 4.0


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("shares", {}),
        ("shares", {"node": "nobody"}),
        ("shares", {"shares": {}}),
        ("shares", {"shares": {"d9": 1.0}}),
        ("shares", {"shares": {"d0": -1.0, "d1": 1.0}}),
        ("cuts", {"target": 8.0, "nodes": "a", "shares": {}}),
        ("cuts", {"target": float("nan"), "nodes": ["a"], "shares": {}}),
        ("cuts", {"target": 100.0, "nodes": ["a"], "shares": {"d0": 1.0, "d1": 1.0}}),
        ("configuration", {"target": 7.0, "weights": {"a": 1}, "most": {"d0": 0}}),
        ("configuration", {"target": 7.0, "weights": {"a": 0.5}, "most": {"d0": 0, "d1": 0}}),
        ("configuration", {"target": 7.0, "weights": {"a": 1, "b": 1}, "most": {"d0": 1, "d1": 1}}),
        ("configuration", {"target": 7.0, "weights": {"a": 3}, "most": {"d0": 1, "d1": 1}}),
        ("configuration", {"target": float("inf"), "weights": {"a": 3}, "most": {"d0": 1, "d1": 1}}),
        ("configuration", {"target": 10**400, "weights": {"a": 3}, "most": {"d0": 1, "d1": 1}}),
        ("configuration", {"target": 7.0, "weights": {"a": 10**400}, "most": {"d0": 1, "d1": 1}}),
        ("cuts", {"target": 7.0, "nodes": ["a"], "shares": {"d0": 10**400}}),
    ],
)
def test_malformed_certificates_are_refused(kind: str, data: dict[str, Any]) -> None:
    """Nothing in a certificate is believed."""
    with pytest.raises(Refused):
        checker(kind).prove(chain(), data, Limits())


def heavy_set_problem(work: list[float], params: list[float], memory: float, bandwidth: float) -> Problem:
    graph = Graph.create([f"v{v}" for v in range(len(work))], [], work=work, params=params)
    return Problem.create(graph, [Device("d0", memory=memory)], Host(bandwidth, overflow=True))


@pytest.mark.parametrize(
    ("problem", "target", "weights", "most"),
    [
        (
            heavy_set_problem(
                [0, 2, 3, 11, 1, 5, 6],
                [7.4, 7.2, 0.9, 18.4, 1.7, 7.1, 6.3],
                memory=33.648496414014346,
                bandwidth=1000.0,
            ),
            12.0,
            [0, 2, 100000, 100000, 2, 2, 100000],
            200001,
        ),
        (heavy_set_problem([1, 2], [1e7, 1e7], memory=1.5e7, bandwidth=1e-9), 3.5, [3, 4], 3),
        (
            heavy_set_problem([4, 5, 6], [0, 0, 0], memory=1.0, bandwidth=1.0),
            11.5,
            [999999999, 1, 999999998],
            10**9 - 1,
        ),
    ],
)
def test_heavier_sets_are_not_missed(problem: Problem, target: float, weights: list[int], most: int) -> None:
    """A certificate is refused if one set is heavier by one, however far apart the numbers are."""
    named = {name: weight for name, weight in zip(problem.graph.names, weights, strict=True) if weight}
    with pytest.raises(Refused, match="can hold nodes that weigh more"):
        checker("configuration").prove(problem, {"target": target, "weights": named, "most": {"d0": most}}, Limits())


def test_a_node_that_is_all_stream() -> None:
    """One node whose load is the time to stream its parameters: nearly all of it is proved, again by the checker."""
    problem = heavy_set_problem([0], [2.4054362846499124], memory=1.7027181423249562, bandwidth=1.0)
    result = solved("configuration", problem)
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(0.7027181423249562, rel=1e-3)
    assert result.bound.certificate is not None
    assert proves(result.bound.certificate.kind, problem, result.bound.certificate.data) >= result.bound.cost


def test_parameters_that_take_long_to_stream() -> None:
    """Streams of 1e15 times the target are counted, and refused by no solver."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[3, 4, 5, 6], params=[1e7, 2e7, 1e7, 3e7], output=1.0)
    problem = Problem.create(graph, [Device(f"d{d}", memory=4e7) for d in range(2)], Shared(1e-8, overflow=True))
    best, result = optimum(problem), solved("configuration", problem)
    assert best is not None
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    assert result.bound.certificate is not None
    assert proves(result.bound.certificate.kind, problem, result.bound.certificate.data) >= result.bound.cost


def test_too_little_time_is_no_refusal() -> None:
    """A certificate that could not be checked is called that, not wrong."""
    with pytest.raises(UsageError, match="time is not enough"):
        checker("cuts").prove(chain(), {"target": 8.0, "nodes": ["a"], "shares": {}}, Limits(time=0.0))


SPEC = """mtpp 1
graph {
  node a[i in 0..3] (work = 3, output = 2)
  edge a[i] -> a[i + 1] for i in 0..2
}
device d[2]
interconnect shared (bandwidth = 1)
SENSE
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sense", ["minimize bottleneck", "maximize throughput"])
def test_mtpp_verify_checks_bounds(tmp_path: Path, sense: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer's bound is proved again from its certificate, and refused when it was tampered with."""
    import jsonschema

    spec, answer = tmp_path / "a.mtpp", tmp_path / "a.json"
    spec.write_text(SPEC.replace("SENSE", sense))
    assert run(["solve", str(spec), "--method", "configuration", "--json", str(answer), "--quiet"]) == 0
    data = json.loads(answer.read_text())
    jsonschema.validate(data, schema())
    assert run(["verify", str(spec), str(answer)]) == 0
    assert "re-checked from its certificate (configuration)" in capsys.readouterr().out
    better = 1.01 if sense.startswith("min") else 1 / 1.01
    for change in (
        {"value": data["bound"]["value"] * better},
        {"certificate": {"kind": "cuts"}},
    ):
        bound = {**data["bound"], **change}
        short = {name: value for name, value in bound.items() if name != "certificate"}
        objectives = [{**data["objectives"][0], "bound": short}]
        answer.write_text(json.dumps({**data, "bound": bound, "objectives": objectives}))
        assert run(["verify", str(spec), str(answer)]) == 7
        assert "is not proved" in capsys.readouterr().out
    answer.write_text(json.dumps({**data, "bound": {**data["bound"], "certificate": None}}))
    assert run(["verify", str(spec), str(answer)]) == 0
    assert "no certificate" in capsys.readouterr().out
    answer.write_text(json.dumps({**data, "bound": {**data["bound"], "certificate": {"kind": "magic"}}}))
    assert run(["verify", str(spec), str(answer)]) == 2
    assert "no checker is of that kind (there are: shares, cuts," in capsys.readouterr().err
    for value in (float("nan"), float("inf"), 10**400, True, "8"):
        for claims in (
            {**data, "bound": {**data["bound"], "value": value}},
            {**data, "objective": {**data["objective"], "value": value}},
        ):
            answer.write_text(json.dumps(claims))
            assert run(["verify", str(spec), str(answer)]) == 2
            assert "not a number" in capsys.readouterr().err


def test_certificates_are_json() -> None:
    """The answer holds the certificate as it is, without infinities."""
    problem = chain()
    for name in METHODS:
        result = solved(name, problem)
        data = json.loads(dumps(result_to_json(problem, result)))
        assert result.bound is not None
        assert result.bound.certificate is not None
        assert data["bound"]["certificate"] == result.bound.certificate.to_json()


def test_checkers_share_nothing_with_finders() -> None:
    """Checkers import the problem and each other, and no other solver of ours."""
    for path, name in files().items():
        if name.startswith("mtpp_dsl.solvers.proofs"):
            lines = [line for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
            assert not [line for line in lines if "mtpp_dsl.solvers" in line and "solvers.proofs" not in line]


@pytest.mark.long
@pytest.mark.parametrize(("name", "known"), [("gnmt_inference", 31.6874), ("bert24_inference", 17.7148)])
def test_published_workloads(data: Path, name: str, known: float) -> None:
    """Without contiguity, two workloads of tarnawski2020 to within 1e-4 of the best values known, in seconds."""
    from mtpp_dsl.solving.api import load

    path = data / "dnn-partitioning" / "throughput" / "LayerGraphs" / f"{name}.json"
    problem = load(f'mtpp 1\nimport "{path}" (format = msr)\nminimize bottleneck\nconstraint colocate by color\n')
    progress = Progress()
    progress.report_cost(known)
    method = registry.load(registry.METHODS, "configuration")()
    bound = method.solve(problem, Limits(time=30.0, gap=1e-4), progress).bound
    assert bound is not None
    assert bound.cost >= known * (1 - 1e-4)
    assert bound.certificate is not None
    proved = checker("configuration").prove(problem, bound.certificate.data, Limits(time=60.0))
    assert proved == bound.cost


def test_a_target_above_a_new_plan_is_left_for_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are of no use above a plan: a better plan found meanwhile is what is aimed at."""
    graph = Graph.create([f"v{v}" for v in range(6)], [], work=[3.0, 3.0, 2.0, 2.0, 1.0, 1.0])
    problem = Problem.create(graph, [Device("a"), Device("b")], Shared(1.0), Objective("bottleneck"))
    progress, targets, attempt = Progress(), [], pricing_loop.Attempt.run

    def run(self: pricing_loop.Attempt, seconds: float) -> pricing_loop.Verdict:
        targets.append(self._target)
        if len(targets) == 1:
            progress.report_plan(Plan.create(problem, [0, 1, 0, 1, 0, 1]), 6.0)
            assert self._late
        return attempt(self, seconds)

    monkeypatch.setattr(pricing_loop.Attempt, "run", run)
    start = Plan.create(problem, [0, 0, 0, 0, 1, 1])
    bound = registry.load(registry.METHODS, "configuration")().solve(problem, Limits(start=start), progress).bound
    assert targets[0] == pytest.approx(10.0, rel=1e-4)
    assert targets[1] == pytest.approx(6.0, rel=1e-4)
    assert bound is not None
    assert 6.0 * (1 - 1e-4) <= bound.cost <= 6.0
