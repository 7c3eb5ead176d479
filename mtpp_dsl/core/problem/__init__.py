"""State what is asked: the graph, the devices, what joins them, the objective and the constraints.

It imports :mod:`mtpp_dsl.core.base` and what is below it. The public names of a problem are here.
"""
