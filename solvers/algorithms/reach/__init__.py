"""Bound how much memory and work a beginning of an acyclic split can have: what bounds, searches and programmes share.

It imports problems, views and other algorithms.
"""
