"""Plans of several routes of a chain of nodes: pipelines beside each other, shared stages, shared ranges, anything.

They import problems, plans and what is below; the method ``copies`` uses them.
"""
