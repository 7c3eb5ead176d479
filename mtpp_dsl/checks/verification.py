"""The independent check of plans, bounds and results.

Shares nothing with models or solvers: it reads the problem and counts again, in plain Python,
node by node and edge by edge, and not even through :mod:`mtpp_dsl.plans.evaluation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mtpp_dsl.checks.amounts import needs
from mtpp_dsl.checks.batch_check import broken_batches
from mtpp_dsl.checks.lateness import lateness
from mtpp_dsl.checks.linear_values import Values, broken_row, payments
from mtpp_dsl.checks.network_check import counted, unreachable
from mtpp_dsl.checks.order_check import broken_line, out_of_order
from mtpp_dsl.checks.replica_counts import NONE, Replicas, copies, exchange, faults, spans
from mtpp_dsl.checks.route_check import broken_routes, mixed
from mtpp_dsl.checks.schedule_check import broken_times
from mtpp_dsl.checks.stage_check import (
    broken_groups,
    broken_memory,
    broken_order,
    broken_stages,
    iteration_cost,
    staged_loads,
)
from mtpp_dsl.checks.subgraph_check import broken_subgraphs, subgraph_loads
from mtpp_dsl.constraints import (
    Acyclic,
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    ExclusiveLinks,
    Forbid,
    InOrder,
    Linear,
    Memory,
    On,
    Pin,
    PinChunks,
    Repeat,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Subgraphs,
    Used,
)
from mtpp_dsl.errors import MtppError, PluginError, Refused, UsageError, VerificationError
from mtpp_dsl.plans.plan import Plan, plan_of
from mtpp_dsl.plans.result import Bound, Result
from mtpp_dsl.plans.routes import Route
from mtpp_dsl.plans.schedule import Schedule
from mtpp_dsl.plans.subgraphs import undefined
from mtpp_dsl.problem import Host, Links, Objective, Problem, Shared
from mtpp_dsl.problem.custom import CustomConstraint

__all__ = [
    "TOLERANCE",
    "Violation",
    "check_result",
    "cost_of",
    "costs_of",
    "loads",
    "penalties_of",
    "settled",
    "size_of",
    "verify",
]

OF_BATCHES = (BatchSizes, BreakSymmetry, Colocate, CustomConstraint, Forbid, Memory, Pin, PinChunks, Repeat, Separate)
"""Constraints that mean something of a batch: each input by itself, or as a plug-in says."""

TOLERANCE = 1e-6
"""Relative: a constraint may be missed by this share of the numbers in it, as MIP solvers do."""


@dataclass(frozen=True)
class Violation:
    """A constraint that a plan breaks, and how."""

    constraint: str
    message: str

    def __str__(self) -> str:
        return f"{self.constraint}: {self.message}"


def verify(problem: Problem, plan: Plan | Mapping[str, object]) -> list[Violation]:
    """Return every way in which *plan* breaks *problem*; empty if it is a plan.

    A plan may be given as an answer's JSON, or as ``{node: device}``, too.

    Raises:
        UsageError: it is given as something that is no plan at all.
        Refused: the problem has a constraint or an objective that this version cannot check.
    """
    _refuse_unknown(problem)
    plan = plan_of(problem, plan)
    if problem.objective.batch is not None:
        broken = [Violation(what, message) for what, message in broken_batches(problem, plan, TOLERANCE)]
        if plan.batches is not None:
            broken += _custom(problem, plan)
        return list(dict.fromkeys(broken))
    custom = tuple({type(c) for c in problem.of(CustomConstraint)})
    unknown = next((c for c in problem.constraints if type(c) not in (*_CHECKS, *custom)), None)
    if unknown is not None:
        raise Refused(f"cannot verify 'constraint {unknown.keyword}' yet")
    if plan.routes:
        return _broken_routes(problem, plan)
    return _broken_alone(problem, plan) or list(_ranges_of_one(problem, plan))


def _broken_alone(problem: Problem, plan: Plan) -> list[Violation]:
    """Return what breaks the problem in a plan of one route, whatever other routes there are."""
    device = [int(d) for d in plan.assignment]
    broken = [Violation("replicas", message) for message in _groups(problem, plan)]
    if any(problem.stage_memory):
        broken += [Violation("memory", message) for message in broken_order(problem, plan)]
    if problem.timed:
        check = broken_subgraphs if _by_subgraphs(problem) else broken_times
        broken += [Violation(what, message) for what, message in check(problem, plan)]
    if broken:
        return broken
    found = [v for copy in copies(plan.replicas, device) for v in _check(problem, copy, plan)]
    if any(problem.stage_memory) or plan.recomputed:
        found += [Violation(what, message) for what, message in broken_stages(problem, plan, TOLERANCE)]
    for rule in problem.of(Memory) if plan.shards else ():
        found += [Violation(str(rule), message) for message in broken_memory(problem, plan, rule, TOLERANCE)]
    found += [Violation(what, message) for what, message in broken_line(problem, plan)]
    for constraint in problem.of(Acyclic) if problem.hierarchical else ():
        if constraint.groups == "free":
            continue
        messages = _acyclic_groups(problem, plan.replicas, device, constraint)
        found += (Violation(str(constraint), message) for message in messages)
    found += _custom(problem, plan)
    return list(dict.fromkeys(found))


def _broken_routes(problem: Problem, plan: Plan) -> list[Violation]:
    """Return what breaks the problem in a plan of several routes, each of which is a plan by itself."""
    found = [Violation(what, message) for what, message in broken_routes(problem, plan, TOLERANCE)]
    if plan.replicas or plan.timed:
        found.append(Violation("copies", "a plan has routes, or replicas or a schedule, not both"))
    for route in plan.routes:
        found += _broken_alone(problem, replace(plan, assignment=route.assignment, routes=()))
    return list(dict.fromkeys(found))


def _ranges_of_one(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield what breaks ``copies (share = ranges)`` in a plan of one route: its devices hold ranges, too."""
    if any(rule.share == "ranges" for rule in problem.of(Copies)):
        alone = replace(plan, routes=(Route(Fraction(1), plan.assignment),))
        yield from (Violation(what, message) for what, message in broken_routes(problem, alone, TOLERANCE))


