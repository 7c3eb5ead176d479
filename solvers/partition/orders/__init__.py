"""Search for the order of unequal devices: ordered set partitions, and the chain of ideals as a programme.

It imports algorithms, reductions, the runtime and MIP solvers.
"""
