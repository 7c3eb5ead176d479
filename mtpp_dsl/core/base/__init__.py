"""Hold what knows nothing of problems: files, units, limits, pickling, and libraries that are imported when used.

It imports :mod:`mtpp_dsl.core.text` and :mod:`mtpp_dsl.errors`.
"""
