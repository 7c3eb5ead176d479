"""Lines between the boxes that are seen: the edges between two of them in one bundle, with what they carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtpp_dsl.show.page.layout.forest import Forest
from mtpp_dsl.show.page.layout.places import COLUMN_GAP, Box, PlacedBoxes

Point = tuple[float, float]
NEAR = 60
"""Boxes of a module that are so near are joined by a line down; it may pass no third one."""
BELOW, LANE, LANES = 14, 6, 8
"""Lines that pass columns are so far below them, and from each other; there are so many lanes."""


@dataclass(frozen=True)
class EdgeBundle:
    """A bundle of edges from one box to another.

    Attributes:
        source, target: items of both boxes.
        tensors: how many tensors they are.
        size: of these tensors, each once.
        points: start, two control points and end of a cubic curve, and of further ones that begin where it ends.
    """

    source: int
    target: int
    tensors: int
    size: float
    points: tuple[Point, ...]


def bundled(forest: Forest, picture: PlacedBoxes, sizes: Sequence[float]) -> list[EdgeBundle]:
    """Return a line for each two boxes that edges join.

    A tensor counts once in a bundle, by the largest of its edges there. Edges inside a folded module are not seen.

    Args:
        forest: of the items.
        picture: which of them are seen, and where.
        sizes: [edges drawn] what each edge carries.
    """
    seen = _seen(forest, picture)
    carried: dict[tuple[int, int], dict[int, float]] = {}
    for source, target, size in zip(forest.source, forest.target, sizes, strict=True):
        ends = seen[source], seen[target]
        if ends[0] != ends[1]:
            tensors = carried.setdefault(ends, {})
            tensors[source] = max(tensors.get(source, 0.0), size)
    lanes: dict[int, int] = {}
    lines = []
    for (a, b), tensors in sorted(carried.items()):
        if abs(forest.column[a] - forest.column[b]) > 1:
            lanes.setdefault(a, len(lanes) % LANES)
        points = routed(forest, picture, picture.boxes[a], picture.boxes[b], lanes.get(a, 0))
        lines.append(EdgeBundle(a, b, len(tensors), sum(tensors.values()), points))
    return lines


def _seen(forest: Forest, picture: PlacedBoxes) -> list[int]:
    """Return [items] the box that stands for each: its own, or of the innermost folded module that it is in."""
    seen: list[int] = []
    for item, parent in enumerate(forest.parent):
        seen.append(item if parent < 0 or (seen[parent] == parent and picture.boxes[parent].open) else seen[parent])
    return seen


def routed(forest: Forest, picture: PlacedBoxes, a: Box, b: Box, lane: int) -> tuple[Point, ...]:
    """Return a curve from box *a* to box *b*.

    Within a column it goes down from the bottom to the top, or past boxes between on the right. Between columns it goes
    from one side to the other, and below those that it passes, in one of the lanes there.
    """
    one, other = forest.column[a.item], forest.column[b.item]
    if one != other:
        return _across(forest, picture, a, b, lane)
    beside = forest.parent[a.item] == forest.parent[b.item]
    gap = b.y - a.y - a.height
    if gap >= 0 and (gap <= NEAR or not beside):
        x, to = a.x + a.width / 2, b.x + b.width / 2
        return (x, a.y + a.height), (x, a.y + a.height + gap / 2), (to, b.y - gap / 2), (to, b.y)
    x, to = a.x + a.width, b.x + b.width
    out = max(x, to) + 14 + min(abs(gap) / 16, 26)
    y, end = a.y + a.height / 2, b.y + b.height / 2
    return (x, y), (out, y), (out, end), (to, end)


def _across(forest: Forest, picture: PlacedBoxes, a: Box, b: Box, lane: int) -> tuple[Point, ...]:
    """Return a curve between boxes of two columns."""
    one, other = forest.column[a.item], forest.column[b.item]
    way = 1 if one < other else -1
    x, to = (a.x + a.width, b.x) if way > 0 else (a.x, b.x + b.width)
    y, end = a.y + a.height / 2, b.y + b.height / 2
    if abs(one - other) == 1:
        reach = max(abs(to - x) / 2, COLUMN_GAP / 2) * way
        return (x, y), (x + reach, y), (to - reach, end), (to, end)
    passed = [picture.boxes[column] for column in range(min(one, other) + 1, max(one, other))]
    low = max(box.height for box in passed) + BELOW + LANE * lane
    start, stop = picture.boxes[one], picture.boxes[other]
    down = start.x + start.width if way > 0 else start.x
    up = stop.x if way > 0 else stop.x + stop.width
    bend = COLUMN_GAP / 2 * way
    return (
        *((x, y), (down + bend, y), (down + bend, low), (down + 2 * bend, low)),
        *((down + 2 * bend, low), (up - 2 * bend, low), (up - 2 * bend, low)),
        *((up - bend, low), (up - bend, end), (to, end)),
    )


# Which lines have their size written beside them, and where.

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
