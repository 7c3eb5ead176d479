"""Graph generators behind ``graph from generator``."""
