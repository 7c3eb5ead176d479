"""Everything that solves: MIP back ends, algorithms, bounds; installed as ``mtpp_dsl.solvers``."""

if __name__ == "solvers":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.solvers, not solvers (is the repository root on sys.path?)")
