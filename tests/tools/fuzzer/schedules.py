"""Makespans on ``links``: the check of a schedule, and the shortest of all, by trying every order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise, permutations, product
from math import inf
from typing import Any

from tests.tools.fuzzer.instance import Instance, Term
from tests.tools.fuzzer.placing import broken_rows, broken_rules
from tests.tools.fuzzer.travel import travel

__all__ = ["best", "broken", "cost", "shortest"]

SLACK = 1e-8


def _known(inst: Instance, where: Sequence[int], start: Sequence[float], end: Sequence[float]) -> dict[Term, float]:
    """Return the values of all decisions but ``on``."""
    known: dict[Term, float] = {("makespan",): max(end)}
    for v in range(inst.n):
        known["start", v], known["finish", v] = start[v], end[v]
    each = [sum(inst.time(v, d) for v in range(inst.n) if where[v] == d) for d in range(inst.k)]
    known[("bottleneck",)] = max(each)
    return known | {("load", d): load for d, load in enumerate(each)}


def cost(plan: Mapping[str, Any]) -> float:
    """Return when the last node of a plan, as JSON, ends."""
    return max(float(row["end"]) for row in plan["schedule"])


def broken(inst: Instance, plan: Mapping[str, Any], slack: float) -> Iterator[str]:
    """Yield what a plan with a schedule, as JSON, breaks."""
    index = {node.name: v for v, node in enumerate(inst.nodes)}
    place = {device.name: d for d, device in enumerate(inst.devices)}
    where = [place[plan["assignment"][node.name]] for node in inst.nodes]
    start, end = [inf] * inst.n, [inf] * inst.n
    for row in plan["schedule"]:
        v = index[row["node"]]
        start[v], end[v] = row["start"], row["end"]
        if place[row["device"]] != where[v]:
            yield f"{row['node']} is scheduled elsewhere"
    yield from broken_rules(inst, where, slack)
    if inf in end or any(inst.time(v, d) == inf for v, d in enumerate(where)):
        yield "a node is not scheduled, or where it cannot run"
        return
    late = SLACK * max(end)
    runs: dict[Hashable, list[tuple[float, float]]] = {}
    for v, d in enumerate(where):
        if start[v] < -late or abs(end[v] - start[v] - inst.time(v, d)) > late:
            yield f"{inst.nodes[v].name} does not take its time"
        if inst.time(v, d) > 0:
            runs.setdefault(("runs", d), []).append((start[v], end[v]))
    moves = {(index[row["source"]], index[row["target"]]): (row["start"], row["end"]) for row in plan["transfers"]}
    for u, v in inst.edges:
        takes = travel(inst, (u, v), where[u], where[v])
        if where[u] == where[v]:
            if start[v] < end[u] - late:
                yield f"{inst.nodes[v].name} starts too early"
            continue
        if (u, v) not in moves or takes == inf:
            yield f"no transfer from {inst.nodes[u].name} to {inst.nodes[v].name}"
            continue
        sent, arrived = moves[u, v]
        if sent < end[u] - late or abs(arrived - sent - takes) > late or start[v] < arrived - late:
            yield f"the transfer from {inst.nodes[u].name} to {inst.nodes[v].name} is not in its time"
        if takes > 0 and inst.of("ExclusiveLinks"):
            runs.setdefault(("sends", where[u]), []).append((sent, arrived))
            runs.setdefault(("receives", where[v]), []).append((sent, arrived))
    for what, busy in runs.items():
        busy.sort()
        if any(b[0] < a[1] - late for a, b in pairwise(busy)):
            yield f"two at once: {what}"
    yield from broken_rows(inst, where, _known(inst, where, start, end), slack)


def best(inst: Instance, slack: float) -> float | None:
    """Return the least makespan of any plan; None if there is none."""
    least = inf
    for where in product(range(inst.k), repeat=inst.n):
        if not any(True for _ in broken_rules(inst, where, slack)):
            least = min(least, shortest(inst, where, least, slack))
    return None if least == inf else least


def shortest(inst: Instance, where: Sequence[int], least: float, slack: float) -> float:
    """Return the shortest makespan of an assignment, or *least* where none is shorter."""
    release, lags = _delays(inst, where)
    if not lags:
        return _by_sequences(inst, where, release, least, slack)
    return _by_orders(inst, where, release, lags, least, slack)


def _delays(inst: Instance, where: Sequence[int]) -> tuple[list[float], list[tuple[int, int, float]]]:
    """Return the earliest start of every node, and (a, b, t): b starts no sooner than t after a does, by the rows.

    Other rows only become harder when something is later, so the earliest schedule of an order breaks them, or none
    keeps them; those that are neither are not generated.
    """
    release, lags = [0.0] * inst.n, []
    for row in inst.rows:
        times: dict[int, float] = {}
        rest = row.rhs
        for term, weight in row.terms.items():
            if term[0] in ("start", "finish"):
                times[term[1]] = times.get(term[1], 0.0) + weight
                rest -= weight * inst.time(term[1], where[term[1]]) if term[0] == "finish" else 0.0
            elif term[0] == "on":
                rest -= weight * (where[term[1]] == term[2])
            elif term[0] == "load":
                rest -= weight * sum(inst.time(v, d) for v, d in enumerate(where) if d == term[1])
            elif term[0] == "bottleneck":
                each = [sum(inst.time(v, e) for v, e in enumerate(where) if e == d) for d in range(inst.k)]
                rest -= weight * max(each)
        for sign in {"<=": (1,), ">=": (-1,), "==": (1, -1)}[row.sense]:
            signed = {v: sign * weight for v, weight in times.items() if weight}
            late = [v for v, weight in signed.items() if weight < 0]
            if not late:
                continue
            (b,) = late
            others = [v for v in signed if v != b]
            if not others:
                release[b] = max(release[b], -sign * rest / -signed[b])
            else:
                (a,) = others
                assert signed[a] == -signed[b]
                lags.append((a, b, -sign * rest / signed[a]))
    return release, lags


def _keeps(inst: Instance, where: Sequence[int], start: Sequence[float], slack: float) -> bool:
    end = [start[v] + inst.time(v, d) for v, d in enumerate(where)]
    return not any(True for _ in broken_rows(inst, where, _known(inst, where, start, end), slack))


def _by_sequences(inst: Instance, where: Sequence[int], release: Sequence[float], least: float, slack: float) -> float:
    """Try every sequence of nodes and transfers, each as early as it can be."""
    takes: dict[Hashable, float] = {v: inst.time(v, d) for v, d in enumerate(where)}
    uses: dict[Hashable, list[Hashable]] = {v: [("runs", d)] for v, d in enumerate(where)}
    needs: dict[Hashable, list[Hashable]] = {v: [] for v in range(inst.n)}
    for u, v in inst.edges:
        item = (u, v)
        takes[item] = travel(inst, item, where[u], where[v])
        if takes[item] == inf:
            return least
        needs[item] = [u]
        needs[v].append(item)
        uses[item] = [("sends", where[u]), ("receives", where[v])] if inst.of("ExclusiveLinks") else []
    uses = {item: used if takes[item] > 0 else [] for item, used in uses.items()}
    items = list(takes)
    seen: set[frozenset[tuple[Hashable, float]]] = set()

    def extend(ends: dict[Hashable, float], free: dict[Hashable, float]) -> None:
        nonlocal least
        key = frozenset(ends.items())
        if key in seen or max(ends.values(), default=0.0) >= least:
            return
        seen.add(key)
        if len(ends) == len(items):
            start = [ends[v] - takes[v] for v in range(inst.n)]
            if _keeps(inst, where, start, slack):
                least = max(ends[v] for v in range(inst.n))
            return
        ready = [item for item in items if item not in ends and all(need in ends for need in needs[item])]
        idle = next((item for item in ready if not uses[item]), None)
        for item in ready if idle is None else [idle]:
            first = max([0.0, *(ends[need] for need in needs[item]), *(free.get(use, 0.0) for use in uses[item])])
            end = max(first, release[item] if isinstance(item, int) else 0.0) + takes[item]
            extend({**ends, item: end}, {**free, **dict.fromkeys(uses[item], end)})

    extend({}, {})
    return least


def _by_orders(
    inst: Instance,
    where: Sequence[int],
    release: Sequence[float],
    lags: Sequence[tuple[int, int, float]],
    least: float,
    slack: float,
) -> float:
    """Try every order on every device, with the least times that keep all differences; links are not exclusive."""
    assert not inst.of("ExclusiveLinks")
    arcs = list(lags)
    for u, v in inst.edges:
        arcs.append((u, v, inst.time(u, where[u]) + travel(inst, (u, v), where[u], where[v])))
    if any(arc[2] == inf for arc in arcs):
        return least
    busy = [[v for v in range(inst.n) if where[v] == d and inst.time(v, d) > 0] for d in range(inst.k)]
    for orders in product(*(permutations(nodes) for nodes in busy)):
        chains = [(a, b, inst.time(a, where[a])) for order in orders for a, b in pairwise(order)]
        start = list(release)
        for _ in range(inst.n + 1):
            moved = False
            for a, b, late in arcs + chains:
                if start[a] + late > start[b] + 1e-12 * abs(start[b]):
                    start[b], moved = start[a] + late, True
            if not moved:
                break
        else:
            continue  # a cycle of positive length
        end = max(start[v] + inst.time(v, where[v]) for v in range(inst.n))
        if end < least and _keeps(inst, where, start, slack):
            least = end
    return least
