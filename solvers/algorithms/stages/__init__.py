"""Chains of stages: what a stage costs on every shape, and the best chains of ideals by several measures.

It imports the algorithms of ideals and views.
"""
