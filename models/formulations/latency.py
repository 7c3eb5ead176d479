"""The least latency of one sample by subgraphs, as a mixed-integer programme (tarnawski2020, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Separate, Subgraphs
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.subgraphs import paying, scheduled, unclear
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.custom import custom_refusal, custom_rows, offer, start_custom
from mtpp_dsl.models.blocks.latency import latency, never_in_a_circle
from mtpp_dsl.models.blocks.memory import memory, workspace
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.subgraphs import convex_subgraphs, in_slots, slots_of
from mtpp_dsl.models.facts.scaling import TARGET
from mtpp_dsl.models.formulations.derived import extended, keeps_symmetry

LACKS = {"load": "what a device takes depends on its subgraphs"}
"""What the model does not offer to the rows of plug-ins, and why."""
KEPT = (BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Separate, Subgraphs)
ABOVE = 1 + 1e-6
BELOW = 1 - 1e-9


class LatencyModel(Scoped, CutoffFormulation):
    """Every plan by subgraphs, and nothing else: up to q on each device that pays, on ``host`` or ``shared``.

    As the published code, but: M from the latency of a known plan and the longest paths into every node; any devices;
    equal devices in the order of their first nodes; no circle of subgraphs that take no time.
    """

    name = "latency"
    exact = True
    role: Role = "exact"
    summary = "optimal latency by contiguous subgraphs, by mixed-integer programming (tarnawski2020)"

    floor = "the longest path, each node where it is fastest"
    scopes = (
        Scope(
            objectives=("makespan",),
            interconnects=("shared", "host"),
            constraints=KEPT,
            families=(CustomConstraint,),
            workspace=True,
            unequal=True,
        ),
    )

    def beyond(self, problem: Problem) -> str | None:
        """Return what the problem leaves open, or asks for that this model does not have, or None."""
        return unclear(self.name, problem) or custom_refusal(self.name, problem, LACKS)

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the problem's cost.

        ``model.on(v, d)`` and ``model.cut(u, d)`` go by the problem's own numbers; there is no ``model.load``. See
        :meth:`mtpp_dsl.core.problem.custom.CustomConstraint.rows`.
        """
        graph = problem.graph
        most = (_longest(problem) if self.cost is None else self.cost) * ABOVE
        unit = most / TARGET if most > 0 else 1.0
        may = problem.allowed & (problem.time <= most)
        time = np.where(may, problem.time, 0.0) / unit
        tensor = np.minimum(problem.tensor_time, 2 * most) / unit
        least = np.where(may, time, np.inf).min(axis=1, initial=np.inf)
        least = np.where(np.isfinite(least), least, 0.0)
        model = pyo.ConcreteModel(name="latency")
        model.cost_scale = unit
        model.slots = slots = slots_of(problem, merge=not extended(self, problem), symmetric=keeps_symmetry(self))
        model.V = pyo.RangeSet(0, graph.n - 1)
        on = in_slots(model, problem, slots, may)
        offer(model, problem, on, None, LACKS)
        memory(model, problem, graph.memory, on)
        workspace(model, problem, graph.workspace, on)
        separate(model, problem, range(graph.n), on)
        convex_subgraphs(model, graph, range(slots.pieces))
        latency(model, graph, slots, time, tensor, _heads(problem, least), most / unit)
        never_in_a_circle(model, graph, slots, least, tensor, most / unit)
        custom_rows(model, problem)
        return model

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries from *plan*, its equal devices in the order in which the nodes first use them."""
        if plan.schedule is None or plan.schedule.piece is None:
            return
        slots = model.slots
        to = _renamed(problem, plan, slots.classes)
        place = np.full(problem.graph.n, -1)
        for d in range(problem.k):
            on = np.flatnonzero(plan.assignment == d)
            number = np.unique(plan.schedule.piece[on], return_inverse=True)[1].reshape(-1)
            own = slots.of(to[d])
            if paying(problem)[d] and len(on) and number.max() < len(own):
                place[on] = np.array(own)[number]
            elif len(on) and own:
                place[on] = own[0]
        if (place < 0).any() or any(model.x[v, int(s)].fixed for v, s in enumerate(place)):
            return
        for (v, s), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(place[v] == s))
        start_custom(model, problem, Plan.create(problem, np.array(slots.home)[place]))

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean, with its earliest times."""
        share = np.zeros((problem.graph.n, len(model.slots.home)))
        for (v, s), variable in model.x.items():
            share[v, s] = variable.value or 0.0
        slot = share.argmax(axis=1)
        device, piece = np.array(model.slots.home)[slot], np.array(model.slots.number)[slot]
        try:
            return scheduled(problem, device, piece)
        except UsageError:
            return Plan.create(problem, device)


def _heads(problem: Problem, least: Floats) -> Floats:
    """Return [n] the longest path that ends with each node, with the least times; lowered for rounding."""
    head = np.zeros(problem.graph.n)
    for v in problem.graph.topological_order.tolist():
        before = problem.graph.predecessors(v)
        head[v] = (head[before].max() if len(before) else 0.0) + least[v]
    return head * BELOW


def _longest(problem: Problem) -> float:
    """Return a latency that some plan does not exceed, if there is one: all that can be done, one after another."""
    time = np.where(problem.allowed, problem.time, 0.0)
    pieces = slots_of(problem).pieces
    return float(time.max(axis=1, initial=0.0).sum() + (pieces + 1) * problem.tensor_time.sum())


def _renamed(problem: Problem, plan: Plan, classes: Sequence[tuple[int, ...]]) -> list[int]:
    """Return [devices] the devices to take in place of each, so that nodes first use equal ones in their order."""
    first = {int(plan.assignment[v]): i for i, v in reversed(list(enumerate(problem.graph.topological_order.tolist())))}
    to = list(range(problem.k))
    for members in classes:
        used = sorted(members, key=lambda d: (first.get(d, problem.graph.n), d))
        for d, name in zip(used, sorted(members), strict=True):
            to[d] = name
    return to
