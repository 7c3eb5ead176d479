"""The configuration bound: what all devices can hold below a target, by column generation with exact pricing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.backends.mip.matrix import by
from mtpp_dsl.solvers.bounds.configuration.covering import Columns, Proof
from mtpp_dsl.solvers.bounds.configuration.known_weights import known_weights
from mtpp_dsl.solvers.bounds.configuration.narrow_attempt import NarrowAttempt
from mtpp_dsl.solvers.bounds.configuration.narrow_sets import narrow_states, step_numbers
from mtpp_dsl.solvers.bounds.configuration.pipeline_targets import Pipeline, is_pipeline
from mtpp_dsl.solvers.bounds.configuration.pricing_loop import Attempt
from mtpp_dsl.solvers.bounds.configuration.set_pricing import FINE_BITS
from mtpp_dsl.solvers.bounds.configuration.target_search import CLOSE, TargetSearch
from mtpp_dsl.solvers.bounds.partition.anchor import anchor_bound
from mtpp_dsl.solvers.bounds.partition.bound_instance import (
    BoundInstance,
    bound_instance,
    costliest_plan,
    whole_loads,
)

NAME = "configuration"
BELOW = 1.5e-5
"""Relative: so far below a plan's cost the first target lies, where rounding leaves the cost itself out of reach."""
JUST_BELOW, ROUNDING = 5e-7, 2.0**-FINE_BITS
"""Relative: where the last target lies, whose loads are counted by digits; what each number is rounded by then."""
TINY = 1e-9
"""Relative to what everything costs together: bounds that low are left at 0."""
FIRST_SHARE, NEXT_SHARE = 0.4, 0.5
NARROW_STEP, NARROW_CLOSE = 0.6, 2e-5
"""With exact tables: how far from what is proved to what is out of reach a target lies, and how close it ends."""
WORTH = 1e-6
"""Relative: bounds that are higher by less are not reported."""
TIGHT = 0.5
"""The share of all memory from which on it may take sets away that matter."""
MAX_GROUPS = 20_000
MAX_SINGLES = 3_000
DETAIL = (
    "for the weights of the certificate, the sets of nodes that the devices can hold below this weigh less together "
    "than all nodes do; loads were rounded down to whole units, and HiGHS found no heavier set: it rests on its word"
)
BY_TABLES = (
    "for the weights of the certificate, the sets of nodes that the devices can hold below this weigh less together "
    "than all nodes do; loads were rounded down to whole units, and tables of all loads gave the heaviest sets"
)


