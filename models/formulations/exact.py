"""The exact mixed-integer programme of max-throughput partitioning (archer2024, 3.1 and Figure 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Penalties,
    Pin,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Used,
)
from mtpp_dsl.core.constraints import Bottleneck as LargestLoad
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.models.blocks import assignment, linear
from mtpp_dsl.models.blocks.bottleneck import exactly
from mtpp_dsl.models.blocks.contiguity import contiguity
from mtpp_dsl.models.blocks.custom import custom_refusal, custom_rows, offer, start_custom
from mtpp_dsl.models.blocks.graph import graph_data
from mtpp_dsl.models.blocks.in_order import stages_in_order
from mtpp_dsl.models.blocks.linear_objective import add_costs, used_devices
from mtpp_dsl.models.blocks.memory import PARTS, memory, workspace
from mtpp_dsl.models.blocks.order import device_order, prefix_order
from mtpp_dsl.models.blocks.overflow import NOTHING
from mtpp_dsl.models.blocks.phases import add_maxima, phase_values
from mtpp_dsl.models.blocks.placement import by_first_use, separate
from mtpp_dsl.models.blocks.stages import (
    empty_first,
    shapes_of,
    shard_memory,
    stage_memory,
)
from mtpp_dsl.models.blocks.windows import steps_of, windows
from mtpp_dsl.models.extract import relabel
from mtpp_dsl.models.facts.linear_cost import unmeasured
from mtpp_dsl.models.facts.scaling import Scale, scale_of
from mtpp_dsl.models.facts.user_rows import PASSED
from mtpp_dsl.models.facts.within import BlockFacts, facts_below, facts_hold
from mtpp_dsl.models.formulations.derived import extended, keeps_symmetry
from mtpp_dsl.models.formulations.device_numbering import DeviceNumbering, layout_of
from mtpp_dsl.models.formulations.exact_loads import add_loads
from mtpp_dsl.models.formulations.exact_network import fill_network, network_refusal

LEAST_SHARE = 1e-6
"""Of a memory: rows that only help the solver leave smaller shares out."""
KEPT = (Acyclic, BreakSymmetry, Contiguous, Memory, Colocate, Separate, Pin, Forbid, InOrder, Linear, Robust)


class Exact(Scoped, CutoffFormulation):
    """Every plan, and nothing else: devices of any speeds and memories, whatever joins them.

    Interchangeable devices under ``acyclic`` are numbered in the order of the quotient graph, as in Figure 3.
    Devices that can be told apart get a linear order of their own, one for each part of a training graph; without
    ``acyclic`` there is none. In a class derived from this one, which may add rows that tell devices apart, all can be
    told apart unless it says that it is ``symmetric``.
    """

    name = "exact"
    exact = True
    role: Role = "exact"
    summary = "optimal plan and proof, by mixed-integer programming (archer2024, Figure 3, strengthened)"
    floor = "archer2024, Lemma 3.3"
    scopes: tuple[Scope, ...] = (
        Scope(
            objectives=("bottleneck", "sum of bottlenecks", "linear"),
            interconnects=("shared", "host"),
            constraints=KEPT,
            families=(CustomConstraint,),
            decisions=(On, Load, LargestLoad, Used, Latency, Penalties, Largest),
            soft=True,
            streams=True,
            prefetch=True,
            workspace=True,
            backward=True,
            unequal=True,
            phases=True,
        ),
        Scope(
            objectives=("bottleneck", "iteration"),
            interconnects=("shared", "host"),
            constraints=(*(kind for kind in KEPT if kind is not Linear), Shard, StageMemory),
            streams=True,
            unequal=True,
        ),
        Scope(
            objectives=("bottleneck", "linear"),
            interconnects=("links", "tree"),
            constraints=KEPT,
            families=(CustomConstraint,),
            decisions=(On, Load, LargestLoad, Used, Latency, Penalties),
            soft=True,
            workspace=True,
            backward=True,
            unequal=True,
        ),
    )

    def beyond(self, problem: Problem) -> str | None:
        """Return why a solver would not see labelled constraints, or those of plug-ins, as they are meant, or None."""
        reason = custom_refusal(self.name, problem) or unmeasured(self.name, problem) or self._unstaged(problem)
        if problem.phased and linear.pushed_up(problem).phases:
            return f"{self.name} does not support rows or objectives that ask for a large bottleneck of one phase"
        up = linear.pushed_up(problem)
        if reason is None and problem.robust is not None and (up.loads or up.bottleneck):
            reason = (
                f"{self.name} does not support constraint {problem.robust} beside what gains from larger loads: it "
                "counts worst cases from above"
            )
        if reason is None and problem.prefetches and (up.loads or up.bottleneck):
            reason = (
                f"{self.name} does not support overflow = prefetch beside what gains from larger loads: its "
                "model bounds them from below"
            )
        asks = any(problem.of(Linear)) or problem.objective.is_linear or linear.names_loads(problem)
        if reason is not None or not asks:
            return reason
        if problem.networked:
            return network_refusal(self.name, problem, hypergraph(problem))
        scale = scale_of(problem, hypergraph(problem).least_work)
        most = linear.greatest(problem, scale.tensor_costs(problem), scale.unit)
        return linear.unreadable(problem, scale, most)

    def _unstaged(self, problem: Problem) -> str | None:
        """Return why blocks do not tell how many stages come after them, or None."""
        if not problem.staged:
            return None
        rules = [rule for rule in problem.stage_memory if rule is not None]
        alike = layout_of(problem, hypergraph(problem), symmetric=keeps_symmetry(self)).in_order
        if any(problem.shard) and any(problem.of(InOrder)):
            return f"{self.name} splits nodes over devices only where no constraint puts the devices in an order"
        if any(problem.shard) and not (alike and all(problem.shard)):
            return f"{self.name} splits nodes over devices that are all alike, two or more, and no others; use ideals"
        if any(problem.shard) and any(rule.recompute != "never" for rule in rules):
            return f"{self.name} splits nodes over devices only where no stage recomputes; use ideals"
        if not rules or rules[0].schedule == "gpipe" or problem.k == 1:
            return None
        line = problem.line
        if alike or (line is not None and len(line.filled) == problem.k):
            return None
        if line is not None:
            return f"{self.name} counts the stages after each where none may be empty (empty = never); use ideals"
        return (
            f"{self.name} counts the stages after each only of devices that are all alike, each of which may run every "
            "node; use ideals"
        )

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the problem's cost.

        ``model.on(v, d)``, ``model.cut(u, d)`` and ``model.load(d)`` go by the problem's own numbers; see
        :meth:`mtpp_dsl.core.problem.custom.CustomConstraint.rows`.
        """
        view = hypergraph(problem)
        if problem.networked:
            return self._on_network(problem, view)
        scale = _phased_scale(problem, scale_of(problem, view.least_work, self._ceiling(problem)))
        model = pyo.ConcreteModel(name="exact")
        model.cost_scale, model.cost_margin = scale.unit, scale.margin
        model.phased = problem.phased
        model.layout = layout = layout_of(problem, view, symmetric=keeps_symmetry(self))
        graph = problem.graph
        nets = view.nets(scale.tensor_costs(problem), scale.most)
        nets = [net for net in nets if net.cost >= NOTHING or problem.phased]
        graph_data(model, view.n, problem.k, view.edges(graph.tails, graph.heads), nets)
        known = layout.in_order and facts_hold(problem)
        facts = facts_below(problem, view, nets, scale.unit, self.cost) if known else None
        on = self._assign(model, view, facts)
        most = linear.greatest(problem, scale.tensor_costs(problem), scale.unit)
        load = add_loads(model, problem, view, nets, on, scale, facts)
        offer(model, problem, lambda v, d: on(layout.home[v], d), lambda d: scale.unit * load(d))
        if any(problem.shard):
            shard_memory(model, np.repeat(view.memory[:, None], problem.k, axis=1), on, problem.memory_limit)
        else:
            memory(model, problem, view.memory, on)
            workspace(model, problem, view.workspace, on)
        if any(problem.stage_memory):
            self._count_stages(model, problem, view, on)
        contiguity(model, problem, layout.home, on)
        stages_in_order(model, problem, layout.home, on)
        separate(model, problem, layout.home, on)
        if linear.pushed_up(problem).bottleneck:
            exactly(model, load, float(most.max()))
        phased = phase_values(model, problem, view, nets, on, scale.unit) if problem.phased else None
        value = linear.values_of(model, lambda v, d: on(layout.home[v], d), load, phased)
        if problem.phased:
            add_maxima(model, problem, value, scale.unit)
        caps = linear.limited(problem, load, scale.unit)
        for d in np.flatnonzero(np.isfinite(problem.memory_limit) & (problem.memory_limit > 0)).tolist():
            shares = view.memory / (float(problem.memory_limit[d]) * (1 + 2 * PASSED))
            large = np.flatnonzero(shares > LEAST_SHARE).tolist()
            caps.setdefault(d, []).append((sum(PARTS * float(shares[v]) * on(v, d) for v in large), PARTS))
        used_devices(model, problem, on, caps)
        add_costs(model, problem, value, linear.limits_of(problem, scale.unit, most), scale)
        if any(problem.of(Linear)):
            linear.linear(model, problem, value, scale.unit, most)
        custom_rows(model, problem)
        return model

    def _count_stages(self, model: Any, problem: Problem, view: Hypergraph, on: assignment.On) -> None:
        """Add what stages keep, by the number of stages after them."""
        in_order, line = model.layout.in_order, problem.line
        if in_order:
            empty_first(model, on)
        place = range(problem.k) if line is None else np.argsort(np.array(line.devices)).tolist()
        after = [problem.k - 1 - place[d] if in_order or line is not None else 0 for d in range(problem.k)]
        stage_memory(model, problem, view, on, after)

    def _on_network(self, problem: Problem, view: Hypergraph) -> Any:
        """Return the model on links or a tree."""
        model = pyo.ConcreteModel(name="exact")
        model.layout = layout_of(problem, view, symmetric=keeps_symmetry(self))
        graph = problem.graph
        graph_data(model, view.n, problem.k, view.edges(graph.tails, graph.heads), [])
        fill_network(model, problem, view, self._assign(model, view, None))
        return model

    def _ceiling(self, problem: Problem) -> float | None:
        """Return what the best plans cost less than; None where the problem says it, as no rows are added."""
        if not extended(self, problem) and problem.robust is None:
            return None
        return 1.1 * self.cost if self.cost and problem.objective.covers_loads else inf

    def _assign(self, model: Any, view: Hypergraph, facts: BlockFacts | None) -> assignment.On:
        """Add where nodes run and what ``acyclic`` asks of it."""
        layout: DeviceNumbering = model.layout
        if layout.in_order:
            on = assignment.prefixes(model)
            if facts is not None:
                windows(model, facts, range(len(model.D) + 1))
            prefix_order(model, None if facts is None else steps_of(facts))
            return on
        on = assignment.assigned(model, view.allowed)
        for number, edges in enumerate(layout.parts):
            swaps = layout.classes if number == 0 else [(d,) for d in model.D]
            device_order(model, f"order_{number}", edges, on, swaps)
        if not layout.parts:
            by_first_use(model, layout.classes)
        return on

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries that say where nodes run from *plan*, and the orders of the devices.

        A plan whose quotient graph has a cycle where it must have none sets nothing.
        """
        layout: DeviceNumbering = model.layout
        where, parts, k = plan.assignment[layout.first], layout.parts, problem.k
        if any(problem.stage_memory) and plan.order is not None:
            busy = set(plan.assignment.tolist())
            last = sorted(range(k), key=lambda d: (d in busy, plan.order.index(d)))  # type: ignore[union-attr]
            rank: Ints | None = np.argsort(last)
        elif parts:
            order = _order(where, parts[0], k)
            rank = None if order is None else np.argsort(order)
        else:
            rank = np.array([next(iter(np.flatnonzero(where == d)), len(where)) for d in range(k)])
        if rank is None:
            return
        where = relabel.canonical(where, rank.tolist(), layout.classes)
        orders = [_order(where, edges, k) for edges in parts]
        if None in orders:
            return
        if any(problem.shard):
            return  # blocks of a plan with groups are other devices than its own
        renamed = Plan.create(problem, where[layout.home], order=_in_blocks(problem, layout))
        _set_indicators(model, evaluate(problem, renamed), renamed.recomputed)
        start_custom(model, problem, renamed)
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
        layout: DeviceNumbering = model.layout
        where = np.zeros(len(layout.first), dtype=np.int64)
        if layout.in_order:
            for (v, _), variable in model.y.items():
                where[v] += (variable.value or 0) < 0.5
            where -= 1
        else:
            share = np.zeros((len(where), problem.k))
            for (v, d), variable in model.x.items():
                share[v, d] = variable.value or 0.0
            where = share.argmax(axis=1)
        if any(problem.shard):
            return _grouped(problem, where[layout.home], shapes_of(model))
        return Plan.create(problem, where[layout.home], order=_in_blocks(problem, layout))


def _grouped(problem: Problem, block: Ints, shapes: Mapping[int, int]) -> Plan:
    """Return the plan in which blocks get groups of devices of these sizes, one after the other."""
    lead: dict[int, int] = {}
    free = 0
    for b in np.unique(block).tolist():
        lead[b] = free
        free += shapes[b]
    groups = {d: range(d, d + shapes[b]) for b, d in lead.items() if shapes[b] > 1}
    shards = {d: shapes[b] for b, d in lead.items()}
    return Plan.create(problem, [lead[b] for b in block.tolist()], range(problem.k), groups, shards=shards)


def _in_blocks(problem: Problem, layout: DeviceNumbering) -> Sequence[int] | None:
    """Return the order of the blocks, where the places of stages matter and devices are blocks; else None."""
    return range(problem.k) if any(problem.stage_memory) and layout.in_order else None


def _phased_scale(problem: Problem, scale: Scale) -> Scale:
    """Return *scale* in the unit of the smallest phase, if something is asked of single phases."""
    if not problem.phased:
        return scale
    units = [scale_of(phase, hypergraph(phase).least_work).unit for phase in problem.each_phase.values()]
    floors = [unit for unit in units if 1e-4 * scale.unit <= unit < scale.unit]  # others are too small to matter
    return replace(scale, unit=min([scale.unit, *floors]))


def _order(where: Ints, edges: Sequence[tuple[int, int]], k: int) -> tuple[int, ...] | None:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return quotient_order(where, ends[:, 0], ends[:, 1], k)


def _set_indicators(model: Any, evaluation: Evaluation, recomputed: Collection[int]) -> None:
    """Set the binaries that name the largest load, the devices that overflow and those that recompute, if any."""
    largest, over = model.component("argmax"), model.component("overflow")
    again = model.component("recompute")
    if largest is not None:
        for d, variable in largest.a.items():
            variable.set_value(int(d == evaluation.load.argmax()))
    if again is not None:
        for d, variable in again.again.items():
            if not variable.fixed:
                variable.set_value(int(d in recomputed))
    if over is not None:
        for d, variable in over.z.items():
            variable.set_value(int(evaluation.overflow[d] > 0))
