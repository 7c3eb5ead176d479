"""Find what nodes would take on devices that do not support their kinds, if these did."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.problem.problem import Problem, running_times
from mtpp_dsl.show.explaining.altered import made_again

__all__ = ["barred_devices", "supporting"]


def supporting(problem: Problem, devices: Collection[int]) -> Problem:
    """Return *problem* with some devices that support all kinds: nodes take there what their work or times say.

    Raises:
        Refused: such a problem cannot be asked; says why.
    """
    chosen = [problem.devices[d] for d in devices]
    made = [replace(x, unsupported=frozenset()) if d in devices else x for d, x in enumerate(problem.devices)]
    return made_again(problem, graph=_graph(problem.graph, chosen), devices=made)


def barred_devices(problem: Problem) -> list[int]:
    """Return the devices that could run nodes whose kinds they do not support, if they supported them.

    Left out are those for which nothing says what these nodes would take there, such as a law of costs that is not
    asked for kinds that a device does not support.
    """
    phases = [phase.graph for phase in problem.graph.phases] or [problem.graph]
    found = []
    for d, device in enumerate(problem.devices):
        free = replace(device, unsupported=frozenset())
        barred = np.array([kind in device.unsupported for kind in problem.graph.kinds], np.bool_)
        if barred.any():
            times = [running_times(_graph(graph, [device]), [free])[barred, 0] for graph in phases]
            if np.isfinite(times).all(axis=0).any():
                found.append(d)
    return found


def _graph(graph: Graph, devices: Collection[Device]) -> Graph:
    """Return the graph with times, in the tables of some devices, of nodes whose kinds these do not support."""
    tables = dict(graph.device_times)
    for device in devices:
        own = tables.get(device.name)
        if own is None or not device.unsupported:
            continue
        rest = replace(graph, device_times=MappingProxyType({}))
        stated = running_times(rest, [replace(device, unsupported=frozenset())])[:, 0]
        fill = np.isinf(own) & np.array([kind in device.unsupported for kind in graph.kinds], np.bool_)
        if graph.costs is not None:  # of these the law would have to say it
            costly = np.zeros(graph.n, np.bool_)
            costly[graph.costs.nodes] = True
            fill &= ~(costly & (graph.work == 0))
        tables[device.name] = frozen(np.where(fill, stated, own), np.float64)
    phases = tuple(replace(phase, graph=_graph(phase.graph, devices)) for phase in graph.phases)
    return replace(graph, phases=phases, device_times=MappingProxyType(tables))
