"""``time a -> b on gpu[0] -> gpu[1] = 3 ms``: measured times of transfers, in place of what the links would take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.base.spec_limits import check_table
from mtpp_dsl.core.base.units import NONE, TIME
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Interconnect, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, frozen
from mtpp_dsl.core.problem.transfers import transfers
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.expressions import Locals, iterate, number
from mtpp_dsl.language.values.members import members
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, shown

__all__ = ["TransferTimes"]


class TransferTimes:
    """The measured times of transfers, collected before the interconnect is read; later ones replace earlier ones.

    Args:
        graph: with the edges.
        scope: knows the nodes and the devices.
        keeper: holds that all times carry units, or none do.
    """

    def __init__(self, graph: Graph, scope: SpecScope, keeper: UnitKeeper) -> None:
        self.graph, self.scope, self.keeper = graph, scope, keeper
        self.first: Span | None = None
        self.given: list[tuple[list[int], tuple[int, ...], tuple[int, ...], float]] = []
        edges = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
        self.edges = {edge: e for e, edge in enumerate(edges)}

    def statement(self, statement: tree.TransferStatement) -> None:
        """Take the times of a statement: of all edges between its nodes, and of all pairs of its devices.

        Raises:
            Complaint: members that are no nodes or devices, no edge between the nodes, a value that is no time.
        """
        for local in iterate(statement.clauses, self.scope):
            tails, heads = (members((end,), self.scope, local, NodeRef) for end in (statement.tail, statement.head))
            first, second = (members((d,), self.scope, local, DeviceRef) for d in (statement.first, statement.second))
            self.scope.spend(len(tails) * len(heads) + len(first) * len(second), statement.span)
            edges = [self.edges[u, v] for u in tails for v in heads if (u, v) in self.edges]
            if not edges:
                said = f"{statement.tail.span.text} -> {statement.head.span.text}"
                raise Complaint(
                    f"there is no edge {said}", statement.tail.span.to(statement.head.span), code="MTPP-E101"
                )
            if first == second and len(first) == 1:
                span = statement.first.span.to(statement.second.span)
                raise Complaint("a transfer within a device takes no time", span, code="MTPP-E402")
            self.given.append((edges, first, second, self.value(statement, local)))
            self.first = self.first or statement.span

    def value(self, statement: tree.TransferStatement, local: Locals) -> float:
        """Return a time; ``inf`` where nothing can be sent."""
        time = number(statement.value, self.scope, local, "a time")
        if time.value == float("inf"):
            return float("inf")
        span = statement.value.span
        if time.dimension not in (TIME, NONE):
            raise Complaint(f"a transfer takes a time, or a number; this is {time.dimension}", span, code="MTPP-E213")
        if time.value < 0:
            raise Complaint(f"a time must not be negative; this is {shown(time)}", span, code="MTPP-E214")
        self.keeper.add(time, "the time of a transfer", span)
        return float(time.value)

    def result(self, joined: Interconnect) -> Interconnect:
        """Return the links with the times of all transfers: those given, and what the others take without them.

        Raises:
            Complaint: the interconnect is no links, or there would be too many times.
        """
        if self.first is None:
            return joined
        if not isinstance(joined, Links):
            message = f"times of transfers go with interconnect links, not {joined.keyword}"
            raise Complaint(message, self.first, code="MTPP-E403")
        assert self.scope.devices is not None
        k = len(self.scope.devices)
        try:
            check_table("the times of transfers", (self.graph.m, "edges"), (k, "devices"), (k, "devices"))
        except UsageError as error:
            raise Complaint(str(error), self.first, code="MTPP-E901") from None
        table = self._without(joined, k)
        for edges, first, second, time in self.given:
            block = np.array([[d != e for e in second] for d in first])
            for edge in edges:
                part = table[edge][np.ix_(first, second)]
                table[edge][np.ix_(first, second)] = np.where(block, time, part)
        return replace(joined, transfers=frozen(table, np.float64))

    def _without(self, joined: Links, k: int) -> Floats:
        """Return [m, k, k] what each edge takes from each device to each other by the links alone."""
        if self.graph.m == 0:
            return np.zeros((0, k, k))
        known = transfers(joined, self.graph)
        return np.stack([known.of(edge) for edge in range(self.graph.m)])
