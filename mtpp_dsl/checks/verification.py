"""The independent check of plans, bounds and results.

Shares nothing with models or solvers: it reads the problem and counts again, in plain Python,
node by node and edge by edge, and not even through :mod:`mtpp_dsl.core.plans.evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from mtpp_dsl.checks.batch_check import broken_batches
from mtpp_dsl.checks.cost_check import cost_of, costs_of, loads, penalties_of, size_of, values_of
from mtpp_dsl.checks.linear_values import broken_row
from mtpp_dsl.checks.network_check import unreachable
from mtpp_dsl.checks.recounts import copies, faults
from mtpp_dsl.checks.route_check import broken_routes
from mtpp_dsl.checks.schedule_check import broken_times
from mtpp_dsl.checks.split_check import CHECKS, TOLERANCE, broken_line, by_subgraphs, cyclic_groups, unsupported
from mtpp_dsl.checks.stage_check import broken_groups, broken_memory, broken_order, broken_stages
from mtpp_dsl.checks.subgraph_check import broken_subgraphs
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Copies,
    Forbid,
    Linear,
    Memory,
    Pin,
    PinChunks,
    Repeat,
    Separate,
    Subgraphs,
)
from mtpp_dsl.core.errors import MtppError, PluginError, Refused, VerificationError
from mtpp_dsl.core.plans.plan import Plan, plan_of
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.plans.routes import Route
from mtpp_dsl.core.plans.subgraphs import undefined
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem, check_problem

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


@dataclass(frozen=True)
class Violation:
    """A constraint that a plan breaks, and how."""

    constraint: str
    message: str

    def __str__(self) -> str:
        return f"{self.constraint}: {self.message}"


def verify(problem: Problem, plan: Plan | Result | Mapping[str, object]) -> list[Violation]:
    """Return every way in which *plan* breaks *problem*; empty if it is a plan.

    A plan may be given as an answer's JSON, or as ``{node: device}``, too.

    Raises:
        UsageError: it is given as something that is no plan at all.
        Refused: the problem has a constraint or an objective that this version cannot check.
    """
    check_problem(problem, "verify")
    _refuse_unknown(problem)
    plan = plan_of(problem, plan)
    if problem.objective.batch is not None:
        broken = [Violation(what, message) for what, message in broken_batches(problem, plan, TOLERANCE)]
        if plan.batches is not None:
            broken += _custom(problem, plan)
        return list(dict.fromkeys(broken))
    custom = tuple({type(c) for c in problem.of(CustomConstraint)})
    unknown = next((c for c in problem.constraints if type(c) not in (*CHECKS, *custom)), None)
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
        check = broken_subgraphs if by_subgraphs(problem) else broken_times
        broken += [Violation(what, message) for what, message in check(problem, plan)]
    if broken:
        return broken
    violations = [v for copy in copies(plan.replicas, device) for v in _check(problem, copy, plan)]
    if any(problem.stage_memory) or plan.recomputed:
        violations += [Violation(what, message) for what, message in broken_stages(problem, plan, TOLERANCE)]
    for rule in problem.of(Memory) if plan.shards else ():
        violations += [Violation(str(rule), message) for message in broken_memory(problem, plan, rule, TOLERANCE)]
    violations += [Violation(what, message) for what, message in broken_line(problem, plan)]
    for constraint in problem.of(Acyclic) if problem.hierarchical else ():
        if constraint.groups == "free":
            continue
        messages = cyclic_groups(problem, plan.replicas, device, constraint)
        violations += (Violation(str(constraint), message) for message in messages)
    violations += _custom(problem, plan)
    return list(dict.fromkeys(violations))


def _broken_routes(problem: Problem, plan: Plan) -> list[Violation]:
    """Return what breaks the problem in a plan of several routes, each of which is a plan by itself."""
    violations = [Violation(what, message) for what, message in broken_routes(problem, plan, TOLERANCE)]
    if plan.replicas or plan.timed:
        violations.append(Violation("copies", "a plan has routes, or replicas or a schedule, not both"))
    for route in plan.routes:
        violations += _broken_alone(problem, replace(plan, assignment=route.assignment, routes=()))
    return list(dict.fromkeys(violations))


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
            returned = constraint.violations(problem, plan)
            messages = list(returned)
        except MtppError:
            raise
        except Exception as error:
            raise PluginError(f"violations() of constraint {constraint} failed: {error!r}") from error
        if isinstance(returned, str) or not all(isinstance(message, str) for message in messages):
            raise PluginError(f"violations() of constraint {constraint} returned {returned!r}, not a list of messages")
        for message in messages:
            yield Violation(str(constraint), message)


def _refuse_unknown(problem: Problem) -> None:
    """Refuse what no check is written for."""
    if problem.objective.batch is not None:
        for constraint in problem.constraints:
            if not isinstance(constraint, OF_BATCHES):
                raise Refused(f"cannot verify 'constraint {constraint}' of a batch: it is about one sample")
        return
    reason = undefined(problem) if by_subgraphs(problem) else None
    if reason is not None:
        raise Refused(f"cannot verify a plan: {reason}")
    if any(problem.of(Subgraphs)) and not by_subgraphs(problem):
        raise Refused("cannot verify 'constraint subgraphs' here: it is about a makespan on host or shared")


def _check(problem: Problem, device: list[int], plan: Plan) -> Iterator[Violation]:
    """Yield what breaks a constraint, with every node on one device."""
    for message in unsupported(problem, device):
        yield Violation("support", message)
    for what, message in unreachable(problem, device) if problem.networked else ():
        yield Violation(what, message)
    values = values_of(problem, device, plan)
    for constraint in problem.constraints:
        if isinstance(constraint, Linear):
            for message in broken_row(constraint, values, TOLERANCE):
                yield Violation(str(constraint), message)
            continue
        if isinstance(constraint, CustomConstraint) or (plan.shards and isinstance(constraint, Memory)):
            continue  # their own checks are of the whole plan
        for message in CHECKS[type(constraint)](problem, device, constraint):
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
