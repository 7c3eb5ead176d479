"""Inception networks, operator by operator (Szegedy et al., 2016: Inception v3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size, share
from mtpp_dsl.exchange.generators.operator_graphs import Operators

CLASSES = 1000


def inception(
    first: int = 3,
    second: int = 4,
    third: int = 2,
    resolution: int = 299,
    batch: int = 1,
    bytes: int = 2,  # noqa: A002  the word of the language
    intensity: float = 100.0,
    kept: float = 1.0,
) -> Graph:
    """Return Inception v3 as it infers, without its auxiliary classifier: 94 convolutions, 23.8 million parameters.

    * Stem: convolutions (``conv``) 3 wide to 32, 32 and 64 channels, ``maxpool``, to 80 and 192,
      ``maxpool``.
    * *first* modules A with four branches (1; 1-5; 1-3-3; ``avgpool``-1 wide), and B, which halves the resolution (3;
      1-3-3; ``maxpool``).
    * *second* modules C (1; 1-7-7; 1-7-7-7-7, each 7 x 1 or 1 x 7; ``avgpool``-1), and D, which halves it again (1-3;
      1-7-7-3; ``maxpool``).
    * *third* modules E (1; 1-{1 x 3, 3 x 1}; 1-3-{1 x 3, 3 x 1}; ``avgpool``-1), ``avgpool``, ``matmul`` to 1000
      classes.

    Every module ends with a ``concat``. A convolution includes its normalisation and its ``relu``, which inference
    folds into it. Channels are those of torchvision's model, which has 3, 4 and 2 modules; other numbers repeat the
    last A and E, and the middle C. Work is in FLOP, sizes in bytes, as :func:`mtpp_dsl.exchange.generators.gpt.gpt`
    counts them.

    Args:
        first: modules A.
        second: modules C.
        third: modules E.
        resolution: of the image.
        batch: images at a time.
        bytes: of a number.
        intensity: FLOP that a device computes while one byte moves; 0 counts FLOP alone.
        kept: the share of its tensor that an operator's memory holds beside its parameters: 1 as in
            (3.7) of ghannane2023, where the outputs of all batches stay, 0 where tensors come and go.

    Raises:
        UsageError: a number below 1 (of modules and intensity below 0), a resolution below 75, a share outside [0, 1],
            or more than a million operators.

    >>> inception().kinds.count("conv")
    94
    """
    for name, value in {"batch": batch, "bytes": bytes}.items():
        at_least(name, value, 1)
    for name, number in {"first": first, "second": second, "third": third, "intensity": intensity}.items():
        at_least(name, number, 0)
    at_least("resolution", resolution, 75)
    share("kept", kept)
    check_size(20 * (first + second + third) + 40, 30 * (first + second + third) + 40)
    net = _Net(Operators(bytes, intensity), batch)
    x = net.stem(resolution)
    for i in range(first):
        x = net.module_a(f"A{i}", x, 32 if i == 0 else 64)
    x = net.reduction_b("B", x)
    for i in range(second):
        x = net.module_c(f"C{i}", x, 128 if i == 0 else 192 if i == second - 1 else 160)
    x = net.reduction_d("D", x)
    for i in range(third):
        x = net.module_e(f"E{i}", x)
    x = net.pool("avgpool", "pool", x, x.side, x.side)
    weights = x.channels * CLASSES
    net.operators.add("matmul", "classes", [x.node], batch * CLASSES, 2.0 * batch * weights, weights + CLASSES)
    return net.operators.graph(kept)


@dataclass(frozen=True)
class _Tensor:
    """A square image of some channels, and the operator that makes it."""

    node: int
    channels: int
    side: int


class _Net:
    """Operators on square images."""

    def __init__(self, operators: Operators, batch: int) -> None:
        self.operators, self.batch = operators, batch

    def stem(self, resolution: int) -> _Tensor:
        """Add what comes before the modules."""
        x = self.conv("stem conv 0", None, 32, (3, 3), 2, given=(3, resolution))
        x = self.conv("stem conv 1", x, 32, (3, 3), padded=False)
        x = self.conv("stem conv 2", x, 64, (3, 3))
        x = self.pool("maxpool", "stem pool 0", x, 3, 2)
        x = self.conv("stem conv 3", x, 80, (1, 1))
        x = self.conv("stem conv 4", x, 192, (3, 3), padded=False)
        return self.pool("maxpool", "stem pool 1", x, 3, 2)

    def module_a(self, label: str, x: _Tensor, pooled: int) -> _Tensor:
        branches = [
            self.row(f"{label} 1x1", x, [(64, 1, 1)]),
            self.row(f"{label} 5x5", x, [(48, 1, 1), (64, 5, 5)]),
            self.row(f"{label} 3x3 twice", x, [(64, 1, 1), (96, 3, 3), (96, 3, 3)]),
            self.pooled(label, x, pooled),
        ]
        return self.concat(label, branches)

    def reduction_b(self, label: str, x: _Tensor) -> _Tensor:
        branches = [
            self.row(f"{label} 3x3", x, [(384, 3, 3)], stride=2),
            self.row(f"{label} 3x3 twice", x, [(64, 1, 1), (96, 3, 3), (96, 3, 3)], stride=2),
            self.pool("maxpool", f"{label} pool", x, 3, 2),
        ]
        return self.concat(label, branches)

    def module_c(self, label: str, x: _Tensor, inner: int) -> _Tensor:
        tall, wide = (inner, 7, 1), (inner, 1, 7)
        branches = [
            self.row(f"{label} 1x1", x, [(192, 1, 1)]),
            self.row(f"{label} 7x7", x, [(inner, 1, 1), wide, (192, 7, 1)]),
            self.row(f"{label} 7x7 twice", x, [(inner, 1, 1), tall, wide, tall, (192, 1, 7)]),
            self.pooled(label, x, 192),
        ]
        return self.concat(label, branches)

    def reduction_d(self, label: str, x: _Tensor) -> _Tensor:
        branches = [
            self.row(f"{label} 3x3", x, [(192, 1, 1), (320, 3, 3)], stride=2),
            self.row(f"{label} 7x7 3x3", x, [(192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3)], stride=2),
            self.pool("maxpool", f"{label} pool", x, 3, 2),
        ]
        return self.concat(label, branches)

    def module_e(self, label: str, x: _Tensor) -> _Tensor:
        branches = [
            self.row(f"{label} 1x1", x, [(320, 1, 1)]),
            self.forked(f"{label} 3x3", x, [(384, 1, 1)]),
            self.forked(f"{label} 3x3 twice", x, [(448, 1, 1), (384, 3, 3)]),
            self.pooled(label, x, 192),
        ]
        return self.concat(label, branches)

    def forked(self, label: str, x: _Tensor, steps: Sequence[tuple[int, int, int]]) -> _Tensor:
        """Add a branch that ends in two convolutions side by side."""
        x = self.row(label, x, steps)
        ends = [self.conv(f"{label} {what}", x, 384, span) for what, span in (("1x3", (1, 3)), ("3x1", (3, 1)))]
        return self.concat(label, ends)

    def pooled(self, label: str, x: _Tensor, channels: int) -> _Tensor:
        """Add the branch of a pool and a convolution 1 wide."""
        return self.conv(f"{label} pool 1x1", self.pool("avgpool", f"{label} pool", x, 3, 1), channels, (1, 1))

    def row(self, label: str, x: _Tensor, steps: Sequence[tuple[int, int, int]], stride: int = 1) -> _Tensor:
        """Add convolutions one after the other; only the last has the *stride*, and then no padding."""
        for i, (channels, tall, wide) in enumerate(steps):
            last = i == len(steps) - 1
            x = self.conv(f"{label} conv {i}", x, channels, (tall, wide), stride if last else 1)
        return x

    def conv(
        self,
        label: str,
        x: _Tensor | None,
        channels: int,
        span: tuple[int, int],
        stride: int = 1,
        *,
        padded: bool = True,
        given: tuple[int, int] = (0, 0),
    ) -> _Tensor:
        """Add a convolution with its normalisation; of the image (channels, side) *given* where x is None."""
        inner, side = given if x is None else (x.channels, x.side)
        side = side if padded and stride == 1 else (side - span[0]) // stride + 1
        size, factors = self.batch * channels * side * side, inner * span[0] * span[1]
        reads = [] if x is None else [x.node]
        node = self.operators.add(
            "conv", label, reads, size, (2.0 * factors + 3) * size, channels * factors + 2 * channels
        )
        return _Tensor(node, channels, side)

    def pool(self, kind: str, label: str, x: _Tensor, span: int, stride: int) -> _Tensor:
        """Add a pool; one of stride 1 keeps the side."""
        side = x.side if stride == 1 else (x.side - span) // stride + 1
        size = self.batch * x.channels * side * side
        return _Tensor(self.operators.add(kind, label, [x.node], size, float(size * span * span)), x.channels, side)

    def concat(self, label: str, branches: Sequence[_Tensor]) -> _Tensor:
        channels, side = sum(branch.channels for branch in branches), branches[0].side
        reads = [branch.node for branch in branches]
        node = self.operators.add("concat", f"{label} concat", reads, self.batch * channels * side * side, 0.0)
        return _Tensor(node, channels, side)
