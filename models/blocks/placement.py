"""Nodes together, nodes apart; pin, forbid and support fix variables in ``assignment.assigned``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from mtpp_dsl.constraints import Colocate, Separate
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.components import constrain
from mtpp_dsl.problem import Problem

__all__ = ["by_first_use", "colocate", "separate"]


def colocate(model: Any, problem: Problem, on: On) -> None:
    """Put groups of nodes on one device.

    Formula: ``on(a,d) = on(b,d)`` for the first member a and every other b.
    Source -> target: ``constraint colocate`` -> rows. Exact. Reference: tarnawski2020, section 8 (colour classes).
    """
    pairs = {(group.nodes[0], v) for group in problem.of(Colocate) for v in group.nodes[1:] if v != group.nodes[0]}
    if pairs:
        part = model.colocate = pyo.Block(concrete=True)
        part.pairs = pyo.Set(initialize=sorted(pairs), dimen=2)
        constrain(part, "together", part.pairs, model.D, rule=lambda _, a, b, d: on(a, d) - on(b, d) == 0)


def separate(model: Any, problem: Problem, on: On) -> None:
    """Keep the members of groups apart.

    Formula: ``sum_{v in group} on(v,d) <= 1``.
    Source -> target: ``constraint separate`` -> a row per group and device. Exact.
    """
    groups = [sorted(set(group.nodes)) for group in problem.of(Separate) if len(set(group.nodes)) > 1]
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
