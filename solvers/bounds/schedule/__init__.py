"""Bounds on makespans and batches: by intervals of time, and by modules (ghannane2023, 3.3.2, mended and stronger).

They import CP-SAT, algorithms and the runtime.
"""
