"""Options of devices and nodes as a spec says them: trees of switches, costs of nodes, figures of devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.words.written import option_list, quantity, quoted

AMOUNTS = (("flop", "FLOP"), ("read", "B"), ("write", "B"))


def cost_options(graph: Graph, v: int) -> dict[str, Any]:
    """Return the options of a node that say its costs; none where it has none, or those of several operators.

    Times of groups of operators are written out instead.
    """
    if not _writable(graph, v):
        return {}
    parts = [(phase.name, phase.graph.costs) for phase in graph.phases] or [("", graph.costs)]
    known = [(name, costs, costs.items_of(v)[0]) for name, costs in parts if costs is not None]
    options: dict[str, Any] = {}
    for what, unit in AMOUNTS:
        values = {name: float(getattr(costs, what)[item]) for name, costs, item in known}
        texts = {name: quantity(value, unit) for name, value in values.items() if not isnan(value)}
        if texts:
            alike = len(set(texts.values())) == 1
            given = ", ".join(f"{name}: {text}" for name, text in texts.items())
            options[what] = next(iter(texts.values())) if alike else f"{{{given}}}"
    _, costs, item = known[0]
    words = {"dtype": costs.dtypes[item], "weight_type": costs.weight_types[item]}
    return options | {what: word for what, word in words.items() if word}


def figures(device: Device) -> dict[str, str]:
    """Return the options of a device that say what it can do."""
    options = {}
    if device.peak:
        options["peak"] = _by_key(device.peak, "FLOP/s")
    if device.bandwidth is not None:
        options["bandwidth"] = quantity(device.bandwidth, "B/s")
    if device.efficiency:
        options["efficiency"] = _by_key(device.efficiency, "")
    return options


def modelled(graph: Graph, device: Device, costed: Bools) -> Bools:
    """Return [n] the nodes whose times on the device the law of the package has made, and makes again of a spec.

    *costed* are the nodes whose costs a spec says, see :func:`with_costs`.
    """
    sources = graph.time_sources.get(device.name)
    if sources is None or graph.law:
        return np.zeros(graph.n, np.bool_)
    nodes: Bools = costed & (sources == TimeSource.MODELLED)
    return nodes


def with_costs(graph: Graph) -> Bools:
    """Return [n] the nodes whose costs a spec says: one operator each."""
    if graph.costs is None and not any(phase.graph.costs is not None for phase in graph.phases):
        return np.zeros(graph.n, np.bool_)
    return np.array([_writable(graph, v) for v in range(graph.n)], np.bool_)


def _writable(graph: Graph, v: int) -> bool:
    """Return whether the options of a node can say its costs: those of one operator, the same one in all phases."""
    parts = [phase.graph.costs for phase in graph.phases] or [graph.costs]
    words = set()
    unknown = set()
    for costs in parts:
        items = range(0) if costs is None else costs.items_of(v)
        if costs is None or len(items) != 1 or costs.names[items[0]] or costs.kinds[items[0]]:
            return False
        item = items[0]
        words.add((costs.dtypes[item], costs.weight_types[item]))
        unknown.add(tuple(isnan(getattr(costs, what)[item]) for what, _ in AMOUNTS))
    return len(words) == len(unknown) == 1 and not next(iter(unknown))[0]


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


def split_options(joined: Links | Tree) -> dict[str, Any]:
    """Return what is said of splits and is not as it is by default."""
    options: dict[str, Any] = {}
    if joined.overlap != "none":
        options["overlap"] = joined.overlap
    if joined.send != "once":
        options["send"] = joined.send
    if isinstance(joined, Links) and joined.duplex != "full":
        options["duplex"] = joined.duplex
    return options


def hung(problem: Problem, tree: Tree, row: int) -> dict[str, Any]:
    """Return the options that say where a device hangs; *row* is its number."""
    options = _uplink(problem, tree, row)
    if tree.parents[row] >= 0:
        options = {"switch": tree.switches[int(tree.parents[row])], **options}
    return options


def switches(problem: Problem) -> Iterator[str]:
    """Yield a statement for every switch of a tree, in their order."""
    tree = problem.interconnect
    if not isinstance(tree, Tree):
        return
    for s, name in enumerate(tree.switches):
        options = _uplink(problem, tree, problem.k + s)
        above = int(tree.parents[problem.k + s])
        if above >= 0:
            options["under"] = tree.switches[above]
        yield f"switch {quoted(name)}{option_list(options, texts=('under',), words=('duplex',))}"


def _uplink(problem: Problem, tree: Tree, row: int) -> dict[str, Any]:
    """Return the options of an uplink; a device or switch that is under nothing has none."""
    sized = bool(problem.graph.output.any() or problem.graph.sizes.any())
    rate = "B/s" if (problem.graph.size_unit == "B" if sized else problem.time_unit) else ""
    options: dict[str, Any] = {}
    if np.isfinite(tree.uplink[row]):
        options["uplink"] = quantity(float(tree.uplink[row]), rate)
    if tree.latency[row]:
        options["latency"] = quantity(float(tree.latency[row]), problem.time_unit)
    above = [problem.k + int(s) for s in tree.parents[row : row + 1] if s >= 0]
    while above and not tree.half[above[-1]] and tree.parents[above[-1]] >= 0:
        above.append(problem.k + int(tree.parents[above[-1]]))
    inherited = bool(above and tree.half[above[-1]])
    if tree.parents[row] >= 0 and tree.half[row] != inherited:
        options["duplex"] = "half" if tree.half[row] else "full"
    return options
