"""Evaluate what expressions are worth: names and their meanings in a scope, arithmetic with units, functions, params.

It imports the core and the syntax. The way in is :mod:`mtpp_dsl.language.values.expressions`.
"""