def _groups(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the devices that share a stage."""
    if plan.shards or any(problem.shard):
        yield from broken_groups(problem, plan)
    else:
        yield from faults(problem, plan.replicas, plan.assignment.tolist())


def _custom(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield what breaks a constraint of a plug-in, by the plug-in's own check.

    Raises:
        PluginError: the check fails, or returns no messages.
    """
    for constraint in problem.of(CustomConstraint):
        try:
            found = constraint.violations(problem, plan)
            messages = list(found)
        except MtppError:
            raise
        except Exception as error:
            raise PluginError(f"violations() of constraint {constraint} failed: {error!r}") from error
        if isinstance(found, str) or not all(isinstance(message, str) for message in messages):
            raise PluginError(f"violations() of constraint {constraint} returned {found!r}, not a list of messages")
        for message in messages:
            yield Violation(str(constraint), message)


def _refuse_unknown(problem: Problem) -> None:
    """Refuse what no check is written for."""
    if problem.objective.batch is not None:
        for constraint in problem.constraints:
            if not isinstance(constraint, OF_BATCHES):
                raise Refused(f"cannot verify 'constraint {constraint}' of a batch: it speaks of one sample")
        return
    reason = undefined(problem) if _by_subgraphs(problem) else None
    if reason is not None:
        raise Refused(f"cannot verify a plan: {reason}")
    if any(problem.of(Subgraphs)) and not _by_subgraphs(problem):
        raise Refused("cannot verify 'constraint subgraphs' yet: it speaks of a makespan on host or shared")


def _values(problem: Problem, device: list[int], plan: Plan, replicas: Replicas = NONE) -> Values:
    """Return the values of decisions in a plan with every node on one device, or with *replicas*."""
    schedule = plan.schedule
    if plan.shards or plan.recomputed:
        return Values(problem, device, schedule, lambda: staged_loads(problem, plan), replicas)

    def phase(name: str) -> Values:
        return _values(problem.phase(name), device, plan, replicas)

    return Values(problem, device, schedule, lambda: _all_loads(problem, device, schedule, replicas), replicas, phase)


def _all_loads(
    problem: Problem, device: list[int], schedule: Schedule | None, replicas: Replicas = NONE
) -> list[float]:
    """Return the loads, by subgraphs where plans have those."""
    if _by_subgraphs(problem) and schedule is not None and schedule.piece is not None:
        return subgraph_loads(problem, device, schedule.piece.tolist())
    if problem.graph.phases and not problem.networked:
        return _together(problem, device)
    return loads(problem, device, replicas=replicas)


def _together(problem: Problem, device: list[int]) -> list[float]:
    """Return the loads of all phases together: those of each phase, times how often it runs, added up."""
    total = [0.0] * problem.k
    for phase in problem.graph.phases:
        for d, load in enumerate(loads(problem.phase(phase.name), device)):
            total[d] += phase.weight * load
    return total


def _by_subgraphs(problem: Problem) -> bool:
    """Whether the objective is a latency by subgraphs (tarnawski2020, section 4)."""
    return problem.timed and not isinstance(problem.interconnect, Links)


def _check(problem: Problem, device: list[int], plan: Plan) -> Iterator[Violation]:
    """Yield what breaks a constraint, with every node on one device."""
    yield from _support(problem, device)
    for what, message in unreachable(problem, device) if problem.networked else ():
        yield Violation(what, message)
    values = _values(problem, device, plan)
    for constraint in problem.constraints:
        if isinstance(constraint, Linear):
            for message in broken_row(constraint, values, TOLERANCE):
                yield Violation(str(constraint), message)
            continue
        if isinstance(constraint, CustomConstraint) or (plan.shards and isinstance(constraint, Memory)):
            continue  # their own checks are of the whole plan
        for message in _CHECKS[type(constraint)](problem, device, constraint):
            yield Violation(str(constraint), message)


def check_result(problem: Problem, result: Result) -> None:
    """Check a result's plan, its cost and its bound against each other.

    Raises:
        VerificationError: a broken constraint, a cost that the plan does not have, or a bound above
            the cost of a valid plan.
    """
    if result.plan is None:
        return
    broken = verify(problem, result.plan)
    if broken:
        raise VerificationError(
            f"method {result.method!r} returned an infeasible plan:\n"
            + "\n".join(f"  {violation}" for violation in broken)
        )
    cost = cost_of(problem, result.plan)
    if result.cost is None or abs(result.cost - cost) > 1e-9 * _size(problem, result.plan, cost) + _rounding(problem):
        raise VerificationError(f"the plan costs {cost!r}, the evaluation says {result.cost!r}")
    if result.bound is not None and result.bound.cost > cost + TOLERANCE * _size(problem, result.plan, cost):
        raise VerificationError(
            f"the bound {result.bound.cost!r} of {result.bound.method!r} ({result.bound.by}) is above the cost "
            f"{cost!r} of a valid plan"
        )


def _size(problem: Problem, plan: Plan, cost: float) -> float:
    """Return what a difference of costs is small against: the cost, or the largest term of a linear one."""
    return max(abs(cost), size_of(problem, plan))


def size_of(problem: Problem, plan: Plan, objective: Objective | None = None) -> float:
    """Return the largest term of a linear cost and of soft rows, those of ``on`` and ``used`` where they are 1.

    Of the first objective, unless another *objective* of the problem is given.
    """
    objective = objective or problem.objective
    weighted = [(1.0, objective.terms, objective.constant)] if objective.is_linear else []
    soft = problem.of(Linear) if objective.penalised else ()
    weighted += [(row.penalty, row.terms, row.rhs) for row in soft if row.penalty is not None]
    values = _values(problem, [int(d) for d in plan.assignment], plan, plan.replicas)
    sizes = [0.0]
    for weight, terms, constant in weighted:
        sizes.append(weight * abs(constant))
        for decision, a in terms:
            sizes.append(weight * abs(a) * (1.0 if isinstance(decision, (On, Used)) else abs(values.of(decision))))
    return max(sizes)


def settled(bound: Bound, cost: float, size: float = 0.0) -> Bound:
    """Return the bound, brought down to *cost* where it exceeds it by no more than solvers' tolerances.

    They are of the cost, or of *size*, the largest term of a cost that is a sum.
    """
    if cost < bound.cost <= cost + TOLERANCE * max(abs(cost), size):
        return replace(bound, cost=cost)
    return bound


def _rounding(problem: Problem) -> float:
    """Return what two ways to add up parameters may differ by, as a time: the excess over a memory is small."""
    link = problem.interconnect
    if isinstance(link, (Shared, Host)) and link.overflow:
        return 1e-12 * float(problem.graph.params.sum()) / link.bandwidth
    return 0.0


def cost_of(problem: Problem, plan: Plan) -> float:
    """Return what is minimised of the first objective: a largest load, or two; the end; a weighted sum; and penalties.

    Raises:
        UsageError: the objective is a makespan, and the plan has no schedule.
    """
    return costs_of(problem, plan)[0]


def costs_of(problem: Problem, plan: Plan) -> list[float]:
    """Return what is minimised of every objective, in their order; what soft rows cost is in the first.

    Raises:
        UsageError: the objective is a makespan, and the plan has no schedule.
    """
    if problem.timed and problem.objective.batch is None and plan.schedule is None:
        raise UsageError("the plan says where every node runs and not when: it has no makespan")
    if plan.routes:
        return [max(mixed(plan, lambda device: _resources(problem, device)))]
    device = [int(d) for d in plan.assignment]
    values = _values(problem, device, plan, plan.replicas)
    costs = []
    for objective in problem.objectives:
        paid = sum(payments(problem, values).values()) if objective.penalised else 0.0
        costs.append(_cost(problem, objective, plan, values) + paid)
    return costs


def _resources(problem: Problem, device: list[int]) -> list[float]:
    """Return the loads of all devices in one route, and of the channels of a network, in one order for all routes."""
    if not problem.networked:
        return loads(problem, device)
    found = counted(problem, device)
    return [*found.load, *(found.channels.get(name, 0.0) for name in problem.network.channels)]


def penalties_of(problem: Problem, plan: Plan) -> dict[str, float]:
    """Return what each soft row costs, by its label."""
    device = [int(d) for d in plan.assignment]
    return payments(problem, _values(problem, device, plan, plan.replicas))


def _cost(problem: Problem, objective: Objective, plan: Plan, values: Values) -> float:
    """Return what *objective* minimises, without what soft rows cost."""
    if objective.batch is not None:
        if plan.batches is None:
            raise UsageError("the plan does not say which inputs run where and when: it has no throughput")
        return max((batch.end for batch in plan.batches), default=0.0)
    if objective.is_linear:
        total = objective.constant + sum(a * values.of(decision) for decision, a in objective.terms)
        return 0.0 - total if objective.sense == "maximize" else total
    if objective.is_iteration:
        return iteration_cost(problem, plan, objective)
    if objective.quantity == "makespan":
        assert plan.schedule is not None
        return max(plan.schedule.end.tolist(), default=0.0)
    if objective.parts == "separate":
        return sum(max(loads(problem, values.device, backward)) for backward in (False, True))
    return values.bottleneck


def loads(problem: Problem, device: list[int], backward: bool | None = None, replicas: Replicas = NONE) -> list[float]:
    """Return the load of every device by the definitions, tensor by tensor; with *backward*, that of one part.

    A tensor belongs to the part of its producer, overflow to the forward part (tarnawski2020, 5.3).
    """
    total = [0.0] * problem.k
    if problem.networked:
        return counted(problem, device).load
    if isinstance(problem.interconnect, Links):  # of a schedule: transfers take no device's time
        for v, d in enumerate(device):
            total[d] += float(problem.time[v, d])
        return total
    link = problem.channel
    params = [0.0] * problem.k
    graph = problem.graph
    counts = [backward is None or back == backward for back in graph.backward.tolist()]
    for v, d in enumerate(device):
        total[d] += float(problem.time[v, d]) if counts[v] else 0.0
        params[d] += float(graph.params[v])
    span = spans(problem, replicas)
    touched: dict[int, set[int]] = defaultdict(set)
    leaving: dict[int, set[int]] = defaultdict(set)
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if device[u] != device[v]:
            touched[u] |= {device[u], device[v]}
        if span[device[u]] != span[device[v]]:
            leaving[u] |= {device[u], device[v]}
    for u, devices in touched.items():
        for d in devices if counts[u] else ():
            if isinstance(link, Shared) or problem.devices[d].pays_io:
                rate = link.between if link.between is not None and d in leaving[u] else link.bandwidth
                total[d] += float(graph.output[u]) / rate
    for lead, members in replicas.items():
        for d in members[1:]:
            total[d], params[d] = total[lead], params[lead]
    for d, spec in enumerate(problem.devices):
        rules = (c for c in problem.constraints if isinstance(c, (Memory, StageMemory)))
        hard = any(c.devices is None or d in c.devices for c in rules)
        pays = isinstance(link, Shared) or spec.pays_io
        if link.overflow and pays and spec.memory is not None and not hard and not backward:
            total[d] += max(0.0, params[d] - spec.room) / link.bandwidth
    for lead, members in replicas.items():
        for d in members:
            total[d] = max(total[d] / len(members), exchange(problem, replicas, lead, params))
    return [load + late for load, late in zip(total, lateness(problem, device), strict=True)]


def _support(problem: Problem, device: list[int]) -> Iterator[Violation]:
    for v, d in enumerate(device):
        if problem.time[v, d] == float("inf"):
            yield Violation("support", f"{problem.devices[d].name} cannot run {problem.graph.names[v]}")


def _acyclic(problem: Problem, device: list[int], constraint: Acyclic) -> Iterator[str]:
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, set[int]] = defaultdict(set)
        for u, v in _edges(problem, nodes):
            if device[u] != device[v]:
                after[device[u]].add(device[v])
        cycle = _find_cycle(after)
        if cycle:
            names = " -> ".join(problem.devices[d].name for d in cycle)
            yield f"the quotient graph{part} has the cycle {names}"


