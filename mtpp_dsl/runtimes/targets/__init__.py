"""Runtimes as targets: the constraints that each stands for, the files that it takes, and reading them back.

One file holds one form. Targets import data, contracts and models, and are found through the registry
(:data:`mtpp_dsl.registry.TARGETS`).
"""
