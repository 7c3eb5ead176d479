"""MIP solvers behind one contract: HiGHS in this process, others by a package or as programs.

It imports the runtime, and is the only place that imports MIP solvers.
"""

from mtpp_dsl.core.base.lazy import before_pyomo

before_pyomo()
