"""Algorithms that several families use and that know no method: flows, orders, timing, cut nodes.

They import the runtime.
"""
