"""Bounds on a bottleneck by counting and minimum cuts.

They import algorithms and the runtime.
"""
