"""Dive for splits below one target after the other, between what is proved and the best plan: method ``diving``."""

from __future__ import annotations

from math import inf

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.configuration.configuration import misfit
from mtpp_dsl.solvers.bounds.configuration.covering import Columns
from mtpp_dsl.solvers.bounds.configuration.diving import Diving
from mtpp_dsl.solvers.bounds.configuration.known_weights import known_weights
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, bound_instance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["dive"]

SHARES = (0.4, 0.7, 0.95)
"""How far from what is proved to the cost of the best plan targets lie, one after the other until one is reached."""
FIRST = (1.02, 1.05, 1.2, 1.5, 2.0, 4.0)
"""The same without a plan: so many times what is proved, or, where that is 0, what each has of work and tensors."""
BRANCHES, TURNS = 3, 40
"""Sets that are fixed one after another in the place of one, and coverings for one target, at most."""
MORE = ((1, 1), (2, 4), (4, 16))
"""So many times as many, by turns, while no target is reached."""
COVERING = 0.2
"""Of the time left, what one of them may take."""


def dive(name: str, problem: Problem, states: Frontier, limits: Limits, progress: Progress) -> Result:
    """Return the best plan found, or none.

    Args:
        name: of the method.
        problem: a bottleneck on ``shared`` or ``host``.
        states: of a sweep over its supernodes.
        limits: when to stop, and a plan to start from.
        progress: told of plans; its bound says how low targets may be, and the weights of its certificate are where the
            first covering begins.
    """
    incumbent = Incumbent(name, problem, limits, progress)
    incumbent.take_start()
    simple, groups = least_load(problem, limits, progress), bound_instance(problem)
    infeasibility = simple.infeasibility or misfit(problem, groups)
    if infeasibility is not None:
        return incumbent.result(infeasibility=infeasibility)
    _Run(problem, groups, states, 0.0 if simple.bound is None else simple.bound.cost, limits, progress, incumbent).run()
    if incumbent.plan is None:
        incumbent.note("no split was found; this does not prove that there is none")
    return incumbent.result()


class _Run:
    """The targets of one call."""

    def __init__(
        self,
        problem: Problem,
        groups: BoundInstance,
        states: Frontier,
        least: float,
        limits: Limits,
        progress: Progress,
        incumbent: Incumbent,
    ) -> None:
        self._problem, self._groups, self._states, self._least = problem, groups, states, least
        self._limits, self._progress, self._incumbent = limits, progress, incumbent
        self._columns = Columns(groups)

    def run(self) -> None:
        """Dive below smaller and smaller targets, ever more broadly, until none is reached or the limits end it."""
        broad = 0
        while broad < len(MORE) and not self._incumbent.done and self._proved < self._known:
            low, known = self._proved, self._known
            if known == inf:
                targets = [step * (low or self._share) for step in FIRST]
            else:
                targets = [low + step * (known - low) for step in SHARES]
            broad = 0 if any(self._reached(target, *MORE[broad]) for target in targets) else broad + 1

    @property
    def _share(self) -> float:
        """What each device has of all work and tensors, if that is more than 0."""
        groups = self._groups
        work = float(groups.time.min(axis=1).sum())
        return (work + sum(cost for _, cost in groups.nets)) / self._problem.k or 1.0

    @property
    def _proved(self) -> float:
        """The best bound known."""
        bound = self._progress.bound
        return max(self._least, 0.0 if bound is None else bound.cost)

    @property
    def _known(self) -> float:
        """The cost of the best plan of anybody, ``inf`` without one."""
        known = self._progress.incumbent
        return min(self._incumbent.cost, inf if known is None else known)

    def _reached(self, target: float, wide: int, long: int) -> bool:
        """Dive below a target; return whether there is a better plan now, of this run or of another.

        Args:
            target: what all loads are to be below.
            wide: so many times as many branches.
            long: so many times as many turns.
        """
        before = self._known
        if self._incumbent.done or before < target:
            return before < target
        self._progress.say(f"diving below {target:.6g}")
        groups, bound = self._groups, self._progress.bound
        weights = known_weights(self._problem, groups, None if bound is None else bound.certificate)
        shape = TURNS * long, BRANCHES * wide
        diving = Diving(groups, self._states, self._columns, target, *shape, lambda: self._idle(target))
        device = diving.split(weights, COVERING * self._limits.remaining)
        if device is not None:
            self._incumbent.take(Plan.create(self._problem, device[groups.of]))
        return self._known < before

    def _idle(self, target: float) -> bool:
        """Return whether to dive below a target no longer: a plan below it is known, or the run has to end."""
        return self._incumbent.done or self._known < target
