"""The least makespan on links as a mixed-integer programme (zhang2023, eq. 4 to 8), with what is known of times."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Contiguous,
    ExclusiveLinks,
    Finish,
    Forbid,
    Latency,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Penalties,
    Pin,
    Separate,
    Start,
    Used,
)
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.problem.colocation import ordered_edges
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.core.views.symmetry import ordered
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.blocks.contiguity import contiguity
from mtpp_dsl.models.blocks.custom import custom_refusal, custom_rows, offer, start_custom, work_of
from mtpp_dsl.models.blocks.disjunction import disjunction
from mtpp_dsl.models.blocks.linear_objective import add_costs, used_devices
from mtpp_dsl.models.blocks.memory import memory, workspace
from mtpp_dsl.models.blocks.order import device_order
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.schedule import schedule
from mtpp_dsl.models.blocks.symmetry import devices_in_order, does_nodes
from mtpp_dsl.models.blocks.timed_rows import limits_of, timed_rows, timed_values, unreadable_times
from mtpp_dsl.models.blocks.transfer import ends, routed_edges, transfer
from mtpp_dsl.models.extract.retiming import SolverDecisions, retimed
from mtpp_dsl.models.facts.clashes import clashes, node_items, transfer_items
from mtpp_dsl.models.facts.graph_facts import reach
from mtpp_dsl.models.facts.linear_cost import gains_from_delay, unmeasured
from mtpp_dsl.models.facts.scaling import FEASIBILITY, Scale, scheduled
from mtpp_dsl.models.facts.times import LinkTimes, horizon, times_of, without_horizon
from mtpp_dsl.models.formulations.derived import extended, keeps_symmetry

KEPT = (Acyclic, BreakSymmetry, Colocate, Contiguous, ExclusiveLinks, Forbid, Linear, Memory, Pin, Separate)

MAX_PAIRS = 5_000_000
"""Pairs of nodes, and with exclusive links of edges, of larger graphs take gigabytes before any solver sees them."""


class Moirai(Scoped, CutoffFormulation):
    """Every schedule, and nothing else: devices of any speeds and memories on ``links``, exclusive or not.

    Beside zhang2023: windows of starts from a known plan and the longest paths into and out of every node, so that no M
    is larger than it has to be; pairs that precedence or windows order are left out; direct arcs only; transfers in
    transportation form; nodes and transfers that take no time need no order.
    """

    name = "moirai"
    exact = True
    role: Role = "exact"
    summary = "optimal makespan on links, by mixed-integer programming (zhang2023, strengthened)"
    floor = "the longest path, or all work shared, each node where it is fastest"
    scopes = (
        Scope(
            objectives=("makespan", "timed linear"),
            interconnects=("links",),
            constraints=KEPT,
            families=(CustomConstraint,),
            decisions=(On, Load, Bottleneck, Start, Finish, Makespan, Used, Latency, Penalties),
            soft=True,
            workspace=True,
            backward=True,
            unequal=True,
        ),
    )

    def beyond(self, problem: Problem) -> str | None:
        """Return why the model would be too large, or cannot tell a solver what labelled constraints ask, or None."""
        reason = too_many_pairs(self.name, problem) or custom_refusal(self.name, problem)
        if reason is not None:
            return reason
        reason = unmeasured(self.name, problem) or gains_from_delay(problem)
        if reason is not None:
            return reason
        for constraint in problem.hard_rows:
            reason = without_horizon(constraint)
            if reason is not None:
                return f"constraint {constraint} {reason}"
        if not any(problem.of(Linear)):
            return None
        scale = scale_of(problem, hypergraph(problem), None)
        return unreadable_times(problem, scale.most, scale.unit)

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the problem's cost.

        ``model.on(v, d)``, ``model.cut(u, d)`` and ``model.load(d)`` go by the problem's own numbers; see
        :meth:`mtpp_dsl.core.problem.custom.CustomConstraint.rows`.
        """
        view = hypergraph(problem)
        cost = self.cost if problem.objective.quantity == "makespan" else None
        scale = scale_of(problem, view, cost, free=not extended(self, problem))
        times = times_of(problem, view, scale.ceiling, scale.unit)
        model = pyo.ConcreteModel(name=self.name)
        model.cost_scale, model.cost_margin = scale.unit, FEASIBILITY
        model.view = view
        model.V, model.D = pyo.RangeSet(0, view.n - 1), pyo.RangeSet(0, problem.k - 1)
        if not times.may.any(axis=1).all():
            model.C = pyo.Var()
            model.objective = pyo.Objective(expr=model.C)
            impossible(model, "nowhere")
            return model
        on = assignment.assigned(model, times.may[view.first])
        home = view.of
        offer(model, problem, lambda v, d: on(int(home[v]), d), work_of(problem, lambda v, d: on(int(home[v]), d)))
        model.symmetric = keeps_symmetry(self)
        schedule(model, times, home, on, scale.floor / scale.unit)
        self._sequence(model, problem, times, on)
        memory(model, problem, view.memory, on)
        workspace(model, problem, view.workspace, on)
        contiguity(model, problem, home.tolist(), on)
        separate(model, problem, home.tolist(), on)
        if model.symmetric:
            devices_in_order(model, problem, does_nodes(times.time, home, on))
        for number, (tails, heads) in enumerate(ordered_edges(problem)):
            device_order(model, f"order_{number}", view.edges(tails, heads), on, [(d,) for d in range(problem.k)])
        used_devices(model, problem, on, {})
        value = timed_values(model, problem, lambda v, d: on(int(home[v]), d), times.most, scale.unit)
        if problem.objective.is_linear:
            model.del_component("objective")
        add_costs(model, problem, value, limits_of(problem, times.most, scale.unit), scale)
        if any(problem.of(Linear)):
            timed_rows(model, problem, value, times.most, scale.unit)
        custom_rows(model, problem)
        return model

    def _sequence(self, model: Any, problem: Problem, times: LinkTimes, on: assignment.On) -> None:
        """Add transfers, and that neither nodes nor exclusive transfers overlap."""
        graph, home = problem.graph, model.view.of
        routes = routed_edges(times, graph, home)
        alone = any(problem.of(ExclusiveLinks))
        sent = [e for e, pairs in routes.items() if alone and any(times.carry[e, d, f] > 0 for d, f in pairs)]
        transfer(model, times, graph, home, on, routes, sent)
        after = reach(graph.n, list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)))
        clash_pairs = clashes(node_items(times, after), times.most)
        disjunction(
            model, "nodes", clash_pairs, dict(enumerate(home.tolist())), on, lambda v: model.s[v], lambda v: model.f[v]
        )
        model.sent = sent
        if sent:
            items = transfer_items(times, graph, after, sent, routes)
            use = ends(model, times, routes, sent)
            part, clash_pairs = model.transfer, clashes(items, times.most).named(sent)
            disjunction(
                model, "transfers", clash_pairs, {e: e for e in sent}, use, lambda e: part.r[e], lambda e: part.a[e]
            )

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries from *plan*: where nodes run, what comes first, and the orders of devices."""
        times = plan.schedule
        if times is None or model.component("x") is None:
            return
        view: Hypergraph = model.view
        plan = ordered(problem, plan) if model.symmetric else plan
        start_custom(model, problem, plan)
        where = plan.assignment[view.first]
        for (v, d), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(where[v] == d))
        middle = times.start + times.end
        for (i, j), variable in model.nodes.o.items():
            variable.set_value(int(plan.assignment[i] == plan.assignment[j] and middle[i] < middle[j]))
        if model.sent:
            flown = times.sent + times.arrived  # nan is before and after nothing
            for (i, j), variable in model.transfers.o.items():
                variable.set_value(int(flown[i] < flown[j]))
        _set_orders(model, problem, where)
        largest = model.component("argmax")
        if largest is not None:
            work = np.bincount(plan.assignment, problem.time[np.arange(problem.graph.n), plan.assignment], problem.k)
            for d, variable in largest.a.items():
                variable.set_value(int(d == work.argmax()))

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean, with exact times in their order."""
        view: Hypergraph = model.view
        share = np.zeros((view.n, problem.k))
        for (v, d), variable in model.x.items():
            share[v, d] = variable.value or 0.0
        start, end = (np.array([part[v].value or 0.0 for v in model.N]) for part in (model.s, model.f))
        sent, arrived = end[problem.graph.tails], end[problem.graph.tails]
        for e in model.sent:
            sent[e], arrived[e] = model.transfer.r[e].value or 0.0, model.transfer.a[e].value or 0.0
        solution = SolverDecisions(share.argmax(axis=1)[view.of], (start + end) / 2, (sent + arrived) / 2)
        return retimed(problem, solution, model.cost_scale * start)


