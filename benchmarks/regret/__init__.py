"""How far ``auto`` is behind the best of the methods that it is made of: a sample of mtpplib, sweeps, ratios, tables.

``python -m benchmarks.regret --help``, from the repository; docs/regret.md says what the figures are.
"""
