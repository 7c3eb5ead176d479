"""Hold what statements say of devices and operators until something is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Overlap, Send
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.values.values import Quantity

__all__ = ["Hanging", "LawOperator"]


@dataclass(frozen=True)
class Hanging:
    """What a device or a switch says of its place in a tree: names and numbers as read, with the statement's place."""

    span: Span
    above: str | None = None
    named_at: Span | None = None
    uplink: Quantity | None = None
    latency: Quantity | None = None
    duplex: Literal["full", "half"] | None = None
    overlap: Overlap | None = None
    send: Send | None = None


@dataclass(frozen=True)
class LawOperator:
    """The operator whose time a law is asked for.

    Attributes:
        costs: of the graph, settled (see :meth:`mtpp_dsl.core.problem.costs.Costs.settled`).
        item: number of the operator among them.
    """

    costs: Costs
    item: int

    @property
    def node(self) -> int:
        """The number of its node."""
        return int(self.costs.owner[self.item])

    def called(self, graph: Graph) -> str:
        """Return its name, for messages."""
        name = graph.names[self.node]
        own = self.costs.names[self.item]
        return f"{own!r} of {name!r}" if own and own != name else f"{name!r}"
