"""Parts of Pyomo models, one idea in each.

Blocks import facts, views and Pyomo.
"""
