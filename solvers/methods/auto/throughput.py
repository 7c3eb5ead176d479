"""One run of method ``auto`` for the throughput of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.solvers.backends.cpsat.installed import availability
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores

__all__ = ["BatchRun"]

QUICK = ("simple", "critical-path", "met", "greedy", "heft")
QUICK_SHARE, QUICK_SECONDS = 0.05, 5.0
"""How long each of these may take, in large graphs."""
SMALL = 120
"""Problems of so few chunks of nodes are given to one model as a whole first."""
WHOLE_SHARE, WHOLE_SECONDS = 0.35, 20.0
MODEL = 4_000
"""Larger problems, in chunks of nodes times devices, are no work for one model."""
SPLIT_SHARE = 0.7
"""Of the time left, what the modules may take before one model of everything gets it."""
SEARCH_SHARE = 0.4
"""Of the time left, what annealing may take before windows of its plan are made anew."""


class BatchRun(AutoSteps):
    """One call for a batch.

    1. bounds that cost next to nothing, and list schedules of batches;
    2. a small problem as one model;
    3. a search, and module by module with its lower bound, at the same time; then one model of everything, where that
       is not too large;
    4. where none of these has found a plan, the models of everything that had no turn.
    """

    on_links = True
    minor = frozenset({"single-device", *QUICK}) - {"heft"}

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(load(METHODS, "single-device")())
        for name in QUICK:
            self.run(LaneTask(load(METHODS, name)(), QUICK_SHARE, QUICK_SECONDS))
        size = self.problem.graph.n * self.problem.batching.count
        if size <= SMALL:
            for method in self.whole:
                self.run(LaneTask(method, WHOLE_SHARE, WHOLE_SECONDS))
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits), size * self.problem.k))
        self.insist()
        return self.answer()

    def searches(self) -> Iterator[Method]:
        """Yield the search for batches."""
        yield load(METHODS, "annealing")()

    def models(self) -> Iterator[Method]:
        """Yield the model of CP-SAT, where it is there, and the mixed-integer programme."""
        solver = self.limits.solver
        if solver in ("highs", "cp-sat"):
            if availability().ok:
                yield built_in("mtpp_dsl.solvers.methods.cp_sat:BatchScheduling")("batched")
            else:
                better = f"CP-SAT solves schedules much better than what is installed: {availability().install}"
                self.notes.append(better)
        if solver != "cp-sat":
            formulation = load(FORMULATIONS, "batched")()
            yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, solver)

    @cached_property
    def whole(self) -> list[Method]:
        """The first model of everything, if any accepts the problem."""
        return self.model()

    def lanes(self, count: int, size: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: searches; modules, their bound and one model; further searches."""
        search, split, bound = (load(METHODS, name)() for name in ("annealing", "milp-split", "split-bound"))
        improve = [load(METHODS, "lns")()] if availability().ok else []
        model = self.whole if size <= MODEL or not self.searched else []
        if count == 1:
            turns = (split, bound, search, *improve, *model)
            return [[LaneTask(method, 1 / (len(turns) - i)) for i, method in enumerate(turns)]]
        parts = [
            LaneTask(split, SPLIT_SHARE),
            LaneTask(bound, 1.0 if not model else SPLIT_SHARE),
            *map(LaneTask, model),
        ]
        first = [LaneTask(search, SEARCH_SHARE if improve else 1.0), *map(LaneTask, improve)]
        more = [[LaneTask(method, seed=seed)] for seed in range(1, count) for method in (search, *improve)]
        return [lane for lane in (first, parts, *more) if lane][:count]