def _acyclic_groups(problem: Problem, replicas: Replicas, device: list[int], constraint: Acyclic) -> Iterator[str]:
    span = spans(problem, replicas)
    number = [span.index(groups) for groups in span]
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, set[int]] = defaultdict(set)
        for u, v in _edges(problem, nodes):
            if number[device[u]] != number[device[v]]:
                after[number[device[u]]].add(number[device[v]])
        cycle = _find_cycle(after)
        if cycle:
            names = " -> ".join("+".join(sorted(str(group) for group in span[d])) for d in cycle)
            yield f"the quotient graph{part} of the groups has the cycle {names}"


def _contiguous(problem: Problem, device: list[int], constraint: Contiguous) -> Iterator[str]:
    graph = problem.graph
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, list[int]] = defaultdict(list)
        for u, v in _edges(problem, nodes):
            after[u].append(v)
        for d in _devices(problem, constraint.devices):
            if _by_subgraphs(problem) and not (isinstance(problem.interconnect, Shared) or problem.devices[d].pays_io):
                continue  # it runs single nodes, not subgraphs
            left = [v for v in nodes if device[v] == d for v in after[v] if device[v] != d]
            seen = set(left)
            while left:
                v = left.pop()
                if device[v] == d:
                    yield f"a path{part} leaves {problem.devices[d].name} and comes back at {graph.names[v]}"
                    break
                fresh = [w for w in after[v] if w not in seen]
                seen.update(fresh)
                left += fresh


