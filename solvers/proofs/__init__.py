"""Checkers of certificates of bounds: each derives its bound from the problem again, and imports no other solver."""
