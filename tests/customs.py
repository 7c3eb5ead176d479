"""Constraints as a plug-in would add them: not linear in the language's decisions, or of one decision each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pyomo.environ as pyo

from mtpp_dsl.checks.verification import TOLERANCE, loads
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint, Option
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Few", "OfType", "Quiet", "Remainders", "Spread", "Unruled"]


@dataclass(frozen=True, kw_only=True)
class Remainders(CustomConstraint):
    """On a device, nodes of at most so many remainders by three: a set of kinds that needs binaries of its own."""

    keyword = "remainders"
    options: ClassVar = {"at_most": Option("whole", default=1, least=1)}
    symmetric = True
    at_most: int = 1

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        found, chosen = plan.nodes_on(problem.k), set(self.chosen_nodes(problem))
        for d in self.chosen_devices(problem):
            kinds = {v % 3 for v in found[d] & chosen}
            if len(kinds) > self.at_most:
                yield f"{problem.devices[d].name} has nodes of {len(kinds)} remainders"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        nodes, devices = self.chosen_nodes(problem), self.chosen_devices(problem)
        model.has = pyo.Var(range(3), devices, domain=pyo.Binary)
        model.there = pyo.Constraint(nodes, devices, rule=lambda m, v, d: on(v, d) <= m.has[v % 3, d])
        model.few = pyo.Constraint(devices, rule=lambda m, d: sum(m.has[r, d] for r in range(3)) <= self.at_most)

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        for d, nodes in enumerate(plan.nodes_on(problem.k)):
            for r in range(3) if d in self.chosen_devices(problem) else ():
                model.has[r, d].set_value(int(any(v % 3 == r for v in nodes & set(self.chosen_nodes(problem)))))


@dataclass(frozen=True, kw_only=True)
class Unruled(Remainders):
    """The same, told by one who does not say that devices can be swapped, nor sets any start."""

    keyword = "unruled"
    symmetric = False

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class OfType(CustomConstraint):
    """No chosen node is on a device of type A: what a spec says of a device, and no time depends on."""

    keyword = "of_type"
    symmetric = True

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        for d, nodes in enumerate(plan.nodes_on(problem.k)):
            if problem.devices[d].type == "A" and nodes & set(self.chosen_nodes(problem)):
                yield f"{problem.devices[d].name} is of type A"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        kept = [d for d in range(problem.k) if problem.devices[d].type == "A"]
        model.off = pyo.Constraint(self.chosen_nodes(problem), kept, rule=lambda m, v, d: on(v, d) <= 0)


@dataclass(frozen=True, kw_only=True)
class Few(CustomConstraint):
    """A device has some, but not all, of at most so many tensors' ends."""

    keyword = "few_cuts"
    uses = ("cut",)
    symmetric = True
    at_most: int = 1

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        for d, nodes in enumerate(plan.nodes_on(problem.k)):
            nets = [{u, *problem.graph.successors(u).tolist()} for u in range(problem.graph.n)]
            crossing = sum(0 < len(net & nodes) < len(net) for net in nets)
            if d in self.chosen_devices(problem) and crossing > self.at_most:
                yield f"{problem.devices[d].name} has a part of {crossing} tensors"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        model.few = pyo.Constraint(
            self.chosen_devices(problem),
            rule=lambda m, d: sum(cut(u, d) for u in range(problem.graph.n)) <= self.at_most,
        )


@dataclass(frozen=True, kw_only=True)
class Spread(CustomConstraint):
    """Each of the devices has at least so much load, which pushes loads up."""

    keyword = "spread"
    uses = ("load",)
    symmetric = True
    least: float = 0.0

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        total = _loads(problem, plan)
        for d in self.chosen_devices(problem):
            if total[d] < self.least * (1 - TOLERANCE):
                yield f"{problem.devices[d].name} has a load of {total[d]:.6g}"

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        model.least = pyo.Constraint(self.chosen_devices(problem), rule=lambda m, d: load(d) >= self.least)


@dataclass(frozen=True, kw_only=True)
class Quiet(CustomConstraint):
    """A constraint that can be verified, and has no rows."""

    keyword = "quiet"

    def violations(self, problem: Problem, plan: Plan) -> Iterator[str]:
        if len({int(d) for d in plan.assignment}) < problem.k:
            yield "a device has nothing"


def _loads(problem: Problem, plan: Plan) -> list[float]:
    """Return the load of each device; of a batch, the times of its batches."""
    if plan.batches is None:
        return loads(problem, plan.assignment.tolist())
    total = [0.0] * problem.k
    for batch in plan.batches:
        total[batch.device] += batch.end - batch.start
    return total
