"""Method ``ea``: the biased (1+1) evolutionary algorithm."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.graph import Ints
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.batched.ea import BatchEa
from mtpp_dsl.solvers.batched.instance import why_not as why_no_batches
from mtpp_dsl.solvers.listing.methods import Met, upward_ranks
from mtpp_dsl.solvers.listing.ranks import in_order
from mtpp_dsl.solvers.listing.run import Lister
from mtpp_dsl.solvers.makespan.field import plan_of
from mtpp_dsl.solvers.makespan.holding import Holding
from mtpp_dsl.solvers.makespan.mutation import EVOLVE
from mtpp_dsl.solvers.scheduling.instance import why_not

__all__ = ["Ea"]

PATIENCE = 50
CHUNK = 1_000
FEWEST = 2_000


class Ea:
    """Method ``ea``: the biased (1+1) EA of ghannane2023, 4.2.

    The parent is at first every node on its fastest device (where that fits; else as ``met`` places it). A child gives
    every node another device with probability 1/n, and takes the parent's place if its makespan is no longer. Nodes run
    in the order of upward ranks, as early as they can. Nodes that are colocated move together.

    For the throughput of a batch the parent is what ``met`` makes, and a child gives every node another spread of its
    chunks over devices; see :mod:`mtpp_dsl.solvers.batched.mutation`.

    Args:
        patience: children in a row, per class and device, without a shorter schedule, after which it ends.
    """

    name = "ea"
    gives: Gives = "plan"
    baseline = True
    summary = "the biased (1+1) evolutionary algorithm: random other devices, kept if the schedule is no longer"

    def __init__(self, patience: int = PATIENCE) -> None:
        self.patience = patience

    def accepts(self, problem: Problem) -> str | None:
        """Return why the problem is not one that this schedules, or None."""
        if problem.objective.batch is not None:
            return why_no_batches(problem, self.name)
        return why_not(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule found, or none, with a note that says why."""
        if problem.objective.batch is not None:
            return BatchEa(problem, limits, progress, self.patience).result()
        return _Run(problem, limits, progress, self.patience).result()


class _Run(Holding):
    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: int) -> None:
        super().__init__("ea", problem, limits, progress)
        self._quiet = max(FEWEST, patience * len(self._field.need) * problem.k)

    def result(self) -> Result:
        """Mutate until done or stopped, and return the best plan."""
        first = self._first()
        if first is None:
            return self.answer()
        instance = self._instance
        order = in_order(instance.graph, upward_ranks(instance))
        if self.plan is None:
            self.keep(plan_of(instance, order, first))
        home = np.zeros(len(self._field.need), np.int64)
        home[self._field.group] = first
        random = np.random.default_rng(self._limits.seed)
        noise = np.empty(max(1 << 16, 8 * len(home)))
        run = EVOLVE.pick(self._quiet * (instance.n + instance.m), self._progress.say)
        cost, known, quiet = np.full(1, np.inf), np.inf, 0
        while quiet < self._quiet and instance.n and not self.done:
            random.random(out=noise)
            quiet += run(noise, CHUNK, self._field, order, home, cost)
            if cost[0] < known:
                known, quiet = float(cost[0]), 0
                self.keep(plan_of(instance, order, home[self._field.group]))
        return self.answer()

    def _first(self) -> Ints | None:
        """Return the devices of the plan to start from, if it is one, else the fastest of every node, within memory."""
        start = self._limits.start
        if start is not None and self.keep(start):
            return np.array(start.assignment)
        lister = Lister.of(self._instance)
        if lister is None:
            self._taker.note("no way was found to give every node a device within memory, links and the constraints")
            return None
        plan: Plan = Met().schedule(lister)
        return np.array(plan.assignment) if self.keep(plan) else None
