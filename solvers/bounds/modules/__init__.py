"""The bound by modules (ghannane2023, 3.3.2, mended and stronger).

It imports CP-SAT, the bounds of schedules, algorithms and the runtime.
"""
