"""Nodes apart. Nodes together are one in a model; where one may not go ``assignment.assigned`` fixes a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain, impossible


def separate(model: Any, problem: Problem, home: Sequence[int], on: On, copies: Sequence[int] = (0,)) -> None:
    """Keep the members of groups apart, in every one of *copies* by itself.

    Formula: ``sum_{v in group} on(v,d) <= 1``.
    Source -> target: ``constraint separate`` -> a row per group and device. Exact.

    Args:
        model: with ``D``.
        problem: whose constraints.
        home: [n] what stands for each node in *on*; two nodes with one cannot be apart.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        copies: what to add to *home* in each.
    """
    apart = [sorted(home[v] for v in set(group.nodes)) for group in problem.of(Separate) if len(set(group.nodes)) > 1]
    groups = [[first + one for one in group] for first in copies for group in apart]
    if any(len(set(group)) < len(group) for group in groups):
        impossible(model, "together_and_apart")
        return
    if groups:
        part = model.separate = pyo.Block(concrete=True)
        part.groups = pyo.RangeSet(0, len(groups) - 1)
        part.members = pyo.Set(part.groups, initialize=dict(enumerate(groups)))
        constrain(part, "apart", part.groups, model.D, rule=lambda b, g, d: sum(on(v, d) for v in b.members[g]) <= 1)


def by_first_use(model: Any, classes: Sequence[tuple[int, ...]]) -> None:
    """Number the devices of each class in the order in which the nodes, by number, first use them.

    Formula: ``x[v,c_j] = 0`` for j > v, where c_0, c_1, … are the members of a class.
    Source -> target: interchangeable devices -> fixed variables of ``assignment.assigned``.
    Exact if the members of each class may be swapped in every plan and no other block has used the swaps:
    c_j is not used before c_0, …, c_{j-1} are, which takes j earlier nodes.
    """
    for members in classes:
        for j, d in enumerate(members):
            for v in range(min(j, len(model.V))):
                model.x[v, d].fix(0)
