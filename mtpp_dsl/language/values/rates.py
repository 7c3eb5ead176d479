"""Bandwidths against the sizes that they carry."""

from __future__ import annotations

from mtpp_dsl.core.base.units import NONE, RATE, TIME, Dimension
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.values.scope import Complaint
from mtpp_dsl.language.values.values import Quantity

__all__ = ["check_rate"]


def check_rate(bandwidth: Quantity, span: Span, graph: Graph) -> Dimension:
    """Return the dimension of size / bandwidth, a time or a number.

    Raises:
        Complaint: sizes carry units and the bandwidth does not, or the other way round.
    """
    sizes = bool(graph.output.any() or graph.sizes.any())
    if sizes and (bandwidth.dimension == RATE) != (graph.size_unit == "B"):
        have = "in B" if graph.size_unit == "B" else "without a unit"
        raise Complaint(
            f"the bandwidth is {bandwidth.dimension}, but the nodes' outputs are {have}",
            span,
            ["a bandwidth is in B/s (or GiB/s, Gbit/s, …) when sizes carry units, and a plain number when none do"],
            code="MTPP-E213",
        )
    return TIME if bandwidth.dimension == RATE else NONE
