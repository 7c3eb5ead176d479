"""Residual networks, operator by operator (He et al., 2016)."""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size
from mtpp_dsl.exchange.generators.operator_graphs import Operators

CLASSES = 1000
WIDEN = 4


def resnet(
    blocks: int = 4,
    width: int = 64,
    resolution: int = 224,
    batch: int = 1,
    bytes: int = 2,  # noqa: A002  the word of the language
    intensity: float = 100.0,
) -> Graph:
    """Return a residual network of four stages of bottleneck blocks, with ``conv``, ``bn``, ``relu`` and ``add`` apart.

    A stage halves the resolution (the first excepted) and doubles the width; a block is three convolutions (1, 3 and 1
    wide, the last to 4 times the width), and in the first of a stage a fourth on the way around. Before the stages
    stand a convolution 7 wide and ``maxpool``, after them ``avgpool`` and a ``matmul`` to 1000 classes. With 4 blocks
    in each stage it has as many convolutions as ResNet-50, whose stages have 3, 4, 6 and 3.
    Work is in FLOP, sizes in bytes, as :func:`mtpp_dsl.exchange.generators.gpt.gpt` counts them.

    Args:
        blocks: of a stage.
        width: of the first stage.
        resolution: of the image.
        batch: images at a time.
        bytes: of a number.
        intensity: FLOP that a device computes while one byte moves; 0 counts FLOP alone.

    Raises:
        UsageError: a number below 1 (of the last below 0; of the resolution below 32), or more than a million
            operators.

    >>> resnet(blocks=2).kinds[:3]
    ('conv', 'bn', 'relu')
    """
    for name, value in {"blocks": blocks, "width": width, "batch": batch, "bytes": bytes}.items():
        at_least(name, value, 1)
    at_least("resolution", resolution, 32)
    at_least("intensity", intensity, 0)
    check_size(40 * blocks + 20, 50 * blocks + 20)
    net = _Net(Operators(bytes, intensity), batch)
    side = resolution // 2
    x = net.conv("stem", None, 3, width, 7, side)
    x = net.wise("relu", "stem relu", [x], width, side)
    side //= 2
    x = net.wise("maxpool", "stem pool", [x], width, side, per_number=9)
    channels = width
    for stage in range(4):
        if stage:
            side = max(1, side // 2)
        inner = width << stage
        for block in range(blocks):
            x = net.block(f"stage {stage} block {block}", x, channels, inner, side, around=block == 0)
            channels = WIDEN * inner
    x = net.wise("avgpool", "pool", [x], channels, 1, per_number=side * side)
    net.operators.add("matmul", "classes", [x], batch * CLASSES, 2.0 * batch * channels * CLASSES, channels * CLASSES)
    return net.operators.graph()


class _Net:
    """Operators on square images of some channels."""

    def __init__(self, operators: Operators, batch: int) -> None:
        self.operators, self.batch = operators, batch

    def block(self, label: str, x: int, channels: int, inner: int, side: int, *, around: bool) -> int:
        """Add a bottleneck block; return its last operator."""
        y = x
        for number, (one, other, span) in enumerate(
            [(channels, inner, 1), (inner, inner, 3), (inner, WIDEN * inner, 1)]
        ):
            y = self.conv(f"{label} conv {number}", y, one, other, span, side)
            if number < 2:
                y = self.wise("relu", f"{label} relu {number}", [y], other, side)
        if around:
            x = self.conv(f"{label} shortcut", x, channels, WIDEN * inner, 1, side)
        y = self.wise("add", f"{label} add", [x, y], WIDEN * inner, side)
        return self.wise("relu", f"{label} relu", [y], WIDEN * inner, side)

    def conv(self, label: str, x: int | None, inner: int, outer: int, span: int, side: int) -> int:
        """Add a convolution and its normalisation."""
        size = self.batch * outer * side * side
        reads = [] if x is None else [x]
        weights = inner * outer * span * span
        y = self.operators.add("conv", label, reads, size, 2.0 * size * inner * span * span, weights)
        return self.wise("bn", f"{label} bn", [y], outer, side, per_number=2, weights=2 * outer)

    def wise(
        self,
        kind: str,
        label: str,
        reads: list[int],
        channels: int,
        side: int,
        *,
        per_number: float = 1,
        weights: float = 0.0,
    ) -> int:
        """Add an operator of so much FLOP for each number of its output."""
        size = self.batch * channels * side * side
        return self.operators.add(kind, label, reads, size, per_number * size, weights)
