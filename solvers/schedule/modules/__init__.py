"""Modules of a graph: the parts between its cut nodes, or that few tensors join, as problems of their own.

They import back ends, algorithms and the runtime.
"""
