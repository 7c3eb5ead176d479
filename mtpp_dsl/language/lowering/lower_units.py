"""Units that have to agree across statements: all times of a problem carry one, or none do; and who pays no I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.base.units import NONE, RATE, TIME, Dimension
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.values import Quantity


def times_in_seconds(
    graph: Graph, joined: Interconnect, channel_in_seconds: bool, keeper: UnitKeeper, span: Span
) -> bool:
    """Return whether the times of a problem are in seconds, rather than plain numbers.

    Args:
        graph: with the work of its nodes.
        joined: the interconnect.
        channel_in_seconds: whether its bandwidths and latencies make seconds of sizes.
        keeper: the unit of the times that statements give.
        span: place of the interconnect.

    Raises:
        Complaint: some are, and some are not.
    """
    work_in_seconds = graph.work_unit in ("s", "FLOP")
    works = bool(graph.work.any() or graph.times)  # times of single devices are in the unit that their keeper has
    nothing = isinstance(joined, Links) and joined.transfers is None and not joined.bandwidth.any()
    nothing |= isinstance(joined, Tree) and not (np.isfinite(joined.uplink).any() or joined.latency.any())
    transfers = not nothing and bool(graph.output.any() or graph.sizes.any())
    if works and transfers and work_in_seconds != channel_in_seconds:
        one, two = ("in s", "without a unit") if work_in_seconds else ("without a unit", "in s")
        raise Complaint(
            f"running times are {one}, but transfers take times {two}: all times carry units, or none do",
            span,
            code="MTPP-E213",
        )
    known = works or transfers or channel_in_seconds
    return given_in_seconds((work_in_seconds if works else channel_in_seconds) if known else None, keeper)


def given_in_seconds(in_seconds: bool | None, keeper: UnitKeeper) -> bool:
    """Return whether times are in seconds; where nothing else says so (None), the times of statements decide.

    Raises:
        Complaint: the times of statements have another unit.
    """
    given = keeper.dimension
    if in_seconds is not None and given is not None and (given == TIME) != in_seconds:
        raise Complaint(
            f"{keeper.first} is {given}, but other times of the problem are "
            f"{TIME if in_seconds else NONE}: all times carry units, or none do",
            keeper.place,
            code="MTPP-E213",
        )
    return given == TIME if in_seconds is None else in_seconds


def check_io(devices: Sequence[Device], joined: Interconnect, span: Span) -> None:
    """Hold that no device has ``io = free`` where it means nothing.

    Raises:
        Complaint: one has, and the interconnect is not ``host``.
    """
    free = [device.name for device in devices if not device.pays_io]
    if free and not isinstance(joined, Host):
        raise Complaint(
            f"{free[0]} has io = free, which has a meaning only on interconnect host, not on {joined.keyword}; "
            f"declare it again with (io = paid)",
            span,
            code="MTPP-E405",
        )


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
