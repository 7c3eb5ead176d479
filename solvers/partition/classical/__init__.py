"""Offer what people compare with: simple methods that give plans, and no bounds.

It imports algorithms and the runtime, and no other family.
"""
