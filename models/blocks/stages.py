"""State what stages of a pipeline keep in memory, stages that recompute, and the time of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.bottleneck import Loads, largest_load
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.memory import PARTS, memory
from mtpp_dsl.models.facts.user_rows import PASSED


def empty_first(model: Any, on: On) -> None:
    """Let no block without nodes come after one with nodes, so that a block knows how many stages are after it.

    Formula: ``use[b] <= sum_v on(v,b)``; ``on(v,b-1) <= use[b]``; ``0 <= use <= 1``.
    Source -> target: stages are counted from the end -> a continuous variable per block, and a row per node and block.
    Exact if blocks are interchangeable and stand in an order of the quotient: then the blocks in use may be the last.
    """
    part = model.used_last = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=list(model.D)[1:])
    part.use = pyo.Var(part.D, bounds=(0, 1))
    constrain(part, "some", part.D, rule=lambda b, d: b.use[d] <= sum(on(v, d) for v in model.V))
    constrain(part, "before", model.V, part.D, rule=lambda b, v, d: on(v, d - 1) <= b.use[d])


def stage_memory(model: Any, problem: Problem, view: Hypergraph, on: On, after: Sequence[int]) -> None:
    """Add what stages keep that do not recompute, or that do where binaries ``again`` of :func:`recomputing` say so.

    Formula: with j stages after device d, ``sum_v (state(v) + (versions(j) - 1) params(v) + kept(j) saved(v)) on(v,d)
    <= limit(d)``, and where d recomputes, ``sum_v (state(v) + (versions(j) - 1) params(v) + saved(v)) on(v,d) + kept(j)
    sum_u output(u) read[u,d] <= limit(d)``; each row is loosened by all that it could hold where the other one counts.
    Source -> target: ``constraint memory (schedule = …)`` -> a row per device, two where it may recompute.
    Exact where *after* is known: devices in order (:func:`empty_first`), or a schedule for which it does not matter.
    Reference: Narayanan 2019, 2021; Chen 2016.

    Args:
        model: to add to.
        problem: whose devices.
        view: its supernodes.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        after: [devices] how many stages come after each.
    """
    state, params, saved = (
        view.total(amounts) for amounts in (problem.graph.state, problem.graph.params, problem.graph.saved)
    )
    rules, limits = problem.stage_memory, problem.stage_limit
    weights, kept = np.zeros((view.n, problem.k)), np.zeros(problem.k)
    for d, rule in enumerate(rules):
        if rule is not None:
            weights[:, d] = state + (rule.versions(after[d]) - 1) * params
            kept[d] = rule.kept(after[d])
    usual = weights + saved[:, None] * kept
    if any(problem.shard):
        shard_memory(model, usual, on, limits)
        return
    never = np.array([rule is None or rule.recompute == "never" for rule in rules])
    memory(model, problem, usual, on, np.where(never, limits, np.inf), "stage_memory")
    if never.all():
        return
    part = model.component("recompute")
    again = weights + saved[:, None]
    sizes = {u: float(problem.graph.output[u]) for u, _ in part.reads}
    for d in np.flatnonzero(~never & np.isfinite(limits)).tolist():
        most = usual[:, d].sum(), again[:, d].sum() + kept[d] * sum(sizes.values())
        unit = (limits[d] or max(most) or 1.0) / PARTS
        room = limits[d] * (1 + PASSED) / unit
        first = sum(float(usual[v, d]) / unit * on(v, d) for v in range(view.n))
        entering = sum(kept[d] * size / unit * part.enters[u, d] for u, size in sizes.items())
        second = sum(float(again[v, d]) / unit * on(v, d) for v in range(view.n)) + entering
        part.fits.add(first <= room + most[0] / unit * part.again[d])
        part.fits.add(second <= room + most[1] / unit * (1 - part.again[d]))


def recomputing(model: Any, problem: Problem, view: Hypergraph, on: On, ahead: Floats) -> Loads:
    """Add which stages recompute; returned as ``extra(d)``, the time that it takes, in the model's unit.

    Formula: ``extra[d] >= sum_v ahead[v,d] on(v,d) - sum_v ahead[v,d] (1 - again[d])``; ``read[u,d] >= on(w,d) -
    on(p,d)`` for every tensor u, its producer p and every reader w.
    Source -> target: ``recompute = free | always`` -> a binary per device, a continuous variable per tensor and device.
    Exact while nothing but the objective moves the loads, and the memory the tensors. Reference: Chen 2016.
    """
    rules = problem.stage_memory
    if all(rule is None or rule.recompute == "never" for rule in rules):
        return lambda _: 0.0
    graph, of = problem.graph, view.of.tolist()
    part = model.recompute = pyo.Block(concrete=True)
    part.again = pyo.Var(model.D, domain=pyo.Binary)
    part.extra = pyo.Var(model.D, domain=pyo.NonNegativeReals)
    part.fits = pyo.ConstraintList()
    for d, rule in enumerate(rules):
        if rule is None or rule.recompute != "free":
            part.again[d].fix(int(rule is not None and rule.recompute == "always"))
    edges = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    readers = sorted({(u, of[w]) for u, w in edges if of[u] != of[w] and graph.output[u] > 0})
    part.reads = pyo.Set(initialize=readers, dimen=2)
    part.tensors = pyo.Set(initialize=sorted({u for u, _ in readers}))
    part.enters = pyo.Var(part.tensors, model.D, bounds=(0, 1))
    constrain(part, "enter", part.reads, model.D, rule=lambda b, u, w, d: b.enters[u, d] >= on(w, d) - on(of[u], d))
    whole = ahead.sum(axis=0)
    for d in model.D:
        takes = sum(float(ahead[v, d]) * on(v, d) for v in range(view.n))
        part.fits.add(part.extra[d] >= takes - float(whole[d]) * (1 - part.again[d]))
    return lambda d: part.extra[d]


def sharded(model: Any, problem: Problem, view: Hypergraph, on: On, cut: Loads, unit: float) -> Loads:
    """Add over how many devices the nodes of each block are split; returned as ``load(d)``, a variable for each block.

    Formula: ``sum_t z[b,t] <= 1``; ``on(v,b) <= sum_t z[b,t]``; ``sum over b and t of t z[b,t] <= k``; for every size t
    ``l[b] >= sum_v (time(v) / speedup(t) + 2 (t - 1) / t reduce(v) / B) on(v,b) + cut(b) - (all work) (1 - z[b,t])``.
    Source -> target: ``constraint shard`` of devices that are all alike -> a binary and a row per block and size.
    Exact; the rows are weak, as each is loosened by all work. Reference: Alpa 2022.
    """
    rule = next(rule for rule in problem.shard if rule is not None)
    sizes = [t for t in rule.by if t <= problem.k]
    link = problem.channel
    pays = isinstance(link, Shared) or problem.devices[0].pays_io
    reduced = view.total(problem.graph.reduce) / link.bandwidth / unit if pays else np.zeros(view.n)
    part = model.shards = pyo.Block(concrete=True)
    part.T = pyo.Set(initialize=sizes)
    part.z = pyo.Var(model.D, part.T, domain=pyo.Binary)
    part.l = pyo.Var(model.D, domain=pyo.NonNegativeReals)
    constrain(part, "one", model.D, rule=lambda b, d: sum(b.z[d, t] for t in b.T) <= 1)
    constrain(part, "some", model.V, model.D, rule=lambda b, v, d: on(v, d) <= sum(b.z[d, t] for t in b.T))
    part.devices = pyo.Constraint(expr=sum(t * part.z[d, t] for d in model.D for t in sizes) <= problem.k)
    part.rows = pyo.ConstraintList()
    for t in sizes:
        takes = (view.time[:, 0] / unit / rule.faster(t) + 2 * (t - 1) / t * reduced).tolist()
        most = sum(takes)
        for d in model.D:
            work = sum(takes[v] * on(v, d) for v in range(view.n))
            part.rows.add(part.l[d] >= work + cut(d) - most * (1 - part.z[d, t]))
    return lambda d: part.l[d]


def shard_memory(model: Any, need: Floats, on: On, room: Floats) -> None:
    """Add that what each block holds fits on the devices that its nodes are split over.

    Formula: ``sum_v need(v,b) on(v,b) <= sum_t t room z[b,t]``.
    Source -> target: ``constraint memory``, by stage or not, beside ``constraint shard`` -> a row per block.
    Exact, given the binaries of :func:`sharded`.
    """
    if np.isinf(room).all():
        return
    part = model.component("shards")
    part.fits = pyo.ConstraintList()
    for d in model.D:
        unit = (float(room[d]) or float(need[:, d].sum()) or 1.0) / PARTS
        needed = sum(float(need[v, d]) / unit * on(v, d) for v in range(need.shape[0]))
        part.fits.add(needed <= sum(t * float(room[d]) * (1 + PASSED) / unit * part.z[d, t] for t in part.T))


def shapes_of(model: Any) -> dict[int, int]:
    """Return over how many devices each block is split, by the values of the model's variables."""
    part = model.component("shards")
    return {d: max(part.T, key=lambda t: part.z[d, t].value or 0.0) for d in model.D}


def iteration(model: Any, load: Loads, floor: float, microbatches: int) -> None:
    """Add the time of an iteration and the objective.

    Formula: minimise ``(M - 1) T + sum_d load(d)``; ``T >= load(d)``; ``T >= floor``.
    Source -> target: ``minimize iteration`` -> the rows of a bottleneck, and a sum.
    Exact: a device without nodes has no load.
    """
    largest_load(model, load, floor)
    model.objective = pyo.Objective(expr=(microbatches - 1) * model.T + sum(load(d) for d in model.D))
    model.cost_margin *= microbatches + len(model.D)
