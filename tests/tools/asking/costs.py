"""Whether other constraints, places and machines cost what is said."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from mtpp_dsl.show.explaining.another_device import alike
from mtpp_dsl.show.explaining.items import statements_of
from mtpp_dsl.show.report.names import short_names
from tests.tools.asking.truth import NEAR, Truth, above, below
from tests.tools.fuzzer.instance import Instance, Rule
from tests.tools.fuzzer.optimum import judge

__all__ = ["altered", "elsewhere", "neighbours", "prices"]


def prices(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield what is wrong with what constraints cost."""
    problem = question.problem
    groups = statements_of(problem.constraints, question.places)
    if sum(len(group) for group in groups) != len(problem.constraints):
        yield "constraints are lost among the statements"
    for price in part.prices:
        if price.effect in ("orders", "fixed") or price.why:
            continue
        kept = [rule for rule in problem.constraints if not any(rule is x for x in price.constraints)]
        cost = truth.of(truth.meant.under(kept), "constraint left out")
        if cost is None:
            continue
        what = f"{price.named} ({price.said})"
        if price.impossible and cost < inf:
            yield f"{what}: said to have no plan without it, and one costs {cost}"
        if cost == inf and not price.impossible and price.cost is not None:
            yield f"{what}: a plan of {price.cost} where there is none"
        if above(price.bound, cost):
            yield f"{what}: the bound {price.bound} is above {cost}"
        if below(price.cost, cost):
            yield f"{what}: a plan of {price.cost} is below {cost}"
        if cost < inf and truth.best is not None:
            dear, room = truth.best - cost, 3 * NEAR * max(cost, truth.best)
            if price.least is not None and dear < price.least - room:
                yield f"{what}: costs at least {price.least}, and it is {dear}"
            if price.most is not None and dear > price.most + room:
                yield f"{what}: costs at most {price.most}, and it is {dear}"


def elsewhere(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield what is wrong with what a node would cost elsewhere."""
    meant, problem = truth.meant, question.problem
    v = meant.node[part.node]
    index = problem.device_index
    costs: list[float | None] = []
    for place in part.elsewhere:
        d = meant.device[index[place.device]]
        there = truth.there(v, d)
        if place.never and there is not None and there < inf:
            yield f"{place.device}: never ({place.never}), and a plan costs {there}"
        if place.moved is not None and below(place.moved, there):
            yield f"{place.device}: moved alone {place.moved} is below {there}"
        cost = there
        if place.beside:
            w = meant.node[problem.graph.index[place.beside]]
            cost = truth.of(meant.with_rule(Rule("Colocate", tuple(sorted((v, w))))), "node kept with another")
        costs.append(cost)
        if cost is None:
            continue
        if place.status == "infeasible" and cost < inf:
            yield f"{place.device}: infeasible, and a plan costs {cost}"
        if above(place.bound, cost) or below(place.cost, cost):
            yield f"{place.device}: {place.bound} to {place.cost}, and the least is {cost}"
        if place.status == "optimal" and above(place.cost, cost * (1 + NEAR)):
            yield f"{place.device}: {place.cost} is called optimal, and {cost} is"
        for other in place.alike:
            e = meant.device[index[other]]
            if e in {
                meant.device[index[name]]
                for lead in part.question.plan.replicas.values()
                for name in [problem.devices[i].name for i in lead]
            }:
                continue
            again = truth.there(v, e)
            if again is not None and there is not None and not (again == there or abs(again - there) <= NEAR * there):
                yield f"{place.device} costs {there}, {other} {again}, and they are called alike"
        own = meant.device[index[part.devices[0]]]
        here = truth.there(v, own) if place.exchanged and len(part.devices) == 1 else None
        if here is not None and there is not None and abs(there - here) > NEAR * here:
            yield f"{place.device}: said to be exchanged, and costs {there}, not {here}"
    verdict = part._verdict()
    now = question.cost
    if verdict.endswith("is worse") or verdict == "so it can be nowhere else":
        for place, cost in zip(part.elsewhere, costs, strict=True):
            if cost is not None and not place.exchanged and cost < now * (1 - NEAR):
                yield f"{verdict}: on {place.device} it costs {cost}"
    if verdict == "so it can be nowhere else":
        others = [e for e in range(meant.inst.k) if meant.inst.devices[e].name not in part.devices]
        there = truth.of(meant.with_rule(Rule("Pin", (v,), tuple(others))), "node elsewhere") if others else inf
        if there is not None and there < inf:
            yield f"{verdict}: elsewhere it costs {there}"


def altered(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield what is wrong with what other hardware would change."""
    meant, problem = truth.meant, question.problem
    for case in part.cases:
        if case.why:
            continue
        other: Instance | None
        if case.kind == "bandwidth":
            other = meant.faster()
        elif case.kind == "memory":
            other = meant.roomier()
        else:
            peers = next(m for m in alike(problem) if short_names([problem.devices[d].name for d in m]) == case.like)
            own = [meant.device[d] for d in peers]
            other = meant.larger(own[0], own, case.device)
        cost = truth.of(other, f"what if: {case.kind}")
        if cost is None:
            continue
        if case.status == "infeasible" and cost < inf:
            yield f"{case.name}: infeasible, and a plan costs {cost}"
        if cost == inf and case.cost is not None:
            yield f"{case.name}: a plan of {case.cost} where there is none"
        if above(case.bound, cost) or below(case.cost, cost):
            yield f"{case.name}: {case.bound} to {case.cost}, and the least is {cost}"
        least, most = case.ratios(question.cost, question.bound)
        if truth.best and cost < inf:
            ratio = cost / truth.best
            if (least is not None and ratio < least * (1 - 3 * NEAR)) or (most is not None and ratio > most + 3 * NEAR):
                yield f"{case.name}: {least} to {most} times the best, and it is {ratio}"
        if case.better and truth.best is not None and cost > truth.best * (1 + NEAR):
            yield f"{case.name}: said never to be worse, and {cost} is more than {truth.best}"


def neighbours(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield which of the next-best plans are none, or cost something else."""
    meant, problem = truth.meant, question.problem
    for one in part.neighbours:
        truth.tried["neighbour"] += 1
        cost, broken = judge(meant.inst, one.plan.to_json(problem))
        if broken:
            yield f"{one.change.words(problem)} breaks {broken}"
        if abs(cost - one.costs[0]) > 1e-8 * max(cost, one.costs[0]):
            yield f"{one.change.words(problem)} costs {cost}, not {one.costs[0]}"
        if below(cost, truth.best):
            yield f"{one.change.words(problem)} is below the best"
    first = part.neighbours[0].costs[0] if part.neighbours else inf
    if not part.complete or problem.timed or question.plan.replicas or (part.checked < part.tried and first == inf):
        return
    place = {device.name: d for d, device in enumerate(meant.inst.devices)}
    given = question.plan.to_json(problem)
    where = [place[given["assignment"][node.name]] for node in meant.inst.nodes]
    for v in range(meant.inst.n):
        for d in range(meant.inst.k):
            moved = {**given["assignment"], meant.inst.nodes[v].name: meant.inst.devices[d].name}
            if d == where[v]:
                continue
            if any(v in rule.nodes for rule in meant.inst.of("Colocate")):
                continue
            cost, broken = judge(meant.inst, {**given, "assignment": moved, "order": None}, 0.0)
            if not broken and below(cost, first) and abs(cost - question.cost) > NEAR * cost:
                yield f"moving {v} to {d} costs {cost}, and the best neighbour is said to be {first}"
