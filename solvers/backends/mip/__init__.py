"""MIP solvers behind one contract."""

from mtpp_dsl.base.lazy import before_pyomo

before_pyomo()