def _memory(problem: Problem, device: list[int], constraint: Memory) -> Iterator[str]:
    for d in _devices(problem, constraint.devices):
        spec = problem.devices[d]
        if spec.memory is None:
            continue
        used = sum(float(problem.graph.memory[v]) for v in range(problem.graph.n) if device[v] == d)
        if used > spec.room * (1 + TOLERANCE):
            reserved = f", {problem.size(spec.reserve)} of them reserved" if spec.reserve else ""
            yield f"{needs(problem, d, used, spec.memory)}{reserved}"


def _colocate(problem: Problem, device: list[int], constraint: Colocate) -> Iterator[str]:
    first = constraint.nodes[0]
    for v in constraint.nodes:
        if device[v] != device[first]:
            names = problem.graph.names
            where = problem.devices
            yield f"{names[first]} is on {where[device[first]].name}, {names[v]} on {where[device[v]].name}"


def _separate(problem: Problem, device: list[int], constraint: Separate) -> Iterator[str]:
    seen: dict[int, int] = {}
    for v in constraint.nodes:
        other = seen.setdefault(device[v], v)
        if other != v:
            names = problem.graph.names
            yield f"{names[other]} and {names[v]} are both on {problem.devices[device[v]].name}"


def _pin(problem: Problem, device: list[int], constraint: Pin) -> Iterator[str]:
    for v in constraint.nodes:
        if device[v] not in constraint.devices:
            yield f"{problem.graph.names[v]} is on {problem.devices[device[v]].name}"


