"""Searches for splits whose largest load counts, a folder a family.

They import reductions, back ends, algorithms and the runtime; families do not import each other.
"""
