"""A relaxation in one file: the work must go somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.constraints import Acyclic, Colocate, Contiguous, Forbid, Linear, Memory, Pin, Separate
from mtpp_dsl.contracts import Role
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.errors import Refused
from mtpp_dsl.problem import Links, Problem

DROPPED = (Acyclic, Colocate, Contiguous, Forbid, Linear, Memory, Pin, Separate)  # they only take plans away


class Work:
    """Every node on one device that supports it, and nothing costs but work; constraints are dropped."""

    name = "acme-work"
    exact = False
    role: Role = "relaxation"
    summary = "every node somewhere, communication free"

    def accepts(self, problem: Problem) -> str | None:
        if problem.objective.quantity != "bottleneck" or isinstance(problem.interconnect, Links):
            return "acme-work bounds a bottleneck on shared and host interconnects; try simple"
        unknown = next((c for c in problem.constraints if not isinstance(c, DROPPED)), None)
        return None if unknown is None else f"acme-work cannot tell what {unknown.keyword} does to its bound; try exact"

    def build(self, problem: Problem) -> Any:
        time, model = problem.time, pyo.ConcreteModel()
        pairs = [(int(v), int(d)) for v, d in np.argwhere(np.isfinite(time))]
        model.x = pyo.Var(pairs, domain=pyo.Binary)
        model.most = pyo.Var(domain=pyo.NonNegativeReals)
        model.cost = pyo.Objective(expr=model.most)
        model.one = pyo.Constraint(range(len(time)), rule=lambda m, v: sum(m.x[u, d] for u, d in pairs if u == v) == 1)
        model.work = pyo.Constraint(
            range(problem.k), rule=lambda m, d: sum(time[v, e] * m.x[v, e] for v, e in pairs if e == d) <= m.most
        )
        return model

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        for (v, d), x in model.x.items():
            x.value = int(plan.assignment[v] == d)

    def extract(self, problem: Problem, model: Any) -> Plan:
        raise Refused("acme-work is a relaxation and has no plans")
