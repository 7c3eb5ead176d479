"""What every method answers on some seventy small problems, recorded, and compared after a change.

``python -m tests.tools.golden record FILE`` and ``python -m tests.tools.golden compare [FILE]``. Methods are reached by
the names of the registry alone, each checkout by its own interpreter, so a record outlives moves of modules.
"""
