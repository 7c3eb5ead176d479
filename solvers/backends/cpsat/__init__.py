"""Scheduling by CP-SAT, in processes of its own."""
