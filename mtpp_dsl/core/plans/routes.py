"""Routes of a plan: each an ordinary plan of one copy of the model, with its share of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

MAX_DIGITS = 60
"""Of the numerator and the denominator of a share that is read."""


@dataclass(frozen=True, eq=False, repr=False)
class Route(Picklable):
    """One way that inputs take.

    Attributes:
        share: of the inputs; positive, and all shares of a plan add up to 1.
        assignment: [n] device number of every node.
    """

    share: Fraction
    assignment: Ints

    def __repr__(self) -> str:
        return f"Route({self.share}, {len(self.assignment)} nodes on {len(np.unique(self.assignment))} devices)"


def merged(routes: Iterable[tuple[Fraction, Sequence[int] | Ints]]) -> tuple[Route, ...]:
    """Return routes with equal assignments as one, the largest share first; those without a share are left out."""
    shares: dict[tuple[int, ...], Fraction] = {}
    for share, assignment in routes:
        key = tuple(int(d) for d in assignment)
        shares[key] = shares.get(key, Fraction(0)) + Fraction(share)
    order = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Route(share, frozen(key, np.int64)) for key, share in order if share)


def routes_to_json(problem: Problem, routes: Sequence[Route]) -> list[dict[str, Any]]:
    """Return the ``plan.routes`` of the JSON answer: shares as fractions in text, devices by name."""
    names = [device.name for device in problem.devices]
    return [
        {
            "share": str(route.share),
            "assign": {node: names[d] for node, d in zip(problem.graph.names, route.assignment.tolist(), strict=True)},
        }
        for route in routes
    ]


def routes_from_json(problem: Problem, rows: object) -> list[tuple[Fraction, list[int]]]:
    """Read the ``plan.routes`` of a JSON answer.

    Raises:
        UsageError: they are no list of a share and the device of every node.
    """
    if not isinstance(rows, list) or not rows:
        raise UsageError('the routes of a plan are a list: each has a share, such as "2/7", and assign')
    return [_route(problem, i, row) for i, row in enumerate(rows)]


def _route(problem: Problem, i: int, row: object) -> tuple[Fraction, list[int]]:
    place = f"plan.routes[{i}]"
    if not isinstance(row, Mapping) or set(row) != {"share", "assign"} or not isinstance(row["assign"], Mapping):
        raise UsageError(f"{place} has to have share and assign, which gives each node its device")
    assignment: list[int] = []
    for node in problem.graph.names:
        device = row["assign"].get(node)
        if not isinstance(device, str) or device not in problem.device_index:
            hint = did_you_mean(str(device), problem.device_index)
            raise UsageError(f"{place} puts {node!r} on {device!r}, which is no device{hint}")
        assignment.append(problem.device_index[device])
    unknown = next((node for node in row["assign"] if node not in problem.graph.index), None)
    if unknown is not None:
        raise UsageError(f"{place} places {unknown!r}, which is no node{did_you_mean(unknown, problem.graph.names)}")
    return _share(place, row["share"]), assignment


def _share(place: str, text: object) -> Fraction:
    parts = text.split("/") if isinstance(text, str) else []
    digits = all(part.isascii() and part.isdigit() and len(part) <= MAX_DIGITS for part in parts)
    if not 1 <= len(parts) <= 2 or not digits or int(parts[-1]) == 0:
        raise UsageError(f'{place}.share is a fraction in text, such as "2/7"; this is {text!r:.80}')
    return Fraction(int(parts[0]), int(parts[1]) if parts[1:] else 1)
