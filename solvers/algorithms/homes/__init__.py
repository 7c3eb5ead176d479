"""Exact programmes over ideals for splits on networks, which remember where each tensor that is still read was made.

They import the lattice of ideals, problems and what is below; methods and searches use them.
"""
