"""Read what comes from elsewhere: files of graphs and models, models of frameworks, generators, the library of devices.

It imports the core.
"""
