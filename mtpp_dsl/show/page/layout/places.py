"""Where the boxes of a forest are, with some of its modules open. The script of pages, ``graph.js``, does the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mtpp_dsl.show.page.layout.forest import Forest

WIDTH, HEIGHT = 152, 30
"""Of a box with nothing in it to be seen."""
GAP, ROW_GAP, COLUMN_GAP = 10, 20, 64
"""Between boxes of a row, between rows, between columns."""
PAD, HEAD, TOP = 10, 26, 76
"""Around what is in an open module, of its title, and of the title of a column."""
PER_LINE = 3
"""A row with more boxes is broken into lines."""
SHOWN, TALL = 72, 24
"""Modules are open at first as long as no more boxes are shown, and in a column no more than these."""


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    Attributes:
        item: number of the item of the forest.
        x, y, width, height: of the whole box.
        open: whether what is in it is shown.
    """

    item: int
    x: int
    y: int
    width: int
    height: int
    open: bool


@dataclass(frozen=True, eq=False)
class PlacedBoxes:
    """Boxes by item, those that hold others first, and the size of the whole."""

    boxes: dict[int, Box]
    width: int
    height: int


def opened(forest: Forest, most: int = SHOWN) -> set[int]:
    """Return which items are open at first: all columns, and modules level by level.

    A level of a column is opened if the column then has no more than its share of *most* boxes, and of :data:`TALL`.
    """
    items = set(range(forest.columns))
    share = min(TALL, most // max(forest.columns, 1))
    for column in range(forest.columns):
        level, shown = [column], len(forest.children[column])
        while level:
            level = [child for item in level for child in forest.children[item] if forest.node[child] < 0]
            shown += sum(len(forest.children[item]) for item in level)
            if shown > share:
                break
            items.update(level)
    return items


def arranged(forest: Forest, open_items: Iterable[int]) -> PlacedBoxes:
    """Return the boxes with some items open; a module is seen only if all that it is in is open."""
    packing = _Packing(forest, set(open_items))
    boxes: dict[int, Box] = {}
    x, height = 0, 0
    sizes = [packing.size(column) for column in range(forest.columns)]
    for column, (width, tall) in enumerate(sizes):
        packing.put(column, x, 0, boxes)
        x += width + COLUMN_GAP
        height = max(height, tall)
    return PlacedBoxes(boxes, max(x - COLUMN_GAP, WIDTH), height)


class _Packing:
    """Sizes and places of boxes, from the inside out and back."""

    def __init__(self, forest: Forest, open_items: set[int]) -> None:
        self.forest, self.open = forest, open_items
        self.lines: dict[int, list[list[int]]] = {}
        self.sizes: dict[int, tuple[int, int]] = {}

    def size(self, item: int) -> tuple[int, int]:
        """Return width and height of an item."""
        if item not in self.open or not self.forest.children[item]:
            self.sizes[item] = WIDTH, HEIGHT
            return WIDTH, HEIGHT
        lines = self.lines[item] = self._lines(item)
        width, height = 0, 0
        for line in lines:
            sizes = [self.size(child) for child in line]
            width = max(width, sum(w for w, _ in sizes) + GAP * (len(line) - 1))
            height += max(h for _, h in sizes) + ROW_GAP
        head = TOP if self.forest.parent[item] < 0 else HEAD
        self.sizes[item] = width + 2 * PAD, height - ROW_GAP + head + PAD
        return self.sizes[item]

    def _lines(self, item: int) -> list[list[int]]:
        """Return the children in lines: rows, broken where they are long."""
        rows: dict[int, list[int]] = {}
        for child in self.forest.children[item]:
            rows.setdefault(self.forest.row[child], []).append(child)
        lines = []
        for members in rows.values():
            count = -(-len(members) // PER_LINE)
            per_line = -(-len(members) // count)
            lines += [members[i : i + per_line] for i in range(0, len(members), per_line)]
        return lines

    def put(self, item: int, x: int, y: int, boxes: dict[int, Box]) -> None:
        """Write the boxes of an item and of what is seen in it, with its corner at *x*, *y*."""
        width, height = self.sizes[item]
        lines = self.lines.get(item)
        boxes[item] = Box(item, x, y, width, height, lines is not None)
        if lines is None:
            return
        y += TOP if self.forest.parent[item] < 0 else HEAD
        for line in lines:
            across = sum(self.sizes[child][0] for child in line) + GAP * (len(line) - 1)
            left = x + (width - across) // 2
            for child in line:
                self.put(child, left, y, boxes)
                left += self.sizes[child][0] + GAP
            y += max(self.sizes[child][1] for child in line) + ROW_GAP
