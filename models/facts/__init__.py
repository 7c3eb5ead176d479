"""Derive what is true of every plan that costs no more than a known one: data that makes models stronger.

Facts import views and what is below them, and no Pyomo.
"""
