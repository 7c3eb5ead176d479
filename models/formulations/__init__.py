"""Formulations whose optimum is the optimum of the problem."""
