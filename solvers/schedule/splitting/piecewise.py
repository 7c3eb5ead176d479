"""Anneal the pieces of a row of modules, then windows across them or the whole: method ``piecewise``."""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import refusal
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow
from mtpp_dsl.solvers.backends.cpsat.first_plans import known
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.reduced import Aside
from mtpp_dsl.solvers.schedule.splitting.module_problems import Place, Timetable, grouped, parts, timetable
from mtpp_dsl.solvers.schedule.splitting.pieces import pieces
from mtpp_dsl.solvers.schedule.splitting.reannealing import Reannealing, refused
from mtpp_dsl.solvers.schedule.splitting.split_run import Joint, put_together

__all__ = ["anneal_piecewise"]

SHARE, FIRST_SHARE = 0.7, 0.2
"""Of the time, for the pieces; the rest is for the whole. And where windows across the pieces follow."""
SPARE = 1e-9
"""Relative: the memories that pieces may use add up to that much less than there is."""


def anneal_piecewise(
    name: str, problem: Problem, limits: Limits, progress: Progress, wanted: int | None, patience: int
) -> Result:
    """Return the best schedule found; without a plan, with a note that says why.

    Each piece reads what earlier ones have computed, where that is, and all of it is there when the piece begins. The
    schedules of the pieces are put one behind the other, and then everything starts as early as its order allows. Then
    windows of the schedule are annealed again, where they are problems of their own, and then the whole. A list
    schedule is there before the first piece is, so that a run that is stopped early has a plan.

    Args:
        name: of the method.
        problem: a makespan on links, or the throughput of a batch.
        limits: when to stop, and where the annealing of the whole starts if that is better.
        progress: told of plans.
        wanted: nodes of a piece, about so many; None for 64.
        patience: rounds without a better schedule after which the annealing of a piece, and of the whole, ends.
    """
    incumbent = Incumbent(name, problem, limits, progress)
    first = known(problem, limits, progress)
    if first is not None:
        incumbent.take(first)
    row = pieces(problem, wanted)
    annealing = load(METHODS, "annealing")
    if len(row.modules) > 1:
        incumbent.note(f"in {len(row.modules)} pieces of {min(row.sizes)} to {max(row.sizes)} nodes")
        plan = _Row(problem, row, limits, progress, patience).plan()
        if plan is not None:
            incumbent.take(plan)
    else:
        incumbent.note("the graph is one piece: no few tensors part it")
    if incumbent.plan is not None and not refused(problem):
        Reannealing(problem, incumbent.plan).run(limits, progress, incumbent.take)
    whole = annealing(patience=patience)
    if not incumbent.done and refusal(whole, problem) is None:
        rest = limits.within(limits.remaining, start=incumbent.plan)
        found = whole.solve(problem, rest, progress).plan
        if found is not None:
            incumbent.take(found)
    if incumbent.plan is None:
        incumbent.note("no schedule was found; this does not prove that there is none")
    return incumbent.result()


def rooms(problem: Problem, row: ModuleRow) -> Floats:
    """Return [pieces, devices] the memory that each may use: what its nodes need at most, as a share of all."""
    needs = problem.graph.memory
    if problem.objective.batch is not None:
        needs = problem.batching.weights + problem.batching.share * problem.batching.count
    own = np.array([needs[nodes].sum() for nodes in row.modules])
    if own.sum() <= problem.memory_limit.min(initial=inf):
        return np.full((len(own), problem.k), inf)
    limited = np.isfinite(problem.memory_limit)
    shares = np.outer(own / own.sum(), np.where(limited, problem.memory_limit, 0.0) * (1 - SPARE))
    return np.where(limited, shares, inf)


class _Row:
    """The pieces, and what is known of them so far. Equal pieces whose inputs are on the same devices run alike."""

    def __init__(self, problem: Problem, row: ModuleRow, limits: Limits, progress: Progress, patience: int) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._classes = grouped(parts(problem, row, rooms(problem, row)))
        self._patience = patience
        self._known: dict[tuple[int, tuple[Place, ...]], tuple[Timetable, float]] = {}
        chunks = problem.batching.count if problem.objective.batch is not None else 1
        self._device: Ints = np.zeros((problem.graph.n, chunks), np.int64)

    def plan(self) -> Plan | None:
        """Return the schedule of all pieces; None if one of them has none, or it was stopped."""
        joints, at = [], 0.0
        share = SHARE if refused(self._problem) else FIRST_SHARE
        until = self._limits.within(share * self._limits.remaining, start=None)
        left = self._problem.graph.n
        for i, member in enumerate(self._classes.members):
            self._progress.say(f"annealing piece {i + 1} of {len(self._classes.members)}")
            first = self._classes.firsts[member.of]
            inputs = tuple(tuple(row) for row in self._device[member.nodes[: first.reads]].tolist())
            own = len(member.nodes) - first.reads
            if (member.of, inputs) not in self._known:
                found = self._annealed(first.between(inputs, [None] * len(first.outputs)), until, own / left)
                if found is None:
                    return None
                self._known[member.of, inputs] = timetable(first, found[0]), found[1]
            table, takes = self._known[member.of, inputs]
            self._device[member.nodes[first.reads :]] = table.device[first.reads :]
            joints.append(Joint(member, first.reads, table, at))
            at += takes
            left -= own
        return put_together(self._problem, joints)

    def _annealed(self, piece: Problem, limits: Limits, share: float) -> tuple[Plan, float] | None:
        """Return a schedule of a piece and what it takes, in a share of the time; None if none was found."""
        method = load(METHODS, "annealing")(patience=self._patience)
        if self._progress.stopped or refusal(method, piece) is not None:
            return None
        own = limits.within(share * limits.remaining, start=None)
        plan = method.solve(piece, own, Aside(self._progress)).plan
        return None if plan is None else (plan, evaluate(piece, plan).cost)
