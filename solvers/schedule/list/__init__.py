"""List schedulers: one node after another, on the device of the best score that leaves room for all others."""
