"""The exact formulation with a row of their own: so many nodes on a device at most."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.problem import Problem


class Few(Exact):
    """At most five nodes on a device."""

    name = "acme-few"
    summary = "exact, with at most five nodes on a device"
    adds = "at most five nodes on a device"
    symmetric = True

    def build(self, problem: Problem) -> Any:
        model = super().build(problem)
        nodes, devices = range(problem.graph.n), range(problem.k)
        model.few = pyo.Constraint(devices, rule=lambda m, d: sum(m.on(v, d) for v in nodes) <= 5)
        return model
