"""Annealing, evolution, and branch and bound of schedules.

They import list schedulers, the state of a schedule, algorithms and the runtime.
"""
