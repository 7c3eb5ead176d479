"""The trunk of AlphaFold 2, operator by operator (Jumper et al., 2021, supplement, 1.6)."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size
from mtpp_dsl.exchange.generators.operator_graphs import Attention, Operators, parts_of

OUTER = 32
"""Numbers on either side of the outer product."""

SHARED, PER_PART, PER_PAIR_PART = 97, 25, 26
"""Operators of a block, and for every part of the heads of its attentions to sequences, and to pairs."""


def evoformer(
    blocks: int = 48,
    msa: int = 256,
    pair: int = 128,
    heads: int = 8,
    pair_heads: int = 4,
    sequences: int = 128,
    residues: int = 256,
    bytes: int = 2,  # noqa: A002  the word of the language
    intensity: float = 100.0,
    shards: int = 0,
    pair_shards: int = 0,
    dtype: str = "",
) -> Graph:
    """Return the inference graph of the Evoformer, the blocks that hold nearly all parameters of AlphaFold 2.

    A block changes two tensors, of aligned sequences (``sequences * residues`` rows of width *msa*) and of pairs of
    residues (``residues * residues`` rows of width *pair*), by these parts, each with ``layernorm`` before and an
    ``add`` to what was before (Algorithms 6 to 15; *dropout* does nothing at inference):

    * attention of each sequence to its residues, gated, with a bias from the pairs; and of each residue to sequences;
    * two products with ``relu`` between them, to 4 times the width and back;
    * the outer product of the sequences, its mean, and a product to the width of pairs;
    * two triangle multiplications, of outgoing and of incoming edges;
    * two triangle attentions, around the starting and the ending node, gated and with a bias from the pairs;
    * two products with ``relu`` between them, as for the sequences.

    It has ``97 + 25 shards + 26 pair_shards`` operators; biases are operators of their own, as in ``gpt``. The defaults
    are those of AlphaFold 2, whose 48 blocks have 88 million parameters. Kinds are ``layernorm``, ``matmul``, ``add``
    and so on; work is in FLOP and sizes in bytes, as :func:`mtpp_dsl.exchange.generators.gpt.gpt` counts them.

    Args:
        blocks: of the stack.
        msa: width of the rows of sequences; a multiple of *heads*.
        pair: width of the rows of pairs; a multiple of *pair_heads*.
        heads: of the attentions to sequences and residues.
        pair_heads: of the triangle attentions.
        sequences: in the alignment.
        residues: of the protein.
        bytes: of a number.
        intensity: FLOP that a device computes while one byte moves; 0 counts FLOP alone.
        shards: into how many equal parts the *heads* are cut, each with one operator of a kind for all its heads; 0
            for as many as there are heads.
        pair_shards: the same of *pair_heads*.
        dtype: the numbers that operators compute with, as in ``gpt``; with an intensity of 0.

    Raises:
        UsageError: a number below 1 (of *intensity* and the shards below 0), a width that heads do not divide, heads
            that shards do not, more than a million operators, or both a dtype and an intensity.

    >>> evoformer(blocks=1).n
    401
    """
    numbers = {"blocks": blocks, "msa": msa, "pair": pair, "heads": heads, "pair_heads": pair_heads}
    for name, value in {**numbers, "sequences": sequences, "residues": residues, "bytes": bytes}.items():
        at_least(name, value, 1)
    at_least("intensity", intensity, 0)
    for name, width, cut, by in (("msa", msa, "heads", heads), ("pair", pair, "pair_heads", pair_heads)):
        if width % by:
            raise UsageError(f"{name} is {width}; it must be a multiple of {cut}, {by}")
    parts, pair_parts = parts_of("shards", shards, heads), parts_of("pair_shards", pair_shards, pair_heads)
    size = blocks * (SHARED + PER_PART * parts + PER_PAIR_PART * pair_parts)
    check_size(size, 2 * size)
    net = Operators(bytes, intensity, dtype)
    block = _Block(net, msa, pair, heads, pair_heads, sequences, residues, parts, pair_parts)
    m: int | None = None
    z: int | None = None
    for number in range(blocks):
        m, z = block.add(f"block {number}", m, z)
    return net.graph()


@dataclass(frozen=True)
class _Block:
    """The operators of blocks of one shape."""

    net: Operators
    msa: int
    pair: int
    heads: int
    pair_heads: int
    sequences: int
    residues: int
    parts: int
    pair_parts: int

    def add(self, label: str, m: int | None, z: int | None) -> tuple[int, int]:
        """Add a block that reads both tensors, None for what every device is given; return what it makes of them."""
        rows, width, pairs = self.sequences * self.residues, self.msa, self.residues**2
        normed = self.net.norm(f"{label} pair layernorm", _reads(z), pairs, self.pair)
        bias = self._bias(f"{label} row bias", normed, self.heads)
        m = self._attend(f"{label} row", m, self._rows(self.residues), bias=bias)
        m = self._attend(f"{label} column", m, self._rows(self.sequences), turned=True)
        m = self._transition(f"{label} sequences", m, rows, width)
        z = self._outer(f"{label} outer", m, z)
        for direction in ("outgoing", "incoming"):
            z = self._multiply(f"{label} {direction}", z)
        for node in ("start", "end"):
            z = self._triangle(f"{label} {node}", z, turned=node == "end")
        return m, self._transition(f"{label} pairs", z, pairs, self.pair)

    def _rows(self, span: int) -> Attention:
        """Return an attention of the sequences' rows to *span* of them."""
        rows = self.sequences * self.residues
        return Attention(self.net, rows, span, self.msa, self.msa, self.heads, self.parts, biased=False, gated=True)

    def _bias(self, label: str, normed: int, heads: int) -> int:
        """Add the bias that pairs give to scores, a number for every head."""
        bias = self.net.product(label, normed, self.residues**2, self.pair, heads)
        return self.net.wise("transpose", f"{label} transpose", [bias], self.residues**2 * heads, per_number=0)

    def _attend(
        self, label: str, x: int | None, attention: Attention, *, bias: int | None = None, turned: bool = False
    ) -> int:
        """Add an attention of *x* with its norm and residual; *turned* where other axes come first."""
        net, size = self.net, attention.rows * attention.width
        y = net.norm(f"{label} layernorm", _reads(x), attention.rows, attention.width)
        if turned:
            y = net.wise("transpose", f"{label} turn", [y], size, per_number=0)
        y = attention.add(label, y, bias=bias)
        if turned:
            y = net.wise("transpose", f"{label} turn back", [y], size, per_number=0)
        return net.wise("add", f"{label} residual", [*_reads(x), y], size)

    def _transition(self, label: str, x: int, rows: int, width: int) -> int:
        """Add two products with ``relu`` between them."""
        y = self.net.norm(f"{label} layernorm", [x], rows, width)
        y = self.net.linear(f"{label} wide", y, rows, width, 4 * width)
        y = self.net.wise("relu", f"{label} relu", [y], 4 * rows * width)
        y = self.net.product(f"{label} narrow", y, rows, 4 * width, width)
        return self.net.wise("add", f"{label} residual", [x, y], rows * width, per_number=2, weights=width)

    def _outer(self, label: str, m: int, z: int | None) -> int:
        """Add the mean over sequences of the outer products of their rows (Algorithm 10)."""
        net, rows, pairs = self.net, self.sequences * self.residues, self.residues**2
        normed = net.norm(f"{label} layernorm", [m], rows, self.msa)
        sides = [net.linear(f"{label} {side}", normed, rows, self.msa, OUTER) for side in ("left", "right")]
        size = pairs * OUTER**2
        y = net.add("matmul", f"{label} product", sides, size, 2.0 * size * self.sequences)
        y = net.wise("mul", f"{label} mean", [y], size)
        y = net.linear(f"{label} output", y, pairs, OUTER**2, self.pair)
        return net.wise("add", f"{label} residual", [*_reads(z), y], pairs * self.pair)

    def _multiply(self, label: str, z: int) -> int:
        """Add a triangle multiplication (Algorithms 11 and 12)."""
        net, width, pairs = self.net, self.pair, self.residues**2
        size = pairs * width
        normed = net.norm(f"{label} layernorm", [z], pairs, width)
        sides = [self._gated(f"{label} {side}", normed, normed) for side in ("left", "right")]
        y = net.add("matmul", f"{label} product", sides, size, 2.0 * size * self.residues)
        y = net.norm(f"{label} product layernorm", [y], pairs, width)
        y = self._gated(f"{label} output", y, normed)
        return net.wise("add", f"{label} residual", [z, y], size)

    def _gated(self, label: str, x: int, by: int) -> int:
        """Add a product of *x*, multiplied by a sigmoid of a product of *by*."""
        net, width, pairs = self.net, self.pair, self.residues**2
        y = net.linear(label, x, pairs, width, width)
        gate = net.linear(f"{label} gate", by, pairs, width, width)
        gate = net.wise("sigmoid", f"{label} gate", [gate], pairs * width, per_number=4)
        return net.wise("mul", f"{label} gated", [y, gate], pairs * width)

    def _triangle(self, label: str, z: int, *, turned: bool) -> int:
        """Add a triangle attention (Algorithms 13 and 14); around the ending node the axes are *turned*."""
        net, pairs = self.net, self.residues**2
        y = net.norm(f"{label} layernorm", [z], pairs, self.pair)
        if turned:
            y = net.wise("transpose", f"{label} turn", [y], pairs * self.pair, per_number=0)
        bias = self._bias(f"{label} bias", y, self.pair_heads)
        attention = Attention(
            net, pairs, self.residues, self.pair, self.pair, self.pair_heads, self.pair_parts, biased=False, gated=True
        )
        y = attention.add(label, y, bias=bias)
        if turned:
            y = net.wise("transpose", f"{label} turn back", [y], pairs * self.pair, per_number=0)
        return net.wise("add", f"{label} residual", [z, y], pairs * self.pair)


def _reads(x: int | None) -> list[int]:
    return [] if x is None else [x]
