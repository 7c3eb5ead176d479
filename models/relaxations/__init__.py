"""Formulations that give a bound and no plan.

They put blocks together, and import blocks and facts.
"""
