"""Searches over topological orders: random ones, and biased random-key genetic algorithms."""
