"""Evaluation of expressions, with every complaint placed.

Each module named here evaluates the constructs of one sort, and notes its functions in
:mod:`mtpp_dsl.language.values.evaluating` when it is imported.
"""

from __future__ import annotations

from mtpp_dsl.language.values import calls, gathering, naming, operators, selecting
from mtpp_dsl.language.values.evaluating import Locals, evaluate, iterate, number, truth, whole

__all__ = ["Locals", "evaluate", "iterate", "number", "truth", "whole"]

SORTS = (calls, gathering, naming, operators, selecting)
"""The modules that evaluate: without them there is nothing that :func:`evaluate` knows."""
