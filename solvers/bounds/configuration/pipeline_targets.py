"""Raise the configuration bound of equal devices in an order, target by target, with a proof of each."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Certificate, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.bounds.configuration.covering import Point, Proof
from mtpp_dsl.solvers.bounds.configuration.ordered_pricing_loop import PricingAttempt
from mtpp_dsl.solvers.bounds.configuration.ordered_sets import BITS, ConvexPool, Ordered, PositionRange
from mtpp_dsl.solvers.bounds.configuration.target_search import CLOSE, TargetSearch
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, costliest_plan, whole_loads

BELOW, ROUNDING = 5e-7, 2.0**-BITS
"""Relative: so far below a plan's cost a target lies at least, where rounding leaves the cost itself out of reach; what
each number of a load is rounded by."""
MAX_NODES = 3000
FEW_DEVICES = 6
"""So many devices have a place each; with more, places say little, and all are one."""
SMALL, NEAR = 60, 0.95
"""Graphs of so few nodes, or bounds so near: the cost of the best plan is tried."""
JUMP = 1.2
TINY, LEAST = 1e-9, 1e-3
SHORTEST = 1.0
"""Seconds for one target, at least."""
DETAIL = (
    "for the weights of the certificate, the blocks that a pipeline can have below this weigh less together than all "
    "nodes do; loads were rounded down to whole units, and a branch and bound with minimum cuts found no heavier block"
)


def is_pipeline(problem: Problem, groups: BoundInstance) -> bool:
    """Return whether the blocks of a plan are convex sets of single nodes on equal devices, in an order."""
    return (
        problem.acyclic
        and not problem.graph.backward.any()
        and problem.k > 1
        and len(groups.counts) == 1
        and bool(groups.types.pays[0])
        and groups.n == problem.graph.n <= MAX_NODES
    )


class Pipeline(TargetSearch):
    """One run: what is proved, the sets known, and what to try next.

    Args:
        problem: see :func:`is_pipeline`.
        groups: its nodes.
        bound: the best one known.
        limits: how long.
        progress: told of bounds; asked for plans and bounds of others.
        step: how far from what is proved to what failed, or to the cost of a plan, the next target lies.
        share: of the time left, for one target.
    """

    def __init__(
        self,
        problem: Problem,
        groups: BoundInstance,
        bound: Bound,
        limits: Limits,
        progress: Progress,
        *,
        step: float,
        share: float,
    ) -> None:
        super().__init__(problem, bound, limits, progress)
        self._groups, self._step, self._share = groups, step, share
        self._ordered = Ordered(groups)
        self._pool = ConvexPool(self._ordered)
        k = problem.k
        self._places = (
            [PositionRange(i, i, k) for i in range(1, k + 1)] if k <= FEW_DEVICES else [PositionRange(1, k, k)]
        )
        self._ceiling = inf
        self._hint: Point | None = None
        for v in range(groups.n):
            self._pool.add(np.arange(groups.n) == v)
        self._see(limits.start)
        self._look()

    def _keep(self, plan: Plan) -> None:
        for d in np.unique(plan.assignment).tolist():
            self._pool.add(plan.assignment == d)

    def search(self) -> Termination:
        """Prove targets until none is left, or the limits end it."""
        doubtful, most = inf, costliest_plan(self._groups)
        while self._ended is None:
            self._look()
            if self._closed:
                return "gap"
            known, hard = self.bound.cost, min(self._ceiling, self._goal, most)
            if hard - known <= max(CLOSE * hard if self._aimed else 0.0, TINY * most):
                return "complete"
            if min(hard, doubtful) - known <= CLOSE * known:
                doubtful = inf
            target = self._next(known, min(hard, doubtful), doubtful == inf)
            if not self._try(target):
                doubtful = min(target, doubtful)
        return self._ended or "complete"

    @property
    def _goal(self) -> float:
        """The target that would prove the best plan optimal."""
        if self._plan_cost == inf:
            return inf
        exact = whole_loads(self._groups, max(self._plan_cost, 1e-300), bits=BITS, room=0.0)[0].capacity < 2**22
        off = max(BELOW, ROUNDING * (self._groups.n + len(self._groups.nets)))
        return self._plan_cost * (1.0 if exact else 1 - off)

    @property
    def _aimed(self) -> bool:
        return self.bound.cost >= self._goal or self._ceiling <= self._goal

    def _next(self, known: float, below: float, hopeful: bool) -> float:
        """Return the target to try: the goal if it is near, else one between what is known and what failed."""
        goal = self._goal
        if hopeful and below == goal < inf and (self._groups.n <= SMALL or known >= NEAR * goal):
            return goal
        return max(JUMP * known, LEAST * below) if below > 2 * known else known + self._step * (below - known)

    def _try(self, target: float) -> bool:
        """Try to prove a target; report it if proved."""
        self._attempts += 1
        attempt = PricingAttempt(
            self._ordered,
            self._pool,
            self._places,
            target,
            stopped=lambda: self._idle(target),
            say=self._progress.say,
            seed=self._limits.seed + 1000 * self._attempts,
            hint=self._hint,
        )
        verdict = self._run(attempt, target, self._share, SHORTEST)
        self._hint = attempt.centre if attempt.centre.estimate > 0 else self._hint
        if verdict == "out of reach":
            self._ceiling = min(self._ceiling, target)
        if attempt.proof is None:
            return False
        self._raise(self._bound(attempt.proof))
        return True

    def _bound(self, proof: Proof) -> Bound:
        names = self._problem.graph.names
        weights: dict[str, Any] = {names[v]: int(proof.weights[v]) for v in np.flatnonzero(proof.weights).tolist()}
        certificate = Certificate("chain", {"target": proof.target, "weights": weights, "most": list(proof.most)})
        return Bound(proof.target, "configuration", "checked", "mtpp", DETAIL, certificate)
