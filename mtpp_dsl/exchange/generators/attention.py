"""Multi-head attention with its heads, or equal parts of them, apart: what windows and biased attention share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.generators.common import at_least
from mtpp_dsl.exchange.generators.operators import Operators

__all__ = ["Attention", "parts_of"]


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
        key = net.wise("transpose", f"{label} transpose", [key], size, each=0)
        score = net.add("matmul", f"{label} scores", [query, key], scores, products)
        score = net.wise("mul", f"{label} scale", [score], scores)
        if table or bias is not None:
            added: Sequence[int] = [score] if bias is None else [score, bias]
            score = net.wise("add", f"{label} bias", added, scores, weights=table)
        if masked:
            score = net.wise("add", f"{label} mask", [score], scores)
        score = net.wise("softmax", f"{label} softmax", [score], scores, each=5)
        context = net.add("matmul", f"{label} context", [score, value], size, products)
        if not self.gated:
            return context
        gate = net.linear(f"{label} gate", x, self.rows, self.width, inner)
        gate = net.wise("sigmoid", f"{label} gate", [gate], size, each=4)
        return net.wise("mul", f"{label} gated", [context, gate], size)

    def _rows(self, label: str, x: int, inner: int) -> int:
        make = self.net.linear if self.biased else self.net.product
        return make(label, x, self.rows, self.width, inner)
