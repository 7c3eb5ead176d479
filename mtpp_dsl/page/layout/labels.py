"""Which lines of a picture have their size written beside them, and where."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.page.layout.forest import Forest
from mtpp_dsl.page.layout.lines import Line
from mtpp_dsl.page.layout.places import Picture

__all__ = ["labelled"]

MOST = 16
"""No more labels are written; those of the largest lines."""
WIDE, TALL = 60, 14
"""Labels that would be nearer to each other are left out."""


def labelled(lines: Sequence[Line], forest: Forest, picture: Picture) -> list[tuple[Line, float, float]]:
    """Return lines between columns with the middle of their labels, so that none touches another one or a box."""
    solid = [box for box in picture.boxes.values() if not box.open]
    found: list[tuple[Line, float, float]] = []
    between = [line for line in lines if forest.column[line.source] != forest.column[line.target] and line.size > 0]
    for line in sorted(between, key=lambda line: (-line.size, line.source, line.target)):
        middle = 3 * (len(line.points) // 6)  # of several curves that in the middle
        (x, y), (a, b), (c, d), (u, v) = line.points[middle : middle + 4]
        across, down = (x + 3 * a + 3 * c + u) / 8, (y + 3 * b + 3 * d + v) / 8 - 4
        hidden = any(
            box.x - WIDE / 2 < across < box.x + box.width + WIDE / 2
            and box.y - 2 < down < box.y + box.height + TALL - 2
            for box in solid
        )
        if (
            not hidden
            and len(found) < MOST
            and all(abs(across - p) >= WIDE or abs(down - q) >= TALL for _, p, q in found)
        ):
            found.append((line, across, down))
    return found
