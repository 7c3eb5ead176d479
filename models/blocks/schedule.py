"""When nodes run: starts, ends and the makespan."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.times import LinkTimes


def schedule(model: Any, times: LinkTimes, home: Ints, on: On, floor: float) -> None:
    """Add starts ``s``, ends ``f``, the makespan ``C`` and the objective, which is C.

    Formula: ``f[v] = s[v] + sum_d time[v,d] on(v,d)``; ``s[v] >= sum_d head[v,d] on(v,d)``;
    ``C >= f[v] + sum_d tail[v,d] on(v,d)``; ``C >= sum_v time[v,d] on(v,d)``; each start and end in its window.
    Source -> target: ``minimize makespan`` -> two variables per node, one more, and their rows.
    Exact for schedules no longer than ``times.most``. Reference: zhang2023, eq. 4 and 4b; heads and tails are those of
    branch and bound in scheduling. C has no upper bound: see :func:`mtpp_dsl.models.blocks.bottleneck.bottleneck`.

    Args:
        model: with ``D``; gets ``N``, the nodes.
        times: in the model's unit.
        home: [n] the class of each node.
        on: of classes.
        floor: no makespan is below it.
    """
    n, may = len(times.time), times.may
    model.N = pyo.RangeSet(0, n - 1)
    low, high = times.windows
    model.s = pyo.Var(model.N, bounds=lambda _, v: (float(low[v]), float(high[v])))
    model.f = pyo.Var(model.N, bounds=lambda _, v: (float(low[v]), float(high[v])))
    model.C = pyo.Var(bounds=(floor, None))
    where = {v: np.flatnonzero(row).tolist() for v, row in enumerate(may)}

    def weighted(values: Any, v: int) -> Any:
        terms = [(float(values[v, d]), d) for d in where[v] if values[v, d] > 0]
        return sum(a * on(int(home[v]), d) for a, d in terms)

    model.runs = pyo.Constraint(model.N, rule=lambda m, v: m.f[v] == m.s[v] + weighted(times.time, v))
    late = [v for v in range(n) if np.ptp(times.head[v][may[v]]) > 0]
    model.headed = pyo.Constraint(late, rule=lambda m, v: m.s[v] >= weighted(times.head, v))
    model.tailed = pyo.Constraint(model.N, rule=lambda m, v: m.f[v] + weighted(times.tail, v) <= m.C)
    constrain(
        model,
        "busy",
        model.D,
        rule=lambda m, d: sum(float(times.time[v, d]) * on(int(home[v]), d) for v in range(n) if may[v, d]) <= m.C,
    )
    model.objective = pyo.Objective(expr=model.C)