def too_many_pairs(name: str, problem: Problem) -> str | None:
    """Return why formulation *name* would order too many pairs of nodes and of edges, or None."""
    pairs = problem.graph.n**2 // 2 + (problem.graph.m**2 // 2 if any(problem.of(ExclusiveLinks)) else 0)
    if pairs > MAX_PAIRS:
        return f"{name} would order {pairs:,} pairs of nodes or edges; {MAX_PAIRS:,} are the most (coarsen the graph)"
    return None


def scale_of(problem: Problem, view: Hypergraph, cost: float | None, *, free: bool = True) -> Scale:
    """Return the unit of the model; its ceiling is *cost*, or what no least makespan is above.

    Where they are not *free*, rows of somebody's own may say where nodes run.
    """
    ceiling = horizon(problem, free=free) if cost is None else cost
    times = times_of(problem, view, ceiling, 1.0)
    least = np.where(times.may, times.time, np.inf).min(axis=1, initial=np.inf)
    path = (times.head + times.time + times.tail).min(axis=1, initial=np.inf)
    return scheduled(float(max(path.max(initial=0.0), least.sum() / problem.k)), ceiling)


def _set_orders(model: Any, problem: Problem, where: Ints) -> None:
    """Set the binaries of the orders of devices from where classes are."""
    for number, (tails, heads) in enumerate(ordered_edges(problem)):
        ends = np.array(model.view.edges(tails, heads), np.int64).reshape(-1, 2)
        order = quotient_order(where, ends[:, 0], ends[:, 1], problem.k)
        if order is not None:
            position = np.argsort(order)
            for (d, e), variable in model.component(f"order_{number}").o.items():
                variable.set_value(int(position[d] < position[e]))
