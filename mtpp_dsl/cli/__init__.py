"""The command line ``mtpp``.

It imports all of the core, and reaches models and solvers through the registry.
"""
