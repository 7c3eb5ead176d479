"""The first argument of functions of Python that are about a problem."""

from __future__ import annotations

import os

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["check_problem"]


def check_problem(given: object, function: str) -> None:
    """Refuse what is no problem, and say how one is made of it.

    Raises:
        UsageError: it is none.
    """
    if isinstance(given, Problem):
        return
    what, remedy = f"a {type(given).__name__}", "mtpp_dsl.load(path)"
    if isinstance(given, (str, os.PathLike)):
        text = os.fspath(given)
        remedy = f"mtpp_dsl.load({text!r})" if isinstance(text, str) and len(text) < 80 else "mtpp_dsl.load(…)"
    else:  # a spec that is parsed, or one that is being made
        remedy = next((f"its method {name}()" for name in ("problem", "build") if hasattr(given, name)), remedy)
    raise UsageError(f"{function} takes a problem, such as {remedy} gives, not {what}")
