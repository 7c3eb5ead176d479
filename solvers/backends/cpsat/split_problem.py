"""Turn a bottleneck, or one of each part, on ``shared`` or ``host`` into a request in whole numbers, and back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

import numpy as np

from mtpp_dsl.core.constraints import On, Used
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import convex_edges, ordered_edges
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.solvers.backends.cpsat.labelled_rows import lowered
from mtpp_dsl.solvers.backends.cpsat.request import Convex
from mtpp_dsl.solvers.backends.cpsat.split_request import SplitRequest, SplitSolution
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import WholeScale, memory, scale, shorter


@dataclass(frozen=True, eq=False)
class WholeSplit:
    """A bottleneck in whole numbers.

    Attributes:
        view: the supernodes of the problem.
        scale: what one unit of the model's time is worth.
        request: for CP-SAT.
        complete: whether a plan within the request's cutoff exists wherever the problem has a plan at all.
    """

    view: Hypergraph
    scale: WholeScale
    request: SplitRequest
    complete: bool

    def plans(self, solution: SplitSolution) -> list[Plan]:
        """Return the plan that *solution* stands for."""
        return [Plan.create(self.view.problem, solution.device[self.view.of])]

    def over(self, plan: Plan) -> bool:
        """Return whether a plan exceeds a memory, within the tolerance of the check."""
        problem = self.view.problem
        used = np.bincount(plan.assignment, problem.graph.memory, problem.k)
        return bool((used > problem.memory_room * (1 + 1e-12)).any())


def lower_split(
    problem: Problem, plan: Plan | None = None, *, strict: bool = False, at_least: float = 0.0
) -> WholeSplit:
    """Turn *problem* into whole numbers.

    Args:
        problem: a bottleneck, or a sum of those of both parts, on ``shared`` or ``host``, without streamed parameters.
        plan: a known plan: the request is for plans that cost no more, and the search starts from it.
        strict: True for plans: memory limits hold to the last byte, and rows without the slack of rounding. False for
            bounds: both are as loose as the independent check, so that no plan that it accepts is excluded.
        at_least: a lower bound on the cost of every plan.
    """
    view = hypergraph(problem)
    apart = problem.objective.parts == "separate"
    nets = view.nets(problem.tensor_time) if apart else view.sorted_nets(problem.tensor_time)
    cost = np.array([net.cost for net in nets], np.float64)
    late = view.backward_time if apart else np.zeros_like(view.time)
    time = np.where(view.allowed, view.time - late, np.inf)
    longest = float(np.where(view.allowed, view.time, 0.0).max(axis=1, initial=0.0).sum() + cost.sum())
    longest = longest if plan is None else evaluate(problem, plan).cost
    summands = view.n + len(nets)
    amounts = np.concatenate((time.ravel(), late.ravel(), cost))
    units = scale(amounts, longest, 2 * summands if apart else summands, fine=_names_loads(problem))
    cutoff = units.by(longest)
    sizes, capacities = memory(view.memory, problem.memory_room, strict=strict)
    shared = isinstance(problem.interconnect, Shared)
    asked = SplitRequest(
        time=units.down(shorter(time, longest)) + units.down(late),
        late=units.down(late) if apart else None,
        group=np.asarray(view.of, np.int64),
        nets=tuple((net.pins, int(paid), net.backward) for net, paid in zip(nets, units.down(cost), strict=True)),
        pays=np.array([shared or device.pays_io for device in problem.devices]),
        cutoff=cutoff,
        at_least=min(cutoff, units.down(np.array([at_least])).item()),
        size=sizes,
        capacity=capacities,
        apart=view.conflict_sets,
        rows=tuple(
            lowered(row, units, view.time, cutoff, strict=strict, summands=summands) for row in problem.hard_rows
        ),
        orders=tuple(starmap(lambda *ends: _between(view, *ends), ordered_edges(problem))),
        convex=tuple(starmap(Convex, convex_edges(problem).values())),  # paths are those of nodes, not of supernodes
        hint=None if plan is None else SplitSolution(plan.assignment[view.first]),
    )
    return WholeSplit(view, units, asked, complete=plan is None)


def _names_loads(problem: Problem) -> bool:
    """Return whether a row speaks of loads, which are then to be rounded as little as possible."""
    return any(not isinstance(one, (On, Used)) for row in problem.hard_rows for one, _ in row.terms)


def _between(view: Hypergraph, tails: Ints, heads: Ints) -> tuple[Ints, Ints]:
    """Return the tails and heads of edges between different supernodes, each once."""
    pairs = np.array(view.edges(tails, heads), np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
