"""Stages in the order of devices: what the words mean, against their definition by paths; and what they cannot mean."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.order_findings import _out_of_place, unfilled
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, InOrder, Memory, Pin, Replicate, StageMemory
from mtpp_dsl.core.errors import ConstraintError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable

SPEC = """
mtpp 1
device gpu[3]
device cpu
graph {{ node a[5] edge a[i] -> a[i + 1] for i in 0..3 }}
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint stages{}
"""


def _graph(rng: np.random.Generator, n: int, *, training: bool = False) -> Graph:
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.4]
    backward = np.arange(n) >= n - n // 2 if training else False
    return Graph.create([f"v{v}" for v in range(n)], edges, work=1.0, output=1.0, backward=backward)


def _paths(graph: Graph, part: set[int]) -> set[tuple[int, int]]:
    """Return the pairs of nodes of a part that a path inside it joins, by closing the edges."""
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    found = {(u, v) for u, v in ends if u in part and v in part}
    while True:
        more = found | {(u, w) for u, v in found for x, w in found if v == x}
        if more == found:
            return found
        found = more


@pytest.mark.parametrize("seed", range(8))
def test_an_order_is_kept_by_every_path(seed: int) -> None:
    """A plan keeps the order if no path inside a part joins nodes of listed devices the wrong way."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    graph = _graph(rng, 5, training=seed % 2 == 1)
    listed = tuple(rng.permutation(k)[: int(rng.integers(2, k + 1))].tolist())
    rule = InOrder(devices=listed, empty=("allowed", "never")[seed // 4])
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[rule])
    back = graph.backward.tolist()
    forward_paths = _paths(graph, {v for v in range(5) if not back[v]})
    backward_paths = _paths(graph, {v for v in range(5) if back[v]})
    pairs = [*forward_paths, *((v, u) for u, v in backward_paths)]
    kept = 0
    for assignment in product(range(k), repeat=5):
        places = [listed.index(d) if d in listed else None for d in assignment]
        sound = all(a is None or b is None or a <= b for a, b in ((places[u], places[v]) for u, v in pairs))
        sound &= rule.empty == "allowed" or set(listed) <= set(assignment)
        plan = Plan.create(problem, assignment)
        assert (not verify(problem, plan)) == sound, assignment
        if sound and len(listed) == k and not any(back):
            assert plan.order == listed
        kept += sound
    assert 0 < kept < k**5


def test_words() -> None:
    """The order is that in which devices are named; a spec of the problem says the same again."""
    for words, rule in {
        "": InOrder(),
        " (empty = allowed)": InOrder(),
        " (empty = never)": InOrder(empty="never"),
        " on cpu, gpu[2], gpu[0]": InOrder(devices=(3, 2, 0)),
        " on cpu, gpu (empty = never)": InOrder(devices=(3, 0, 1, 2), empty="never"),
    }.items():
        problem = mtpp_dsl.load(SPEC.format(words))
        assert problem.constraints == (rule,)
        assert mtpp_dsl.load(problem.to_spec()).constraints == (rule,)
    assert mtpp_dsl.load(SPEC.format(": load(gpu[0]) <= 3")).constraints[0].keyword == "linear"
    with pytest.raises(mtpp_dsl.MtppError, match=r"names gpu\[0\] twice"):
        mtpp_dsl.load(SPEC.format(" on gpu, gpu[0]"))


def test_devices_in_an_order_are_not_interchangeable() -> None:
    graph = Graph.create("ab", [(0, 1)])
    devices = [Device(f"d{d}") for d in range(4)]
    assert interchangeable(Problem.create(graph, devices, Shared(1.0), constraints=[InOrder()])) == [
        (0,), (1,), (2,), (3,)
    ]  # fmt: skip
    part = InOrder(devices=(2, 0))
    assert interchangeable(Problem.create(graph, devices, Shared(1.0), constraints=[part])) == [(0,), (1, 3), (2,)]


def test_replicas_fill_a_device_and_keep_the_order() -> None:
    graph = Graph.create("ab", [(0, 1)], work=1.0)
    rules = [Acyclic(), Replicate(most=2), InOrder(empty="never")]
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(3)], Shared(1.0), constraints=rules)
    assert not verify(problem, Plan.create(problem, [0, 2], replicas={0: (0, 1)}))
    assert not verify(problem, Plan.create(problem, [0, 1], replicas={1: (1, 2)}))
    assert "has no node" in str(verify(problem, Plan.create(problem, [0, 1])))
    assert "back to" in str(verify(problem, Plan.create(problem, [0, 1], replicas={0: (0, 2)})))


def test_memory_by_stage_counts_along_the_order() -> None:
    """An order of all devices is enough for memory by stage, and the stages of a plan are counted along it."""
    graph = Graph.create("ab", [], work=1.0, saved=[3.0, 2.0])
    devices = [Device(f"d{d}", memory=4.0) for d in range(2)]
    rules = [InOrder(devices=(1, 0)), StageMemory(schedule="1f1b", microbatches=4)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=rules)
    assert {tuple(plan.assignment.tolist()) for plan in plans(problem)} == {(0, 1)}
    assert Plan.create(problem, [0, 1]).order == (1, 0)
    assert "the order of the plan" in str(verify(problem, Plan.create(problem, [0, 1], order=(0, 1))))
    with pytest.raises(ConstraintError, match="acyclic"):
        Problem.create(graph, devices, Shared(1.0), constraints=[InOrder(devices=(1,)), rules[1]])


