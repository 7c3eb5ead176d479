"""State what holds of the lanes of one device together, where it may run several batches of a node."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.core.views.lanes import Lanes
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.batches import Runs
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.batches import BatchTimes, slots_in_time
from mtpp_dsl.models.facts.user_rows import PASSED

PARTS = 1e3
"""A solver's tolerance of 1e-6 is then 1e-9 of the limit of a memory."""


def lane_rows(model: Any, lanes: Lanes, batches: BatchTimes, view: Hypergraph, on: On, runs: Runs) -> None:
    """Add the rows that speak of a device and not of one of its lanes, as the block ``lane``.

    Formula, for lanes (d, q) of device d: ``use[q] <= use[q-1]`` and, where no batch of the node takes no time there,
    ``F[q-1] <= S[q] + M (1 - use[q])``; ``here[v,d] >= use[v,(d,q)]`` and ``sum_v params(v) here[v,d] + sum_{v,q,p} p
    share(v) b[v,(d,q),p] <= limit(d)``; ``sum_q x[a,(d,q),c] = sum_q x[b,(d,q),c]`` for colocated a and b; ``sum_{v,q}
    x[v,(d,q),c] <= 1`` for v of a conflict set.
    Source -> target: ``constraint repeat``, with ``memory``, ``colocate`` and ``separate`` -> rows, and a variable for
    every node and device with a memory. Exact; the first two rows leave one of the plans that differ in the numbers of
    batches only.

    Args:
        model: with ``batch`` and ``sizes``.
        lanes: of the devices.
        batches: in the model's unit.
        view: the classes of the nodes of ``lanes.expanded``.
        on: of the classes of all copies.
        runs: of classes.
    """
    part = model.lane = pyo.Block(concrete=True)
    home, k, machines = view.of.tolist(), len(lanes.machine), range(lanes.problem.k)
    numbered = [
        (v, one, other)
        for v in range(len(home))
        for d in machines
        for one, other in pairwise(lanes.of(d))
        if batches.menu(v, other)
    ]
    timely = [(v, one, other) for v, one, other in numbered if slots_in_time(batches, v, (one, other))]
    constrain(part, "first", numbered, rule=lambda _, v, i, j: runs(home[v], j) <= runs(home[v], i))
    head, last = batches.times.head, batches.times.most - batches.times.tail

    def behind(_: Any, v: int, i: int, j: int) -> Any:
        slack = max(0.0, float(last[v, i] - head[v, j]))
        return model.batch.s[v * k + j] >= model.batch.f[v * k + i] - slack * (1 - runs(home[v], j))

    constrain(part, "behind", timely, rule=behind)
    _memory(part, lanes, batches, view, runs, model)
    chunks, count = lanes.problem.batching.count, view.n

    def there(v: int, d: int, c: int) -> Any:
        return sum(on(c * count + home[v], lane) for lane in lanes.of(d))

    pairs = [
        (a, b, d, c) for nodes in lanes.together for a, b in pairwise(nodes) for d in machines for c in range(chunks)
    ]
    constrain(part, "together", pairs, rule=lambda _, a, b, d, c: there(a, d, c) == there(b, d, c))
    apart = [(g, d, c) for g, nodes in enumerate(lanes.apart) if nodes[1:] for d in machines for c in range(chunks)]
    constrain(part, "apart", apart, rule=lambda _, g, d, c: sum(there(v, d, c) for v in lanes.apart[g]) <= 1)


def _memory(part: Any, lanes: Lanes, batches: BatchTimes, view: Hypergraph, runs: Runs, model: Any) -> None:
    """Add that the parameters, once, and the inputs in all lanes fit into the memory of every device."""
    batching, limits = lanes.problem.batching, lanes.problem.memory_limit
    limited = np.flatnonzero(np.isfinite(limits)).tolist()
    weights, share = view.total(batching.weights), view.total(batching.share)
    first = view.first.tolist()
    used = {(h, d): [i for i in lanes.of(d) if batches.menu(first[h], i)] for h in range(view.n) for d in limited}
    here = [place for place, some in used.items() if some]
    part.here = pyo.Var(here, bounds=(0, 1))
    paid = [(h, d, lane) for h, d in here for lane in used[h, d]]
    constrain(part, "paid", paid, rule=lambda b, h, d, i: b.here[h, d] >= runs(h, i))

    def held(h: int, d: int) -> Any:
        unit = PARTS / float(limits[d])
        inputs = sum(p * model.sizes.b[h, i, p] for i in used[h, d] for p in batches.menu(first[h], i))
        return unit * float(weights[h]) * part.here[h, d] + unit * float(share[h]) * inputs

    full = [d for d in limited if limits[d] > 0 and any(used[h, d] for h in range(view.n))]
    constrain(
        part,
        "fits",
        full,
        rule=lambda _, d: sum(held(h, d) for h in range(view.n) if used[h, d]) <= PARTS * (1 + PASSED),
    )
