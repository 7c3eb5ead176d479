"""List schedulers: one node after another, on the device of the best score that leaves room for all others.

It imports the state of a schedule, algorithms and the runtime.
"""
