"""A constraint that is not linear in the language's decisions: at most so many kinds of node on a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pyomo.environ as pyo

from mtpp_dsl.contracts import CustomConstraint, Option
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Kinds(CustomConstraint):
    """``constraint kinds [nodes] [on devices] (at_most = 2)``: each device runs nodes of at most two kinds."""

    keyword = "kinds"
    options: ClassVar = {"at_most": Option("whole", default=2, least=1)}
    symmetric = True
    at_most: int = 2

    def members(self, problem: Problem) -> dict[str, list[int]]:
        """Return the nodes of each kind, of those that the constraint speaks of."""
        found: dict[str, list[int]] = {}
        for v in self.chosen_nodes(problem):
            found.setdefault(problem.graph.kinds[v], []).append(v)
        return found

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        on = plan.nodes_on(problem.k)
        for d in self.chosen_devices(problem):
            kinds = [kind or "no kind" for kind, nodes in self.members(problem).items() if on[d] & set(nodes)]
            if len(kinds) > self.at_most:
                yield f"{problem.devices[d].name} has nodes of {len(kinds)} kinds: {', '.join(sorted(kinds))}"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        members, devices = self.members(problem), self.chosen_devices(problem)
        model.has = pyo.Var(list(members), devices, domain=pyo.Binary)
        model.there = pyo.ConstraintList()
        for kind, nodes in members.items():
            for d in devices:
                for v in nodes:
                    model.there.add(on(v, d) <= model.has[kind, d])
        model.few = pyo.Constraint(devices, rule=lambda m, d: sum(m.has[kind, d] for kind in members) <= self.at_most)
