"""Costs of nodes, and figures of devices, as options of a spec; and which times follow from them there."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.language.syntax.reserved_words import RESERVED
from mtpp_dsl.language.words.written import quantity, quoted

__all__ = ["cost_options", "figures", "modelled", "with_costs"]

AMOUNTS = (("flop", "FLOP"), ("read", "B"), ("write", "B"))


def cost_options(graph: Graph, v: int) -> dict[str, Any]:
    """Return the options of a node that say its costs; none where it has none, or those of several operators.

    Times of groups of operators are written out instead.
    """
    if not _writable(graph, v):
        return {}
    parts = [(phase.name, phase.graph.costs) for phase in graph.phases] or [("", graph.costs)]
    known = [(name, costs, costs.items_of(v)[0]) for name, costs in parts if costs is not None]
    found: dict[str, Any] = {}
    for what, unit in AMOUNTS:
        values = {name: float(getattr(costs, what)[item]) for name, costs, item in known}
        texts = {name: quantity(value, unit) for name, value in values.items() if not isnan(value)}
        if texts:
            alike = len(set(texts.values())) == 1
            given = ", ".join(f"{name}: {text}" for name, text in texts.items())
            found[what] = next(iter(texts.values())) if alike else f"{{{given}}}"
    _, costs, item = known[0]
    words = {"dtype": costs.dtypes[item], "weight_type": costs.weight_types[item]}
    return found | {what: word for what, word in words.items() if word}


def figures(device: Device) -> dict[str, str]:
    """Return the options of a device that say what it can do."""
    found = {}
    if device.peak:
        found["peak"] = _by_key(device.peak, "FLOP/s")
    if device.bandwidth is not None:
        found["bandwidth"] = quantity(device.bandwidth, "B/s")
    if device.efficiency:
        found["efficiency"] = _by_key(device.efficiency, "")
    return found


def modelled(graph: Graph, device: Device, said: Bools) -> Bools:
    """Return [n] the nodes whose times on the device the law of the package has made, and makes again of a spec.

    *said* are the nodes whose costs a spec says, see :func:`with_costs`.
    """
    sources = graph.time_sources.get(device.name)
    if sources is None or graph.law:
        return np.zeros(graph.n, np.bool_)
    found: Bools = said & (sources == TimeSource.MODELLED)
    return found


def with_costs(graph: Graph) -> Bools:
    """Return [n] the nodes whose costs a spec says: one operator each."""
    if graph.costs is None and not any(phase.graph.costs is not None for phase in graph.phases):
        return np.zeros(graph.n, np.bool_)
    return np.array([_writable(graph, v) for v in range(graph.n)], np.bool_)


def _writable(graph: Graph, v: int) -> bool:
    """Return whether the options of a node can say its costs: those of one operator, the same one in all phases."""
    parts = [phase.graph.costs for phase in graph.phases] or [graph.costs]
    words = set()
    said = set()
    for costs in parts:
        items = range(0) if costs is None else costs.items_of(v)
        if costs is None or len(items) != 1 or costs.names[items[0]] or costs.kinds[items[0]]:
            return False
        item = items[0]
        words.add((costs.dtypes[item], costs.weight_types[item]))
        said.add(tuple(isnan(getattr(costs, what)[item]) for what, _ in AMOUNTS))
    return len(words) == len(said) == 1 and not next(iter(said))[0]


def _by_key(values: Mapping[str, float], unit: str) -> str:
    """Return a map of numbers as text; of the one number that holds for all alone, that number."""
    if set(values) == {""}:
        return quantity(values[""], unit)
    entries = [f"{_key(key)}: {quantity(value, unit)}" for key, value in values.items()]
    return f"{{{', '.join(entries)}}}"


def _key(word: str) -> str:
    """Return a key of a map as text; "" stands for what has no key of its own."""
    plain = word.isidentifier() and word.isascii() and word not in RESERVED
    return word if plain else quoted(word) if word else "other"
