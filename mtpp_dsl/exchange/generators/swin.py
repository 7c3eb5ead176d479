"""Shifted-window transformers for images, operator by operator (Liu et al., 2021)."""

from __future__ import annotations

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size
from mtpp_dsl.exchange.generators.operator_graphs import Attention, Operators, parts_of

PATCH, COLOURS, CLASSES, STAGES = 4, 3, 1000, 4
OUTSIDE = 27
"""Operators that are in no layer: patches, merging, classes."""


def swin(
    depths: str = "2, 2, 6, 2",
    width: int = 96,
    heads: int = 3,
    resolution: int = 224,
    window: int = 7,
    batch: int = 1,
    bytes: int = 2,  # noqa: A002  the word of the language
    intensity: float = 100.0,
    shards: int = 0,
    dtype: str = "",
) -> Graph:
    """Return the inference graph of a Swin transformer: four stages of layers whose attention looks at windows.

    Patches of 4 x 4 pixels become rows. Between two stages four neighbours become one row of twice the width, with
    twice as many heads. The defaults are those of Swin-T: 28,288,354 parameters. A layer is

    * ``layernorm``, ``window`` (rows in the order of windows); for every head 12 operators as those of ``gpt``, with a
      table of relative positions in place of the mask; ``concat``, ``matmul``, ``add``, ``unwindow``, ``add``
      (residual). In every second layer the windows are shifted: ``roll`` before and behind, and an ``add`` of the mask
      in every head;
    * ``layernorm``, ``matmul`` to 4 times the width, ``add``, ``gelu``, ``matmul`` back, ``add`` (residual, with the
      bias).

    So there are 13 + 12 heads operators in a layer, and 15 + 13 heads in one that is shifted. Rows are padded to whole
    windows for the attention. Kinds are these words; work is in FLOP and sizes in bytes, as
    :func:`mtpp_dsl.exchange.generators.gpt.gpt` counts them.

    Args:
        depths: layers of the four stages.
        width: of a row in the first stage; a multiple of *heads*.
        heads: in the first stage.
        resolution: pixels of a side of the image.
        window: rows of a side of a window.
        batch: images at a time.
        bytes: of a number.
        intensity: FLOP that a device computes while one byte moves; 0 counts FLOP alone.
        shards: into how many equal parts the heads of a layer are cut, each with one operator of a kind for all its
            heads; 0 for as many as there are heads.
        dtype: the numbers that operators compute with, as in ``gpt``; with an intensity of 0.

    Raises:
        UsageError: depths that are not four numbers from 1 on, a number below 1 (of *intensity* and *shards* below 0;
            of the resolution below 32), a width that heads do not divide, heads that shards do not, more than a million
            operators, or both a dtype and an intensity.

    >>> swin(depths="1, 1, 1, 1").kinds[:4]
    ('conv', 'layernorm', 'layernorm', 'window')
    """
    numbers = {"width": width, "heads": heads, "window": window, "batch": batch, "bytes": bytes}
    for name, value in numbers.items():
        at_least(name, value, 1)
    at_least("resolution", resolution, 32)
    at_least("intensity", intensity, 0)
    if width % heads:
        raise UsageError(f"width is {width}; it must be a multiple of heads, {heads}")
    layers = _depths(depths)
    parts = [parts_of("shards", shards, heads * 2**stage) for stage in range(STAGES)]
    size = OUTSIDE + sum(depth * (15 + 13 * part) for depth, part in zip(layers, parts, strict=True))
    check_size(size, 2 * size)
    net = _Net(Operators(bytes, intensity, dtype), batch, window, width, heads, -(-resolution // PATCH))
    x = net.patches(resolution)
    for stage, (depth, part) in enumerate(zip(layers, parts, strict=True)):
        if stage:
            x = net.merge(f"stage {stage}", x)
        for layer in range(depth):
            x = net.layer(f"stage {stage} layer {layer}", x, part, shifted=layer % 2 == 1)
    net.classes(x)
    return net.operators.graph()


def _depths(text: str) -> list[int]:
    words = text.split(",")
    if len(words) != STAGES or not all(word.strip().isdecimal() and 0 < int(word) < 10**6 for word in words):
        raise UsageError(f'depths must be four numbers from 1 on, as in "2, 2, 6, 2", not {text!r:.60}')
    return [int(word) for word in words]


class _Net:
    """The operators of one stage after another; ``side`` and ``width`` are those of the rows of the present one."""

    def __init__(self, operators: Operators, batch: int, window: int, width: int, heads: int, side: int) -> None:
        self.operators, self.batch, self.window = operators, batch, window
        self.width, self.heads, self.side = width, heads, side

    @property
    def rows(self) -> int:
        return self.batch * self.side**2

    def patches(self, resolution: int) -> int:
        """Add what makes rows of the image, which every device is given."""
        size, factors = self.rows * self.width, COLOURS * PATCH * PATCH
        read = self.batch * COLOURS * resolution**2
        x = self.operators.add("conv", "patches", [], size, 2.0 * factors * size + read, (factors + 1) * self.width)
        return self.operators.norm("patches layernorm", [x], self.rows, self.width)

    def merge(self, label: str, x: int) -> int:
        """Add what makes one row of four neighbours; the width doubles."""
        self.side = -(-self.side // 2)
        quarter = self.rows * self.width
        parts = [self.operators.add("slice", f"{label} slice {i}", [x], quarter, 0.0) for i in range(4)]
        x = self.operators.add("concat", f"{label} concat", parts, 4 * quarter, 0.0)
        x = self.operators.norm(f"{label} layernorm", [x], self.rows, 4 * self.width)
        x = self.operators.product(f"{label} merge", x, self.rows, 4 * self.width, 2 * self.width)
        self.width, self.heads = 2 * self.width, 2 * self.heads
        return x

    def layer(self, label: str, x: int, parts: int, *, shifted: bool) -> int:
        """Add a layer; return its last operator."""
        net, rows, width = self.operators, self.rows, self.width
        size = rows * width
        windows = self.batch * (-(-self.side // self.window)) ** 2
        padded = windows * self.window**2
        y = net.norm(f"{label} layernorm", [x], rows, width)
        if shifted:
            y = net.add("roll", f"{label} roll", [y], size, 0.0)
        y = net.add("window", f"{label} window", [y], padded * width, 0.0)
        attention = Attention(net, padded, self.window**2, width, width, self.heads, parts)
        y = attention.add(label, y, table=float((2 * self.window - 1) ** 2 * self.heads), masked=shifted)
        y = net.add("unwindow", f"{label} unwindow", [y], size, 0.0)
        if shifted:
            y = net.add("roll", f"{label} roll back", [y], size, 0.0)
        x = net.wise("add", f"{label} residual", [x, y], size)
        y = net.norm(f"{label} layernorm", [x], rows, width)
        y = net.linear(f"{label} wide", y, rows, width, 4 * width)
        y = net.wise("gelu", f"{label} gelu", [y], 4 * size, per_number=8)
        y = net.product(f"{label} narrow", y, rows, 4 * width, width)
        return net.wise("add", f"{label} residual", [x, y], size, per_number=2, weights=width)

    def classes(self, x: int) -> None:
        """Add what makes scores of classes of rows."""
        x = self.operators.norm("final layernorm", [x], self.rows, self.width)
        x = self.operators.add("avgpool", "avgpool", [x], self.batch * self.width, float(self.rows * self.width))
        self.operators.linear("classes", x, self.batch, self.width, CLASSES)
