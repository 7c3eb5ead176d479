"""Splits by simulated annealing, with an order between the devices and without one.

It imports algorithms and the runtime, and no other family.
"""
