"""Modules in a row, by assignment programmes over classes of equal nodes: bounds and plans, module by module.

It may import the ground floor of the solvers, the back ends, and the chains of anchors of ``decomposition``.
"""
