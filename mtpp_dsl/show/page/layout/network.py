"""Where devices, switches and wires of a picture of the network are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, pi, sin

from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.problem import Problem

WIDE, TALL = 112, 34
"""Of a box."""
STEP, LEVEL = 132, 96
"""From one box to the next of its row, and from one row to the next."""
MARGIN = 12
MAX_SPOTS = 40
"""Networks of more devices are drawn without those that do nothing, or not at all."""


@dataclass(frozen=True)
class Spot:
    """A box: a device, a switch, or what all devices share.

    Attributes:
        name: what it is called.
        device: its number; -1 of what is no device.
        x, y, width: of its box.
        group: the group of devices that it is in, "" for none.
    """

    name: str
    device: int
    x: float
    y: float
    width: float = WIDE
    group: str = ""


@dataclass(frozen=True)
class NetworkLine:
    """A line between two boxes, given by their places in the list.

    Attributes:
        a, b: places of the boxes.
        up, down: names of the channels from *a* to *b* and back; equal where both share one.
        start, end: where it begins and ends.
        upright: whether *b* is above *a*, as a switch is.
    """

    a: int
    b: int
    up: str
    down: str
    start: tuple[float, float]
    end: tuple[float, float]
    upright: bool = True


@dataclass(frozen=True)
class Diagram:
    """The picture: boxes, wires, and its size."""

    spots: tuple[Spot, ...]
    wires: tuple[NetworkLine, ...]
    width: float
    height: float


def diagram(problem: Problem, used: Iterable[int], carrying: Iterable[tuple[int, int]]) -> Diagram | None:
    """Return the network of a problem; None where it has too many devices for a picture.

    Args:
        problem: with any interconnect.
        used: devices that run something; of many devices only these are drawn.
        carrying: pairs of devices that send something, of links: other links are drawn where there are few.
    """
    shown = list(range(problem.k))
    if len(shown) > MAX_SPOTS:
        shown = sorted(set(used))
    if not 1 <= len(shown) <= MAX_SPOTS:
        return None
    if isinstance(problem.interconnect, Tree):
        return _tree(problem, problem.interconnect, shown)
    if isinstance(problem.interconnect, Links):
        return _ring(problem, problem.interconnect, shown, set(carrying))
    return _bus(problem, shown)


def _tree(problem: Problem, tree: Tree, shown: list[int]) -> Diagram:
    """Return switches above the devices that hang from them."""
    k, names = tree.k, [*(device.name for device in problem.devices), *tree.switches]
    above = tree.parents.tolist()
    inside: dict[int, list[int]] = {}
    for x in [*shown, *range(k, len(names))]:
        inside.setdefault(k + above[x] if above[x] >= 0 else -1, []).append(x)
    places: dict[int, tuple[float, int]] = {}
    free = [MARGIN + WIDE / 2]

    def put(x: int) -> int:
        """Place *x* and all below it, and return its height: 0 of a device."""
        below = inside.get(x, [])
        heights = [put(child) for child in below]
        if below:
            middle = sum(places[child][0] for child in below) / len(below)
        else:
            middle = free[0]
            free[0] += STEP
        places[x] = middle, max(heights, default=-1) + 1
        return places[x][1]

    for root in inside.get(-1, []):
        put(root)
    top = max((height for _, height in places.values()), default=0)
    order = sorted(places)
    number = {x: i for i, x in enumerate(order)}
    spots = [
        Spot(names[x], x if x < k else -1, places[x][0] - WIDE / 2, MARGIN + (top - places[x][1]) * LEVEL)
        for x in order
    ]
    wires = []
    for x in order:
        if above[x] < 0:
            continue
        one, other = spots[number[x]], spots[number[k + above[x]]]
        up, down = f"{one.name} -> {other.name}", f"{other.name} -> {one.name}"
        if tree.half[x]:
            up = down = f"{one.name} <-> {other.name}"
        start, end = (one.x + WIDE / 2, one.y), (other.x + WIDE / 2, other.y + TALL)
        wires.append(NetworkLine(number[x], number[k + above[x]], up, down, start, end))
    return Diagram(tuple(spots), tuple(wires), free[0] - STEP + WIDE / 2 + MARGIN, top * LEVEL + TALL + 2 * MARGIN)


def _ring(problem: Problem, links: Links, shown: list[int], carrying: set[tuple[int, int]]) -> Diagram:
    """Return devices on an oval, with the links between them."""
    count = len(shown)
    across, down = max(150.0 if count < 4 else 240.0, 44.0 * count), max(95.0, 26.0 * count)
    if count <= 2:
        across, down = 150.0, 0.0
    spots = []
    for i, d in enumerate(shown):
        angle = pi + 2 * pi * i / count
        x, y = MARGIN + across * (1 + cos(angle)), MARGIN + down * (1 + sin(angle))
        spots.append(Spot(problem.devices[d].name, d, x, y))
    wires = []
    few = count <= 8
    for i, d in enumerate(shown):
        for j, e in enumerate(shown):
            linked = links.bandwidth[d, e] > 0 or links.bandwidth[e, d] > 0
            if i < j and ((linked and few) or (d, e) in carrying or (e, d) in carrying):
                one, other = spots[i], spots[j]
                up, back = f"{one.name} -> {other.name}", f"{other.name} -> {one.name}"
                if links.duplex == "half":
                    up = back = f"{one.name} <-> {other.name}"
                start, end = ((spot.x + WIDE / 2, spot.y + TALL / 2) for spot in (one, other))
                wires.append(NetworkLine(i, j, up, back, start, end, upright=False))
    return Diagram(tuple(spots), tuple(wires), 2 * across + WIDE + 2 * MARGIN, 2 * down + TALL + 2 * MARGIN)


def _bus(problem: Problem, shown: list[int]) -> Diagram:
    """Return devices under the one channel, or memory, that all of them share; those of a group side by side."""
    groups: dict[str, list[int]] = {}
    for d in shown:
        groups.setdefault(problem.devices[d].group or "", []).append(d)
    spots: list[Spot] = []
    x = float(MARGIN)
    for group, members in groups.items():
        for d in members:
            spots.append(Spot(problem.devices[d].name, d, x, MARGIN + LEVEL + 12, group=group))
            x += STEP
        x += 2 * MARGIN if len(groups) > 1 else 0
    width = x - (STEP - WIDE) + (MARGIN if len(groups) == 1 else -MARGIN)
    name = "host memory" if problem.interconnect.keyword == "host" else "shared channel"
    spots.append(Spot(name, -1, MARGIN, MARGIN, width - 2 * MARGIN))
    wires = []
    for i, spot in enumerate(spots[:-1]):
        middle = spot.x + WIDE / 2
        wires.append(
            NetworkLine(
                i, len(spots) - 1, f"out {spot.device}", f"in {spot.device}", (middle, spot.y), (middle, MARGIN + TALL)
            )
        )
    return Diagram(tuple(spots), tuple(wires), width, MARGIN + LEVEL + 12 + TALL + 2 * MARGIN)
