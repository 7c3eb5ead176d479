"""Policies that place nodes one after another, trained by trial: method ``placeto`` and ``mtpp train``.

They import list schedulers, algorithms and the runtime.
"""
