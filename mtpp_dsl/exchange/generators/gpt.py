"""Stacks of transformer layers, operator by operator, with the shapes of GPT."""

from __future__ import annotations

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size
from mtpp_dsl.exchange.generators.operator_graphs import Operators

SHARED, PER_HEAD = 11, 12
"""Operators of a layer, and for every head or shard."""

FUSED, PER_SHARD = 4, 4
"""The same of fused layers."""


def gpt(
    layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    sequence: int = 1024,
    batch: int = 1,
    vocabulary: int = 0,
    bytes: int = 2,  # noqa: A002  the word of the language
    intensity: float = 100.0,
    shards: int = 0,
    fused: bool = False,
    dtype: str = "",
) -> Graph:
    """Return a decoder's inference graph with every head by itself: ``layers * (11 + 12 heads)`` operators.

    That is the number of operators of all models of zhang2023, Table IV (of its GPT-3 1.3B with the 24 layers that this
    model has, not the 32 printed there). Which operators they are the paper does not say; here, in a layer:

    * ``layernorm``; for every head ``matmul`` and ``add`` for queries, keys and values, ``transpose`` of the keys,
      ``matmul`` of the scores, ``mul`` (scale), ``add`` (mask), ``softmax``, ``matmul`` with the values;
    * ``concat``, ``matmul``, ``add``, ``add`` (residual), ``layernorm``, ``matmul`` to 4 times the width, ``add``,
      ``gelu``, ``matmul`` back, ``add`` (residual, with the bias).

    With *fused* what one kernel runs is one operator, and both halves of a layer are cut into shards, whose parts of a
    matrix product are added up (Shoeybi et al., 2019): ``layernorm``; for every shard ``attention`` (queries, keys,
    values, scores, context) and a part of the output ``matmul``; ``add`` (parts, bias, residual); ``layernorm``; for
    every shard ``matmul`` to its part of 4 times the width with its ``gelu``, and ``matmul`` back; ``add``.

    Kinds are these words, labels say layer and head. Work is in FLOP, sizes in bytes; an element-wise operator takes 1
    FLOP for each number (softmax 5, layernorm and gelu 8), and none takes less than its bytes do, see *intensity*.

    Args:
        layers: of the stack.
        hidden: its width; a multiple of *heads*.
        heads: of the attention.
        sequence: tokens.
        batch: sequences at a time.
        vocabulary: tokens there are; 0 leaves out the embedding (``gather``, ``add`` of positions) before the stack and
            the ``layernorm`` and ``matmul`` after it.
        bytes: of a number.
        intensity: FLOP that a device computes while one byte moves; 0 counts FLOP alone.
        shards: into how many equal parts the heads of a layer are cut, each with one operator of a kind for all its
            heads; 0 for as many as there are heads.
        fused: whether operators that one kernel runs are one: ``layers * (4 + 4 shards)`` of them.
        dtype: the numbers that operators compute with, such as "fp16", where times are to follow from the figures of
            each device (``docs/costs.md``); with an intensity of 0. "": they follow from ``work`` and ``speed``.

    Raises:
        UsageError: a number below 1 (of *vocabulary*, *intensity* and *shards* below 0), a width that heads do not
            divide, heads that shards do not, more than a million operators, or both a dtype and an intensity.

    >>> gpt(layers=24, hidden=1024, heads=16)
    Graph(n=4872, m=6046)
    """
    numbers = {"layers": layers, "hidden": hidden, "heads": heads, "sequence": sequence, "batch": batch, "bytes": bytes}
    for name, value in numbers.items():
        at_least(name, value, 1)
    at_least("vocabulary", vocabulary, 0)
    at_least("intensity", intensity, 0)
    if hidden % heads:
        raise UsageError(f"hidden is {hidden}; it must be a multiple of heads, {heads}")
    at_least("shards", shards, 0)
    shards = shards or heads
    if heads % shards:
        raise UsageError(f"shards is {shards}; it must divide heads, {heads}")
    size = layers * (FUSED + PER_SHARD * shards if fused else SHARED + PER_HEAD * shards)
    check_size(size, 2 * size)
    stack = _Stack(Operators(bytes, intensity, dtype), hidden, heads, shards, batch * sequence, sequence)
    last = stack.embedding(vocabulary) if vocabulary else None
    for layer in range(layers):
        last = (stack.fused if fused else stack.layer)(f"layer {layer}", last)
    if vocabulary and last is not None:
        stack.logits(last, vocabulary)
    return stack.net.graph()


