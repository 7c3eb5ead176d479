"""TODO solvers/mip."""
