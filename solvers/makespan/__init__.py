"""Searches for short schedules on links: annealing, an evolutionary algorithm, and branch and bound."""
