"""Method ``published-greedy``: what tarnawski2020's code compares its latency programme with."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import UsageError
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.latency.first_arrangements import Orders
from mtpp_dsl.solvers.latency.subgraph_arrays import Instance, why_not
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["PublishedGreedy"]


class PublishedGreedy:
    """Method ``published-greedy``: fill one accelerator after another along a topological order, the rest on CPUs.

    As ``greedy.cpp`` of the published code: units (colocated nodes, and those that cycles of these join) in a
    topological order; each goes to the current accelerator, or, where its memory is full, to the next; when the last is
    full, to the devices with ``io = free``. Times and tensors play no part. It ignores what a device supports; here a
    unit that the current device may not run goes beside host memory. The published order follows a hash table; this one
    is depth first from the sources in the order of the file: values differ where the order matters.
    """

    name = "published-greedy"
    gives: Gives = "plan"
    baseline = True
    summary = "fills accelerators one after another in topological order (tarnawski2020's greedy for latency)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why the greedy cannot honour the problem, or None."""
        return why_not(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, if it is one."""
        incumbent = Incumbent(self.name, problem, limits, progress)
        instance = Instance.of(problem)
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
