"""Which chunks make a batch, of which size, and when batches run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.batches import BatchTimes

Runs: TypeAlias = Callable[[int, int], Any]
"""``runs(h, d)``: 1 if class h has a batch on device d, else 0."""


def batch_sizes(model: Any, batches: BatchTimes, view: Hypergraph, on: On) -> Runs:
    """Add of how many chunks the batch of every class on every device is: binaries ``b`` in a block ``sizes``.

    Formula: ``sum_c x[h,d,c] = sum_p p b[h,d,p]``, ``sum_p b[h,d,p] <= 1``, ``x[h,d,c] <= sum_p b[h,d,p]``.
    Source -> target: supported batch sizes, at most one batch of a node on a device -> a binary for every size.
    Exact, without any M; the last rows follow, and tighten the relaxation. Reference: ghannane2023, 3.4 to 3.6.

    Args:
        model: with ``D``, and ``V``, the classes of all copies.
        batches: the batches there can be.
        view: the classes.
        on: of the classes of all copies, ``c * count + h``.
    """
    part = model.sizes = pyo.Block(concrete=True)
    first, count = view.first.tolist(), view.n
    menus = {(h, d): batches.menu(first[h], d) for h in range(count) for d in model.D}
    places = [place for place, menu in menus.items() if menu]
    part.places = pyo.Set(initialize=places, dimen=2)
    part.menu = pyo.Set(part.places, initialize={place: menus[place] for place in places})
    part.b = pyo.Var([(h, d, p) for h, d in places for p in menus[h, d]], domain=pyo.Binary)
    part.copies = pyo.Set(initialize=[c * count for c in range(batches.takes.shape[2] - 1)])
    constrain(
        part,
        "counted",
        part.places,
        rule=lambda b, h, d: sum(on(c + h, d) for c in b.copies) == sum(p * b.b[h, d, p] for p in b.menu[h, d]),
    )
    constrain(part, "one", part.places, rule=lambda b, h, d: sum(b.b[h, d, p] for p in b.menu[h, d]) <= 1)
    constrain(
        part,
        "there",
        part.places,
        part.copies,
        rule=lambda b, h, d, c: on(c + h, d) <= sum(b.b[h, d, p] for p in b.menu[h, d]),
    )
    return lambda h, d: sum(part.b[h, d, p] for p in menus[h, d])


def batch_schedule(
    model: Any, batches: BatchTimes, view: Hypergraph, on: On, runs: Runs, floor: float, machine: Ints
) -> None:
    """Add when batches and chunks start and end, the makespan ``C``, and the objective, which is C.

    Formula: of batches, ``F[v,d] = S[v,d] + sum_p takes[v,d,p] b[v,d,p]``, each in its window; of every chunk c,
    ``f[v,c] >= s[v,c] + sum_d least[v,d] x[v,d,c]`` and, where ``x[v,d,c] = 1``, ``S[v,d] >= s[v,c]`` and
    ``f[v,c] >= F[v,d]``; ``C >= F[v,d] + tail[v,d]`` where there is a batch, ``C >= sum_v takes`` of every device. As s
    and f may be the times of the batch itself, ``sum_c (f[v,c] - s[v,c]) >= sum_d sum_p p takes[v,d,p] b[v,d,p]``.
    Source -> target: the times of batches -> two variables for every node and device, and two for every node and chunk,
    between which precedence then needs no M. A batch starts when all of its chunks are there.
    Exact for schedules no longer than ``times.most``. Reference: ghannane2023, 3.2 and 3.3 as corrected: what a chunk
    needs is the same chunk of what its node reads, and nothing of the others.

    Args:
        model: with ``D``; gets ``s`` and ``f`` over ``N``, node v of chunk c being ``c * n + v``, and ``batch`` with
            ``s`` and ``f`` over the batches, that of v on d being ``v * k + d``.
        batches: in the model's unit.
        view: the classes.
        on: of the classes of all copies.
        runs: of classes.
        floor: no makespan is below it.
        machine: [k] the device of every lane; its own number where a device runs one batch of a node.
    """
    times, home = batches.times, view.of.tolist()
    n, k = times.time.shape
    copies = batches.takes.shape[2] - 1
    low, high = times.windows
    first_end, last_start = times.on_the_way[0], (times.most - times.tail - times.time).max(axis=1)
    # Two times for each node and chunk, and two for each batch that there may be, all within their windows.
    model.N = pyo.RangeSet(0, copies * n - 1)
    model.s = pyo.Var(model.N, bounds=lambda _, i: (float(low[i % n]), float(high[i % n])))
    model.f = pyo.Var(model.N, bounds=lambda _, i: (float(low[i % n]), float(high[i % n])))
    model.C = pyo.Var(bounds=(floor, None))
    part = model.batch = pyo.Block(concrete=True)
    menus = {(v, d): batches.menu(v, d) for v in range(n) for d in range(k)}
    items = [v * k + d for (v, d), menu in menus.items() if menu]
    head, last = times.head.ravel(), times.most - times.tail.ravel()
    part.s = pyo.Var(items, bounds=lambda _, i: (float(head[i]), float(last[i])))
    part.f = pyo.Var(items, bounds=lambda _, i: (float(head[i]), float(last[i])))

    def takes(v: int, d: int, per_copy: bool = False) -> Any:
        terms = [(float(batches.takes[v, d, p]) * (p if per_copy else 1), p) for p in menus[v, d]]
        return sum(a * model.sizes.b[home[v], d, p] for a, p in terms if a)

    def weighted(values: Any, i: int) -> Any:
        v, h = i % n, i // n * view.n + home[i % n]
        return sum(float(values[v, d]) * on(h, d) for d in range(k) if menus[v, d] and values[v, d] > 0)

    # Batches and chunks take their time, start after their heads, and end before the makespan less their tails.
    part.runs = pyo.Constraint(items, rule=lambda b, i: b.f[i] == b.s[i] + takes(*divmod(i, k)))
    model.runs = pyo.Constraint(model.N, rule=lambda m, i: m.f[i] >= m.s[i] + weighted(times.time, i))
    model.headed = pyo.Constraint(model.N, rule=lambda m, i: m.s[i] >= weighted(times.head, i))
    model.tailed = pyo.Constraint(model.N, rule=lambda m, i: m.f[i] + weighted(times.tail, i) <= m.C)

    def ended(b: Any, i: int) -> Any:
        v, d = divmod(i, k)
        there = runs(home[v], d)
        return b.f[i] + float(times.tail[v, d]) * there <= model.C + float(head[i] - low[v]) * (1 - there)

    part.tailed = pyo.Constraint(items, rule=ended)
    # A batch waits for each of its chunks, and each of its chunks for it; M is no more than the windows ask for.
    linked = [(i, c) for i in items for c in range(copies)]

    def absent(i: int, c: int) -> Any:
        v, d = divmod(i, k)
        return 1 - on(c * view.n + home[v], d)

    def waits(b: Any, i: int, c: int) -> Any:
        v = i // k
        return b.s[i] >= model.s[c * n + v] - max(0.0, float(last_start[v] - head[i])) * absent(i, c)

    def ends(b: Any, i: int, c: int) -> Any:
        v = i // k
        return model.f[c * n + v] >= b.f[i] - max(0.0, float(last[i] - first_end[v])) * absent(i, c)

    part.waits = pyo.Constraint(linked, rule=waits)
    part.ends = pyo.Constraint(linked, rule=ends)
    # What chunks wait in their batches adds up, and so does what each device runs: no plan is lost, bounds rise.
    part.spans = pyo.Constraint(
        range(n),
        rule=lambda _, v: (
            sum(model.f[c * n + v] - model.s[c * n + v] for c in range(copies))
            >= sum(takes(v, d, per_copy=True) for d in range(k))
        ),
    )
    part.busy = pyo.Constraint(
        sorted({int(machine[d]) for d in range(k) if any(menus[v, d] for v in range(n))}),
        rule=lambda _, m: sum(takes(v, int(d)) for d in np.flatnonzero(machine == m) for v in range(n)) <= model.C,
    )
    model.objective = pyo.Objective(expr=model.C)


def growing_transfers(model: Any, batches: BatchTimes, tails: list[int], heads: list[int], edges: int) -> None:
    """Add that transfers grow with the chunks that two batches share.

    Formula: where ``z[e,d,f,c] = 1``, ``s[v,c] >= f[u,c] + carry[e,d,f] + growing[e,d,f] (sum_c z[e,d,f,c] - 1)``.
    Source -> target: ``transfer = per_input`` -> a row for every edge, pair of devices and chunk. Exact.

    Args:
        model: with the rows of :func:`mtpp_dsl.models.blocks.transfer.transfer` over all copies.
        batches: in the model's unit.
        tails: of the edges of all copies.
        heads: of the same.
        edges: of one copy.
    """
    z = model.transfer.z
    shared: dict[tuple[int, int, int], list[Any]] = {}
    for e, d, f in z:
        shared.setdefault((e % edges, d, f), []).append(z[e, d, f])
    rows = [(e, d, f) for e, d, f in z if batches.growing[e % edges, d, f] > 0]

    def grows(_: Any, e: int, d: int, f: int) -> Any:
        more, every = float(batches.growing[e % edges, d, f]), shared[e % edges, d, f]
        base = float(batches.times.carry[e % edges, d, f])
        takes = base * z[e, d, f] + more * (sum(every) - len(every) + (len(every) - 1) * z[e, d, f])
        return model.s[heads[e]] >= model.f[tails[e]] + takes

    model.transfer.grows = pyo.Constraint(rows, rule=grows)
