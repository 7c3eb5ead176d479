"""The commands ``mtpp bench …``: one file each, which imports the work of its command when that is called.

They may import the other parts of the command line, sweeps, and what these are made of; ``app`` alone is imported when
``mtpp`` starts.
"""