class _Stack:
    """The operators of layers of one shape; ``rows`` tokens in all, each looking at ``sequence``."""

    def __init__(self, net: Operators, hidden: int, heads: int, shards: int, rows: int, sequence: int) -> None:
        self.net, self.hidden, self.heads, self.shards = net, hidden, heads, shards
        self.rows, self.sequence = rows, sequence

    def embedding(self, vocabulary: int) -> int:
        """Add what turns tokens into rows."""
        size = self.rows * self.hidden
        tokens = self.net.add("gather", "embedding", [], size, 0.0, vocabulary * self.hidden)
        return self.net.add("add", "positions", [tokens], size, size, self.sequence * self.hidden)

    def logits(self, x: int, vocabulary: int) -> None:
        """Add what turns rows into scores of tokens."""
        self._product("logits", self._norm("final layernorm", [x]), self.hidden, vocabulary)

    def layer(self, label: str, x: int | None) -> int:
        """Add a layer that reads *x*, None for what every device is given; return its last operator."""
        reads = [] if x is None else [x]
        size = self.rows * self.hidden
        normed = self._norm(f"{label} layernorm", reads)
        part = "head" if self.shards == self.heads else "shard"
        contexts = [self._heads(f"{label} {part} {number}", normed) for number in range(self.shards)]
        joined = self.net.add("concat", f"{label} concat", contexts, size, 0.0)
        attended = self._linear(f"{label} output", joined, self.hidden, self.hidden)
        x = self.net.wise("add", f"{label} residual", [*reads, attended], size)
        normed = self._norm(f"{label} layernorm", [x])
        wide = self._linear(f"{label} wide", normed, self.hidden, 4 * self.hidden)
        active = self.net.wise("gelu", f"{label} gelu", [wide], 4 * size, per_number=8)
        narrow = self._product(f"{label} narrow", active, 4 * self.hidden, self.hidden)
        return self.net.wise("add", f"{label} residual", [x, narrow], size, per_number=2, weights=self.hidden)

    def fused(self, label: str, x: int | None) -> int:
        """Add a layer of fused operators that reads *x*; return its last operator."""
        reads = [] if x is None else [x]
        rows, hidden, width = self.rows, self.hidden, self.hidden // self.shards
        scores = rows * self.sequence * (self.heads // self.shards)
        attention = 2.0 * rows * width * (3 * hidden + 2 * self.sequence) + 3 * rows * width + 7 * scores
        inner = 4 * width
        x = self._sharded(label, "attention", reads, width, attention, 3 * (hidden + 1) * width)
        wide = 2.0 * rows * hidden * inner + 9 * rows * inner
        return self._sharded(f"{label} wide", "matmul", [x], inner, wide, (hidden + 1) * inner)

    def _sharded(self, label: str, kind: str, reads: list[int], width: int, flop: float, weights: int) -> int:
        """Add half a layer: a norm, for every shard an operator of some width and the way back, and their sum."""
        rows, hidden = self.rows, self.hidden
        normed = self._norm(f"{label} layernorm", reads)
        parts = []
        for shard in range(self.shards):
            y = self.net.add(kind, f"{label} shard {shard}", [normed], rows * width, flop, weights)
            parts.append(self._product(f"{label} shard {shard} back", y, width, hidden))
        return self.net.wise(
            "add", f"{label} sum", [*reads, *parts], rows * hidden, per_number=self.shards + 1, weights=hidden
        )

    def _heads(self, label: str, x: int) -> int:
        """Add the heads of a shard, together; return their last operator."""
        width = self.hidden // self.shards
        size, scores = self.rows * width, self.rows * self.sequence * (self.heads // self.shards)
        products = 2.0 * self.rows * self.sequence * width
        query, key, value = (
            self._linear(f"{label} {what}", x, self.hidden, width) for what in ("query", "key", "value")
        )
        key = self.net.wise("transpose", f"{label} transpose", [key], size, per_number=0)
        score = self.net.add("matmul", f"{label} scores", [query, key], scores, products)
        score = self.net.wise("mul", f"{label} scale", [score], scores)
        score = self.net.wise("add", f"{label} mask", [score], scores)
        score = self.net.wise("softmax", f"{label} softmax", [score], scores, per_number=5)
        return self.net.add("matmul", f"{label} context", [score, value], size, products)

    def _norm(self, label: str, reads: list[int]) -> int:
        return self.net.norm(label, reads, self.rows, self.hidden)

    def _linear(self, label: str, x: int, inner: int, outer: int) -> int:
        return self.net.linear(label, x, self.rows, inner, outer)

    def _product(self, label: str, x: int, inner: int, outer: int) -> int:
        return self.net.product(label, x, self.rows, inner, outer)
