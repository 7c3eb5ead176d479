"""Latencies by subgraphs (tarnawski2020): searches, and lower bounds along paths."""
