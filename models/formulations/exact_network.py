"""The exact mixed-integer programme of splits on links and on trees of switches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Bottleneck as LargestLoad
from mtpp_dsl.core.constraints import Decision, Latency, Linear
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.models.blocks import linear
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.bottleneck import Loads
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.contiguity import contiguity
from mtpp_dsl.models.blocks.custom import custom_rows, offer
from mtpp_dsl.models.blocks.in_order import stages_in_order
from mtpp_dsl.models.blocks.linear_objective import add_costs, used_devices
from mtpp_dsl.models.blocks.memory import memory, workspace
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.shipments import Taken, shipments
from mtpp_dsl.models.blocks.work import work
from mtpp_dsl.models.facts.linear_cost import named_decisions
from mtpp_dsl.models.facts.scaling import Scale
from mtpp_dsl.models.facts.shipments import greatest_on_network, network_scale, shipped_tensors


def network_refusal(name: str, problem: Problem, view: Hypergraph) -> str | None:
    """Return why the rows of the user's cannot be told to a solver on a network, or None."""
    pushed = linear.pushed_up(problem)
    if pushed.bottleneck or pushed.loads:
        return (
            f"{name} cannot make loads on {problem.interconnect.keyword} larger, or hold them up: its rows say what "
            "transfers take at least"
        )
    if any(problem.of(Linear)) or problem.objective.is_linear:
        scale = network_scale(problem, view)
        return linear.unreadable(problem, scale, greatest_on_network(problem, scale.unit))
    return None


def fill_network(model: Any, problem: Problem, view: Hypergraph, on: On) -> None:
    """Add to *model* all but where nodes run: what transfers take, memory, rows and the objective.

    Formula: the words are those of :mod:`mtpp_dsl.core.problem.network`. Without overlap ``T >= work + sends +
        receives`` of every device, with it ``T >= work``, ``T >= sends`` and ``T >= receives``; ``T >=`` the load of
        every channel. Source -> target: ``links`` and ``tree`` -> the block of
        :func:`mtpp_dsl.models.blocks.shipments.shipments`. Exact while no row pushes a load up; see
        :func:`network_refusal`.
    """
    scale = network_scale(problem, view)
    model.cost_scale, model.cost_margin = scale.unit, 2 * scale.margin
    most = greatest_on_network(problem, scale.unit)
    named = named_decisions(problem)
    tensors = shipped_tensors(problem, view)
    taken = shipments(model, problem, on, tensors, scale.unit, latency=Latency() in named)
    time = view.time / scale.unit
    compute = work(model, on, time)
    load = _loads(model, problem, compute, taken)
    _largest(model, problem, load, taken, scale)
    offer(model, problem, lambda v, d: on(int(view.of[v]), d), lambda d: scale.unit * load(d))
    memory(model, problem, view.memory, on)
    workspace(model, problem, view.workspace, on)
    home = view.of.tolist()
    contiguity(model, problem, home, on)
    stages_in_order(model, problem, home, on)
    separate(model, problem, home, on)
    usual = linear.values_of(model, lambda v, d: on(home[v], d), load)
    value = _with_latency(usual, sum(compute(d) for d in model.D) + taken.shipped)
    used_devices(model, problem, on, {})
    add_costs(model, problem, value, linear.limits_of(problem, scale.unit, most), scale)
    if any(problem.of(Linear)):
        linear.linear(model, problem, value, scale.unit, most)
    custom_rows(model, problem)


def _loads(model: Any, problem: Problem, compute: Loads, taken: Taken) -> Loads:
    """Return the loads of devices: without overlap sums, with it variables above all three parts."""
    together = problem.network.overlap == "none"
    model.l = pyo.Var(model.D, domain=pyo.NonNegativeReals)
    model.load_rows = pyo.ConstraintList()
    for d in model.D:
        parts = [compute(d), taken.sends[d], taken.receives[d]]
        for part in [sum(parts)] if together else parts:
            if not isinstance(part, (int, float)):
                model.load_rows.add(model.l[d] >= part)
    return lambda d: model.l[d]


def _largest(model: Any, problem: Problem, load: Loads, taken: Taken, scale: Scale) -> None:
    """Add the bottleneck, where the objective or a row names it, above every load and channel."""
    if problem.objective.is_linear and LargestLoad() not in named_decisions(problem):
        return
    model.T = pyo.Var(bounds=(scale.floor / scale.unit, None))
    constrain(model, "largest", model.D, rule=lambda m, d: load(d) <= m.T)
    model.channel_rows = pyo.ConstraintList()
    for carried in taken.channels.values():
        if not isinstance(carried, (int, float)):
            model.channel_rows.add(carried <= model.T)
    if not problem.objective.is_linear:
        model.objective = pyo.Objective(expr=model.T)


def _with_latency(usual: Callable[[Decision], Any], latency: Any) -> Callable[[Decision], Any]:
    """Return what gives the expression of a decision; that of the latency is *latency*."""
    return lambda decision: latency if isinstance(decision, Latency) else usual(decision)
