"""Solve a problem several times: for one objective after the other, and for fronts of two.

It imports data, checks, contracts, and ``api``, which solves once; it knows no method.
"""
