"""Problems made in Python, statement by statement, and the text that says the same.

It imports what reads specs (:mod:`mtpp_dsl.language`), :mod:`mtpp_dsl.formats` and data.
"""