def _forbid(problem: Problem, device: list[int], constraint: Forbid) -> Iterator[str]:
    for v in constraint.nodes:
        if device[v] in constraint.devices:
            yield f"{problem.graph.names[v]} is on {problem.devices[device[v]].name}"


_CHECKS: dict[type[Constraint], Callable[[Problem, list[int], Any], Iterable[str]]] = {
    Acyclic: _acyclic,
    Contiguous: _contiguous,
    Memory: _memory,
    Colocate: _colocate,
    Separate: _separate,
    Pin: _pin,
    Forbid: _forbid,
    InOrder: out_of_order,
    Linear: lambda *_: (),  # checked with the schedule
    Robust: lambda *_: (),  # it takes no plan away; loads count it
    Replicate: lambda *_: (),  # it takes no plan away
    Copies: lambda *_: (),  # nor does this; routes are checked together
    Shard: lambda *_: (),  # checked with the groups of devices
    StageMemory: lambda *_: (),  # checked with the stages
    BreakSymmetry: lambda *_: (),  # it leaves of equal plans one, and none of them is wrong
    ExclusiveLinks: lambda *_: (),  # checked with the times
    Subgraphs: lambda *_: (),  # checked with the times
}


def _devices(problem: Problem, devices: tuple[int, ...] | None) -> Iterable[int]:
    return range(problem.k) if devices is None else devices


