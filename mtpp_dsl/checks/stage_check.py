"""Stages counted again for the independent check, in plain Python: groups, orders, memories, loads and iterations.

A stage is known by its lead, the device that carries its nodes in the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter

from mtpp_dsl.checks.recounts import exchange, needs, spans
from mtpp_dsl.core.constraints import Memory, StageMemory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem


def _members(plan: Plan, lead: int) -> tuple[int, ...]:
    return plan.replicas.get(lead, (lead,))


def _nodes(problem: Problem, plan: Plan) -> dict[int, list[int]]:
    """Return the nodes of every stage, by its lead, in the order of the devices."""
    nodes: dict[int, list[int]] = {}
    for v, d in enumerate(plan.assignment.tolist()):
        nodes.setdefault(d, []).append(v)
    return {d: nodes[d] for d in range(problem.k) if d in nodes}


def _after(plan: Plan) -> dict[int, int]:
    """Return how many stages come after each in the order of the plan."""
    leads = [d for d in plan.order or () if d in set(plan.assignment.tolist())]
    return {d: len(leads) - 1 - place for place, d in enumerate(leads)}


def _tensors(problem: Problem, plan: Plan) -> dict[int, set[int]]:
    """Return the stages that a tensor goes to from its own, by its producer."""
    readers: dict[int, set[int]] = {}
    device = plan.assignment.tolist()
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        if device[u] != device[v]:
            readers.setdefault(u, set()).add(device[v])
    return readers


def broken_groups(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the groups of devices of a plan where nodes may be split over several."""
    name = [spec.name for spec in problem.devices]
    stages = _nodes(problem, plan)
    for lead in {*plan.shards, *plan.replicas} - set(stages):
        yield f"{name[lead]} has a group of devices and no nodes"
    used = dict.fromkeys(stages, "nodes of its own")
    for lead in stages:
        members, t = _members(plan, lead), plan.shards.get(lead, 1)
        rule, copies = problem.shard[lead], problem.replicate[lead]
        if t not in ((1,) if rule is None else rule.by):
            allowed = "no constraint allows that" if rule is None else f"constraint {rule} allows {[*rule.by]}"
            yield f"the nodes of {name[lead]} are split over {t} devices; {allowed}"
        if len(members) % t:
            yield f"the nodes of {name[lead]} are on {len(members)} devices, which are no groups of {t}"
        if len(members) > t and (copies is None or len(members) > t * copies.most):
            allowed = "no constraint allows" if copies is None else f"constraint {copies} does not allow"
            yield f"the nodes of {name[lead]} are on {len(members)} devices in groups of {t}, which {allowed}"
        for d in members[1:]:
            if (t > 1 and problem.shard[d] is not rule) or (len(members) > t and problem.replicate[d] is not copies):
                yield f"{name[d]} is in the group of {name[lead]}, and no constraint has both"
            elif not _equal(problem, lead, d):
                yield f"{name[d]} is in the group of {name[lead]}, and the two are not equal"
            if d in used:
                yield f"{name[d]} is in the group of {name[lead]} and has {used[d]}"
            used[d] = f"those of {name[lead]}"


def _equal(problem: Problem, d: int, e: int) -> bool:
    one, other = problem.devices[d], problem.devices[e]
    same = (one.memory, one.reserve, one.pays_io) == (other.memory, other.reserve, other.pays_io)
    return same and all(float(problem.time[v, d]) == float(problem.time[v, e]) for v in range(problem.graph.n))


def broken_memory(problem: Problem, plan: Plan, rule: Memory, tolerance: float) -> Iterator[str]:
    """Yield the devices whose shards of nodes do not fit, by ``constraint memory`` without a schedule."""
    for lead, nodes in _nodes(problem, plan).items():
        used = sum(float(problem.graph.memory[v]) for v in nodes) / plan.shards.get(lead, 1)
        for d in _members(plan, lead):
            spec = problem.devices[d]
            if (rule.devices is None or d in rule.devices) and used > spec.room * (1 + tolerance):
                yield needs(problem, d, used, spec.room)


