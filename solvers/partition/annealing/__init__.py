"""Splits without an order between the devices, by simulated annealing."""
