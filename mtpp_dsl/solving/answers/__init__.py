"""JSON answers that come back from a file: whether they are well formed, and whether what they say is so.

It imports checks, reports and what is below them.
"""
