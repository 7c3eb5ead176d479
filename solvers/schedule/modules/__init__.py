"""Modules of a graph: the parts between its cut nodes, or that few tensors join, as arrays, with their canonical forms.

They import back ends, algorithms and the runtime.
"""
