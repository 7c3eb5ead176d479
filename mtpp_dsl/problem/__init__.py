"""What is asked: the graph, the devices, what joins them, the objective and the constraints.

It imports :mod:`mtpp_dsl.base` and what is below it. The public names of a problem are here.
"""

from mtpp_dsl.problem.problem import Device, Host, Interconnect, Links, Objective, Origin, Problem, Shared

__all__ = ["Device", "Host", "Interconnect", "Links", "Objective", "Origin", "Problem", "Shared"]
