"""Searches for certificates of bounds that others have proved: they find what a checker of ours then proves again.

Method ``chunk-order`` is among them: its bound is what such a certificate proves.
They import the checkers, whose rows they are about, and the solvers' back ends; nothing of the methods.
"""
