"""Latencies by subgraphs (tarnawski2020): searches, and lower bounds along paths.

It imports algorithms and the runtime, and no other family.
"""
