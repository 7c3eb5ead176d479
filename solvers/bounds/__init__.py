"""Combinatorial lower bounds."""
