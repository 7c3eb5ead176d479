"""Lower bounds on makespans on links: never above the optimum, proved again by other code, and not to be forged."""

from __future__ import annotations

import json
from copy import deepcopy
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Colocate, Constraint, ExclusiveLinks, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import earliest
from mtpp_dsl.solvers.algorithms.windows.tighten import Tightening
from mtpp_dsl.solvers.proofs.windows import Windows
from tests.amount import part, stride
from tests.makespans import best_of, makespan_problem, tied_problem

METHODS = ["simple", "critical-path", "interval"]


def bounded(name: str, problem: Problem, **limits: Any) -> Result:
    method = registry.load(registry.METHODS, name)()
    assert method.accepts(problem) is None
    result: Result = method.solve(problem, Limits(**limits), Progress())
    return result


def proved(problem: Problem, data: Any) -> float:
    """Return what a certificate proves, 0 if it is refused."""
    try:
        return Windows().prove(problem, json.loads(json.dumps(data)), Limits(time=60.0))
    except Refused:
        return 0.0


def blocks(depth: int = 3, width: int = 4, carry: float = 3.0, *, exclusive: bool = False) -> Problem:
    """Return blocks of parallel nodes on two equal devices, between single ones that have to be on the first."""
    names, edges = ["in"], []
    for b in range(depth):
        first = len(names) - 1
        names += [f"b{b}.{w}" for w in range(width)] + [f"join{b}"]
        edges += [(first, first + 1 + w) for w in range(width)]
        edges += [(first + 1 + w, first + width + 1) for w in range(width)]
    graph = Graph.create(names, edges, work=[2.0 if "." in name else 1.0 for name in names], output=carry)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    rules: list[Constraint] = [Pin(nodes=tuple(v for v, name in enumerate(names) if "." not in name), devices=(0,))]
    rules += [ExclusiveLinks()] if exclusive else []
    return Problem.create(graph, [Device("a"), Device("b")], links, Objective("makespan"), rules)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", METHODS)
def test_no_bound_is_above_the_optimum(name: str) -> None:
    """Mixtures of all features: a bound is at most the optimum, and proved again from its certificate."""
    reached = 0
    for seed in range(part(120, 4)):
        problem, best = makespan_problem(seed), best_of(seed)
        result = bounded(name, problem)
        if best is None:
            continue
        assert result.infeasibility is None, seed
        assert result.bound is not None
        assert result.bound.cost <= best * (1 + 1e-9), seed
        reached += result.bound.cost >= best * (1 - 1e-6)
        if result.bound.cost > 0:
            assert result.bound.certificate is not None
            assert proved(problem, result.bound.certificate.data) >= result.bound.cost * (1 - 1e-9)
    often = {"simple": 60, "critical-path": 60, "interval": 80}[name]
    assert reached > (often if stride(2) == 1 else 0.22 * often)


def test_no_optimum_is_refuted() -> None:
    """However many nodes count where edges meet, a makespan that some schedule has is never refuted."""
    for seed in range(part(120, 4)):
        best = best_of(seed)
        for most in (1, 2, 100):
            if best is not None:
                tightening = Tightening(makespan_problem(seed), most, lambda _: None)
                assert tightening.refuted(best, intervals=True) is None, (seed, most)


