"""Show what many runs show together: figures, tables, curves, comparisons, pages of results.

It imports the core, show, and the files and the store of sweeps.
"""
