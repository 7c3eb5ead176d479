"""Every plan of a small problem, by trying everything from the definitions alone: what optima are tested against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import inf, nan
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.checks.batch_check import duration
from mtpp_dsl.checks.schedule_check import travel
from mtpp_dsl.checks.verification import loads, verify
from mtpp_dsl.core.constraints import Copies, ExclusiveLinks, Finish, Makespan, PinChunks, Start
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.batches import Batches
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.subgraphs import most_subgraphs, scheduled
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem


def plans(problem: Problem) -> Iterator[Plan]:
    """Yield every plan that satisfies every constraint, with every choice of replicas and shards.

    Where memory depends on the place of a stage, plans come with every order of the stages, and with every choice of
    those that recompute.

    For a makespan on links, of every assignment the plan of the shortest schedule in which nothing could start
    earlier in its place: without labelled constraints on times, no schedule is shorter. For a linear objective, and
    with penalties on times, the plan of every such schedule: one of them is the best if the cost grows with every time.
    Likewise, on ``host`` and ``shared``, of every way to part nodes into subgraphs; and for a batch of every way to
    spread chunks over devices, those of the first node in one order only, unless chunks are pinned or a plug-in's
    constraint tells them apart. With copies, see :mod:`mtpp_dsl.checks.brute_force`: the best shares alone.
    """
    if problem.objective.batch is not None:
        yield from _batch_plans(problem)
        return
    if any(problem.of(Copies)):
        yield from _route_plans(problem)
        return
    for assignment in product(range(problem.k), repeat=problem.graph.n):
        if problem.timed:
            if isinstance(problem.interconnect, Links):
                yield from (plan for plan in _schedules(problem, assignment) if not verify(problem, plan))
            else:
                yield from _by_subgraphs(problem, assignment)
            continue
        for replicas in _replicas(problem, set(assignment)):
            for staged in _staged(problem, assignment, replicas):
                plan = Plan.create(problem, assignment, replicas=replicas, **staged)
                if not verify(problem, plan):
                    yield plan


def _schedules(problem: Problem, assignment: Sequence[int]) -> Iterator[Plan]:
    """Yield the plan with the shortest schedule of an assignment, by trying every order of nodes and transfers.

    Where the cost is not the makespan alone, yield the plan of every order, with all as early as it can be.
    """
    every = problem.objective.is_linear or any(
        isinstance(decision, (Start, Finish, Makespan)) for row in problem.soft_rows for decision, _ in row.terms
    )
    graph = problem.graph
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    takes = [float(problem.time[v, d]) for v, d in enumerate(assignment)]
    carry = [0.0 if assignment[u] == assignment[v] else travel(problem, e, assignment[u], assignment[v])
             for e, (u, v) in enumerate(edges)]  # fmt: skip
    if inf in takes or inf in carry:
        return
    exclusive = any(problem.of(ExclusiveLinks))
    # Items are the nodes, and then the edges: each has a duration, items that come before it, and resources.
    uses = [[("runs", d)] if takes[v] > 0 else [] for v, d in enumerate(assignment)]  # of each node, then of each edge
    uses += [
        [("sends", assignment[u]), ("receives", assignment[v])] if exclusive and carry[e] > 0 else []
        for e, (u, v) in enumerate(edges)
    ]
    needs = [{graph.n + e for e, (_, head) in enumerate(edges) if head == v} for v in range(graph.n)]
    needs += [{u} for u, _ in edges]
    time = takes + carry
    best: tuple[float, list[dict[int, float]]] = (inf, [])
    seen: set[tuple[tuple[int, float], ...]] = set()

    def extend(ends: dict[int, float], free: dict[tuple[str, int], float]) -> None:
        nonlocal best
        key = tuple(sorted(ends.items()))
        if key in seen or max(ends.values(), default=0.0) >= best[0]:
            return
        seen.add(key)
        if len(ends) == len(time):
            best = (inf, [*best[1], ends]) if every else (max(ends.values(), default=0.0), [ends])
            return
        for item in range(len(time)):
            if item not in ends and needs[item] <= ends.keys():
                ready = max([0.0, *(ends[other] for other in needs[item]), *(free.get(r, 0.0) for r in uses[item])])
                end = ready + time[item]
                extend({**ends, item: end}, {**free, **dict.fromkeys(uses[item], end)})
                if not uses[item]:  # it overlaps with nothing: no other item need come before it
                    return

    # Try every order; ends are those of items placed so far, free when each resource is next without use.
    extend({}, {})
    moved = [assignment[u] != assignment[v] for u, v in edges]
    for start in best[1]:
        ends = [start[item] for item in range(len(time))]
        schedule = Schedule.create(
            graph,
            [end - takes[v] for v, end in enumerate(ends[: graph.n])],
            ends[: graph.n],
            [ends[graph.n + e] - carry[e] if moved[e] else nan for e in range(graph.m)],
            [ends[graph.n + e] if moved[e] else nan for e in range(graph.m)],
        )
        yield Plan.create(problem, assignment, schedule=schedule)


def _batch_plans(problem: Problem) -> Iterator[Plan]:
    """Yield the shortest schedule of every way to spread the chunks of all nodes over batches on devices.

    A chunk of a node is in a lane: batch q of the node on device d is lane (d, q). The batches of a node on a device
    are numbered by their first chunks.
    """
    batching = problem.batching
    lanes = [(d, q) for d in range(problem.k) for q in range(batching.repeat[d])]
    spreads = [
        [
            spread
            for spread in product(lanes, repeat=batching.count)
            if all(np.isfinite(batching.time[v, d, spread.count((d, q))]) for d, q in set(spread))
            and all(
                q == 0 or ((d, q - 1) in spread and spread.index((d, q - 1)) < spread.index((d, q)))
                for d, q in set(spread)
            )
        ]
        for v in range(problem.graph.n)
    ]
    unlike = any(problem.of(PinChunks)) or not all(custom.symmetric for custom in problem.of(CustomConstraint))
    for where in product([s for s in spreads[0] if unlike or list(s) == sorted(s)], *spreads[1:]):
        plan = _shortest_batches(problem, where)
        if plan is not None and not verify(problem, plan):
            yield plan


_Lane: TypeAlias = tuple[int, int]


def _shortest_batches(problem: Problem, where: Sequence[Sequence[_Lane]]) -> Plan | None:
    """Return the plan with the shortest schedule of chunks in lanes, by trying every order of batches."""
    graph, batching = problem.graph, problem.batching
    items = [(v, lane) for v, spread in enumerate(where) for lane in sorted(set(spread))]
    takes = {(v, lane): duration(problem, v, lane[0], where[v].count(lane) * batching.chunk) for v, lane in items}
    needs: dict[tuple[int, _Lane], dict[tuple[int, _Lane], float]] = {item: {} for item in items}
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        pairs = list(zip(where[u], where[v], strict=True))
        for one, other in set(pairs):
            count = pairs.count((one, other)) * batching.chunk if batching.per_input else 1
            apart = one[0] != other[0]
            needs[v, other][u, one] = travel(problem, e, one[0], other[0], count) if apart else 0.0
    if inf in takes.values() or any(inf in carried.values() for carried in needs.values()):
        return None
    best: tuple[float, dict[tuple[int, _Lane], float]] = (inf, {})
    seen: set[tuple[tuple[tuple[int, _Lane], float], ...]] = set()

    def extend(ends: dict[tuple[int, _Lane], float], free: dict[int, float]) -> None:
        nonlocal best
        key = tuple(sorted(ends.items()))
        if key in seen or max(ends.values(), default=0.0) >= best[0]:
            return
        seen.add(key)
        if len(ends) == len(items):
            best = max(ends.values(), default=0.0), ends
            return
        for item in items:
            if item not in ends and needs[item].keys() <= ends.keys():
                ready = max([0.0, *(ends[other] + carried for other, carried in needs[item].items())])
                if takes[item] == 0:  # it overlaps with nothing: nothing else need come before it
                    extend({**ends, item: ready}, free)
                    return
                device = item[1][0]
                end = max(ready, free.get(device, 0.0)) + takes[item]
                extend({**ends, item: end}, {**free, device: end})

    extend({}, {})
    slots = batching.slots
    start, end = np.full((2, graph.n, problem.k * slots), nan)
    for (v, (d, q)), over in best[1].items():
        start[v, d * slots + q], end[v, d * slots + q] = over - takes[v, (d, q)], over
    every = np.array(where, np.int64)
    return Plan.of_batches(Batches.create(problem, every[:, :, 0], start, end, every[:, :, 1]))


def _by_subgraphs(problem: Problem, assignment: Sequence[int]) -> Iterator[Plan]:
    """Yield the earliest schedule of every way to part each device's nodes into subgraphs, in every order."""
    choices = [range(int(most)) if most else (0,) for most in most_subgraphs(problem)[list(assignment)]]
    if inf in (problem.time[v, d] for v, d in enumerate(assignment)):
        return
    for piece in product(*choices):
        try:
            plan = scheduled(problem, assignment, piece)
        except UsageError:  # subgraphs that wait for each other
            continue
        if not verify(problem, plan):
            yield plan


