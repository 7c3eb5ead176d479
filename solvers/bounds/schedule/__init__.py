"""Bounds on a makespan on links, and on that of a batch.

They import algorithms and the runtime.
"""
