"""Schedules of batches: what heuristics, bounds and models of a batched throughput share (ghannane2023, chapter 3)."""
