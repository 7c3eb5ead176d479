"""Annealing of splits for weighted sums of decisions, with labelled rows that must hold and rows with a penalty.

It imports data, views, the runtime and the compiler; no other search.
"""
