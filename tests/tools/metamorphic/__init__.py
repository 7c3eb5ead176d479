"""Relations between answers to related specs: what is wrong in specs that are too large to try all plans.

It imports the project's public functions, its registry and its checks.
"""