def test_forged_certificates_prove_nothing_false() -> None:
    """Whatever number of a certificate is changed, what it proves is not above the optimum."""
    random = np.random.default_rng(0)
    lies = [0.0, 0.5, 1.0 + 1e-6, 1.1, 2.0, 10.0]
    for seed in range(part(100, 12)):
        problem, best = makespan_problem(seed), best_of(seed)
        bound = bounded("interval", problem).bound
        if best is None or bound is None or bound.certificate is None:
            continue
        for _ in range(8):
            data: Any = deepcopy(dict(bound.certificate.data))
            data["target"] = best * random.choice([1.0, 1.0 + 1e-6, 1.2])
            for row in [row for one in data["rounds"] for key in ("heads", "tails") for row in one[key]]:
                for key in ("time", "since", "port"):
                    row[key] *= random.choice(lies) if random.random() < 0.5 else 1.0
                row["weights"] = {name: y * random.choice(lies) for name, y in row["weights"].items()}
            if random.random() < 0.5:
                rows = data["rounds"][0]["heads" if random.random() < 0.5 else "tails"]
                device = problem.devices[int(random.integers(problem.k))].name
                name = problem.graph.names[int(random.integers(problem.graph.n))]
                since = best * random.random()
                claim = {"node": name, "device": device, "since": since, "weights": {device: 1.0}, "port": 0.0}
                rows.append({**claim, "time": since * random.choice(lies)})
            interval = data["interval"] or {"start": 0.0, "end": best, "weights": {problem.devices[0].name: 1.0}}
            data["interval"] = {**interval, "end": interval["end"] * random.choice(lies)}
            assert proved(problem, data) <= best * (1 + 1e-9), seed


@pytest.mark.parametrize("seed", [235, *range(30)])
def test_no_right_certificate_is_refused(seed: int) -> None:
    """Where sums of times are equal and nodes wait for others of their device, what was found is proved again.

    In the first one a node that is elsewhere would have left a path to its own class.
    """
    problem = tied_problem(seed)
    bound = bounded("interval", problem).bound
    assert bound is not None
    assert bound.certificate is not None
    assert proved(problem, bound.certificate.data) >= bound.cost * (1 - 1e-9)


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_starts_that_are_impossible(seed: int) -> None:
    """Starts beyond the target count as never, however late they are said to be; but only if nothing is earlier."""
    problem = tied_problem(seed)
    bound = bounded("interval", problem).bound
    assert bound is not None
    assert bound.certificate is not None
    data: Any = deepcopy(dict(bound.certificate.data))
    rows = [row for part in data["rounds"] for key in ("heads", "tails") for row in part[key]]
    late = [row for row in rows if row["time"] > data["target"]]
    assert 0 < len(late) < len(rows)
    for row in late:
        row["time"] *= 1e6
    assert proved(problem, data) >= bound.cost * (1 - 1e-9)
    for row in rows:
        row["time"] = 1e6
    assert proved(problem, data) == 0.0


def test_a_bound_of_nothing_is_right() -> None:
    """That no schedule takes less than no time needs no proof."""
    graph, links = Graph.create("ab", [(0, 1)], work=0.0), Links(np.ones((1, 1)), np.zeros((1, 1)))
    nothing = Problem.create(graph, [Device("d")], links, Objective("makespan"))
    assert Windows().prove(nothing, {"target": 0.0, "count": 0, "rounds": [], "interval": None}, Limits()) == 0.0


JUNK = [None, True, -1, nan, inf, "a", [], {}, [[]], [1]]


@pytest.mark.parametrize("key", ["target", "count", "rounds", "interval"])
def test_junk_in_certificates_is_refused(key: str) -> None:
    """What is no certificate is refused, never an error of another kind."""
    problem = blocks()
    certificate = bounded("interval", problem).bound.certificate  # type: ignore[union-attr]
    assert certificate is not None
    for junk in JUNK:
        if key != "interval":
            assert proved(problem, {**certificate.data, key: junk}) == 0.0
        assert proved(problem, {**certificate.data, "rounds": [{"heads": junk, "tails": []}]}) == 0.0 or junk == []
        data: Any = deepcopy(dict(certificate.data))
        for row in data["rounds"][0]["heads"]:
            row["weights" if key == "target" else "time"] = junk
        assert data["rounds"][0]["heads"] == [] or proved(problem, data) == 0.0


