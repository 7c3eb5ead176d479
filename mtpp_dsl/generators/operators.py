"""Graphs of operators with shapes: what each computes, reads and writes, counted."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.problem.graph import Graph

__all__ = ["Operators"]


class Operators:
    """Operators added one after the other, each reading earlier ones.

    The work of an operator is what it computes, or what its bytes cost a device that could compute *intensity* FLOP in
    the time that one byte takes to move: whichever is more (the roofline of Williams, Waterman and Patterson, 2009).

    Args:
        size: bytes of a number.
        intensity: FLOP per byte at which computing takes as long as moving; 0 counts FLOP alone.
    """

    def __init__(self, size: int, intensity: float) -> None:
        self._size, self._intensity = size, intensity
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
        self._params.append(weights * self._size)
        self._output.append(numbers * self._size)
        self._kinds.append(kind)
        self._labels.append(label)
        return v

    def graph(self, kept: float = 0.0) -> Graph:
        """Return the graph, in FLOP and bytes, with the nodes ``v[0]``, ``v[1]``, ….

        Its memory is that of the parameters and of a share *kept* of the tensors, 0 where those come and go.
        """
        return Graph.create(
            [f"v[{v}]" for v in range(len(self._kinds))],
            self._edges,
            work=self._work,
            params=self._params,
            output=self._output,
            memory=[one + kept * other for one, other in zip(self._params, self._output, strict=True)],
            kinds=self._kinds,
            labels=self._labels,
            work_unit="FLOP",
            size_unit="B",
        )
