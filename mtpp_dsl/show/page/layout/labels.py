"""Which lines of a picture have their size written beside them, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtpp_dsl.show.page.layout.forest import Forest
from mtpp_dsl.show.page.layout.lines import EdgeBundle
from mtpp_dsl.show.page.layout.places import PlacedBoxes

__all__ = ["labelled"]

MOST = 64
"""No more labels are written; those of the largest lines."""
WIDE, TALL = 60, 14
"""Labels that would be nearer to each other are left out."""
ALONG = (0.5, 0.36, 0.64, 0.24, 0.76, 0.12, 0.88)
"""Where a label may be: shares of a line, of one that passes columns those of its middle part."""


def labelled(
    lines: Sequence[EdgeBundle], forest: Forest, picture: PlacedBoxes
) -> list[tuple[EdgeBundle, float, float]]:
    """Return lines between columns with the middle of their labels, so that none touches another one or a box."""
    solid = [box for box in picture.boxes.values() if not box.open]
    taken: list[tuple[float, float]] = []

    def free(across: float, down: float) -> bool:
        return all(abs(across - p) >= WIDE or abs(down - q) >= TALL for p, q in taken) and not any(
            box.x - WIDE / 2 < across < box.x + box.width + WIDE / 2
            and box.y - 2 < down < box.y + box.height + TALL - 2
            for box in solid
        )

    shown: list[tuple[EdgeBundle, float, float]] = []
    between = [line for line in lines if forest.column[line.source] != forest.column[line.target] and line.size > 0]
    for line in sorted(between, key=lambda line: (-line.size, line.source, line.target)):
        place = next((place for place in _places(line) if free(*place)), None)
        if place is not None and len(shown) < MOST:
            shown.append((line, *place))
            taken.append(place)
    return shown


def _places(line: EdgeBundle) -> Iterator[tuple[float, float]]:
    """Yield where a line may have its label, a little above it: on its curve, of several on that in the middle."""
    middle = 3 * (len(line.points) // 6)
    curve = line.points[middle : middle + 4]
    for share in ALONG:
        weights = ((1 - share) ** 3, 3 * (1 - share) ** 2 * share, 3 * (1 - share) * share**2, share**3)
        across, down = (sum(w * point[axis] for w, point in zip(weights, curve, strict=True)) for axis in (0, 1))
        yield across, down - 4
