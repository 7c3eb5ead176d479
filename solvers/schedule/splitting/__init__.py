"""MILP-SPLIT: modules along few channels, and a schedule put together from theirs (ghannane2023, 3.3).

It imports modules, the searches that improve a schedule, CP-SAT, algorithms and the runtime.
"""
