"""TODO solvers/splitting."""
