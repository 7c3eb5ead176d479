"""Read the parts of a certificate ``anchors``, and refuse what is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.anchor_module import Weights, WholeTimes
from mtpp_dsl.solvers.proofs.anchor_windows import Priced

__all__ = ["means_of", "nodes_of", "prices_of"]

MAX_WEIGHT = 1_000
MAX_PRICE = 1 << 17


def nodes_of(problem: Problem, names: object, where: str) -> list[int]:
    """Return the numbers of named nodes."""
    number_of = {name: v for v, name in enumerate(problem.graph.names)}
    if not isinstance(names, list) or not all(isinstance(name, str) and name in number_of for name in names):
        raise Refused(f"{where} is not a list of nodes")
    return [number_of[name] for name in names]


def means_of(problem: Problem, data: Mapping[str, Any], *, exclusive: bool) -> list[tuple[int | None, int, Weights]]:
    """Return the device of the hub, that of the cuts, and the weights, of each mean of a certificate."""
    numbers: dict[object, int] = {device.name: d for d, device in enumerate(problem.devices)}
    given = data.get("means")
    if not isinstance(given, list) or not all(isinstance(mean, list) and len(mean) == 5 for mean in given):
        raise Refused("means is not a list of two devices and three weights each")
    found = []
    for hub, d, *weights in given:
        if not (hub is None or isinstance(hub, str)) or not isinstance(d, str):
            raise Refused(f"{[hub, d]!r} are not two devices")
        if d not in numbers or (hub is not None and hub not in numbers):
            raise Refused(f"{[hub, d]!r} are not two devices")
        if not all(type(weight) is int and 0 <= weight <= MAX_WEIGHT for weight in weights) or sum(weights) == 0:
            raise Refused(f"weights are whole numbers up to {MAX_WEIGHT}, not {weights!r}")
        if not exclusive and (weights[1] or weights[2]):
            raise Refused("without exclusive links, transfers take no time of a port")
        found.append((None if hub is None else numbers[hub], numbers[d], Weights(*weights)))
    return found


PricedModules: TypeAlias = tuple[list[int], tuple[int | None, int | None], int, list[list[Priced]]]


def prices_of(problem: Problem, times: WholeTimes, given: object, count: int) -> list[PricedModules]:
    """Return which of *count* modules prices are for, devices of their ends, the limit in units, and the windows."""
    numbers = {device.name: d for d, device in enumerate(problem.devices)}
    if not isinstance(given, list) or not all(isinstance(item, list) and len(item) == 5 for item in given):
        raise Refused("prices is not a list of modules, two devices, a limit and rounds each")
    found = []
    for modules, *names, limit, rounds in given:
        if not isinstance(modules, list) or not all(type(j) is int and 0 <= j < count for j in modules):
            raise Refused(f"{modules!r:.40} are not modules")
        if not all(name is None or (isinstance(name, str) and name in numbers) for name in names):
            raise Refused(f"{names!r:.40} are not two devices")
        first, last = (None if name is None else numbers[name] for name in names)
        if not isinstance(rounds, list) or not all(isinstance(windows, list) for windows in rounds):
            raise Refused("prices have no list of rounds")
        read = [[_window(numbers, times, window) for window in windows] for windows in rounds]
        found.append((modules, (first, last), min(times.units(limit), times.limit), read))
    return found


def _window(numbers: Mapping[str, int], times: WholeTimes, given: object) -> Priced:
    if not isinstance(given, list) or len(given) != 5:
        raise Refused(f"{given!r:.40} is no window")
    kind, name, head, tail, price = given
    if not (type(kind) is int and 0 <= kind <= 2 and isinstance(name, str) and name in numbers):
        raise Refused(f"{given!r:.40} is a window of no device")
    if not (type(price) is int and 0 <= price <= MAX_PRICE):
        raise Refused(f"a price is a whole number up to {MAX_PRICE}, not {price!r:.40}")
    return Priced(kind, numbers[name], times.units(head), times.units(tail), price)
