"""Small problems of every kind, and their optima by trying everything: what conformance is tested on."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from functools import cache
from math import inf

import numpy as np

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, loads, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    Decision,
    ExclusiveLinks,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Subgraphs,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solving.plugins.claims import variants

ACYCLIC = Acyclic()
MAKESPAN = Objective("makespan")
MORE_THAN_VERIFIED = frozenset({"subgraphs"})
"""Problems whose plans this version cannot verify; their constraints only take plans away, so a bound may drop them."""


@cache
def small() -> dict[str, Problem]:
    """Return problems of at most six nodes and three devices by name."""
    return {**_plain(), **_constrained(), **_unusual(), **_shared(), **_phases()}


def _phases() -> dict[str, Problem]:
    """Return problems that speak of single phases: two devices are equal in all phases together, and not in each."""
    names, edges = ["a", "b", "c", "d"], [(0, 1), (0, 2), (1, 3), (2, 3)]
    times = {"p": ([2.0, 3.0, 1.0, 2.0], [4.0, 3.0, 3.0, 2.0]), "q": ([3.0, 1.0, 4.0, 1.0], [1.0, 1.0, 2.0, 1.0])}
    graphs = {
        phase: Graph.create(names, edges, output=[size, 1.0, size, 0.0], device_times={"one": one, "two": two})
        for (phase, (one, two)), size in zip(times.items(), (1.0, 3.0), strict=True)
    }
    graph, devices = phased_graph(graphs, {"q": 2.0}), [Device("one"), Device("two")]
    both: list[tuple[Decision, float]] = [(Bottleneck("p"), 1.0), (Bottleneck("q"), 2.0)]
    in_turn = Objective.linear(both)
    worst = Objective.linear([(Largest(tuple(((x,), 0.0) for x in both)), 1.0)])
    limit = Linear(label="limit", terms=((Latency("q"), 1.0),), sense="<=", rhs=9.0)
    first = Objective.linear([(Bottleneck("p"), 1.0)])
    return {
        "phases together": Problem.create(graph, devices, Shared(1.0), constraints=[ACYCLIC]),
        "phases in turn": Problem.create(graph, devices, Shared(1.0), in_turn, [ACYCLIC]),
        "the worst phase": Problem.create(graph, devices, Shared(1.0), worst),
        "a limit on a phase": Problem.create(graph, devices, Shared(1.0), first, [ACYCLIC, limit]),
    }


@cache
def large() -> Problem:
    """Return a problem that no exact method solves at once: 120 nodes on 6 devices."""
    return Problem.create(layered(120, 6, seed=1), _devices(6), Shared(0.5), constraints=[ACYCLIC])


@cache
def large_schedule() -> Problem:
    """Return a makespan on links that no exact method solves at once: 60 nodes on three unequal devices."""
    devices = [Device("slow", speed=0.5), Device("fast"), Device("faster", speed=1.7)]
    links = Links(bandwidth=0.5 * np.ones((3, 3)), latency=0.1 * np.ones((3, 3)))
    return Problem.create(layered(60, 5, seed=1), devices, links, MAKESPAN, [ExclusiveLinks()])


@cache
def sample(name: str) -> Problem:
    """Return the problem *name*: a small one, or that of a claim."""
    return ChainMap(small(), *variants().values())[name]


@cache
def optimum(name: str) -> float | None:
    """Return the least cost of any plan of the problem *name*; None if it has no plan.

    Raises:
        Refused: this version cannot verify plans of that problem.
    """
    problem = sample(name)
    return min((cost_of(problem, plan) for plan in plans(problem)), default=None)


def verifiable(problem: Problem) -> bool:
    """Return whether this version can verify plans of *problem*."""
    try:
        plan = Plan.create(problem, [0] * problem.graph.n)
        verify(problem, plan)
        loads(problem, plan.assignment.tolist())
    except Refused:
        return False
    return True


def _devices(k: int, memory: float | None = None, reserve: float = 0.0) -> list[Device]:
    return [Device(f"d[{i}]", memory=memory, reserve=reserve) for i in range(k)]


def _diamond(scale: float = 1.0, size: float = 1.0, work_unit: str = "", size_unit: str = "") -> Graph:
    """Return a graph of six nodes in which one tensor has three readers."""
    return Graph.create(
        ["a", "b", "c", "d", "e", "f"],
        [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 5)],
        work=np.array([2, 3, 4, 3, 2, 5]) * scale,
        output=np.array([2, 1, 0.5, 3, 1, 4]) * size,
        params=np.array([4, 1, 6, 2, 3, 5]) * size,
        kinds=["in", "conv", "conv", "conv", "add", "out"],
        work_unit=work_unit,
        size_unit=size_unit,
    )


def _plain() -> dict[str, Problem]:
    chain = Graph.create("abcde", [(0, 1), (1, 2), (2, 3), (3, 4)], work=[1, 5, 2, 4, 3], output=[1, 9, 0.5, 2, 7])
    pieces = Graph.create("abcde", [(0, 1), (2, 3)], work=[3, 0, 2, 2, 0], output=[1, 1, 0, 5, 2])
    nothing = Graph.create("abc", [(0, 1), (1, 2)])
    seconds = _diamond(1e-5, 2.0**20, "s", "B")
    return {
        "chain": Problem.create(chain, _devices(2), Shared(1.0), constraints=[ACYCLIC]),
        "diamond": Problem.create(_diamond(), _devices(3), Shared(2.0), constraints=[ACYCLIC]),
        "one node": Problem.create(Graph.create("a", [], work=2.0), _devices(3), Shared(1.0), constraints=[ACYCLIC]),
        "one device": Problem.create(_diamond(), _devices(1), Shared(1.0), constraints=[ACYCLIC]),
        "pieces": Problem.create(pieces, _devices(3), Shared(1.0), constraints=[ACYCLIC]),
        "nothing": Problem.create(nothing, _devices(2), Shared(1.0), constraints=[ACYCLIC]),
        "seconds": Problem.create(seconds, _devices(2), Shared(2.0**37), constraints=[ACYCLIC]),
        "dear tensors": Problem.create(_diamond(1, 100), _devices(2), Shared(1.0), constraints=[ACYCLIC]),
        "throughput": Problem.create(_diamond(), _devices(2), Shared(2.0), Objective("throughput"), [ACYCLIC]),
    }


def _constrained() -> dict[str, Problem]:
    def on(k: int, *constraints: Constraint, memory: float | None = None, overflow: bool = False) -> Problem:
        devices = _devices(k, memory, 1.0 if memory else 0.0)
        return Problem.create(_diamond(), devices, Shared(4.0, overflow), constraints=constraints)

    busy = [Linear(label="busy", terms=((Load(d), 1.0),), sense=">=", rhs=10.0) for d in range(2)]
    apart = Linear(label="apart", terms=((Load(0), 1.0), (Load(1), -1.0)), sense=">=", rhs=4.0)
    balance = [
        Linear(label="balance", terms=((Load(d), 1.0), (Bottleneck(), -0.95)), sense=">=", rhs=0.0) for d in range(2)
    ]
    few = Linear(label="few", terms=tuple((On(v, 0), 1.0) for v in range(3)), sense="==", rhs=1.0)
    uneven = [Device(f"d[{d}]", memory=memory, reserve=2.0) for d, memory in enumerate((24.0, 12.0, 9.0))]
    return {
        "memory": Problem.create(_diamond(), uneven, Shared(4.0), constraints=[ACYCLIC, Memory()]),
        "workspaces": Problem.create(
            replace(_diamond(), workspace=np.array([0.0, 3.0, 1.0, 0.0, 3.0, 2.0])),
            [Device(f"d[{d}]", memory=memory) for d, memory in enumerate((17.0, 12.0, 12.0))],
            Shared(4.0),
            constraints=[ACYCLIC, Memory()],
        ),
        "too little memory": on(2, ACYCLIC, Memory(), memory=14.0),
        "overflow": on(2, ACYCLIC, memory=8.0, overflow=True),
        "prefetch": Problem.create(
            _diamond(), _devices(2, 4.0, 1.0), Shared(1.0, overflow=True, prefetch=True), constraints=[ACYCLIC]
        ),
        "pinned": on(3, ACYCLIC, Pin(nodes=(2, 5), devices=(1, 2)), Forbid(nodes=(2, 5), devices=(2,))),
        "together": on(3, ACYCLIC, Colocate(nodes=(1, 2)), Separate(nodes=(0, 3, 5))),
        "impossible": on(2, ACYCLIC, Colocate(nodes=(0, 5)), Separate(nodes=(0, 5))),
        "busy": on(3, ACYCLIC, *busy),
        "apart": on(3, ACYCLIC, apart),
        "no balance": on(2, ACYCLIC, *balance),
        "few": on(2, ACYCLIC, few),
        "anything goes": on(2),
        "two devices": on(2, ACYCLIC),
        "three devices": on(3, ACYCLIC),
        "subgraphs": on(2, Subgraphs(most=1)),
        "batches": on(2, ACYCLIC, BatchSizes(sizes=(1, 2))),
        "late": on(3, ACYCLIC, Robust(most=2, share=0.5)),
        "replicas": on(2, ACYCLIC, Replicate(most=2)),
        "in order": on(3, InOrder(devices=(2, 0, 1))),
        "none empty": on(3, InOrder(empty="never")),
    }


def _staged() -> dict[str, Problem]:
    """Return problems about stages: their memory, iterations, and nodes that devices share."""
    graph = Graph.create(
        "abcd",
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        work=[3, 6, 5, 4],
        output=[1, 2, 1, 1],
        params=[2, 1, 1, 2],
        saved=[3, 2, 4, 1],
        reduce=[1, 0, 2, 1],
        forward_share=[1 / 3, 0.5, 0.2, 0.25],
    )
    even = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[3, 6, 5, 4], output=2.0, params=1.0, saved=3.0)

    def on(given: Graph, k: int, room: float, objective: Objective, *rules: Constraint) -> Problem:
        return Problem.create(given, _devices(k, room), Shared(2.0), objective, [ACYCLIC, *rules])

    bottleneck = Objective("bottleneck")
    once, ahead = StageMemory(schedule="1f1b", microbatches=4), StageMemory(schedule="pipedream")
    again = StageMemory(schedule="1f1b", microbatches=4, recompute="free")
    all_again = StageMemory(schedule="gpipe", microbatches=2, recompute="always")
    flushed = Objective("iteration", microbatches=4, schedule="gpipe")
    return {
        "stages": on(graph, 3, 14.0, bottleneck, once),
        "stages that recompute": on(graph, 2, 12.0, bottleneck, again),
        "stages of versions": on(even, 3, 14.0, bottleneck, ahead),
        "stages too large": on(graph, 2, 5.0, bottleneck, all_again),
        "iteration": on(even, 3, 16.0, Objective("iteration", microbatches=4, schedule="1f1b"), once),
        "iteration that recomputes": on(graph, 2, 14.0, flushed, replace(again, schedule="gpipe")),
        "iterations": on(even, 3, 9.0, Objective("throughput", microbatches=3), Memory()),
        "shards": on(graph, 3, 6.0, bottleneck, Memory(), Shard(by=(1, 2), speedup=(1.0, 2.5))),
        "shards and replicas": on(even, 3, 9.0, bottleneck, Shard(by=(1, 2)), Replicate(most=3, sync="weights")),
    }


def _shared() -> dict[str, Problem]:
    """Return chains whose inputs several routes share: memory for two of three nodes, times that differ."""
    row = [(0, 1), (1, 2)]
    equal = Graph.create("abc", row, work=[1, 1, 1], memory=1.0)
    times = {"d[0]": np.array([1.0, 2.0, 4.0]), "d[1]": np.array([4.0, 3.0, 1.0])}
    unlike = Graph.create("abc", row, output=[1.0, 0.5, 0.0], memory=[2.0, 1.0, 1.0], device_times=times)
    two, period = _devices(2, 2.0), Objective("throughput")
    rules = [ACYCLIC, Memory()]
    return {
        "copies": Problem.create(equal, two, Shared(1.0), period, [*rules, Copies(most=2, share="ranges")]),
        "unequal copies": Problem.create(unlike, _devices(2, 3.0), Shared(1.0), period, [*rules, Copies(most=2)]),
    }


def _batched() -> dict[str, Problem]:
    """Return throughputs of batches: sizes, laws and tables of times, memory, transfers, one input, idle devices."""
    pair, three = np.ones((2, 2)), np.ones((3, 3))
    links, apart = Links(pair, 0.25 * pair), Links(three - np.eye(3)[::-1] + np.diag([0.0, 1.0, 0.0]), 0 * three)
    diamond = Graph.create("abcd", [(0, 1), (0, 2), (1, 3), (2, 3)], work=[2, 3, 4, 2], output=[1, 2, 0.5, 1], params=2)
    tables = {
        "fast": {1: [1.0, inf], 2: [1.5, 3.0], 4: [2.0, 2.5]},
        "slow": {1: [2.0, 1.0], 2: [4.0, 3.0], 3: [5.0, 1.0], 4: [5.0, 6.0]},
    }
    measured = Graph.create("ab", [(0, 1)], output=1.0, batch_times=tables)
    fan = Graph.create("abc", [(0, 1), (0, 2)], work=[1, 3, 2], output=1.0, params=[1, 2, 1])
    unequal = [Device("d[0]", memory=24.0, fixed=0.5), Device("d[1]", speed=0.7, memory=12.0, overhead=0.25)]
    rare = [Device("x", "fast"), Device("y", "slow"), Device("z", "slow")]
    little = [Device("d[0]", memory=9.0), Device("d[1]", memory=7.0)]
    four, two = Objective("throughput", batch=4), Objective("throughput", batch=2)
    even = BatchSizes(sizes=(2, 4))
    powers, all_of = BatchSizes(sizes=(1, 2, 4)), BatchSizes(sizes=(4,), devices=(1, 2))
    growing = Objective("throughput", batch=4, transfer="per_input")
    apart_and_together = [Colocate(nodes=(0, 1)), Separate(nodes=(2, 3)), Forbid(nodes=(3,), devices=(0,))]
    return {
        "batch throughput": Problem.create(diamond, _devices(2), links, two),
        "batches of chunks": Problem.create(diamond, unequal, links, four, [even, BreakSymmetry(by="tasks")]),
        "batches and memory": Problem.create(fan, unequal, links, four, [Memory(), BatchSizes(sizes=(1, 2, 4))]),
        "measured batches": Problem.create(
            measured, rare[:2], links, four, [BatchSizes(sizes=(1, 2, 4), devices=(0,))]
        ),
        "batches far apart": Problem.create(measured, rare, replace(apart, routing="direct"), four, [powers, all_of]),
        "transfers by input": Problem.create(diamond, unequal, Links(2 * pair, 0.25 * pair), growing, [even]),
        "batch of one": Problem.create(_diamond(), unequal, links, Objective("throughput", batch=1)),
        "an idle device": Problem.create(fan, unequal, links, four, [even, BatchSizes(sizes=(8,), devices=(1,))]),
        "batches together": Problem.create(diamond, _devices(2), links, four, [even, *apart_and_together]),
        "no memory for batches": Problem.create(fan, little, links, four, [Memory(), BatchSizes(sizes=(4,))]),
    }


def _unusual() -> dict[str, Problem]:
    crossed = Graph.create("abcd", [(0, 2), (3, 1)], work=[5, 5, 4, 4], output=0.25)
    training = Graph.create(
        "abcdef",
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
        work=[1, 2, 3, 3, 2, 1],
        output=[1, 1, 1, 1, 1, 1],
        params=[1, 0, 1, 0, 1, 0],
        backward=[False, False, False, True, True, True],
    )
    unsupported = Graph.create(
        "abc", [(0, 1), (1, 2)], work=[1, 9, 1], output=1.0, times={"fast": [1.0, float("inf"), 1.0]}
    )
    mixed = [Device("gpu", "fast"), Device("cpu", speed=0.5, pays_io=False)]
    pair = np.ones((2, 2))
    links = Links(bandwidth=pair, latency=pair)
    line = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    relay = Links(bandwidth=line, latency=0.25 * np.ones((3, 3)))
    small = [Device("d[0]", memory=24.0), Device("d[1]", memory=14.0)]
    apart_and_together = [Separate(nodes=(0, 5)), Colocate(nodes=(1, 4)), Forbid(nodes=(2,), devices=(0,))]
    two = [replace(device, group=group) for device, group in zip(_devices(3), "xxy", strict=True)]
    three = [replace(device, group=group) for device, group in zip(_devices(3), "xyz", strict=True)]
    beside = [*_devices(2, 12.0), Device("cpu", speed=0.3, pays_io=False)]
    fixed = Pin(nodes=(0,), devices=(1,))
    spread = Replicate(most=3, sync="weights")
    ends = Colocate(nodes=(0, 5))
    apart = Objective("bottleneck", parts="separate")
    pairs = [Colocate(nodes=(0, 1)), Colocate(nodes=(2, 3))]
    return {
        "convex": Problem.create(crossed, _devices(2), Shared(1.0), constraints=[Contiguous(), *pairs]),
        "convex and acyclic": Problem.create(crossed, _devices(2), Shared(1.0), constraints=[ACYCLIC, *pairs]),
        "training": Problem.create(training, _devices(3), Shared(4.0), constraints=[ACYCLIC, ends]),
        "forward": Problem.create(training, _devices(3), Shared(4.0), constraints=[Acyclic(parts="forward"), ends]),
        "separate parts": Problem.create(training, _devices(3), Shared(4.0), apart, [ACYCLIC, ends]),
        "unsupported": Problem.create(unsupported, mixed, Shared(1.0), constraints=[ACYCLIC]),
        "host": Problem.create(unsupported, mixed, Host(1.0), constraints=[ACYCLIC]),
        "makespan": Problem.create(_diamond(), _devices(2), links, MAKESPAN),
        "exclusive links": Problem.create(_diamond(), _devices(2), links, MAKESPAN, [ExclusiveLinks()]),
        "makespan and memory": Problem.create(_diamond(), small, links, MAKESPAN, [ExclusiveLinks(), Memory()]),
        "unequal devices": Problem.create(unsupported, mixed, links, MAKESPAN),
        "no link": Problem.create(crossed, _devices(2), Links(0 * pair, 0 * pair), MAKESPAN),
        "makespan together": Problem.create(_diamond(), _devices(3), relay, MAKESPAN, apart_and_together),
        "latency": Problem.create(_diamond(), beside, Host(2.0), MAKESPAN, [Contiguous(), Memory()]),
        "latency on shared": Problem.create(_diamond(), _devices(2), Shared(4.0), MAKESPAN, [Contiguous(), fixed]),
        "latency by pieces": Problem.create(crossed, beside, Host(1.0), MAKESPAN, [Subgraphs(most=2), pairs[0]]),
        "groups": Problem.create(_diamond(), two, Shared(4.0, between=1.0), constraints=[ACYCLIC]),
        "replicas in groups": Problem.create(training, three, Shared(4.0, between=2.0), constraints=[ACYCLIC, spread]),
        **_staged(),
        **_batched(),
        **_networked(),
    }


def _networked() -> dict[str, Problem]:
    """Return splits on links, some of them relayed, and on a tree."""
    pair = np.ones((2, 2))
    line = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    at_once = Links(line, 0 * line, overlap="full", send="each", duplex="half")
    parents, uplink = np.array([1, 1, 0, -1, 0]), np.array([8.0, 4.0, 4.0, np.inf, 2.0])
    none = np.zeros(5)
    tree = Tree(("root", "server"), parents, uplink, none, none > 0)
    latency = Objective("latency")
    return {
        "links": Problem.create(_diamond(), _devices(2), Links(pair, pair)),
        "links at once": Problem.create(_diamond(), _devices(3), at_once),
        "tree": Problem.create(_diamond(), _devices(3), tree, constraints=[ACYCLIC]),
        "tree at once": Problem.create(_diamond(), _devices(3), replace(tree, overlap="full")),
        "latency on a tree": Problem.create(_diamond(), _devices(3, memory=12.0), tree, latency, [Memory()]),
    }
