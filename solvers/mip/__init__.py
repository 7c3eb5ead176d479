"""MIP solvers behind one contract."""