def _parts(problem: Problem, parts: str) -> Iterator[tuple[str, list[int]]]:
    """Yield (words for messages, nodes) of the forward part and, where asked and there, the backward part."""
    backward = problem.graph.backward.tolist()
    if not any(backward):
        yield "", list(range(problem.graph.n))
        return
    yield " of the forward part", [v for v, back in enumerate(backward) if not back]
    if parts == "both":
        yield " of the backward part", [v for v, back in enumerate(backward) if back]


def _edges(problem: Problem, nodes: list[int]) -> Iterator[tuple[int, int]]:
    inside = set(nodes)
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        if u in inside and v in inside:
            yield u, v


def _find_cycle(after: dict[int, set[int]]) -> list[int]:
    """Return a cycle as [a, b, ..., a], or []."""
    waiting: dict[int, int] = defaultdict(int)
    for heads in after.values():
        for head in heads:
            waiting[head] += 1
    nodes = set(after) | set(waiting)
    ready = [d for d in nodes if not waiting[d]]
    while ready:
        d = ready.pop()
        nodes.discard(d)
        for head in after.get(d, ()):
            waiting[head] -= 1
            if not waiting[head]:
                ready.append(head)
    if not nodes:
        return []
    walk = [min(nodes)]
    before = {d: next(u for u in sorted(nodes) if d in after.get(u, ())) for d in nodes}
    while walk[-1] not in walk[:-1]:
        walk.append(before[walk[-1]])
    return list(reversed(walk[walk.index(walk[-1]) :]))
