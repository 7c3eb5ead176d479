"""The independent checks of plans, and small problems solved by trying everything, from the definitions alone.

They import problems and plans, and neither views, models nor solvers: they cannot inherit a mistake of those.
"""
