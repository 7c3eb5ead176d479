"""Splits whose devices must stand in an order, by simulated annealing with an order that changes."""
