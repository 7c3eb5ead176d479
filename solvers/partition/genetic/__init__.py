"""Searches over topological orders: random ones, and biased random-key genetic algorithms.

It imports reductions, algorithms and the runtime, and no other family.
"""
