"""Nodes that may be divided between devices: what must be used and done whatever the plan is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Contiguous
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.tensor_cut import Cut
from mtpp_dsl.models.facts.user_rows import PASSED
from mtpp_dsl.models.facts.within import BlockFacts
from mtpp_dsl.models.formulations.exact import Exact

ORDERS = (Acyclic, BreakSymmetry, Contiguous)
"""Constraints that say nothing once nodes may be divided."""


class Divided(Exact):
    """The exact model with nodes that may be divided between devices, in shares, and without tensors between these.

    Devices are used or not, as a whole; memory, pins, labelled rows, penalties and the objective are those of the exact
    model. So it has few binaries whatever the size of the graph, and every plan is one of its solutions. Where a load
    may be pushed up, by a row or the objective, it may be larger than the shares by what all tensors take.
    """

    name = "divided"
    exact = False
    role: Role = "relaxation"
    summary = "bound for linear objectives: nodes may be divided between devices, tensors cost nothing"
    floor = "the bounds of the model's own variables"
    scopes = tuple(replace(scope, objectives=("linear", "bottleneck"), phases=False) for scope in Exact.scopes[:1])

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is a bound on the problem's cost."""
        relaxed = problem.with_constraints([c for c in problem.constraints if not isinstance(c, ORDERS)])
        model = super().build(relaxed)
        if model.component("used") is not None:
            _tie(model, relaxed)
        return model

    def _assign(self, model: Any, view: Hypergraph, facts: BlockFacts | None) -> assignment.On:  # noqa: ARG002
        """Add the share of each node on each device."""
        on = assignment.assigned(model, view.allowed)
        for variable in model.x.values():
            variable.domain = pyo.UnitInterval
        return on

    def _cut(
        self,
        model: Any,
        on: assignment.On,  # noqa: ARG002
        exact: Sequence[int],
        paying: Sequence[int],
        split: SplitNets | None,  # noqa: ARG002
    ) -> Cut:
        """Add what tensors may push a load up by; nothing where that gains nothing."""
        most = float(sum(model.size[u] for u in model.U)) if exact and paying else 0.0
        free = sorted({*exact} & {*paying})
        model.tensors = pyo.Var(free, bounds=(0.0, most))
        return lambda d, _=None: model.tensors[d] if d in free else 0.0

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set nothing: a linear programme needs no start."""

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return no plan.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{model.name!r} divides nodes between devices: it gives a bound for {problem!r}, no plan")


def _tie(model: Any, problem: Problem) -> None:
    """Add that memory is on devices that are used, and that of equal devices the first are used.

    Formula: ``sum_v memory(v) x[v,d] / limit(d) <= u[d]``; ``u[d] >= u[e]``.
    Source -> target: ``constraint memory``, equal devices -> rows on ``u``.
    Exact: some best plan uses the first of equal devices.
    """
    part = model.tied = pyo.Block(concrete=True)
    part.rows = pyo.ConstraintList()
    used, sizes = model.used.u, hypergraph(problem).memory
    for d in model.used.D:
        limit = float(problem.memory_limit[d]) * (1 + 2 * PASSED)
        if 0 < limit < np.inf:
            part.rows.add(sum(float(sizes[v]) / limit * model.x[v, d] for v in model.V) <= used[d])
    for alike in interchangeable(problem):
        for d, e in pairwise(alike):
            if d in model.used.D and e in model.used.D:
                part.rows.add(used[d] >= used[e])
