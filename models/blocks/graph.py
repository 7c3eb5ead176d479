"""The sets and data that the other blocks are written over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.views.hypergraph import Net


def graph_data(model: Any, nodes: int, parts: int, edges: Sequence[tuple[int, int]], nets: Sequence[Net]) -> None:
    """Add the sets of a model that cuts a graph into *parts*.

    Adds ``V`` nodes; ``D`` parts 0..parts-1 (devices, or superblocks); ``E`` edges; ``U`` the nets, which are
    tensors that cost something, or several of the same pins; ``EU`` a triple (net, producer, consumer) for each
    consumer; ``size[u]`` what one payment of a net costs.

    Args:
        model: an empty model.
        nodes: how many nodes, or classes of nodes that are together.
        parts: how many parts.
        edges: between them.
        nets: in the model's unit.
    """
    model.V = pyo.RangeSet(0, nodes - 1)
    model.D = pyo.RangeSet(0, parts - 1)
    model.E = pyo.Set(initialize=list(edges), dimen=2)
    model.U = pyo.RangeSet(0, len(nets) - 1)
    model.EU = pyo.Set(initialize=[(u, net.pins[0], v) for u, net in enumerate(nets) for v in net.pins[1:]], dimen=3)
    model.size = pyo.Param(model.U, initialize={u: net.cost for u, net in enumerate(nets)})
