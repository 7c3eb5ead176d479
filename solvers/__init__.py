"""Everything that solves: MIP back ends, algorithms, bounds; installed as ``mtpp_dsl.solvers``.

The modules that the registry names import what is large inside ``solve``, so that the command line can list methods,
and ask which of them accept a problem, without loading all of it.
"""

if __name__ == "solvers":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.solvers, not solvers (is the repository root on sys.path?)")
