"""Splits in the form of tarnawski2020's program: lists of nodes, one for each accelerator and each CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem

KINDS = {"fpgas": True, "cpus": False}
"""What its lists are called, and whether their devices pay for tensors."""


def is_split(data: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether *data* has lists of ``fpgas`` and ``cpus``, as the published splits by hand do."""
    return isinstance(data, Mapping) and set(KINDS) <= set(data)


def assignment_of_split(problem: Problem, data: Mapping[str, object]) -> dict[str, str]:
    """Return the device of every node by name.

    The entries of ``fpgas`` are the devices that pay for their tensors, in the order in which they are declared, those
    of ``cpus`` the others; nodes are called by their ids. A node that is in no list goes where the nodes of its colour
    class are: splits by hand of a graph place its training graph as well.

    Raises:
        UsageError: not such a split, more lists with nodes than devices, a node in two lists, or one of a colour class
            that is on two devices.
    """
    devices: dict[str, str] = {}
    for name, pays in KINDS.items():
        there = [device.name for device in problem.devices if device.pays_io == pays]
        for i, node in _entries(data[name], name):
            if i >= len(there):
                raise UsageError(f"the split has nodes in {name}[{i}], and there are {len(there)} such devices")
            if devices.setdefault(node, there[i]) != there[i]:
                raise UsageError(f"the split places node {node!r} twice, on {devices[node]} and {there[i]}")
    return devices | _inferred(problem, devices)


def _entries(lists: object, name: str) -> Iterator[tuple[int, str]]:
    entries = lists if isinstance(lists, list) else [lists]
    for i, entry in enumerate(entries):
        nodes = entry.get("nodes") if isinstance(entry, Mapping) else None
        if not isinstance(nodes, list) or not all(isinstance(node, (int, str)) for node in nodes):
            raise UsageError(f'{name}[{i}] of the split is not {{"nodes": [ids]}}')
        for node in nodes:
            yield i, str(node)


def _inferred(problem: Problem, devices: Mapping[str, str]) -> dict[str, str]:
    graph = problem.graph
    colors = dict(zip(graph.names, graph.colors.tolist(), strict=True))
    homes: dict[int, set[str]] = {}
    for node, device in devices.items():
        if colors.get(node, -1) >= 0:
            homes.setdefault(colors[node], set()).add(device)
    inferred: dict[str, str] = {}
    for node in graph.names:
        home = homes.get(colors[node], set()) if node not in devices else set()
        if len(home) > 1:
            raise UsageError(
                f"the split does not place node {node!r}, and has its colour class on {' and '.join(sorted(home))}"
            )
        if home:
            (inferred[node],) = home
    return inferred
