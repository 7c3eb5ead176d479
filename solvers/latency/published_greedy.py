"""Method ``published-greedy``: what tarnawski2020's code compares its latency programme with."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency.first_arrangements import Orders
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent


def published_greedy(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the plan that fills one accelerator after another, if it is one."""
    incumbent = Incumbent("published-greedy", problem, limits, progress)
    instance = LatencyInstance.of(problem)
    orders = Orders(instance, np.random.default_rng(limits.seed), progress.say)
    slots = np.flatnonzero(instance.number[: instance.pieces] == 0).tolist()
    used = 0.0
    slot = np.full(instance.n, -1, np.int64)
    for unit in orders.depth_first():
        nodes = orders.nodes(unit)
        need = float(instance.memory[nodes].sum())
        while slots and used + need > instance.limit[instance.home[slots[0]]] and used > 0:
            slots.pop(0)
            used = 0.0
        fits = slots and used + need <= instance.limit[instance.home[slots[0]]]
        if fits and np.isfinite(instance.time[nodes, instance.home[slots[0]]]).all():
            slot[nodes], used = slots[0], used + need
            continue
        free = [
            s
            for s in range(instance.pieces, len(instance.home))
            if np.isfinite(instance.time[nodes, instance.home[s]]).all()
        ]
        if not free:
            incumbent.note(f"no device is left for {problem.graph.names[nodes[0]]}")
            return incumbent.result()
        slot[nodes] = min(free, key=lambda s: float(instance.time[nodes, instance.home[s]].sum()))
    try:
        plan = instance.plan(slot)
    except UsageError as error:
        incumbent.note(f"what the greedy made is no plan: {error}")
        return incumbent.result()
    if not incumbent.take(plan):
        incumbent.note(f"what the greedy made is no plan: {incumbent.broken}")
    return incumbent.result()
