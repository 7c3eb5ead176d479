"""Checkers of certificates of bounds: each derives its bound from the problem again.

They import problems, plans and checks, and nothing of what finds bounds: they share no code with it.
"""
