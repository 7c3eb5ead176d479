"""Schedules by large neighbourhoods: parts of a schedule are made anew by CP-SAT.

It imports CP-SAT, algorithms and the runtime.
"""
