"""The running of a sweep: workers kept busy, each run held to its limits, and the results recorded.

It imports the core, solving, runtimes, and the files and the store of sweeps.
"""
