"""The exact mixed-integer programme of max-throughput partitioning (archer2024, 3.1 and Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.constraints import Acyclic, Colocate, Contiguous, Forbid, Linear, Load, Memory, On, Pin, Separate
from mtpp_dsl.constraints import Bottleneck as LargestLoad
from mtpp_dsl.contracts import Role
from mtpp_dsl.evaluation import Evaluation, evaluate
from mtpp_dsl.graph import Floats, Ints
from mtpp_dsl.models import relabel
from mtpp_dsl.models.blocks import assignment, linear
from mtpp_dsl.models.blocks.bottleneck import Loads, bottleneck, exactly, load_variables
from mtpp_dsl.models.blocks.contiguity import contiguity, edges_of_part
from mtpp_dsl.models.blocks.graph import graph_data
from mtpp_dsl.models.blocks.memory import memory
from mtpp_dsl.models.blocks.order import device_order, prefix_order
from mtpp_dsl.models.blocks.overflow import NOTHING, overflow
from mtpp_dsl.models.blocks.placement import by_first_use, colocate, separate
from mtpp_dsl.models.blocks.tensor_cut import tensor_cut
from mtpp_dsl.models.blocks.work import work
from mtpp_dsl.models.scaling import Scale, scale_of
from mtpp_dsl.plan import Plan, quotient_order
from mtpp_dsl.problem import Links, Problem, Shared
from mtpp_dsl.symmetry import interchangeable

__all__ = ["Exact", "Layout", "layout_of"]

HONOURED = (Acyclic, Contiguous, Memory, Colocate, Separate, Pin, Forbid, Linear)


class Exact:
    """Every plan, and nothing else: devices of any speeds and memories on ``shared`` or ``host``.

    Interchangeable devices under ``acyclic`` are numbered in the order of the quotient graph, as in Figure 3.
    Devices that can be told apart get a linear order of their own, one for each part of a training graph; without
    ``acyclic`` there is none.
    """

    name = "exact"
    exact = True
    role: Role = "exact"
    summary = "the optimal plan and its proof, by mixed-integer programming (archer2024, Figure 3)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why this problem cannot be formulated, or None."""
        if problem.objective.quantity != "bottleneck":
            return f"method 'exact' minimises a bottleneck, not a {problem.objective.quantity}"
        if isinstance(problem.interconnect, Links):
            return "method 'exact' models the shared and host interconnects, not links"
        for constraint in problem.constraints:
            if not isinstance(constraint, HONOURED):
                return f"method 'exact' cannot honour constraint {constraint}"
            if isinstance(constraint, Linear):
                for decision, _ in constraint.terms:
                    if not isinstance(decision, (On, Load, LargestLoad)):
                        word = type(decision).__name__.lower()
                        return f"constraint {constraint} speaks of {word}(), which a bottleneck has not"
        if not any(problem.of(Linear)):
            return None
        scale = scale_of(problem)
        most = linear.greatest(problem, scale.tensor_costs(problem), scale.unit)
        return linear.unreadable(problem, scale, most)

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the problem's cost."""
        scale = scale_of(problem)
        model = pyo.ConcreteModel(name="exact")
        model.cost_scale, model.cost_margin = scale.unit, scale.margin
        model.layout = layout_of(problem)
        graph_data(model, problem, problem.k, _kept(scale.tensor_costs(problem)))
        on = self._assign(model, problem)
        load, most = self._loads(model, problem, on, scale)
        bottleneck(model, load, scale.floor / scale.unit)
        memory(model, problem, on)
        contiguity(model, problem, on)
        colocate(model, problem, on)
        separate(model, problem, on)
        if any(problem.of(Linear)):
            if linear.pushed_up(problem).bottleneck:
                exactly(model, load, float(most.max()))
            linear.linear(model, problem, on, load, scale.unit, most)
        return model

    def _assign(self, model: Any, problem: Problem) -> assignment.On:
        """Add where nodes run and what ``acyclic`` asks of it."""
        layout: Layout = model.layout
        if layout.in_order:
            on = assignment.prefixes(model)
            prefix_order(model)
            return on
        on = assignment.assigned(model, problem.allowed)
        for number, edges in enumerate(layout.parts):
            swaps = layout.classes if number == 0 else [(d,) for d in range(problem.k)]
            device_order(model, f"order_{number}", edges, on, swaps)
        if not layout.parts:
            by_first_use(model, layout.classes)
        return on

    def _loads(self, model: Any, problem: Problem, on: assignment.On, scale: Scale) -> tuple[Loads, Floats]:
        """Add the loads; return them and [devices] what each cannot exceed, in the model's unit."""
        exact = sorted(linear.pushed_up(problem).loads)
        time = _kept(np.where(np.isfinite(problem.time), problem.time, 0.0) / scale.unit)
        compute = work(model, on, time)
        shared = isinstance(problem.interconnect, Shared)
        paying = [d for d, device in enumerate(problem.devices) if shared or device.pays_io]
        cut = tensor_cut(model, on, range(problem.k), exact, paying)
        over = overflow(model, problem, on, scale.unit, exact)

        def load(d: Any) -> Any:
            return compute(d) + cut(d) + over(d)

        most = linear.greatest(problem, scale.tensor_costs(problem), scale.unit)
        return (load_variables(model, load) if linear.names_loads(problem) else load), most

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries that say where nodes run from *plan*, and the orders of the devices.

        A plan whose quotient graph has a cycle where it must have none sets nothing.
        """
        layout: Layout = model.layout
        where, parts, k = plan.assignment, layout.parts, problem.k
        if parts:
            order = _order(where, parts[0], k)
            rank = None if order is None else np.argsort(order)
        else:
            rank = np.array([next(iter(np.flatnonzero(where == d)), problem.graph.n) for d in range(k)])
        if rank is None:
            return
        where = relabel.canonical(where, rank.tolist(), layout.classes)
        orders = [_order(where, edges, k) for edges in parts]
        if None in orders:
            return
        _set_indicators(model, evaluate(problem, Plan.create(problem, where)))
        if layout.in_order:
            for (v, b), variable in model.y.items():
                if not variable.fixed:
                    variable.set_value(int(where[v] < b))
            return
        for (v, d), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(where[v] == d))
        for number, order in enumerate(orders):
            position = np.argsort(order)  # type: ignore[arg-type]
            for (d, e), variable in model.component(f"order_{number}").o.items():
                variable.set_value(int(position[d] < position[e]))

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean."""
        where = np.zeros(problem.graph.n, dtype=np.int64)
        if model.layout.in_order:
            for (v, _), variable in model.y.items():
                where[v] += (variable.value or 0) < 0.5
            where -= 1
        else:
            share = np.zeros((problem.graph.n, problem.k))
            for (v, d), variable in model.x.items():
                share[v, d] = variable.value or 0.0
            where = share.argmax(axis=1)
        return Plan.create(problem, where)


