"""Sets of supernodes, and splits of two devices, one supernode after the other along an order with few open tensors.

It imports no other part of the solvers.
"""
