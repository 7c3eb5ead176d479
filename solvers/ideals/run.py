"""One run of method ``ideals``: which classes to search, and what their splits and bounds mean for the problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.constraints import Acyclic, Colocate, Forbid, Memory, Pin
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.solvers.combinatorial.devices import DeviceClasses, classify
from mtpp_dsl.solvers.combinatorial.slicegraph import SliceGraph
from mtpp_dsl.solvers.ideals.classes import Classes, classes_of
from mtpp_dsl.solvers.ideals.misfit import misfit
from mtpp_dsl.solvers.ideals.search import Search
from mtpp_dsl.solvers.ideals.settle import settle
from mtpp_dsl.solvers.ideals.sweep import Step
from mtpp_dsl.solvers.reduced import identity
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.verification import TOLERANCE, verify

__all__ = ["APART", "UNASKED", "Ended", "Heeding", "Run", "as_verified"]

MOST_FREE = 8_000
"""With more ideals than this, no more groups that may be anywhere are put in."""
DETAIL = (
    "every chain of ideals has a load of this or more (tarnawski2020, 5.1); loads were added up in whole numbers, "
    "rounded down"
)
UNASKED = "ideals looks only at plans whose quotient graph is acyclic, which the problem does not ask: no bound"
APART = (
    "the best split of the forward part breaks a constraint on the backward part; its value is a bound, and plans were "
    "sought whose backward part is in the order of the forward part, or in the opposite one"
)
FREE = (
    "some colocated groups have no forward node and may be anywhere; plans follow their backward edges, and the "
    "bound counts only what they cost wherever they are"
)
CROWDED = "the ideals of {n} classes take more than {room:,.0f} MB; only those that a search reached were stored"


class Ended(Exception):
    """Time is up, or somebody asked to stop."""


class Run:
    """Solves one problem.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        most_bytes: how much memory the ideals and their labels may take.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, most_bytes: float) -> None:
        self._original, self._limits, self._progress, self._most_bytes = problem, limits, progress, most_bytes
        contract = Contract()
        self._problem = problem
        self._lift: Callable[[Plan], Plan] = identity
        if contract.accepts(problem) is None:
            self._problem, self._lift = contract.apply(problem)
        self._devices = as_verified(classify(self._problem), self._problem)
        self._plan: Plan | None = None
        self._cost = np.inf
        self._bound: Bound | None = None
        self._infeasibility: Infeasibility | None = None
        self._termination: Termination = "complete"
        self._notes: dict[str, None] = {}
        self._classes: Classes | None = None

    def result(self) -> Result:
        """Search until done or stopped, and return what is known."""
        try:
            self._start()
            self._pause()
            self._go()
        except Ended:
            self._termination = "interrupted" if self._progress.stopped else "time_limit"
        plan, bound = self._plan, self._bound
        if self._infeasibility is not None:
            self._termination = "infeasible"
        elif self._closed:
            self._termination = "gap"
        return Result(
            termination=self._termination,
            plan=plan,
            bound=bound,
            evaluation=None if plan is None else evaluate(self._original, plan),
            method="ideals",
            seed=self._limits.seed,
            time={"total": self._progress.elapsed},
            log=tuple(self._progress.log),
            infeasibility=self._infeasibility,
            notes=tuple(self._notes),
        )

    def _start(self) -> None:
        start = self._limits.start
        if start is None:
            return
        broken = verify(self._original, start)
        if broken:
            self._note(f"the start was dropped, it is no plan: {broken[0]}")
        else:
            self._keep(start, evaluate(self._original, start).cost)

    def _go(self) -> None:
        problem = self._problem
        relaxed = classes_of(problem, self._devices, "relaxed")
        if not problem.acyclic:
            self._note(UNASKED)
        else:
            self._infeasibility = misfit(problem, self._devices, relaxed)
            if self._infeasibility is not None:
                return
        if self._sliceable:
            self._slice(SliceGraph(moves=0))
            self._pause()
        forward = relaxed if not relaxed.taken_out else classes_of(problem, self._devices, "forward")
        main = self._search(forward, proves=problem.acyclic and not relaxed.taken_out)
        if main is not None and np.isfinite(main.upper) and self._cost > main.upper * (1 + TOLERANCE):
            self._note(APART)
            for reading in ("mirrored", "parallel"):
                self._search(classes_of(problem, self._devices, reading), proves=False)
        if problem.acyclic and relaxed.taken_out:
            self._note(FREE)
            self._bound_freely(relaxed)

    @property
    def _sliceable(self) -> bool:
        return SliceGraph().accepts(self._problem) is None

    def _slice(self, method: SliceGraph) -> None:
        """Keep the plan of slicing orders of the nodes, where no nodes have to be together."""
        limits = replace(self._limits, start=None)
        plan = method.solve(self._problem, limits, Heeding(self._progress)).plan
        if plan is not None:
            lifted = self._lift(plan)
            if not verify(self._original, lifted):
                self._keep(lifted, evaluate(self._original, lifted).cost)

    def _bound_freely(self, classes: Classes) -> None:
        """Bound from below with more and more of the groups that may be anywhere, while there are few ideals."""
        keep = 0
        while True:
            search = self._search(classes, proves=True)
            few = search is not None and search.ideals <= MOST_FREE and not search.crowded
            if not few or self._closed or not classes.taken_out:
                return
            keep += 2
            classes = classes_of(self._problem, self._devices, "relaxed", keep)

    @property
    def _closed(self) -> bool:
        bound = self._bound
        if self._infeasibility is not None:
            return True
        return self._plan is not None and bound is not None and relative_gap(self._cost, bound.cost) <= self._limits.gap

    def _search(self, classes: Classes, *, proves: bool) -> Search | None:
        """Search one reading of the problem; None if some class fits on no device."""
        if not (np.isfinite(classes.time) & (classes.size[:, None] <= self._devices.memory)).any(axis=1).all():
            return None
        self._classes = classes
        search = Search(
            classes,
            self._devices,
            most_bytes=self._most_bytes,
            seed=self._limits.seed,
            say=self._progress.say,
            pause=self._pause,
            found=self._found,
            bounded=self._bounded if proves else _ignore,
            improve=self._improve,
        )
        search.run(self._cost, self._limits.gap, along_orders=self._plan is None or not self._sliceable)
        if search.crowded:
            self._note(CROWDED.format(n=classes.n, room=self._most_bytes / 1e6))
        if search.crowded and not search.done:
            self._termination = "limit"
        if proves and search.done and np.isinf(search.upper):
            kinds = (Acyclic, Colocate, Forbid, Memory, Pin)
            clash = tuple(str(c) for c in self._problem.constraints if isinstance(c, kinds))
            self._infeasibility = Infeasibility("no chain of ideals fits on the devices; all were tried", clash)
        return search

    def _improve(self) -> float:
        """Look for better plans in another way; return the cost of the best."""
        if self._sliceable:
            self._slice(SliceGraph())
        return self._cost

    def _found(self, steps: Sequence[Step], value: float) -> float:
        """Turn a split into a plan, keep it if it is one, and return what the split costs."""
        classes = self._classes
        assert classes is not None
        free = [list(group) for group in self._devices.members]
        assignment = np.zeros(self._problem.graph.n, np.int64)
        replicas: dict[int, tuple[int, ...]] = {}
        for block, kind, copies in steps:
            lead, *others = (free[kind].pop(0) for _ in range(copies))
            assignment[[v for c in block for v in classes.members[c]]] = lead
            if others:
                replicas[lead] = (lead, *others)
        if classes.taken_out:
            assignment = settle(self._problem, assignment, classes.taken_out, self._pause, replicas)
        plan = self._lift(Plan.create(self._problem, assignment, replicas=replicas))
        cost = evaluate(self._original, plan).cost
        if not verify(self._original, plan):
            self._keep(plan, cost)
        return value if classes.taken_out else max(cost, value)

    def _keep(self, plan: Plan, cost: float) -> None:
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._progress.report_plan(plan, cost)

    def _bounded(self, lower: float) -> None:
        bound = Bound(lower, method="ideals", proof="checked", by="mtpp", detail=DETAIL)
        if self._bound is None or lower > self._bound.cost:
            self._bound = bound
            self._progress.report_bound(bound)

    def _pause(self) -> None:
        if self._progress.stopped or self._limits.remaining <= 0:
            raise Ended

    def _note(self, note: str) -> None:
        self._notes.setdefault(note)


class Heeding(Progress):
    """Keeps to itself what is reported, and stops when the outer one does."""

    def __init__(self, outer: Progress) -> None:
        super().__init__()
        self._outer = outer

    @property
    def stopped(self) -> bool:
        return self._outer.stopped

    def say(self, message: str) -> None:
        if message:
            self._outer.say(message)


def _ignore(_: float) -> None:
    pass


def as_verified(devices: DeviceClasses, problem: Problem) -> DeviceClasses:
    """Give every device the memory that the independent check lets it have, so that no plan escapes the bound."""
    first = [group[0] for group in devices.members]
    return replace(devices, memory=problem.memory_limit[first] * (1 + TOLERANCE * (1 + 1e-6)))
