"""The contracts of everything that can be plugged in, and the limits and the progress that methods are given.

They import problems and plans. The public names are here; what is behind each is in the modules of this folder.
"""
