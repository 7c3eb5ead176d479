"""Methods made of a formulation and a MIP solver.

They import every other room.
"""