def _order(where: Ints, edges: Sequence[tuple[int, int]], k: int) -> tuple[int, ...] | None:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return quotient_order(where, ends[:, 0], ends[:, 1], k)


def _kept(costs: Floats) -> Floats:
    """Return *costs*, in a model's unit, without those that solvers drop, or fail on."""
    return np.where(costs < NOTHING, 0.0, costs)


def _set_indicators(model: Any, evaluation: Evaluation) -> None:
    """Set the binaries that name the largest load and the devices that overflow, where there are any."""
    largest, over = model.component("argmax"), model.component("overflow")
    if largest is not None:
        for d, variable in largest.a.items():
            variable.set_value(int(d == evaluation.load.argmax()))
    if over is not None:
        for d, variable in over.z.items():
            variable.set_value(int(evaluation.overflow[d] > 0))


@dataclass(frozen=True)
class Layout:
    """How a model numbers devices.

    Attributes:
        classes: devices that can be swapped in every plan.
        parts: for each part of the graph that must be split without a cycle, its edges.
        in_order: whether devices stand in the order of the quotient graph (Figure 3).
    """

    classes: Sequence[tuple[int, ...]]
    parts: Sequence[Sequence[tuple[int, int]]]
    in_order: bool


def layout_of(problem: Problem) -> Layout:
    """Return how the model of *problem* numbers its devices.

    Figure 3 takes devices that are all alike, one graph to be split acyclically, and two blocks or more.
    """
    classes, parts = interchangeable(problem), _acyclic_parts(problem)
    whole = problem.acyclic and not problem.graph.backward.any()
    alike = len(classes) == 1 and bool(problem.allowed.all())
    return Layout(classes, parts, in_order=whole and alike and problem.k > 1)


def _acyclic_parts(problem: Problem) -> list[Sequence[tuple[int, int]]]:
    asked = {constraint.parts for constraint in problem.of(Acyclic)}
    if not asked:
        return []
    back = problem.graph.backward
    sides = [False, True] if "both" in asked and back.any() else [False]
    return [edges_of_part(problem, backward=side) for side in sides]
