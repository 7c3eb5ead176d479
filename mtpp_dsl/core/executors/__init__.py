"""Where processes of ours run: on this machine, or on those of a cluster.

It imports data, contracts and the registry; Dask when it is asked for.
"""
