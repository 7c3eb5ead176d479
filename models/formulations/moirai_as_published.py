"""Moirai's programme as the paper prints it, to measure others by."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import BreakSymmetry, Colocate, ExclusiveLinks, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import FormulationBase
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import ordered
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.custom import offer, work_of
from mtpp_dsl.models.blocks.memory import memory
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.schedule_as_published import (
    BIG,
    published_congestion,
    published_overlap,
    published_times,
    published_transfers,
)
from mtpp_dsl.models.blocks.symmetry import devices_in_order, does_nodes
from mtpp_dsl.models.extract.retiming import SolverDecisions, retimed
from mtpp_dsl.models.facts.graph_facts import reach
from mtpp_dsl.models.facts.times import carries, horizon
from mtpp_dsl.models.formulations.derived import keeps_symmetry
from mtpp_dsl.models.formulations.moirai import too_many_pairs

KEPT = (BreakSymmetry, Colocate, ExclusiveLinks, Forbid, Memory, Pin, Separate)


class MoiraiAsPublished(Scoped, FormulationBase):
    """Equations 4 to 8 with M = 1e5, in the problem's own unit, and (4a) over all successors.

    Three things are added: links that are missing, colocated nodes and pins are fixed variables or rows; and what takes
    no time is left out of (6) and (8), which would keep it from running beside something else and so cut off optima.
    """

    name = "moirai-printed"
    exact = True
    role: Role = "exact"
    summary = "the programme for makespans as published, M = 1e5, for comparison (zhang2023, eq. 4-8)"
    baseline = True
    floor = "no makespan is negative"
    scopes = (Scope(objectives=("makespan",), interconnects=("links",), constraints=KEPT, backward=True, unequal=True),)

    def beyond(self, problem: Problem) -> str | None:
        """Return why the model would be too large, or the published rows do not hold of the problem, or None."""
        reason = too_many_pairs(self.name, problem)
        if reason is not None:
            return reason
        longest = horizon(problem)
        if longest > BIG:
            return f"schedules may be as long as {longest:.6g}, and the rows as published hold up to M = {BIG:g} only"
        if any(problem.of(ExclusiveLinks)) and _mixed(problem).any():
            return "a transfer takes time between some devices and none between others, which (8) cannot tell apart"
        return None

    def build(self, problem: Problem) -> Any:
        """Return the model, in the problem's unit."""
        graph = problem.graph
        model = pyo.ConcreteModel(name=self.name)
        model.N, model.V = pyo.RangeSet(0, graph.n - 1), pyo.RangeSet(0, graph.n - 1)
        model.D = pyo.RangeSet(0, problem.k - 1)
        on = assignment.assigned(model, problem.allowed)
        offer(model, problem, on, work_of(problem, on))
        model.symmetric = keeps_symmetry(self)
        time = np.where(problem.allowed, problem.time, np.inf)
        after = reach(graph.n, list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)))
        published_times(model, graph, time, after, on)
        published_overlap(model, time, after, on)
        published_transfers(model, graph, carries(problem, np.arange(graph.n)), on)
        if any(problem.of(ExclusiveLinks)):
            timed = np.flatnonzero(_between(problem).max(axis=1, initial=0.0) > 0).tolist()
            published_congestion(model, graph, timed, after, on)
        memory(model, problem, graph.memory, on)
        separate(model, problem, list(range(graph.n)), on)
        if model.symmetric:
            devices_in_order(model, problem, does_nodes(time, np.arange(graph.n), on))
        model.together = pyo.ConstraintList()
        for v, home in enumerate(_first(problem)):
            for d in range(problem.k) if v != home else ():
                model.together.add(model.x[v, d] == model.x[home, d])
        return model

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries from *plan*."""
        if plan.schedule is None:
            return
        plan = ordered(problem, plan) if model.symmetric else plan
        graph, times, where = problem.graph, plan.schedule, plan.assignment.tolist()
        assert times is not None
        for (v, d), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(where[v] == d))
        for (i, j), variable in model.overlap.delta.items():
            variable.set_value(int(times.start[i] + times.end[i] < times.start[j] + times.end[j]))
        for q, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
            model.links.z[q].set_value(int(where[u] != where[v]))
            for d, f in model.links.P:
                if not model.links.u[q, d, f].fixed:
                    model.links.u[q, d, f].set_value(int(where[u] == d and where[v] == f))
        congestion = model.component("congestion")
        if congestion is not None:
            flown = np.nan_to_num(times.sent + times.arrived)
            for (q, r), variable in congestion.delta.items():
                variable.set_value(int(flown[q] < flown[r]))

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean, with exact times in their order."""
        n = problem.graph.n
        share = np.array([[model.x[v, d].value or 0.0 for d in model.D] for v in model.N]).reshape(n, problem.k)
        start, end = (np.array([part[a].value or 0.0 for a in model.A]) for part in (model.S, model.C))
        middle = (start + end) / 2
        return retimed(problem, SolverDecisions(share.argmax(axis=1), middle[:n], middle[n:]), start[:n])


def _between(problem: Problem) -> Floats:
    """Return [m, k (k-1)] the finite times of edges between different devices; 0 for the others."""
    k = problem.k
    times = carries(problem, np.arange(problem.graph.n))[:, ~np.eye(k, dtype=np.bool_)]
    return np.where(np.isfinite(times), times, 0.0)


def _mixed(problem: Problem) -> Floats:
    """Return [m] whether an edge takes time between some devices, and none between others that are joined."""
    k = problem.k
    times = carries(problem, np.arange(problem.graph.n))[:, ~np.eye(k, dtype=np.bool_)]
    mixed: Floats = (times == 0).any(axis=1) & (_between(problem) > 0).any(axis=1)
    return mixed


def _first(problem: Problem) -> list[int]:
    """Return for every node the first that it has to be with."""
    classes = colocated(problem).tolist()
    return [classes.index(number) for number in classes]
