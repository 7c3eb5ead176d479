"""Searches for schedules on links, of one sample or of batches, a folder a family.

They import back ends, algorithms and the runtime.
"""