def configuration(problem: Problem, limits: Limits, progress: Progress, step: float, share: float) -> Result:
    """Return the best bound proved within the limits; *step* and *share* are those of the method."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return replace(simple, method=NAME)
    groups = bound_instance(problem)
    if (nowhere := misfit(problem, groups)) is not None:
        return replace(simple, termination="infeasible", method=NAME, infeasibility=nowhere)
    bound, costliest, _ = anchor_bound(problem, groups, simple.bound, limits, progress)
    termination: Termination = "limit"
    if is_pipeline(problem, groups):
        known = bound or simple.bound
        pipeline = Pipeline(problem, groups, known, limits, progress, step=step, share=share)
        termination, bound = pipeline.search(), pipeline.bound
    elif groups.n <= MAX_GROUPS:
        run = _Run(problem, groups, bound or simple.bound, costliest, limits, progress)
        termination = run.search()
        bound = run.bound
    return progress.result(
        NAME,
        limits,
        termination,
        bound=bound,
        notes=() if groups.n <= MAX_GROUPS else (f"{groups.n} nodes are too many: no more than anchor was done",),
    )


def misfit(problem: Problem, groups: BoundInstance) -> Infeasibility | None:
    """Return which colocated nodes no device can take together, or None if there are no such nodes."""
    nowhere = np.flatnonzero(~np.isfinite(groups.time).any(axis=1))
    if not len(nowhere):
        return None
    names = [problem.graph.names[v] for v in groups.members[int(nowhere[0])]]
    clash = tuple(str(c) for c in problem.constraints if isinstance(c, (Memory, Colocate, Pin, Forbid)))
    return Infeasibility(f"no device can take {', '.join(map(repr, names[:4]))} together", clash)


class _Run(TargetSearch):
    """Raises the target for sets of any shape."""

    def __init__(
        self,
        problem: Problem,
        groups: BoundInstance,
        bound: Bound,
        costliest: Floats,
        limits: Limits,
        progress: Progress,
    ) -> None:
        super().__init__(problem, bound, limits, progress)
        self._groups, self._costliest = groups, costliest
        self._columns = Columns(groups)
        self._ceiling = inf  # the least target that no weights prove
        self._see(limits.start)
        self._look()
        for g in range(groups.n if groups.n <= MAX_SINGLES else 0):
            for kind in np.flatnonzero(np.isfinite(groups.time[g])).tolist():
                self._columns.add(kind, np.arange(groups.n) == g)

    def _keep(self, plan: Plan) -> None:
        for d in range(self._problem.k):
            in_set = np.zeros(self._groups.n, np.bool_)
            in_set[self._groups.of[plan.assignment == d]] = True
            self._columns.add(int(self._groups.types.of[d]), in_set)

    def search(self) -> Termination:
        """Prove targets until none is left, or the limits end it."""
        states = narrow_states(self._groups)
        if states is not None and self._plan_cost < inf:
            self._rise(states)
            near = self.bound.cost >= self._plan_cost * (1 - CLOSE)
            if self._ended or self._closed or not (near or self._tight):
                return self._ended or ("gap" if self._closed else "complete")
        most = costliest_plan(self._groups)
        tiny = TINY * most
        if self._plan_cost < inf:
            self._aim()
            most = min(most, self._plan_cost)
        if self.bound.cost >= most * (1 - BELOW) and not self._look():
            return "gap" if self._closed else "complete"
        while not self._closed and self._ended is None and most - self.bound.cost > max(CLOSE * most, tiny):
            known = self.bound.cost
            target = max(1.3 * known, 1e-3 * most) if most > 2 * known else known + 0.6 * (most - known)
            if not self._try(target, NEXT_SHARE):
                most = target
            elif self._plan_cost < self._ceiling:  # sets found meanwhile may prove what was left open
                self._aim()
            if self._look():
                self._aim()
                most = min(most, self._plan_cost)
        return self._ended or ("gap" if self._closed else "complete")

    @property
    def _tight(self) -> bool:
        """Whether memory, which tables do not count, may take sets away that matter."""
        room = float((self._groups.types.memory * self._groups.counts).sum())
        streams = any(map(self._groups.overflows, range(len(self._groups.counts))))
        return streams or float(self._groups.memory.sum()) > TIGHT * room

    def _rise(self, states: Frontier) -> None:
        """Prove targets by exact tables, up to the largest that weights can prove, in finer and finer units."""
        centre = known_weights(self._problem, self._groups, self.bound.certificate)
        for steps in step_numbers(states):
            centre = self._rise_in(states, steps, centre)

    def _rise_in(self, states: Frontier, steps: int, centre: Floats) -> Floats:
        """Prove targets that are divided into so many units; return [supernodes] the weights that prove most."""
        ceiling = self._plan_cost
        while self._ended is None and not self._closed and ceiling - self.bound.cost > NARROW_CLOSE * ceiling:
            target = self.bound.cost + NARROW_STEP * (ceiling - self.bound.cost)
            idle = partial(self._idle, target)
            given = self._groups, states, self._columns, target, centre, idle, self._proved
            attempt = NarrowAttempt(*given, steps=steps)
            if self._run(attempt, target, NEXT_SHARE, 2.0) != "proved":
                ceiling = target
            centre = attempt.centre
            self._look()
            ceiling = min(ceiling, self._plan_cost)
        return centre

    def _proved(self, proof: Proof) -> None:
        """Report a target that weights prove, if it is worth it."""
        if proof.target > self.bound.cost * (1 + WORTH):
            self._raise(self._bound(proof))

    def _aim(self) -> None:
        """Try what would prove the best plan known optimal; where a better one is found meanwhile, that one."""
        self._aim_at_plan()
        while self._ended is None and self._look():
            self._aim_at_plan()

    def _aim_at_plan(self) -> None:
        exact = all(sizes.exact for sizes in whole_loads(self._groups, max(self._plan_cost, 1e-300)))
        target = self._plan_cost * (1.0 if exact else 1 - BELOW)
        self._try(target, FIRST_SHARE)
        groups = self._groups
        if self.bound.cost >= target and not self._closed and not any(map(groups.overflows, range(len(groups.counts)))):
            off = max(JUST_BELOW, ROUNDING * (groups.n + len(groups.nets)))
            self._try(self._plan_cost * (1 - off), 1.0, fine=True)  # nothing else is left to do

    def _try(self, target: float, share: float, *, fine: bool = False) -> bool:
        """Try to prove a target; report it if proved."""
        if target <= self.bound.cost or self._ended is not None:
            return False
        self._attempts += 1
        attempt = Attempt(
            self._groups,
            self._columns,
            self._costliest,
            target,
            stopped=lambda: self._idle(target),
            say=self._progress.say,
            seed=self._limits.seed + 1000 * self._attempts,
            fine=fine,
        )
        if self._run(attempt, target, share, 2.0) == "out of reach":
            self._ceiling = min(self._ceiling, target)
        if attempt.proof is None:
            return False
        self._raise(self._bound(attempt.proof))
        return True

    def _bound(self, proof: Proof) -> Bound:
        names, groups, devices = self._problem.graph.names, self._groups, self._problem.devices
        most = {devices[d].name: proof.most[kind] for d, kind in enumerate(groups.types.of.tolist())}
        weights = {names[groups.members[g][0]]: int(proof.weights[g]) for g in np.flatnonzero(proof.weights).tolist()}
        data = {"target": proof.target, "weights": weights, "most": most}
        if proof.unit is not None:
            order = [names[groups.members[g][0]] for g in proof.order]
            certificate = Certificate("configuration", {**data, "unit": proof.unit, "order": order})
            return Bound(proof.target, "configuration", "checked", "mtpp", BY_TABLES, certificate)
        certificate = Certificate("configuration", data)
        return Bound(proof.target, "configuration", "trusted", by(), DETAIL, certificate)
