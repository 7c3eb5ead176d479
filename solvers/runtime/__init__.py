"""Offer what every search needs while it runs: answers, time, processes, compiled loops, smaller problems.

It imports views and contracts, and no other room of the solvers.
"""
