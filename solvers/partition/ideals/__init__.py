"""Exact splits by a dynamic programme over ideals, on one level of devices or on two.

It imports reductions, algorithms and the runtime, and no other family.
"""
