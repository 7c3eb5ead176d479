"""Rules by which programs in use place layers on devices, written again from their definitions.

Each takes an instance of ``data/planners`` and returns the device of each node, several pipelines of them, or None
where the rule finds no plan. They import numpy alone.
"""
