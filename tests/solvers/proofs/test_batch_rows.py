"""The rows of batches: the best plan keeps to them at every target that is not below it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice, product
from math import floor, inf

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import BatchSizes, Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.proofs.batches import times_of_chunks
from mtpp_dsl.solvers.proofs.divided_chunks import DividedChunks
from mtpp_dsl.solvers.proofs.leaves import rows_below
from mtpp_dsl.solvers.proofs.rows import Rows, Units
from mtpp_dsl.solvers.proving.leaf_search import find_leaves
from tests.amount import part
from tests.batch_problems import random_batches

MAX_PLANS = 400


def values_of(problem: Problem, plan: Plan, rows: Rows, unit: Fraction) -> list[int]:
    """Return the variables of a plan: how chunks are divided, the work that follows from it, and times in units."""
    batching, names, number = problem.batching, problem.graph.names, {name: i for i, name in enumerate(rows.names)}
    values = [0] * len(rows.names)
    assert plan.batches is not None
    kinds = DividedChunks(problem, 1.0).kinds
    kind_of = {d: i for i, kind in enumerate(kinds) for d in kind}
    for v, inputs in enumerate(plan.batches.device.tolist()):
        many = Counter(inputs)
        way = tuple(tuple(sorted((many[d] // batching.chunk for d in kind if many[d]), reverse=True)) for kind in kinds)
        true = {f"{names[v]} divided {way}"}
        true |= {f"{names[v]} has {p} chunks on {d}" for d, own in enumerate(way) for p in range(1, sum(own) + 1)}
        for name in true & number.keys():
            values[number[name]] = 1
        chunks = list(zip(*(iter(inputs),) * batching.chunk, strict=True))
        for what, times in (("start", plan.batches.start), ("end", plan.batches.end)):
            for j, time in enumerate(sorted(float(times[v, chunk[0]]) for chunk in chunks)):
                if f"{what} of chunk {j + 1} of {v}" in number:
                    values[number[f"{what} of chunk {j + 1} of {v}"]] = floor(Fraction(time) / unit)
    for e, ends in enumerate(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True)):
        where = ([kind_of[d] for d in plan.batches.device[v].tolist()] for v in ends)
        for (d, f), inputs in Counter(zip(*where, strict=True)).items():
            if f"chunks of edge {e} from {d} to {f}" in number:
                values[number[f"chunks of edge {e} from {d} to {f}"]] = inputs // batching.chunk
    for row in rows.rows:
        if row.name in number:  # a variable that is no less than the rest of the row
            own = number[row.name]
            values[own] = max(values[own], sum(often * values[x] for x, often in row.terms if x != own))
    return values


def test_batches_are_repeated_on_their_devices() -> None:
    """Of four inputs one device has four batches of one, another two: one by one they take 1 each, else 10."""
    times = {name: {size: [1.0 if size == 1 else 10.0] for size in (1, 2, 3, 4)} for name in ("p", "q")}
    graph = Graph.create("a", [], batch_times=times)
    rules = [Repeat(most=4, devices=(0,)), Repeat(most=2, devices=(1,))]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    objective = Objective("throughput", batch=4)
    problem = Problem.create(graph, [Device("p"), Device("q")], links, objective, rules)
    assert times_of_chunks(problem)[0].tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 10, 10]]


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_the_best_plan_keeps_to_the_rows(unit: float) -> None:
    tried = 0
    for seed in range(part(200, 10)):
        problem = random_batches(seed, devices=2, chunks=2, unit=unit)
        if seed % 3 == 0:
            problem = problem.with_constraints([*problem.constraints, Repeat(most=2)])
        costs = [(cost_of(problem, plan), plan) for plan in islice(plans(problem), MAX_PLANS)]
        if not costs or len(costs) == MAX_PLANS:
            continue
        least, best = min(costs, key=lambda cost: cost[0])
        for share in (1.0, 1 + 1e-9, 1.3, 3.0) if 0 < least < inf else ():
            ordered = not list(problem.of(Repeat))
            rows = rows_below(problem, least * share, ordered=ordered)
            values = values_of(problem, best, rows, Units(least * share).size)
            tried += ordered
            for row in rows.rows:
                off = len(row.terms) if ordered else 0  # the times of the plan are rounded
                assert sum(often * values[x] for x, often in row.terms) <= row.most + off, (seed, row.name)
    assert tried > 10


@pytest.mark.parametrize("method", ["heft", "met", "ea"])
@pytest.mark.parametrize("kinds", [None, 2])
def test_plans_of_many_chunks_keep_to_the_order(method: str, kinds: int | None) -> None:
    """Four chunks are enough for batches that share some of their chunks, and rows of all sizes.

    On ten devices of two kinds there are too many ways to divide them but by kinds.
    """
    tried = 0
    for seed in range(part(180, 3)):
        problem = random_batches(seed, nodes=7, devices=3 if kinds is None else 10, chunks=4, kinds=kinds)
        found = load(METHODS, method)()
        if found.accepts(problem) is not None:
            continue
        plan = found.solve(problem, Limits(time=0.1), Progress()).plan
        if plan is None or not 0 < cost_of(problem, plan) < inf:
            continue
        cost = cost_of(problem, plan)
        rows = rows_below(problem, cost, ordered=True)
        values = values_of(problem, plan, rows, Units(cost).size)
        tried += 1
        for row in rows.rows:
            used = sum(often * values[x] for x, often in row.terms)
            assert used <= row.most + len(row.terms), (seed, row.name)
    assert tried > 10


def test_chunks_are_divided_over_kinds_in_every_way() -> None:
    """Four chunks on nine equal devices and a slow one, which run no batch of three: 715 ways, of which nine differ."""
    takes = {size: [float(size)] for size in (1, 2, 4)}
    graph = Graph.create("a", [], batch_times={"p": takes, "q": {size: [9.0] for size in takes}})
    devices = [Device(f"p{i}", "p") for i in range(4)] + [Device("q", "q")] + [Device(f"r{i}", "p") for i in range(5)]
    links, sizes = Links(np.ones((10, 10)), np.zeros((10, 10))), BatchSizes(sizes=(1, 2, 4))
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=4), [sizes])
    chunks = DividedChunks(problem, 9.0)
    slow, fast = sorted(chunks.kinds, key=len)
    assert (slow, fast) == ([4], [0, 1, 2, 3, 5, 6, 7, 8, 9])
    every = set()
    for where in product(range(10), repeat=4):
        many = Counter(where)
        if 3 not in many.values():
            kinds = (tuple(sorted((many[d] for d in kind if many[d]), reverse=True)) for kind in chunks.kinds)
            every.add(tuple(kinds))
    assert sorted(way for way, _ in chunks.ways_of(0)) == sorted(every)
    assert len(every) == 9


def test_a_fast_chunk_overtakes_a_slow_one() -> None:
    """The last node starts with the first chunk before the first node has ended with the second."""
    times = {"p": {1: [1.0] * 3, 2: [100.0] * 3}, "q": {1: [5.0] * 3, 2: [100.0] * 3}}
    graph = Graph.create("abc", [(0, 1), (1, 2)], batch_times=times)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("p"), Device("q")], links, Objective("throughput", batch=2))
    plan = min(plans(problem), key=lambda one: cost_of(problem, one))
    cost = cost_of(problem, plan)
    assert cost == 15.0
    rows = rows_below(problem, cost, ordered=True)
    values = values_of(problem, plan, rows, Units(cost).size)
    assert all(sum(often * values[x] for x, often in row.terms) <= row.most for row in rows.rows)


def test_the_order_of_repeated_batches_is_not_known() -> None:
    """Rows about the order of chunks are refused where a device may run several batches of a node."""
    problem = random_batches(0, devices=2, chunks=2)
    with pytest.raises(Refused, match="several batches of a node"):
        rows_below(problem.with_constraints([*problem.constraints, Repeat(most=2)]), 1.0, ordered=True)


def test_chunks_of_a_chain_wait_for_each_other() -> None:
    """A chain of batches of all chunks runs one after another, though the work of two devices is half of it."""
    table = {4: [4.0, 4.0, 4.0]}
    graph = Graph.create("abc", [(0, 1), (1, 2)], batch_times={"p": table, "q": table})
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    devices, sizes = [Device("p"), Device("q")], BatchSizes(sizes=(4,))
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=4), [sizes])
    assert find_leaves(problem, 12 * (1 - 1e-9), Limits(time=10.0)) is not None
    assert find_leaves(problem, 12 * (1 + 1e-9), Limits(time=10.0)) is None
