"""State what is asked: the graph, the devices, what joins them, the objective."""

from __future__ import annotations

from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared, Tree
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.spec_origin import Origin

__all__ = ["Device", "Host", "Interconnect", "Links", "Objective", "Origin", "Problem", "Shared", "Tree"]
