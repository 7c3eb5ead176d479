"""Which lines of a picture have their size written beside them, and where."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.page.layout.forest import Forest
from mtpp_dsl.page.layout.lines import Line

__all__ = ["labelled"]

MOST = 16
"""No more labels are written; those of the largest lines."""
WIDE, TALL = 60, 14
"""Labels that would be nearer to each other are left out."""


def labelled(lines: Sequence[Line], forest: Forest) -> list[tuple[Line, float, float]]:
    """Return lines between columns with the middle of their labels, so that no two labels touch."""
    found: list[tuple[Line, float, float]] = []
    between = [line for line in lines if forest.column[line.source] != forest.column[line.target] and line.size > 0]
    for line in sorted(between, key=lambda line: (-line.size, line.source, line.target)):
        middle = 3 * (len(line.points) // 6)  # of several curves that in the middle
        (x, y), (a, b), (c, d), (u, v) = line.points[middle : middle + 4]
        across, down = (x + 3 * a + 3 * c + u) / 8, (y + 3 * b + 3 * d + v) / 8 - 4
        if len(found) < MOST and all(abs(across - p) >= WIDE or abs(down - q) >= TALL for _, p, q in found):
            found.append((line, across, down))
    return found
