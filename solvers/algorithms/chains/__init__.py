"""Exact dynamic programmes for chains of nodes over devices with links from each to each.

They import problems and what is below; methods and searches use them.
"""
