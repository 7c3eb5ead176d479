"""Bound what the stages after an ideal cost, and all stages together without a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Forbid, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types, groups_told_apart
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, measure
from mtpp_dsl.solvers.algorithms.ideals.outside import ROUNDING, Prices
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.build import load_rows, stage_table
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, Outside, ShapeStates, StageCosts
from mtpp_dsl.solvers.algorithms.stages.table import StageTable


class _Nets(NamedTuple):
    start: Ints
    tensor: Ints
    cost: Ints
    pins: Ints


def outside_of(
    lattice: Lattice,
    table: StageTable,
    costs: StageCosts,
    states: ShapeStates,
    aggregate: Aggregate,
    say: Callable[[str], None],
) -> Outside:
    """Return what the supernodes outside of each ideal cost at least, under any limits of *aggregate*.

    A stage on t * r devices of a type has t * r times its load of work and cut nets, t times what its supernodes take
    on the shape, or more. So with the first row below T, the sum over the supernodes of their least ``price * t *
    time`` is at most T times the prices of the devices left; and the nets that the ideal cuts are paid once more.

    Of a sum, every supernode adds its least time over the replicas of a shape, less one unit for each stage, as loads
    are rounded down.
    """
    shapes = table.shapes
    allowed = np.isfinite(table.fixed)
    kinds = len(table.types.members)
    area = np.full((table.supernodes.n, kinds), np.inf)
    for a, shape in enumerate(shapes):
        mine = np.where(allowed[a], shape.shards * costs.time[0, a].astype(np.float64), np.inf)
        area[:, shape.kind] = np.minimum(area[:, shape.kind], mine)
    prices = Prices(area)
    weight = np.concatenate((prices.weight, _least(table, costs, aggregate)))
    rate = _paid(table, costs, 0)
    left, cut = measure(lattice, _Nets(costs.start, costs.tensor, rate, costs.pins), weight, say)
    rows = len(prices.weight)
    used = states.used[:, :kinds]
    price, cheapest = _of_states(table, prices, table.types.counts - used)
    slack = ROUNDING * weight.sum(axis=1)
    rest = np.zeros((lattice.size, len(aggregate.row)), np.int64)
    for c in np.flatnonzero(aggregate.adds).tolist():
        sure = left[:, rows + c] - slack[rows + c] - table.supernodes.n
        rest[:, c] = np.floor(np.maximum(sure, 0.0)).astype(np.int64)
    return Outside(rest, np.ascontiguousarray(left[:, :rows]), cut, price, cheapest, slack[:rows])


def _least(table: StageTable, costs: StageCosts, aggregate: Aggregate) -> Floats:
    """Return [components, n] what each supernode adds to a row at least."""
    least = np.zeros((len(aggregate.row), table.supernodes.n))
    allowed = np.isfinite(table.fixed)
    for c, p in enumerate(aggregate.row.tolist()):
        shared = costs.parts if p < costs.loads else np.ones_like(costs.parts)
        share = np.where(allowed, costs.time[p] / shared[:, None], np.inf).min(axis=0, initial=np.inf)
        least[c] = np.where(np.isfinite(share), share, 0.0)
    return least


def _paid(table: StageTable, costs: StageCosts, row: int) -> Ints:
    """Return [nets] the least that a stage pays for a cut net in *row*; 0 if some shape pays nothing."""
    rates = np.unique(costs.rate[row])
    if not len(rates) or rates[0] < 0:
        paying = [int(costs.rate[row, a]) for a, s in enumerate(table.shapes) if table.types.pays[s.kind]]
        rates = np.unique([rate for rate in paying if rate >= 0])
    if not len(rates):
        return np.zeros(costs.cost.shape[1], np.int64)
    least: Ints = costs.cost[rates.astype(np.int64)].min(axis=0)
    return least


def _of_states(table: StageTable, prices: Prices, left: Ints) -> tuple[Floats, Floats]:
    """Return [states, rows] the sum of the prices of the devices left, and the least if all of them pay, else 0."""
    owned = left > 0
    cheapest = np.where(owned[:, None, :], prices.price[None], np.inf).min(axis=2)
    paid = np.all(table.types.pays | ~owned, axis=1, keepdims=True) & owned.any(axis=1, keepdims=True)
    return left @ prices.price.T, np.where(paid, cheapest, 0.0)


def first_bounds(table: StageTable) -> tuple[float, float]:
    """Return numbers that no chain's largest load, and no chain's sum of loads, is below; ``inf`` if none fits.

    The largest load is at least the least ``price * t * time`` of all supernodes over the prices of all devices, and
    at least what a single supernode costs, on its best shape that holds it where no stage comes after it: its time, and
    for every net at it the lesser of the cost and of the least time of another pin, over the replicas of the shape.
    Work over the number of devices is no bound where t devices are more than t times as fast as one. The sum is at
    least that of the least times.
    """
    if not table.supernodes.n:
        return 0.0, 0.0
    allowed = table.allowed
    if not allowed.any(axis=1).all():
        return np.inf, np.inf
    n, kinds = table.supernodes.n, len(table.types.members)
    area = np.full((n, kinds), np.inf)
    alone = np.full(n, np.inf)
    least = np.full(n, np.inf)
    for a, shape in enumerate(table.shapes):
        time = np.where(allowed[:, a], table.time[0, a], np.inf)
        area[:, shape.kind] = np.minimum(area[:, shape.kind], shape.shards * time)
        least = np.minimum(least, time / shape.replicas)
        around = _around(table, a, time) if table.rate[0, a] >= 0 else 0.0
        alone = np.minimum(alone, (time + around) / shape.replicas)
    prices = Prices(area)
    shares = prices.weight.sum(axis=1) / (prices.price @ table.types.counts)
    largest = max(float(shares.max()), float(alone.max()))
    down = 1 - ROUNDING * 1e-3
    return largest * down, max(float(least.sum()), largest) * down


def _around(table: StageTable, a: int, time: Floats) -> Floats:
    """Return [n] what a stage on shape *a* pays for the nets at each supernode, or works in their stead."""
    owed: list[dict[int, float]] = [{} for _ in range(table.supernodes.n)]
    for pins, cost in zip(table.nets, table.cost[table.rate[0, a]].tolist(), strict=True):
        by_time = sorted(pins, key=lambda u: float(time[u]))
        for v in pins:
            u = by_time[-1] if by_time[-1] != v else by_time[-2]
            owed[v][u] = owed[v].get(u, 0.0) + cost
    return np.array([sum(min(cost, float(time[u])) for u, cost in row.items()) for row in owed])


# Bounds on stages that need no search: the least times of the nodes, each on its best shape.

DETAIL = "the least times of all nodes, each on its best shape, over all devices; and the costliest node"
FIRST = "; for every microbatch but one, and the sum of the least times for that"


def staged_bounds(problem: Problem) -> tuple[float, float]:
    """Return numbers that no plan's largest load, and no plan's sum of loads, is below.

    Both are ``inf`` where some node fits on no device whatever the number of stages. Where pins and forbids tell
    devices apart that may be in one group, they are left out; where rules about groups do, both numbers are 0.
    """
    if groups_told_apart(problem, "simple") is not None:
        problem = problem.with_constraints([c for c in problem.constraints if not isinstance(c, (Forbid, Pin))])
    if groups_told_apart(problem, "simple") is not None:
        return 0.0, 0.0
    nodes = hypergraph(problem)
    none = np.zeros(nodes.n)
    supernodes = OrderedSupernodes(nodes.members, np.zeros((nodes.n, 1)), nodes.memory, none, ())
    types = device_types(problem)
    table = stage_table(problem, types, supernodes, load_rows(problem, types), problem.k, TOLERANCE)
    room = table.room * (1 + TOLERANCE * (1 + TOLERANCE))
    return first_bounds(table.with_room(room))


def iteration_of(problem: Problem, largest: float, total: float) -> float:
    """Return what an iteration costs at least, from bounds on the largest load and the sum of loads."""
    return ((problem.objective.microbatches or 1) - 1) * largest + total


def simple_stages(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the bound of method *name*; none where some node fits nowhere, which a search has to show."""
    largest, total = staged_bounds(problem)
    if np.isinf(largest):
        return progress.result(name, limits, "complete")
    iteration = problem.objective.is_iteration
    cost = iteration_of(problem, largest, total) if iteration else largest
    bound = Bound(cost, method=name, proof="checked", by="mtpp", detail=DETAIL + (FIRST if iteration else ""))
    progress.report_bound(bound)
    return progress.result(name, limits, "complete", bound=bound)
