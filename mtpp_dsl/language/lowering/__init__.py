"""From statements to a problem: graph, devices, times, objective and constraints, with every complaint collected.

It imports the core, exchange, syntax and values. The way in is :mod:`mtpp_dsl.language.lowering.lower`.
"""
