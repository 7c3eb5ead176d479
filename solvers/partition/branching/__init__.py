"""Exact search for splits into few or small blocks, with weights that bound what is left.

It imports reductions, algorithms, linear programmes of HiGHS and the runtime, and no other family.
"""
