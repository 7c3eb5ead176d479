"""Hold what a file of a format holds."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.problem.devices import Device, Interconnect
from mtpp_dsl.core.problem.graph import Graph

__all__ = ["Workload"]


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Short, Picklable):
    """What a file holds: a graph, and devices where it has them.

    Attributes:
        graph: the graph.
        devices: in the file's order; empty if it has none.
        interconnect: what joins the devices; None if the file does not say.
        warnings: what the user should be told about this file.
    """

    graph: Graph
    devices: tuple[Device, ...] = ()
    interconnect: Interconnect | None = None
    warnings: tuple[str, ...] = ()