@pytest.mark.parametrize("seed", range(6))
def test_counting_empty_devices(seed: int) -> None:
    """Devices for which there are too few groups of nodes are found exactly where no matching has them all."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        allowed = rng.random((int(rng.integers(1, 5)), 4)) < 0.5
        filled = [d for d in range(4) if rng.random() < 0.7]
        groups = [*range(len(allowed)), *[-1] * len(filled)]
        fits = any(
            all(g >= 0 and allowed[g, d] for g, d in zip(chosen, filled, strict=True))
            and len(set(chosen)) == len(chosen)
            for chosen in product(set(groups), repeat=len(filled))
        )
        found = unfilled(allowed, filled)
        assert (found is None) == fits
        if found is not None:
            assert len(found[1]) < len(found[0])


def test_too_few_nodes_are_named() -> None:
    """Too few nodes for devices that must not be empty are proven by counting, with what clashes and nothing else."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], memory=1.0)
    devices = [Device(f"d{d}", memory=9.0) for d in range(3)]
    line = InOrder(empty="never", origin="spec:9")
    beside = [Memory(), Pin(nodes=(0,), devices=(0, 1), origin="spec:5")]

    def reason(*rules: Pin | Forbid | Colocate | Memory) -> str:
        found = quick(Problem.create(graph, devices, Shared(1.0), constraints=[*beside, *rules, line]))
        return "" if found is None else f"{found.reason}: {', '.join(found.clash)}"

    assert not reason()
    found = reason(Colocate(nodes=(0, 2), origin="spec:7"))
    assert found.startswith("each of ")
    assert "there is 1 group of nodes held together for these 2" in found
    assert "colocate (spec:7)" in found
    assert "spec:5" not in found
    found = reason(Forbid(nodes=(1, 2), devices=(2,), origin="spec:8"))
    assert "d2 has to have a node, and there are 0 nodes for it" in found
    assert "spec:5" in found


def test_too_few_pairs_are_named() -> None:
    """Two nodes that are held together are one group, too."""
    rules = [Colocate(nodes=(0, 1)), InOrder(empty="never")]
    graph = Graph.create("ab", [(0, 1)], work=1.0)
    found = quick(Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=rules))
    assert found is not None
    assert (
        found.reason == "each of d0 and d1 has to have a node, and there is 1 group of nodes held together for these 2"
    )


def test_a_node_behind_one_that_is_too_far_along() -> None:
    """Pins that contradict the order are found by counting, with these alone."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], memory=1.0)
    devices = [Device(f"d{d}", memory=9.0) for d in range(3)]
    pins = [Pin(nodes=(0,), devices=(0,), origin="spec:5"), Pin(nodes=(2,), devices=(2,), origin="spec:6")]

    def found(order: tuple[int, ...]) -> tuple[str, ...]:
        rules = [Memory(), InOrder(devices=order, origin="spec:9"), *pins]
        reason = quick(Problem.create(graph, devices, Shared(1.0), constraints=rules))
        return () if reason is None else reason.clash

    assert found((0, 1, 2)) == ()
    assert found((2, 1, 0)) == ("stages (spec:9)", "pin (spec:5)", "pin (spec:6)")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_contradicting_pins_are_found_in_chains(seed: int) -> None:
    """Of chains under an order of devices, counting finds exactly those whose pins leave no plan, and what clashes."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n, k = 4, 3
        graph = Graph.create("abcd", [(v, v + 1) for v in range(n - 1)])
        pins = [
            Pin(nodes=(v,), devices=tuple(np.flatnonzero(row).tolist()), origin=f"spec:{v}")
            for v, row in enumerate(rng.random((n, k)) < 0.6)
            if row.any()
        ]
        devices = [Device(f"d{d}") for d in range(k)]
        problem = Problem.create(graph, devices, Shared(1.0), constraints=[InOrder(devices=(1, 0, 2)), *pins])
        found = quick(problem)
        assert (found is not None) == (next(plans(problem), None) is None)
        if found is not None:
            named = [pin for pin in pins if str(pin) in found.clash]
            alone = problem.with_constraints([InOrder(devices=(1, 0, 2)), *named])
            assert next(plans(alone), None) is None


def test_many_paths_are_gone_through_once() -> None:
    """Of layers of two nodes each, where the first has to move: a path for each choice would be a million million."""
    layers = 40
    allowed = np.ones((2 * layers, 2), np.bool_)
    allowed[:2, 0] = False
    arcs = [(2 * i + a, 2 * i + 2 + b) for i in range(layers - 1) for a in (0, 1) for b in (0, 1)]
    assert _out_of_place(allowed, arcs) is None
    allowed[-1, 1] = False
    found = _out_of_place(allowed, arcs)
    assert found is not None
    assert (len(found[0]), found[0][-1], found[1]) == (layers, 2 * layers - 1, 1)
