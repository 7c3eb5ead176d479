"""Everything that solves, in rooms named for what they solve; installed as ``mtpp_dsl.solvers``.

From the ground up: ``runtime`` and ``algorithms``; ``reductions`` and ``backends``; the families ``bounds``,
``partition``, ``schedule`` and ``latency``, which import nothing of each other; ``methods``, which puts them together.
``proofs`` checks what they say and imports none of them. tests/test_layers.py holds what each may import.
"""

if __name__ == "solvers":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.solvers, not solvers (is the repository root on sys.path?)")
