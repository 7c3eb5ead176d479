"""Draw problems of mtpplib, stratified by group and size, in an order of which every beginning is balanced."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from pathlib import Path
from random import Random
from typing import NamedTuple

from mtpp_dsl.sweeps.library.record import BestKnown

FILE = Path(__file__).with_name("sample.csv")
SEED, COUNT = 30, 120
HALVES = ("choose", "test")


class Drawn(NamedTuple):
    """A problem of the sample.

    Attributes:
        name: in mtpplib.
        group: there.
        half: "choose" where the policy of ``auto`` may be set by it, "test" where it is only measured.
    """

    name: str
    group: str
    half: str


def draw(records: Iterable[BestKnown], count: int = COUNT, seed: int = SEED) -> list[Drawn]:
    """Return *count* problems.

    A group has a share in proportion to the square root of its size, so that small groups are not lost. It is sorted by
    nodes and devices and cut into strata of equal sizes, one a problem; each gives one at random. A group's problems
    come evenly spread over the sample, each as far as possible in size from those before it, and belong to the two
    halves in turn.
    """
    random = Random(seed)
    groups: dict[str, list[BestKnown]] = {}
    for record in sorted(records, key=lambda one: one.name):
        groups.setdefault(record.group, []).append(record)
    places: list[tuple[float, Drawn]] = []
    for turn, (group, quota) in enumerate(sorted(_quotas(groups, count).items())):
        members = sorted(groups[group], key=lambda one: (one.nodes or 0, one.devices or 0, one.name))
        cuts = [round(i * len(members) / quota) for i in range(quota + 1)]
        drawn = [random.choice(members[start:end]) for start, end in pairwise(cuts)]
        for i, stratum in enumerate(_far_apart(quota)):
            place = (i + random.uniform(0.3, 0.7)) / quota
            places.append((place, Drawn(drawn[stratum].name, group, HALVES[(i + turn) % 2])))
    return [one for _, one in sorted(places)]


def _quotas(groups: dict[str, list[BestKnown]], count: int) -> dict[str, int]:
    """Return how many problems each group gives: those with the largest remainders make up what rounding leaves."""
    whole = sum(sqrt(len(members)) for members in groups.values())
    exact = {group: count * sqrt(len(members)) / whole for group, members in groups.items()}
    quotas = {group: int(share) for group, share in exact.items()}
    largest = sorted(exact, key=lambda group: (quotas[group] - exact[group], group))
    for group in largest[: count - sum(quotas.values())]:
        quotas[group] += 1
    return quotas


def _far_apart(count: int) -> list[int]:
    """Return the numbers below *count*, the middle one first, and then always one that is farthest from all before.

    >>> _far_apart(5)
    [2, 0, 4, 1, 3]
    """
    order = [count // 2]
    while len(order) < count:
        left = [number for number in range(count) if number not in order]
        order.append(max(left, key=lambda number: (min(abs(number - other) for other in order), -number)))
    return order


def write(sample: Sequence[Drawn], path: Path = FILE) -> None:
    """Write the sample as CSV, in its order."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([Drawn._fields, *sample])


def read(path: Path = FILE) -> list[Drawn]:
    """Return the sample as it was drawn, in its order."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Drawn(**row) for row in csv.DictReader(file)]
