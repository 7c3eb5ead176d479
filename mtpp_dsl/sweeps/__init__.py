"""Sweeps: many problems by many methods, run by run, with the result of each.

A sweep file is read into a :class:`~mtpp_dsl.sweeps.file.sweep.Sweep`, which
:func:`~mtpp_dsl.sweeps.file.expansion.expand` turns into runs. What runs them, stores their outcomes and makes tables
of these belongs here too. It may import data, contracts, the language, the registry, the report and the functions for
Python; no model and no solver.
"""
