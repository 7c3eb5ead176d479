"""Run MILP-SPLIT: split into modules, find a path through them, derive a bound, and improve the plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result, relative_gap
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow, split
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.first_plans import known
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.lns.lns import search
from mtpp_dsl.solvers.schedule.modules.canonical import EqualMember
from mtpp_dsl.solvers.schedule.search.schedule_annealing import improve
from mtpp_dsl.solvers.schedule.splitting.boundary_states import BoundaryStep, BoundaryWalk
from mtpp_dsl.solvers.schedule.splitting.module_engines import ModuleEngine
from mtpp_dsl.solvers.schedule.splitting.module_problems import SameModules, Timetable, grouped, parts

__all__ = ["Joint", "SplitRun", "joined", "put_together"]

EXACT, WALK, WALK_BATCHES, BOUND = 0.8, 0.3, 0.5, 0.25
"""Of the time, at most, for the walk: where it can prove an optimum, and where not; and of what is left for a bound."""
FIRST, LONGEST = 0.3, 60.0
"""The same for a first plan where lists find none; and seconds, where there is no limit."""
LISTS = 3.0
"""Seconds for first plans by lists."""
BOUNDS = ("critical-path", "split-bound")
ROUNDING = 1e-12
"""What sums of times may be off by, as a share of themselves."""


class SplitRun:
    """One call of the method.

    Args:
        name: of the method.
        problem, limits, progress: as for :meth:`mtpp_dsl.core.contracts.protocols.Method.solve`.
        engine: solves the modules.
        words: what the engine is.
        channels: of the split; None for as many as are needed.
        seconds: of solving a module between given ends, at most.
    """

    def __init__(
        self,
        name: str,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        engine: ModuleEngine,
        words: str,
        channels: int | None,
        seconds: float,
    ) -> None:
        self._name, self._problem, self._limits, self._progress = name, problem, limits, progress
        self._engine, self._words, self._seconds = engine, words, seconds
        self._incumbent = Incumbent(name, problem, limits, progress)
        self._channels = channels

    def solve(self) -> Result:
        """Return the plan, and the best bound."""
        lists = Limits(time=10 * min(self._limits.remaining, LISTS), seed=self._limits.seed, start=self._limits.start)
        known(self._problem, lists, self._progress)
        if self._progress.plan is not None:
            self._incumbent.take(self._progress.plan)
        self._incumbent.note(f"split into {self._split}, each solved by {self._words}")
        self._report_walk(self._unlimited() if self._roomy else np.tile(self._problem.memory_limit, (self._modules, 1)))
        if not self._incumbent.closed():
            self._by_others()
        if not self._incumbent.closed():
            self._improve()
        return self._incumbent.result(solver=self._engine.solver)

    @cached_property
    def _split(self) -> ModuleRow:
        """The modules; of one sample, with a boundary after every cut node."""
        problem = self._problem
        together = [c.nodes for c in problem.constraints if isinstance(c, Colocate | Separate)]
        return split(problem.graph, self._channels, together=together, cuts=problem.objective.batch is None)

    @property
    def _modules(self) -> int:
        return len(self._split.modules)

    def _unlimited(self) -> Floats:
        return np.full((self._modules, self._problem.k), np.inf)

    @property
    def _roomy(self) -> bool:
        """Whether every node fits on every device at once, so that memory never binds."""
        graph, batch = self._problem.graph, self._problem.objective.batch
        total = graph.memory.sum()
        if batch is not None:
            batching = self._problem.batching
            total = batching.weights.sum() + batching.share.sum() * batching.count
        return bool(total <= self._problem.memory_limit.min(initial=np.inf))

    def _report_walk(self, rooms: Floats) -> None:
        """Walk through the modules, and report the plan; if it breaks a memory, again with a share for each module.

        Args:
            rooms: [modules, devices] the memory that each module may use.
        """
        plan = self._walk(rooms, exact=all(self._split.clean))
        if plan is None or self._incumbent.take(plan):
            return
        broken, start = self._incumbent.broken, self._first()
        if start is None:
            self._incumbent.note(f"modules that fit by themselves do not together: {broken}")
            return
        self._incumbent.note(
            "memory is shared out among the modules as the first plan uses it: they do not fit otherwise"
        )
        plan = self._walk(budgets(self._problem, self._split.modules, start), exact=False)
        if plan is not None:
            self._incumbent.take(plan)

    def _first(self) -> Plan | None:
        """Return the best plan known, or one that annealing finds in a share of the time; None if there is none."""
        if self._incumbent.plan is None and not self._progress.stopped:
            method: Method = registry.load(registry.METHODS, "annealing")()
            share = self._limits.within(FIRST * self._limits.remaining if self._limits.remaining < inf else LONGEST)
            own = replace(share, solver="highs", solver_options={}, threads=None)
            plan = (
                method.solve(self._problem, own, self._progress).plan if method.accepts(self._problem) is None else None
            )
            if plan is not None:
                self._incumbent.take(plan)
        return self._incumbent.plan

    def _walk(self, rooms: Floats, *, exact: bool) -> Plan | None:
        """Return the plan of the shortest path."""
        progress, limits = self._progress, self._limits
        classes = grouped(parts(self._problem, self._split, rooms))
        loose = WALK if self._problem.objective.batch is None else WALK_BATCHES
        share = limits.remaining * (EXACT if exact else loose)
        walk = BoundaryWalk(
            self._problem,
            self._split,
            classes,
            self._engine,
            self._seconds,
            limits.within(share),
            lambda: progress.stopped,
        )
        last = walk.run(
            lambda i: progress.say(f"solving module {i + 1} of {self._modules}"), needed=self._incumbent.plan is None
        )
        if last is None:
            self._incumbent.note(f"no way through the modules was found{' in time' if walk.stranded else ''}")
            return None
        plan = joined(self._problem, classes, last)
        value = plan.batches.makespan if plan.batches is not None else _makespan(plan)
        self._incumbent.note(self._told(walk, last.cost, value, len(classes.firsts)))
        if exact and walk.bound is not None:
            self._prove(walk.bound, last.cost, plan)
        else:
            self._incumbent.note(f"heuristic: {self._why(exact)}")
        return plan

    def _told(self, walk: BoundaryWalk, barriers: float, value: float, different: int) -> str:
        """Return, in words, how the walk ended."""
        unit = self._problem.time_unit
        words = f"{different} different modules solved {walk.asked} times between given ends"
        if walk.listed:
            words += f", {walk.listed} of these by lists as time ran out"
        if walk.unproven:
            words += f", {walk.unproven} not to the end"
        one, other = (format_quantity(x, unit) for x in (barriers, value))
        return f"{words}: {one} one after another, {other} without waiting for boundaries"

    def _why(self, exact: bool) -> str:
        """Return why the shortest path proves no bound."""
        if self._problem.objective.batch is not None and self._modules > 1:
            return "modules wait for all batches of those before, and a few ways to share inputs out are looked at"
        loose = self._split.clean.count(False)
        if loose:
            return (
                f"{loose} of {self._modules - 1} boundaries are no cut nodes, and modules wait for all of those before"
            )
        return "not all states of the boundaries are looked at" if exact else "memory is shared out among the modules"

    def _prove(self, bound: float, cost: float, plan: Plan) -> None:
        """Report the bound of the walk, and whether its plan is optimal; a plan that is infeasible is ignored."""
        if relative_gap(cost, bound) > 1e-6:
            self._incumbent.note("heuristic: not every module was solved to the end")
        elif not verify(self._problem, plan):
            self._incumbent.note(
                "exact: every boundary is a cut node, all its states were looked at, and every module that matters was "
                "solved to the end"
            )
        self._incumbent.prove(
            Bound(
                bound * (1 - ROUNDING * (self._modules + self._problem.graph.n)),
                self._name,
                "trusted",
                self._words,
                f"the shortest way through {self._modules} modules between cut nodes, over the devices of these, each "
                f"as short as the bounds of {self._words} allow",
            )
        )

    def _by_others(self) -> None:
        """Ask the methods that only bound."""
        limits = self._limits
        until = limits.within(BOUND * limits.remaining if limits.remaining < inf else LONGEST)
        for name in BOUNDS:
            if self._progress.stopped or until.remaining <= 0 or name not in registry.available(registry.METHODS):
                continue
            method: Method = registry.load(registry.METHODS, name)()
            if method.accepts(self._problem) is None:
                self._progress.say(f"bounding by {name}")
                own = replace(until, start=None, solver_options={})
                self._incumbent.prove(method.solve(self._problem, own, self._progress).bound)

    def _improve(self) -> None:
        """Improve the plan by searches that ignore modules."""
        plan = None if self._limits.remaining <= 0 else self._first()
        if plan is None or self._progress.stopped:
            return
        before = self._incumbent.cost
        ways = polish(self._problem, plan, self._engine.pool, self._incumbent, self._limits, self._progress)
        if self._incumbent.cost < before:
            one, other = (format_quantity(x, self._problem.time_unit) for x in (before, self._incumbent.cost))
            self._incumbent.note(f"improved by {' and '.join(ways)} from {one} to {other}")


def _makespan(plan: Plan) -> float:
    return 0.0 if plan.schedule is None else plan.schedule.makespan


# Improve a plan in the time that is left, by searches that ignore modules.

ANNEALING, SECONDS = 0.5, 60.0
"""Of the time, and at most, for annealing where large neighbourhoods follow."""


def polish(
    problem: Problem, plan: Plan, pool: ProcessPool | None, incumbent: Incumbent, limits: Limits, progress: Progress
) -> list[str]:
    """Hand *incumbent* better plans than *plan*, until the searches give up or time is up; return what was tried.

    Args:
        problem: a makespan on links, or a batched throughput.
        plan: to start from.
        pool: processes of CP-SAT for large neighbourhoods; None for annealing alone.
        incumbent: takes the plans.
        limits: when to stop, and the seed.
        progress: when to stop.
    """
    share = limits.remaining if pool is None else min(SECONDS, ANNEALING * limits.remaining)
    if problem.objective.batch is not None:
        plan = improve(problem, plan, limits.within(share), progress)
        incumbent.take(plan)
    else:
        method: Method = registry.load(registry.METHODS, "annealing")()
        if method.accepts(problem) is not None:
            return []
        own = replace(limits.within(share), start=plan, solver="highs", solver_options={}, threads=None)
        better = method.solve(problem, own, progress).plan
        if better is not None and incumbent.take(better):
            plan = better
    if pool is None:
        return ["annealing"]
    with suppress(SearchEnded):
        search(problem, plan, pool, incumbent, limits, progress)
    return ["annealing", "large neighbourhoods"]


# Join the schedules of modules: first one after another, then as early as their order allows.

SPARE = 1e-12
"""Taken off what memory is left, as a share: budgets add up to no more than there is."""


def joined(problem: Problem, classes: SameModules, last: BoundaryStep) -> Plan:
    """Return the plan of a path through all modules: with their devices and order, without waits at boundaries."""
    steps: list[BoundaryStep] = []
    at: BoundaryStep | None = last
    while at is not None and at.table is not None:
        steps.append(at)
        at = at.before
    joints = []
    for member, step in zip(classes.members, reversed(steps), strict=True):
        assert step.table is not None
        assert step.before is not None
        joints.append(Joint(member, classes.firsts[member.of].reads, step.table, step.before.cost))
    return put_together(problem, joints)


class Joint(NamedTuple):
    """A module, how many of its tasks are tensors that it reads, its timetable, and when that begins."""

    member: EqualMember
    reads: int
    table: Timetable
    begins: float


def put_together(problem: Problem, joints: Sequence[Joint]) -> Plan:
    """Return the plan of all modules, one behind the other, without waits at their boundaries."""
    graph, first = problem.graph, joints[0].table
    device = np.zeros((graph.n, first.device.shape[1]), np.int64)
    start = np.full((graph.n, first.start.shape[1]), np.nan)
    sent = np.full(graph.m, np.nan)
    for member, reads, table, begins in joints:
        own = slice(reads, None)
        device[member.nodes[own]] = table.device[own]
        start[member.nodes[own]] = table.start[own] + begins
        sent[member.edges] = table.sent + begins
    if problem.objective.batch is not None:
        return BatchInstance.of(problem).plan(device, np.nan_to_num(start))
    return timed(
        ScheduleInstance.of(problem), device[:, 0], start[:, 0], np.where(np.isnan(sent), start[graph.heads, 0], sent)
    )


def budgets(problem: Problem, modules: tuple[Ints, ...], plan: Plan) -> Floats:
    """Return [modules, devices] the memory that each module may use on every device, so that *plan* stays possible.

    Each gets what it uses in *plan*, and a share of the rest in proportion to the memory of its nodes.
    """
    needs = _needs(problem, plan)
    used = np.array([needs[nodes].sum(axis=0) for nodes in modules])
    spare = np.maximum(problem.memory_limit - used.sum(axis=0), 0.0) * (1 - SPARE)
    weight = np.array([problem.graph.memory[nodes].sum() for nodes in modules])
    share = weight / weight.sum() if weight.sum() > 0 else np.full(len(modules), 1 / len(modules))
    with np.errstate(invalid="ignore"):
        room: Floats = used + np.where(share[:, None] > 0, spare * share[:, None], 0.0)
    return np.where(np.isinf(problem.memory_limit), np.inf, room)


def _needs(problem: Problem, plan: Plan) -> Floats:
    """Return [n, devices] the memory of the nodes."""
    if plan.batches is None:
        taken: Floats = problem.graph.memory[:, None] * (plan.assignment[:, None] == np.arange(problem.k))
        return taken
    batching = problem.batching
    sizes = plan.batches.sizes
    needs: Floats = batching.weights[:, None] * (sizes > 0) + batching.share[:, None] / batching.chunk * sizes
    return needs
