"""Give the stages of routes devices of their types: all devices of a type are loaded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import Route
from mtpp_dsl.solvers.partition.copies.shares import USED, Mix, best_mix

__all__ = ["PlacedRoute", "placed", "placed_apart", "placed_loads"]


@dataclass(frozen=True)
class PlacedRoute:
    """A route whose stages have devices.

    Attributes:
        route: its stages.
        devices: [stages] the device of each; -1 while it has none.
    """

    route: Route
    devices: tuple[int, ...]

    def assignment(self, instance: Any) -> Ints:
        """Return [n] the device of each node."""
        device = np.empty(instance.n, np.int64)
        for (begin, stop, _), d in zip(self.route, self.devices, strict=True):
            device[instance.nodes(begin, stop)] = d
        return device


def placed_loads(instance: Any, routes: Sequence[PlacedRoute]) -> Floats:
    """Return [routes, devices + channels] the loads of routes; of devices of a type without stages its average."""
    k = 1 + max(max(group) for group in instance.members)
    load = np.zeros((len(routes), k + instance.channels))
    for row, one in zip(load, routes, strict=True):
        for (_, _, kind), d, own in zip(one.route, one.devices, instance.stage_loads(one.route), strict=True):
            if d < 0:
                row[list(instance.members[kind])] += own / len(instance.members[kind])
            else:
                row[d] += own
        row[k:] = instance.channel_loads(one.route)
    return load


def placed_apart(instance: Any, routes: Sequence[Route]) -> list[PlacedRoute]:
    """Return routes that share no device, on the first devices of each type that are free."""
    free = [list(group) for group in instance.members]
    return [PlacedRoute(route, tuple(free[kind].pop(0) for _, _, kind in route)) for route in routes]


def placed(instance: Any, mix: Mix) -> tuple[list[PlacedRoute], Floats]:
    """Return routes on devices, and their shares, that have the period of routes by types.

    One type after the other: a route is replaced by those in which the devices of the type are turned on by one, two,
    ..., whose equal shares load all of them alike. A basic solution of the programme over shares then leaves as many
    routes as there are devices, at most.
    """
    routes = [PlacedRoute(route, (-1,) * len(route)) for route in mix.routes]
    shares = mix.shares
    for kind, members in enumerate(instance.members):
        turned = [new for one in routes for new in _turned(one, kind, members)]
        if len(turned) > len(routes):
            _, shares, _ = best_mix(placed_loads(instance, turned))
            routes = [one for one, share in zip(turned, shares, strict=True) if share > USED]
            shares = shares[shares > USED]
        else:
            routes = turned
    return routes, shares / shares.sum()


def _turned(one: PlacedRoute, kind: int, members: Sequence[int]) -> list[PlacedRoute]:
    """Return the routes in which stages of this type are on its devices in turn, from each of them on."""
    stages = [i for i, (_, _, own) in enumerate(one.route) if own == kind]
    if not stages:
        return [one]
    turned = []
    for first in range(len(members)):
        devices = list(one.devices)
        for place, i in enumerate(stages):
            devices[i] = members[(first + place) % len(members)]
        turned.append(PlacedRoute(one.route, tuple(devices)))
    return turned
