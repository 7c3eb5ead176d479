"""Optimal slicing of topological orders into blocks (archer2024, Algorithm 1), and the orders worth slicing.

It imports the runtime and views.
"""
