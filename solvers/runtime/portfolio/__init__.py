"""Several methods at once, each lane of them in a process of its own."""
