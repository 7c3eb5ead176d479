"""The supernodes that local search and Scotch place."""

from __future__ import annotations

from dataclasses import fields

from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.core.views.hypergraph import Supernodes, hypergraph
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, ordered_supernodes
from mtpp_dsl.solvers.partition.classical.linear import training_orders

__all__ = ["conflicts", "is_ordered", "movable"]


def is_ordered(problem: Problem) -> bool:
    """Return whether some constraint requires blocks that can be put into a sequence."""
    return problem.acyclic or problem.contiguous


def movable(problem: Problem, types: DeviceTypes) -> OrderedSupernodes:
    """Return the supernodes of a problem.

    Where blocks must come in a sequence, they are those of the ideals, with the order that binds all parts that the
    problem requires and leaves most supernodes; else they are the classes of colocated nodes, without an order.
    """
    if is_ordered(problem):
        choices = training_orders(problem)
        binding = choices[1:] or choices
        return max((ordered_supernodes(problem, types, mode) for mode in binding), key=lambda found: found.n)
    whole = hypergraph(problem, colocated(problem)).on_types(types)
    return OrderedSupernodes(**{field.name: getattr(whole, field.name) for field in fields(Supernodes)})


def conflicts(problem: Problem, supernodes: OrderedSupernodes) -> list[set[int]]:
    """Return, for each supernode, those that must not be on its device."""
    return hypergraph(problem, supernodes.of).conflicts
