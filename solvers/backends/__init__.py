"""Solvers that others wrote: MIP solvers, and CP-SAT in its processes.

Back ends import algorithms, the runtime and views.
"""