def broken_order(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield an edge that goes back in the order of the plan, by which its stages are counted."""
    if plan.order is None:
        yield "the plan has no order of devices, by which its stages are counted"
        return
    place = {d: i for i, d in enumerate(plan.order)}
    if sorted(plan.order) != list(range(problem.k)):
        yield "the order of the plan does not name every device once"
        return
    names, device = problem.graph.names, plan.assignment.tolist()
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        if place[device[u]] > place[device[v]]:
            one, other = (problem.devices[device[x]].name for x in (u, v))
            yield f"the edge {names[u]} -> {names[v]} goes from {one} back to {other} in the order of the plan"
            return


def broken_stages(problem: Problem, plan: Plan, tolerance: float) -> Iterator[tuple[str, str]]:
    """Yield (constraint, what is wrong) of stages that recompute, or keep more than fits."""
    stages, memory = _nodes(problem, plan), held_memory(problem, plan)
    for lead in sorted(plan.recomputed):
        rule = problem.stage_memory[lead]
        if rule is None or rule.recompute == "never":
            yield "recompute", f"the stage of {problem.devices[lead].name} recomputes, which no constraint allows"
        elif lead not in stages:
            yield "recompute", f"{problem.devices[lead].name} recomputes and has no nodes"
    for lead in stages:
        for d in _members(plan, lead):
            rule, spec = problem.stage_memory[d], problem.devices[d]
            if rule is None:
                continue
            if rule.recompute == "always" and lead not in plan.recomputed:
                yield str(rule), f"the stage of {problem.devices[lead].name} does not recompute"
            used, kept = memory[d]
            if used > spec.room * (1 + tolerance):
                microbatches = f"{kept} microbatch{'es' if kept != 1 else ''}"
                yield str(rule), f"{needs(problem, d, used, spec.room)} to keep {microbatches}"


def held_memory(problem: Problem, plan: Plan) -> dict[int, tuple[float, int]]:
    """Return what is held, and how many microbatches are kept, by every device whose memory is limited by stage."""
    graph, after, shipped = problem.graph, _after(plan), _tensors(problem, plan)
    by_stage = {}
    for lead, nodes in _nodes(problem, plan).items():
        saved = sum(float(graph.saved[v]) for v in nodes)
        read = sum(float(graph.output[u]) for u, readers in shipped.items() if lead in readers)
        t = plan.shards.get(lead, 1)
        for d in _members(plan, lead):
            rule = problem.stage_memory[d]
            if rule is None:
                continue
            kept, copies = _kept(rule, after.get(lead, 0))
            weights = sum(float(graph.state[v]) + (copies - 1) * float(graph.params[v]) for v in nodes)
            again = lead in plan.recomputed
            by_stage[d] = (weights + saved) / t + kept * read if again else (weights + kept * saved) / t, kept
    return by_stage


def _kept(rule: StageMemory, after: int) -> tuple[int, int]:
    """Return how many microbatches, and how many versions of weights, a stage holds."""
    kept = after + 1
    if rule.microbatches is not None:
        kept = rule.microbatches if rule.schedule == "gpipe" else min(kept, rule.microbatches)
    return kept, kept if rule.schedule == "pipedream" else 2 if rule.schedule == "2bw" else 1


def staged_loads(problem: Problem, plan: Plan) -> list[float]:
    """Return the load of every device, with shards and stages that recompute."""
    total = [0.0] * problem.k
    for lead, (_, _, load) in _passes(problem, plan).items():
        for d in _members(plan, lead):
            total[d] = load
    return total


def iteration_cost(problem: Problem, plan: Plan, objective: Objective) -> float:
    """Return what all microbatches of an iteration cost, by the formula."""
    stages = list(_passes(problem, plan).values())
    forward, backward, load = zip(*stages, strict=True)
    shares = set(problem.graph.forward_share.tolist())
    again = any(rule is not None and rule.recompute != "never" for rule in problem.stage_memory) and shares != {0.0}
    apart = objective.schedule == "gpipe" and (len(shares) > 1 or again)
    largest = max(forward) + max(backward) if apart else max(load)
    return float(((objective.microbatches or 1) - 1) * largest + sum(load))


def _passes_of(problem: Problem, plan: Plan) -> list[tuple[float, float, float]]:
    """Return the forward part, the backward part and the load of every stage, in the order of the plan."""
    passes = _passes(problem, plan)
    return [passes[d] for d in (plan.order or range(problem.k)) if d in passes]


def _passes(problem: Problem, plan: Plan) -> dict[int, tuple[float, float, float]]:
    """Return the forward part, the backward part and the load of every stage, for one microbatch, by its lead."""
    link, graph = problem.interconnect, problem.graph
    assert isinstance(link, (Shared, Host))
    span, shipped = spans(problem, plan.replicas), _tensors(problem, plan)
    stages = _nodes(problem, plan)
    params = [sum(float(graph.params[v]) for v in stages.get(d, ())) for d in range(problem.k)]
    passes = {}
    for lead, nodes in stages.items():
        spec, t = problem.devices[lead], plan.shards.get(lead, 1)
        pays = isinstance(link, Shared) or spec.pays_io
        rule = problem.shard[lead]
        speed = dict(zip(rule.by, rule.speedup, strict=False)).get(t, float(t)) if rule is not None else float(t)
        forward = backward = 0.0
        for v in nodes:
            takes = float(problem.time[v, lead]) / speed
            takes += 2 * (t - 1) * float(graph.reduce[v]) / t / link.bandwidth if pays else 0.0
            share = float(graph.forward_share[v])
            ahead, back = share * takes if share else 0.0, (1 - share) * takes if share < 1 else 0.0
            forward += ahead
            backward += back + (ahead if lead in plan.recomputed else 0.0)
        for u, readers in shipped.items() if pays else ():
            home = int(plan.assignment[u])
            if lead == home or lead in readers:
                far = any(span[e] != span[home] for e in (readers if lead == home else {lead}))
                takes = float(graph.output[u]) / (link.between if far and link.between is not None else link.bandwidth)
                forward += float(graph.forward_share[u]) * takes
                backward += (1 - float(graph.forward_share[u])) * takes
        r = len(_members(plan, lead)) // t
        hard = any(
            isinstance(c, (Memory, StageMemory)) and (c.devices is None or lead in c.devices)
            for c in problem.constraints
        )
        if link.overflow and pays and spec.memory is not None and not hard:
            forward += max(0.0, params[lead] / t - spec.room) / link.bandwidth
        forward, backward = forward / r, backward / r
        sync = _exchange(problem, plan, lead, params, r)
        passes[lead] = (forward, max(backward, sync - forward), max(forward + backward, sync))
    return passes


def _exchange(problem: Problem, plan: Plan, lead: int, params: list[float], r: int) -> float:
    """Return what a replica takes, per microbatch, to exchange the weights that it holds with the others."""
    t = plan.shards.get(lead, 1)
    if r == 1:
        return 0.0
    return exchange(problem, {**plan.replicas, lead: _members(plan, lead)[:r]}, lead, [size / t for size in params])


MOST_PASSES = 400_000

Pass = tuple[str, int, int]
"""Forward ("f") or backward ("b"), stage, microbatch."""


def iteration_times(problem: Problem, plan: Plan) -> tuple[float | None, float]:
    """Return when the last pass of an iteration ends, None of too many, and what no order of passes is faster than."""
    stages = _passes_of(problem, plan)
    many = problem.objective.microbatches or 1
    bound = sum(load for _, _, load in stages)
    waited = 0.0
    for _, _, load in stages:
        bound = max(bound, waited + many * load)
        waited += load
    return None if 2 * many * len(stages) > MOST_PASSES else _last_end(problem, stages, many), bound


def _last_end(problem: Problem, stages: list[tuple[float, float, float]], many: int) -> float:
    """Return the longest path among the passes."""
    schedule = problem.objective.schedule
    takes = {
        (way, s, m): stage[0] if way == "f" else stage[1]
        for s, stage in enumerate(stages)
        for m in range(many)
        for way in "fb"
    }
    after: dict[Pass, set[Pass]] = {run: set() for run in takes}
    last = len(stages) - 1
    for s in range(len(stages)):
        ahead = many if schedule == "gpipe" else last - s + 1
        for m in range(many):
            if s:
                after["f", s, m].add(("f", s - 1, m))
            after["b", s, m].add(("b", s + 1, m) if s < last else ("f", s, m))
            if m:
                after["f", s, m].add(("f", s, m - 1))
                after["b", s, m].add(("b", s, m - 1))
            if m >= ahead:
                after["f", s, m].add(("b", s, m - ahead))
            after["b", s, m].add(("f", s, min(m + ahead, many) - 1))
    ends: dict[Pass, float] = {}
    for run in TopologicalSorter(after).static_order():
        ends[run] = max((ends[other] for other in after[run]), default=0.0) + takes[run]
    return max(ends.values(), default=0.0)
