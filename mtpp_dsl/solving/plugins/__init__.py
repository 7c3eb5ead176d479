"""Serve every plug-in: options that it honours, its time limit, and what the conformance suite asks.

It imports contracts, the registry, problems, plans and checks.
"""
