"""Turn a makespan of one sample into a request in whole numbers, and a solution into a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import convex_edges, ordered_edges, together
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import ordered, rankings
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.backends.cpsat.labelled_rows import delays, lowered, of_times, ranked, reach
from mtpp_dsl.solvers.backends.cpsat.request import Convex, Request, Solution, request
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import WholeScale, memory, scale, shorter


@dataclass(frozen=True, eq=False)
class WholeSample:
    """A makespan problem in whole numbers.

    Attributes:
        instance: the problem as arrays.
        scale: what one unit of the model's time is worth.
        request: for CP-SAT.
        complete: whether a plan within the request's cutoff exists wherever the problem has a plan at all.
        delayed: whether labelled constraints may keep something from starting as early as it could.
        labelled: the first so many rows of the request are labelled constraints; others break symmetries.
    """

    instance: ScheduleInstance
    scale: WholeScale
    request: Request
    complete: bool
    delayed: bool
    labelled: int = 0

    def plans(self, solution: Solution) -> list[Plan]:
        """Return the plans that *solution* stands for in exact times: by its order and, if rows delay, at its times."""
        timetables = [timetable(self.instance, self.request, solution)]
        if self.delayed:
            release = np.asarray(solution.start * self.scale.unit, np.float64)
            timetables.append(timetable(self.instance, self.request, solution, release))
        return timetables

    def over(self, plan: Plan) -> bool:
        """Return whether a plan exceeds a memory, within the tolerance of the check."""
        used = np.bincount(plan.assignment, self.instance.memory, self.instance.k)
        return bool((used > self.instance.limit * (1 + 1e-12)).any())


def lower(
    problem: Problem,
    plan: Plan | None = None,
    *,
    strict: bool = False,
    at_least: float = 0.0,
    within: float = inf,
    parts: Iterable[tuple[list[int], list[int]]] = (),
) -> WholeSample:
    """Turn *problem* into whole numbers.

    Args:
        problem: a makespan on links.
        plan: a known plan: the request is for plans that cost no more, and the search starts from it.
        strict: True for plans: memory limits hold to the last byte, and rows without the slack of rounding. False for
            bounds: both are as loose as the independent check, so that no plan that it accepts is excluded.
        at_least: a lower bound on the cost of every plan.
        within: the request is for plans that cost no more than this.
        parts: nodes and edges of what is solved by itself: with them, the unit is so small that the longest part takes
            as many of them as everything would take without.
    """
    instance = ScheduleInstance.of(problem)
    rows = list(problem.of(Linear))
    timely, delayed = any(map(of_times, rows)), any(map(delays, rows))
    row, table = moves(instance)
    known = [reach(row) for row in rows]
    longest = serial(instance, row, table)
    if delayed:
        longest = 4 * (longest + sum(known))
    if plan is not None:
        longest = evaluate(problem, plan).cost
    complete = plan is None and not delayed and longest <= within
    longest = min(longest, within)
    times = np.concatenate([instance.time.ravel(), table.ravel(), known])
    alone = max((serial(instance, row, table, *part) for part in parts), default=inf)
    units = scale(times, min(longest, alone) or longest, instance.n + instance.m, fine=timely)
    duration, carried = (units.down(shorter(times, longest)) for times in (instance.time, table))
    sizes, capacities = memory(instance.memory, instance.limit, strict=strict)
    cutoff = units.by(longest)
    asked = request(
        duration,
        instance.graph.tails,
        instance.graph.heads,
        row,
        carried,
        cutoff=cutoff,
        at_least=min(cutoff, units.down(np.array([at_least])).item()),
        exclusive=instance.exclusive,
        size=sizes,
        capacity=capacities,
        together=together(problem),
        apart=instance.apart,
        rows=(
            *(lowered(row, units, instance.time, cutoff, strict=strict) for row in rows),
            *(ranked(rank, duration) for rank in rankings(problem)),
        ),
        orders=tuple(ordered_edges(problem)),
        convex=tuple(Convex(*part) for part in convex_edges(problem).values()),
        hint=None if plan is None else _hint(units, ordered(problem, plan)),
    )
    return WholeSample(instance, units, asked, complete=complete, delayed=delayed, labelled=len(rows))


def moves(instance: ScheduleInstance) -> tuple[Ints, Floats]:
    """Return [m] the row of each edge, and [rows, k, k] times of transfers, equal edges sharing a row."""
    transfers = instance.transfers
    kinds, first, row = np.unique(
        np.stack([transfers.size, transfers.row.astype(np.float64)]), axis=1, return_index=True, return_inverse=True
    )
    table = np.stack([transfers.of(e) for e in first.tolist()]) if kinds.size else np.zeros((1, instance.k, instance.k))
    table[:, np.arange(instance.k), np.arange(instance.k)] = 0.0
    return row.reshape(-1).astype(np.int64), table


def serial(
    instance: ScheduleInstance, row: Ints, table: Floats, nodes: list[int] | None = None, edges: list[int] | None = None
) -> float:
    """Return an upper bound on the makespan: everything runs one after another, on the slowest device.

    *nodes* and *edges* are those that count; None for all.
    """
    time = instance.time if nodes is None else instance.time[nodes]
    work = np.where(np.isfinite(time), time, 0.0).max(axis=1, initial=0.0).sum()
    carried = np.where(np.isfinite(table), table, 0.0).max(axis=(1, 2), initial=0.0)
    return float(work + carried[row if edges is None else row[edges]].sum())


def timetable(instance: ScheduleInstance, asked: Request, solution: Solution, release: Floats | None = None) -> Plan:
    """Return the plan with the devices and the order of *solution*, in exact times.

    Among things that start at the same whole number, the shorter comes first, and a transfer between its two nodes.
    """
    n, graph, device = instance.n, instance.graph, solution.device
    end = solution.start + asked.duration[np.arange(n), device]
    carried = asked.table[asked.row, device[graph.tails], device[graph.heads]]
    sent = np.where(asked.exclusive & (carried > 0), np.maximum(solution.sent, end[graph.tails]), end[graph.tails])
    place = np.empty(n)
    place[graph.topological_order] = np.arange(n)
    order = np.lexsort(
        (
            np.append(place, place[graph.heads] - 0.5),
            np.append(end, sent + carried),
            np.append(solution.start, sent),
        )
    )
    rank = np.empty(n + instance.m)
    rank[order] = np.arange(n + instance.m)
    return timed(instance, device, rank[:n], rank[n:], release)


def _hint(units: WholeScale, plan: Plan) -> Solution:
    assert plan.schedule is not None
    sent = np.nan_to_num(plan.schedule.sent)
    return Solution(np.array(plan.assignment), units.down(plan.schedule.start), units.down(sent))
