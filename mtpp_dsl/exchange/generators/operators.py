"""Graphs of operators with shapes: what each computes, reads and writes, counted."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph

__all__ = ["Operators"]


class Operators:
    """Operators added one after the other, each reading earlier ones.

    The work of an operator is what it computes, or what its bytes cost a device that could compute *intensity* FLOP in
    the time that one byte takes to move: whichever is more (the roofline of Williams, Waterman and Patterson, 2009).
    With *dtype* the graph has costs in place of work, and times follow from the figures of each device.

    Args:
        size: bytes of a number.
        intensity: FLOP per byte at which computing takes as long as moving; 0 counts FLOP alone.
        dtype: the numbers that operators compute with, such as "fp16"; "" for work in FLOP.

    Raises:
        UsageError: both a dtype and an intensity.
    """

    def __init__(self, size: int, intensity: float, dtype: str = "") -> None:
        if dtype and intensity:
            raise UsageError(
                f"dtype = {dtype!r} goes with intensity = 0: the bandwidth of a device then says what bytes cost"
            )
        self._size, self._intensity, self._dtype = size, intensity, dtype
        self._flop: list[float] = []
        self._edges: list[tuple[int, int]] = []
        self._work: list[float] = []
        self._params: list[float] = []
        self._output: list[float] = []
        self._kinds: list[str] = []
        self._labels: list[str] = []

    def add(
        self, kind: str, label: str, reads: Sequence[int], numbers: float, flop: float, weights: float = 0.0
    ) -> int:
        """Add an operator; return its number.

        Args:
            kind: such as "matmul".
            label: what it is in the network.
            reads: the operators whose tensors it reads; none are given to whatever device it is on.
            numbers: in its own tensor.
            flop: what it computes.
            weights: numbers of its own that it reads.
        """
        v = len(self._kinds)
        moved = numbers * self._size + weights * self._size + sum(self._output[u] for u in reads)
        self._edges += [(u, v) for u in reads]
        self._work.append(max(flop, self._intensity * moved))
        self._flop.append(flop)
        self._params.append(weights * self._size)
        self._output.append(numbers * self._size)
        self._kinds.append(kind)
        self._labels.append(label)
        return v

    def wise(
        self, kind: str, label: str, reads: Sequence[int], numbers: float, *, each: float = 1, weights: float = 0.0
    ) -> int:
        """Add an operator that computes *each* FLOP for every number of its tensor."""
        return self.add(kind, label, reads, numbers, each * numbers, weights)

    def norm(self, label: str, reads: Sequence[int], rows: int, width: int) -> int:
        """Add a ``layernorm`` of rows."""
        return self.wise("layernorm", label, reads, rows * width, each=8, weights=2 * width)

    def product(self, label: str, x: int, rows: int, inner: int, outer: int) -> int:
        """Add the ``matmul`` of rows with a matrix of weights, [inner] by [outer]."""
        return self.add("matmul", label, [x], rows * outer, 2.0 * rows * inner * outer, inner * outer)

    def linear(self, label: str, x: int, rows: int, inner: int, outer: int) -> int:
        """Add such a product and the ``add`` of its bias."""
        product = self.product(label, x, rows, inner, outer)
        return self.wise("add", f"{label} bias", [product], rows * outer, weights=outer)

    def graph(self, kept: float = 0.0) -> Graph:
        """Return the graph, in FLOP and bytes, with the nodes ``v[0]``, ``v[1]``, ….

        Its memory is that of the parameters and of a share *kept* of the tensors, 0 where those come and go.
        """
        n = len(self._kinds)
        costs = None
        if self._dtype:
            costs = Costs.create(range(n), flop=self._flop, kinds=self._kinds, dtypes=[self._dtype] * n)
        return Graph.create(
            [f"v[{v}]" for v in range(n)],
            self._edges,
            work=0.0 if self._dtype else self._work,
            params=self._params,
            output=self._output,
            memory=[one + kept * other for one, other in zip(self._params, self._output, strict=True)],
            kinds=self._kinds,
            labels=self._labels,
            work_unit="s" if self._dtype else "FLOP",
            size_unit="B",
            costs=costs,
        )
