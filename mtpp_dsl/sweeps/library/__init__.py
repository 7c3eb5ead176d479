"""Libraries of problems: sets with the best known plan and bound of each, such as ``benchmarks/mtpplib``.

What reads and writes their records, checks an answer from scratch before it becomes one, and improves them belongs
here. It may import sweeps, data, the checks, the answers, the contracts and the registry; no model and no solver.
"""
