"""What is asked: the graph, the devices, what joins them, the objective and the constraints.

It imports :mod:`mtpp_dsl.base` and what is below it. The public names of a problem are here.
"""

from mtpp_dsl.problem.devices import Device
from mtpp_dsl.problem.interconnects import Host, Interconnect, Links, Shared, Tree
from mtpp_dsl.problem.objective import Objective
from mtpp_dsl.problem.problem import Origin, Problem

__all__ = ["Device", "Host", "Interconnect", "Links", "Objective", "Origin", "Problem", "Shared", "Tree"]
