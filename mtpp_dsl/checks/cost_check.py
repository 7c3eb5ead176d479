"""Count what a plan costs again, for the independent check: loads tensor by tensor, and every objective."""

from __future__ import annotations

from collections import defaultdict

from mtpp_dsl.checks.linear_values import PlanValues, payments
from mtpp_dsl.checks.network_check import counted
from mtpp_dsl.checks.recounts import NONE, Replicas, exchange, lateness, spans
from mtpp_dsl.checks.route_check import mixed
from mtpp_dsl.checks.split_check import by_subgraphs
from mtpp_dsl.checks.stage_check import iteration_cost, staged_loads
from mtpp_dsl.checks.subgraph_check import subgraph_loads
from mtpp_dsl.core.constraints import Linear, Memory, On, StageMemory, Used
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Links, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem


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
    values = values_of(problem, device, plan, plan.replicas)
    costs = []
    for objective in problem.objectives:
        paid = sum(payments(problem, values).values()) if objective.penalised else 0.0
        costs.append(_cost(problem, objective, plan, values) + paid)
    return costs


def _resources(problem: Problem, device: list[int]) -> list[float]:
    """Return the loads of all devices in one route, and of the channels of a network, in one order for all routes."""
    if not problem.networked:
        return loads(problem, device)
    counts = counted(problem, device)
    return [*counts.load, *(counts.channels.get(name, 0.0) for name in problem.network.channels)]


def penalties_of(problem: Problem, plan: Plan) -> dict[str, float]:
    """Return what each soft row costs, by its label."""
    device = [int(d) for d in plan.assignment]
    return payments(problem, values_of(problem, device, plan, plan.replicas))


def _cost(problem: Problem, objective: Objective, plan: Plan, values: PlanValues) -> float:
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
    busy = list(total)
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
            stream = max(0.0, params[d] - spec.room) / link.bandwidth
            total[d] += max(0.0, stream - busy[d]) if link.prefetch else stream
    for lead, members in replicas.items():
        for d in members:
            total[d] = max(total[d] / len(members), exchange(problem, replicas, lead, params))
    return [load + late for load, late in zip(total, lateness(problem, device), strict=True)]


def values_of(problem: Problem, device: list[int], plan: Plan, replicas: Replicas = NONE) -> PlanValues:
    """Return the values of decisions in a plan with every node on one device, or with *replicas*."""
    schedule = plan.schedule
    if plan.shards or plan.recomputed:
        return PlanValues(problem, device, schedule, lambda: staged_loads(problem, plan), replicas)

    def phase(name: str) -> PlanValues:
        return values_of(problem.phase(name), device, plan, replicas)

    return PlanValues(
        problem, device, schedule, lambda: _all_loads(problem, device, schedule, replicas), replicas, phase
    )


def _all_loads(
    problem: Problem, device: list[int], schedule: Schedule | None, replicas: Replicas = NONE
) -> list[float]:
    """Return the loads, by subgraphs where plans have those."""
    if by_subgraphs(problem) and schedule is not None and schedule.piece is not None:
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


def size_of(problem: Problem, plan: Plan, objective: Objective | None = None) -> float:
    """Return the largest term of a linear cost and of soft rows, those of ``on`` and ``used`` where they are 1.

    Of the first objective, unless another *objective* of the problem is given.
    """
    objective = objective or problem.objective
    weighted = [(1.0, objective.terms, objective.constant)] if objective.is_linear else []
    soft = problem.of(Linear) if objective.penalised else ()
    weighted += [(row.penalty, row.terms, row.rhs) for row in soft if row.penalty is not None]
    values = values_of(problem, [int(d) for d in plan.assignment], plan, plan.replicas)
    sizes = [0.0]
    for weight, terms, constant in weighted:
        sizes.append(weight * abs(constant))
        for decision, a in terms:
            sizes.append(weight * abs(a) * (1.0 if isinstance(decision, (On, Used)) else abs(values.of(decision))))
    return max(sizes)
