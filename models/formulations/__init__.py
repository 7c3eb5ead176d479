"""Formulations whose optimum is the optimum of the problem.

They put blocks together, and import blocks, facts and extraction.
"""
