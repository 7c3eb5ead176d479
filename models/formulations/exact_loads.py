"""Add the loads of devices and the largest of them to the exact programme (archer2024, 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Bottleneck as LargestLoad
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, Net
from mtpp_dsl.models.blocks import assignment, linear
from mtpp_dsl.models.blocks.border_cut import border_cut
from mtpp_dsl.models.blocks.bottleneck import Loads, bottleneck, bottlenecks, largest_load, load_variables
from mtpp_dsl.models.blocks.deviations import deviations
from mtpp_dsl.models.blocks.overflow import NOTHING, hidden, overflow
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.stages import iteration, recomputing, sharded
from mtpp_dsl.models.blocks.tensor_cut import Cut, tensor_cut
from mtpp_dsl.models.blocks.work import work
from mtpp_dsl.models.facts.linear_cost import named_decisions
from mtpp_dsl.models.facts.scaling import Scale, floor_of
from mtpp_dsl.models.facts.within import BlockFacts

__all__ = ["add_loads"]


def add_loads(
    model: Any,
    problem: Problem,
    view: Hypergraph,
    nets: Sequence[Net],
    on: assignment.On,
    scale: Scale,
    facts: BlockFacts | None,
) -> Loads:
    """Add the loads and the objective; return the load of a device."""
    exact = sorted(linear.pushed_up(problem).loads)
    shared = isinstance(problem.interconnect, Shared)
    paying = [d for d, device in enumerate(problem.devices) if shared or device.pays_io]
    split = None if facts is None or not facts.asked.nets else SplitNets.of(facts)
    cut = _cut(model, on, exact, paying, split)
    over = overflow(model, problem, view.params, on, scale.unit, exact)
    if problem.objective.parts == "together":
        compute = work(model, on, _kept(view.time / scale.unit))
        late = deviations(model, problem, model.layout.home, on, scale.unit)
        floor = scale.floor / scale.unit
        passes = np.where(view.allowed, view.total(_ahead(problem)), 0.0) / scale.unit
        again = recomputing(model, problem, view, on, passes) if any(problem.stage_memory) else _nothing
        busy = hidden(model, compute, over) if problem.prefetches else lambda d: compute(d) + over(d)
        load = _named(model, problem, lambda d: busy(d) + again(d) + cut(d) + late(d))
        if any(problem.shard):
            load, floor = sharded(model, problem, view, on, cut, scale.unit), 0.0
        if problem.objective.is_iteration:
            iteration(model, load, floor, problem.objective.microbatches or 1)
        elif not problem.objective.is_linear:
            bottleneck(model, load, floor)
        elif LargestLoad() in named_decisions(problem):
            largest_load(model, load, floor)
        return load
    model.cost_margin *= 2  # a row for each part
    model.forward, model.backward = (
        pyo.Set(initialize=[u for u, net in enumerate(nets) if net.backward == side]) for side in (False, True)
    )
    ahead = work(model, on, _kept((view.time - view.backward_time) / scale.unit), "time")
    back = work(model, on, _kept(view.backward_time / scale.unit), "backward_time")
    floors = [floor_of(least, problem.k) / scale.unit for least in view.least_work_of_parts]
    bottlenecks(
        model,
        lambda d: ahead(d) + cut(d, model.forward) + over(d),
        lambda d: back(d) + cut(d, model.backward),
        (floors[0], floors[1]),
    )
    return _named(model, problem, lambda d: ahead(d) + back(d) + cut(d) + over(d))


def _cut(model: Any, on: assignment.On, exact: Sequence[int], paying: Sequence[int], split: SplitNets | None) -> Cut:
    """Add what devices pay for tensors."""
    if model.layout.in_order and len(model.D) == 2 and paying and not model.phased:
        return border_cut(model, exact=bool(exact), split=split)
    return tensor_cut(model, on, range(len(model.D)), exact, paying, split)


def _ahead(problem: Problem) -> Floats:
    """Return [n, devices] the times of forward passes; 0 where a node is not supported."""
    times: Floats = np.where(np.isfinite(problem.time), problem.time, 0.0) * problem.graph.forward_share[:, None]
    return times


def _nothing(_: Any) -> float:
    return 0.0


def _named(model: Any, problem: Problem, load: Loads) -> Loads:
    """Return *load*, as variables of their own where rows of the user's name loads."""
    return load_variables(model, load) if linear.names_loads(problem) else load


def _kept(costs: Floats) -> Floats:
    """Return *costs*, in a model's unit, without those that solvers drop, or fail on."""
    return np.where(costs < NOTHING, 0.0, costs)
