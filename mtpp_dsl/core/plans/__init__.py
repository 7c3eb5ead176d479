"""Hold what is answered: plans, schedules and batches, what they cost, and results with their bounds.

It imports :mod:`mtpp_dsl.problem` and what is below it.
"""