def test_certificates_of_windows_are_about_makespans() -> None:
    """A certificate of a makespan proves nothing of a bottleneck."""
    problem = Problem.create(Graph.create("ab", [(0, 1)], work=1.0), [Device("d")], Shared(1.0))
    assert proved(problem, {"target": 1.0, "count": 0, "rounds": [{"heads": [], "tails": []}], "interval": None}) == 0.0


def test_what_must_share_a_device_counts() -> None:
    """Where moving a node takes longer than what it saves, blocks run one node after the other."""
    problem = blocks()
    path = bounded("critical-path", problem).bound
    interval = bounded("interval", problem).bound
    assert path is not None
    assert interval is not None
    assert path.cost == pytest.approx(10.0)
    assert interval.cost == pytest.approx(3 * 8 + 4)


def test_exclusive_links_count() -> None:
    """What comes in from elsewhere comes one after the other."""
    plain, exclusive = (bounded("interval", blocks(1, 8, 3.0, exclusive=alone)).bound for alone in (False, True))
    assert plain is not None
    assert exclusive is not None
    assert exclusive.cost > plain.cost + 0.5


def test_compiled_and_plain_agree() -> None:
    """The compiled kernel finds what the plain function finds."""
    for seed in range(20):
        tightening = Tightening(makespan_problem(seed, 8), 5, lambda _: None)
        net, time = tightening.net, tightening.time
        n, k = time.shape
        plain = np.zeros((n, k)), np.zeros((n, k)), np.zeros((n, k, k + 1))
        earliest(net, time, 0, n, 5, *plain)
        other = tightening.side(net, time)
        np.testing.assert_allclose(other.times, plain[0], rtol=1e-12)


def test_classes_without_links_have_no_plan() -> None:
    """Nodes that are joined, on devices that are not: infeasible, with the constraints that clash."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=1.0, output=1.0)
    links = Links(np.zeros((2, 2)), np.zeros((2, 2)))
    devices = [Device("x"), Device("y")]
    pins = [Pin(nodes=(0,), devices=(0,)), Pin(nodes=(2,), devices=(1,))]
    for rules in ([*pins, Colocate(nodes=(0, 1))], [*pins, Pin(nodes=(1,), devices=(0,))]):
        problem = Problem.create(graph, devices, links, Objective("makespan"), rules)
        found = quick(problem)
        assert found is not None
        assert "no link joins" in found.reason
        assert found.clash
    problem = Problem.create(graph, devices, links, Objective("makespan"), pins)
    assert quick(problem) is None
    for name in METHODS:
        assert bounded(name, problem).infeasibility is not None


def test_infeasible_is_infeasible() -> None:
    """What counting or windows call infeasible has no plan."""
    for seed in range(part(120, 4)):
        problem, best = makespan_problem(seed), best_of(seed)
        if best is not None:
            assert quick(problem) is None
            assert bounded("simple", problem).infeasibility is None


@pytest.mark.parametrize("name", METHODS[1:])
def test_what_is_no_makespan_on_links_is_refused(name: str) -> None:
    """A bottleneck, another interconnect; of intervals, a batch."""
    method = registry.load(registry.METHODS, name)()
    graph = Graph.create("a", [])
    links = Links(np.ones((1, 1)), np.ones((1, 1)))
    for link, objective, word in (
        (Shared(1.0), Objective("bottleneck"), "bottleneck"),
        (Shared(1.0), Objective("makespan"), "shared"),
        *([(links, Objective("throughput", batch=2), "batch")] if name == "interval" else []),
    ):
        assert word in (method.accepts(Problem.create(graph, [Device("d")], link, objective)) or "")


def test_a_stopped_search_keeps_its_bound() -> None:
    """Without time, or stopped, the bound that costs nothing remains."""
    problem = blocks(20, 10)
    assert bounded("interval", problem, time=0.0).bound.cost >= 60.0  # type: ignore[union-attr]
    progress = Progress()
    progress.stop()
    result = registry.load(registry.METHODS, "critical-path")().solve(problem, Limits(), progress)
    assert result.termination == "interrupted"
