"""Compute what a weighted sum of decisions costs on stages: prices of used devices, of loads, and of nodes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, Latency, Linear, Load, On, Used
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.build import staged_types, thresholds

__all__ = [
    "MAX_STATES",
    "Budget",
    "Priced",
    "budgets_of",
    "crowd",
    "most_load",
    "places_of",
    "priced_types",
    "refusal",
    "sums_of",
    "unfit_for_budgets",
    "within_budgets",
]

MAX_STATES = 20_000
"""How many ways to have used some devices of each type a sweep goes through."""
MAX_SHAPES = 64
"""How many device types, each with every threshold of deviations, a sweep goes through."""
TOLERANCE = 2e-6
"""By which share a limit is widened, so that no plan that the check of plans accepts is left out."""


@dataclass(frozen=True, eq=False)
class Priced:
    """A weighted sum ``constant + sum used + sum load + sum on``, by single devices.

    Attributes:
        used: [devices] of a device that has a node; zero or more.
        load: [devices] of a unit of load; zero or more.
        on: [n, devices] of a node on a device, less the least of the node; zero or more.
        constant: what is added, with the least of every node.
    """

    used: Floats
    load: Floats
    on: Floats
    constant: float

    def keys(self) -> list[bytes]:
        """Return what tells each device apart."""
        return [
            self.used[d].tobytes() + self.load[d].tobytes() + self.on[:, d].tobytes() for d in range(len(self.used))
        ]


@dataclass(frozen=True, eq=False)
class Budget:
    """A weighted sum, of which there is a limit.

    Attributes:
        sums: what is added up.
        most: the largest that it may be without the constant, widened by what the check of plans lets pass.
    """

    sums: Priced
    most: float


def sums_of(problem: Problem, terms: Iterable[tuple[Decision, float]], constant: float) -> Priced | str:
    """Return the weighted sum of some terms, or why the programme over ideals cannot minimise it."""
    n, k = problem.graph.n, problem.k
    used, load, on = np.zeros(k), np.zeros(k), np.zeros((n, k))
    for decision, a in terms:
        match decision:
            case Used(d):
                used[d] += a
            case Load(d):
                load[d] += a
            case Latency():
                load += a
            case On(v, d):
                on[v, d] += a
            case _ if a:
                return f"{type(decision).__name__.lower()}() in a sum is not supported"
    if (used < 0).any() or (load < 0).any():
        return "a device, or a load, that lowers the cost is not supported"
    least = np.where(problem.allowed, on, np.inf).min(axis=1, initial=np.inf)
    least = np.where(np.isfinite(least), least, 0.0)
    return Priced(used, load, np.maximum(on - least[:, None], 0.0), constant + float(least.sum()))


def refusal(problem: Problem) -> str | None:
    """Return why the programme over ideals cannot prove the least weighted sum under the rows of *problem*, or None."""
    terms, constant = problem.objective.cost_terms
    if problem.hierarchical:
        return "ideals adds up no prices where the network between groups of devices is slower"
    sums = sums_of(problem, [term for term in terms if hasattr(term[0], "device") or _sums(term[0])], constant)
    if isinstance(sums, str):
        return f"ideals minimises sums of prices, loads and places: {sums}"
    if sums.load.any() and np.isfinite(problem.overflow_limit).any():
        return "ideals adds up no prices of loads where parameters are streamed; say 'constraint memory'"
    for row in problem.of(Linear):
        if limit_of(row) is None and problem.line is not None:
            return (
                f"ideals does not support constraint {row} beside a linear objective where devices are in an order: "
                "it takes limits of the bottleneck"
            )
        if limit_of(row) is None and budget_of(problem, row) is None:
            return (
                f"ideals does not support constraint {row} beside a linear objective: it takes limits of the "
                "bottleneck and of what used devices cost"
            )
    return crowd(problem, sums)


def crowd(problem: Problem, *sums: Priced) -> str | None:
    """Return why there are too many ways to have used some devices of each type, or thresholds of deviations."""
    kinds = priced_types(problem, *sums)
    if problem.line is not None and problem.robust is None:
        return None
    shapes = sum(len(thresholds(problem, group[0])) for group in kinds.members)
    if shapes > MAX_SHAPES:
        return (
            f"there are {shapes} deviations on {len(kinds.members)} types of devices that may be the last that is "
            f"counted; ideals goes through at most {MAX_SHAPES}"
        )
    states = float(np.prod([len(members) + 1.0 for members in kinds.members]))
    if states > MAX_STATES:
        return (
            f"prices and places tell {len(kinds.members)} types of devices apart, with {states:,.0f} ways to have used "
            f"some of each; ideals goes through at most {MAX_STATES:,}"
        )
    return None


def unfit_for_budgets(problem: Problem) -> str | None:
    """Return why the programme over ideals cannot prove the least bottleneck under the rows of *problem*, or None."""
    if problem.hierarchical:
        return "ideals counts no budgets where the network between groups of devices is slower"
    budgets = budgets_of(problem)
    if isinstance(budgets, str):
        return budgets
    if any(one.sums.load.any() for one in budgets) and np.isfinite(problem.overflow_limit).any():
        return "ideals adds up no loads where parameters are streamed; say 'constraint memory'"
    return crowd(problem)


def budgets_of(problem: Problem) -> list[Budget] | str:
    """Return what the rows of *problem* limit beside the bottleneck, or why one of them is no budget."""
    budgets = []
    for row in problem.of(Linear):
        if limit_of(row) is not None:
            continue
        sign = {"<=": 1.0, ">=": -1.0}.get(row.sense)
        why: Priced | str = "an equality is not supported"
        if sign is not None:
            why = sums_of(problem, [(decision, sign * a) for decision, a in row.terms], 0.0)
        if not isinstance(why, str) and why.load.any() and (why.on.any() or why.used.any()):
            why = "loads with other things in one sum are not supported"
        if isinstance(why, str):
            return f"ideals keeps budgets of devices, of loads and of places, but not constraint {row}: {why}"
        assert sign is not None
        scale = max(abs(row.rhs), abs(why.constant))
        budgets.append(Budget(why, sign * row.rhs - why.constant + TOLERANCE * scale))
    return budgets


def places_of(sums: Priced, supernodes: OrderedSupernodes, devices: Sequence[int]) -> Floats:
    """Return what each supernode costs on each of some devices, [devices, supernodes]."""
    places = np.zeros((len(devices), supernodes.n))
    for number, nodes in enumerate(supernodes.members):
        places[:, number] = sums.on[np.ix_(list(nodes), list(devices))].sum(axis=0)
    return places


def _sums(decision: Decision) -> bool:
    return isinstance(decision, (Latency, Bottleneck))


def limit_of(row: Linear) -> float | None:
    """Return the largest load that *row* allows, if it is a limit of the bottleneck, else None."""
    if len(row.terms) != 1 or not isinstance(row.terms[0][0], Bottleneck):
        return None
    a = row.terms[0][1]
    return row.rhs / a if (row.sense == "<=" and a > 0) or (row.sense == ">=" and a < 0) else None


def budget_of(problem: Problem, row: Linear) -> tuple[Floats, float] | None:
    """Return [devices] what each adds when used and the most of it, if *row* limits just that, else None."""
    sign = {"<=": 1.0, ">=": -1.0}.get(row.sense, 0.0)
    cost = np.zeros(problem.k)
    for decision, a in row.terms:
        if not isinstance(decision, Used) or a * sign <= 0:
            return None
        cost[decision.device] += a * sign
    return cost, row.rhs * sign


def most_load(problem: Problem) -> float:
    """Return the largest load that rows allow, widened by what the check of plans lets pass; ``inf`` for any."""
    limits = [limit for row in problem.of(Linear) if (limit := limit_of(row)) is not None]
    return max(0.0, min(limits, default=np.inf)) * (1 + TOLERANCE)


def priced_types(problem: Problem, *sums: Priced) -> DeviceTypes:
    """Return the types of the devices, with those apart that prices, places or budgets tell apart."""
    types = staged_types(problem)
    if problem.line is not None:
        return types
    budgets = budgets_of(problem)
    others = [] if isinstance(budgets, str) else [one.sums for one in budgets]
    keys = [b"" for _ in range(problem.k)]
    for one in (*sums, *others):
        keys = [key + other for key, other in zip(keys, one.keys(), strict=True)]
    groups: dict[tuple[int, bytes], list[int]] = {}
    for d, key in enumerate(keys):
        groups.setdefault((int(types.of[d]), key), []).append(d)
    members = tuple(map(tuple, groups.values()))
    old = [q for q, _ in groups]
    of = np.empty(problem.k, np.int64)
    for number, devices in enumerate(members):
        of[list(devices)] = number
    return replace(
        types,
        members=members,
        of=frozen(of, np.int64),
        time=frozen(types.time[:, old], np.float64),
        pays=frozen(types.pays[old], np.bool_),
        memory=frozen(types.memory[old], np.float64),
        overflow=frozen(types.overflow[old], np.float64),
        replicas=frozen(types.replicas[old], np.int64),
        syncs=frozen(types.syncs[old], np.bool_),
    )


def within_budgets(problem: Problem, types: DeviceTypes, used: Ints) -> Bools:
    """Return [states] whether the devices *used*, [states, types], keep every row about what used devices cost."""
    fine = np.ones(len(used), np.bool_)
    first = [group[0] for group in types.members]
    for row in problem.of(Linear):
        budget = budget_of(problem, row)
        if budget is not None:
            cost, most = budget
            fine &= used @ cost[first] <= most + TOLERANCE * max(abs(most), 0.0)
    return fine
