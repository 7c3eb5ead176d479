"""The problem of a front: two objectives of a problem, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtpp_dsl.core.errors import UsageError, nearest
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.several import settled_objectives

__all__ = ["NAMED", "with_objectives"]

NAMED = ("bottleneck", "makespan", "latency")
"""Objectives that a front may be asked for where the spec does not state them."""


def with_objectives(problem: Problem, names: Sequence[str]) -> Problem:
    """Return *problem* with two of its objectives, by their labels or names, in this order and without tolerances.

    Raises:
        UsageError: not two names, or no objective of such a name.
    """
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"a front is of two objectives, such as bottleneck,cost; not of {', '.join(names) or 'none'}")
    stated = {objective.called: objective for objective in problem.objectives}
    found = []
    for name in names:
        if name not in stated and name not in NAMED:
            known = [*stated, *(other for other in NAMED if other not in stated)]
            near = nearest(name, known)
            label = f"; label one: minimize {name}: …" if name.isidentifier() and not near else ""
            raise UsageError(f"the spec has no objective {name!r}{near}{label}")
        found.append(replace(stated.get(name) or Objective(name), within=0.0))
    settled, _ = settled_objectives(found, problem.graph, problem.k, problem.interconnect, problem.constraints)
    return replace(problem, objective=settled[0], later=settled[1:])
