"""Dynamic programmes over ideals (tarnawski2020, 5.1): the lattice, and the pass that goes through it.

It imports the runtime and views.
"""
