"""Graphs of operators with shapes: what each computes, reads and writes, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least


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
        self,
        kind: str,
        label: str,
        reads: Sequence[int],
        numbers: float,
        *,
        per_number: float = 1,
        weights: float = 0.0,
    ) -> int:
        """Add an operator that computes *per_number* FLOP for every number of its tensor."""
        return self.add(kind, label, reads, numbers, per_number * numbers, weights)

    def norm(self, label: str, reads: Sequence[int], rows: int, width: int) -> int:
        """Add a ``layernorm`` of rows."""
        return self.wise("layernorm", label, reads, rows * width, per_number=8, weights=2 * width)

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


def parts_of(name: str, shards: int, heads: int) -> int:
    """Return into how many parts heads are cut, 0 for as many as there are heads.

    Raises:
        UsageError: fewer than none, or a number that does not divide the heads; *name* is that of the option.
    """
    at_least(name, shards, 0)
    if shards and heads % shards:
        raise UsageError(f"{name} is {shards}; it must divide the heads, {heads}")
    return shards or heads


@dataclass(frozen=True)
class Attention:
    """An attention of rows to rows, whose operators are those of each part of its heads.

    Attributes:
        net: where operators are added.
        rows: how many there are in all.
        span: how many of them each looks at.
        width: numbers of a row.
        inner: numbers of queries, and of keys and of values, of all heads together.
        heads: how many.
        parts: into how many equal parts the heads are cut.
        biased: whether queries, keys and values have a bias.
        gated: whether what comes out is multiplied by a sigmoid of the rows (Jumper et al., 2021, Algorithm 7).
    """

    net: Operators
    rows: int
    span: int
    width: int
    inner: int
    heads: int
    parts: int
    biased: bool = True
    gated: bool = False

    def add(self, label: str, x: int, *, table: float = 0.0, bias: int | None = None, masked: bool = False) -> int:
        """Add the attention of the rows *x*: all parts, ``concat``, the way back to the width, and its bias.

        Args:
            label: of its operators.
            x: the operator whose rows they are.
            table: numbers of a table that is added to the scores (relative positions), of all heads together.
            bias: an operator whose tensor is added to the scores.
            masked: whether a mask, given to every device, is added to the scores.
        """
        contexts = [
            self._part(f"{label} part {number}", x, table / self.parts, bias, masked) for number in range(self.parts)
        ]
        joined = self.net.add("concat", f"{label} concat", contexts, self.rows * self.inner, 0.0)
        return self.net.linear(f"{label} output", joined, self.rows, self.inner, self.width)

    def _part(self, label: str, x: int, table: float, bias: int | None, masked: bool) -> int:
        """Add the operators of one part; return the last."""
        net, inner = self.net, self.inner // self.parts
        size, scores = self.rows * inner, self.rows * self.span * (self.heads // self.parts)
        products = 2.0 * self.rows * self.span * inner
        query, key, value = (self._rows(f"{label} {what}", x, inner) for what in ("query", "key", "value"))
        key = net.wise("transpose", f"{label} transpose", [key], size, per_number=0)
        score = net.add("matmul", f"{label} scores", [query, key], scores, products)
        score = net.wise("mul", f"{label} scale", [score], scores)
        if table or bias is not None:
            added: Sequence[int] = [score] if bias is None else [score, bias]
            score = net.wise("add", f"{label} bias", added, scores, weights=table)
        if masked:
            score = net.wise("add", f"{label} mask", [score], scores)
        score = net.wise("softmax", f"{label} softmax", [score], scores, per_number=5)
        context = net.add("matmul", f"{label} context", [score, value], size, products)
        if not self.gated:
            return context
        gate = net.linear(f"{label} gate", x, self.rows, self.width, inner)
        gate = net.wise("sigmoid", f"{label} gate", [gate], size, per_number=4)
        return net.wise("mul", f"{label} gated", [context, gate], size)

    def _rows(self, label: str, x: int, inner: int) -> int:
        make = self.net.linear if self.biased else self.net.product
        return make(label, x, self.rows, self.width, inner)
