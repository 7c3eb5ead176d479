"""Steps that make a problem smaller and map a plan of it back.

They import algorithms, the runtime and views.
"""
