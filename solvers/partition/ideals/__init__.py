"""Exact splits by a dynamic programme over ideals."""
