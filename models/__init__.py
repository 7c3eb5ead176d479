"""Pyomo models: facts, blocks, formulations and relaxations; installed as ``mtpp_dsl.models``.

They are built from the core and Pyomo, and import no solver.
"""

if __name__ == "models":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.models, not models (is the repository root on sys.path?)")
