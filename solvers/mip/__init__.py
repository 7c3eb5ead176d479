"""MIP solvers behind one contract."""

from mtpp_dsl.lazy import before_pyomo

before_pyomo()
