"""Bounds on a makespan on links that take longer than those of :mod:`mtpp_dsl.solvers.algorithms.windows`.

They import algorithms and the runtime.
"""
