"""Problems as models and solvers see them: pure data, derived once, without a search.

Views import problems and plans.
"""
