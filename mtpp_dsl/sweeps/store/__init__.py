"""Keep the results of runs, in a database: rows, whole answers, leases, and what joins several databases.

It imports the core and the files of sweeps.
"""
