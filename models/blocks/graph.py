"""The sets and data that the other blocks are written over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.graph import Floats
from mtpp_dsl.problem import Problem

__all__ = ["graph_data"]


def graph_data(model: Any, problem: Problem, parts: int, tensors: Floats) -> None:
    """Add the sets of a model of *problem* that cuts the graph into *parts*.

    Adds ``V`` nodes; ``D`` parts 0..parts-1 (devices, or superblocks); ``E`` edges; ``U`` the nodes whose
    tensor costs something; ``EU`` the edges that carry one; ``size[u]`` what one payment of it costs.

    Args:
        model: an empty model.
        problem: where the graph comes from.
        parts: how many parts.
        tensors: [n] cost of one payment of each tensor, in the model's unit.
    """
    graph = problem.graph
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    paid = np.flatnonzero(tensors > 0).tolist()
    model.V = pyo.RangeSet(0, graph.n - 1)
    model.D = pyo.RangeSet(0, parts - 1)
    model.E = pyo.Set(initialize=edges, dimen=2)
    model.U = pyo.Set(initialize=paid)
    model.EU = pyo.Set(initialize=[(u, v) for u, v in edges if tensors[u] > 0], dimen=2)
    model.size = pyo.Param(model.U, initialize={u: float(tensors[u]) for u in paid})
