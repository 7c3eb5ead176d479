"""The language: text to syntax tree to problem, and back to formatted text.

It imports formats, generators, the registry, problems and what is below them.
"""