def _staged(
    problem: Problem, assignment: Sequence[int], replicas: Mapping[int, tuple[int, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield every choice of shards, of an order of the stages, and of stages that recompute, as they are asked for."""
    leads = sorted(set(assignment))
    splits: list[tuple[int, ...]] = [
        (1,) if (rule := problem.shard[d]) is None else tuple(t for t in rule.by if t <= len(replicas.get(d, (d,))))
        for d in leads
    ]
    orders: Iterable[tuple[int, ...] | None] = (None,)
    again: list[tuple[bool, ...]] = [(False,)] * len(leads)
    if any(problem.stage_memory):
        unused = tuple(d for d in range(problem.k) if d not in leads)
        orders = [(*order, *unused) for order in permutations(leads)]
        again = [
            {"never": (False,), "always": (True,), "free": (False, True)}["never" if rule is None else rule.recompute]
            for rule in (problem.stage_memory[d] for d in leads)
        ]
    for shards, order, chosen in product(product(*splits), orders, product(*again)):
        yield {
            "shards": dict(zip(leads, shards, strict=True)),
            "order": order,
            "recomputed": [d for d, whether in zip(leads, chosen, strict=True) if whether],
        }


def _replicas(problem: Problem, busy: set[int]) -> Iterator[dict[int, tuple[int, ...]]]:
    """Yield every way in which devices without nodes can be replicas of those that have some."""
    shared = any(problem.replicate) or any(problem.shard)
    idle = [d for d in range(problem.k) if d not in busy] if shared else []
    for leads in product([None, *sorted(busy)], repeat=len(idle)):
        chosen = list(zip(idle, leads, strict=True))
        yield {lead: (lead, *(d for d, of in chosen if of == lead)) for lead in busy if lead in leads}


# Plans of several routes of a small problem, by trying everything that devices may hold.

DIGITS = 10_000
"""Shares are rounded to fractions with no larger denominators."""


def _route_plans(problem: Problem) -> Iterator[Plan]:
    """Yield every single route, and of everything that devices may hold the best shares of the routes inside."""
    single = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Copies)])
    every = list(product(range(problem.k), repeat=problem.graph.n))
    routes = [one for one in every if not verify(single, Plan.create(single, one))]
    alone = (Plan.create(problem, route) for route in routes)
    yield from (plan for plan in alone if not verify(problem, plan))
    n = problem.graph.n
    sets = [frozenset(some) for size in range(n + 1) for some in combinations(range(n), size)]
    for nodes_on in product(sets, repeat=problem.k):
        inside = [route for route in routes if all(v in nodes_on[d] for v, d in enumerate(route))]
        if len(inside) > 1:
            plan = _mixed(problem, inside)
            if not verify(problem, plan):
                yield plan


def _mixed(problem: Problem, routes: Sequence[tuple[int, ...]]) -> Plan:
    """Return the best shares of these routes."""
    from scipy.optimize import linprog

    load = np.array([loads(problem, list(route)) for route in routes]).T
    load = load / (load.max(initial=0.0) or 1.0)  # the tolerances of linprog are absolute
    k, count = load.shape
    solution = linprog(
        [0.0] * count + [1.0],
        A_ub=np.hstack([load, -np.ones((k, 1))]),
        b_ub=np.zeros(k),
        A_eq=[[1.0] * count + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    shares = [Fraction(float(share)).limit_denominator(DIGITS) for share in solution.x[:-1]]
    total = sum(shares)
    return Plan.of_routes(problem, [(share / total, route) for share, route in zip(shares, routes, strict=True)])
