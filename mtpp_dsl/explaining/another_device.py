"""A problem with one more device of a type: all that depends on the numbers and names of devices is carried over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from mtpp_dsl.errors import Refused
from mtpp_dsl.explaining.altered import made_again
from mtpp_dsl.explaining.copied_rules import CopiedRules
from mtpp_dsl.problem import Interconnect, Links, Problem, Tree
from mtpp_dsl.problem.graph import Graph, frozen
from mtpp_dsl.problem.targeting import free_of

__all__ = ["alike", "new_name", "with_device"]

T = TypeVar("T")


def alike(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return the types of devices: sets of devices that differ in their names and groups alone, times included."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for d, device in enumerate(problem.devices):
        own = replace(device, name="", group=None)
        shares = (tuple(sorted(own.peak.items())), tuple(sorted(own.efficiency.items())))
        phases = b"".join(phase.time[:, d].tobytes() for phase in problem.each_phase.values())
        key = (own.type, own.memory, own.reserve, own.speed, own.pays_io, own.unsupported, own.fixed, own.overhead)
        figures = (*shares, own.price, own.price_unit, own.power, own.power_unit, own.bandwidth)
        found.setdefault((key, figures, problem.time[:, d].tobytes(), phases), []).append(d)
    return tuple(map(tuple, found.values()))


def with_device(problem: Problem, like: int) -> Problem:
    """Return *problem* with one more device like another one; it is the last device.

    * It has the other one's times, memory, group, and links. To devices of its type it is joined as the other one is.
    * What is said of all devices is said of it, and so is what is said of every device of its type, where there are
      several: of ``forall`` it has a row of its own, in sums a term. What names single devices is about those alone;
      but what limits each of the devices that it names, such as a memory, limits one like them.
    * In an order of devices it comes after the others of its family.

    Raises:
        Refused: nothing says what would join it to the others; a row, an objective or a plug-in's constraint treats
            devices of its type in different ways.
    """
    peers = next(group for group in alike(problem) if like in group)
    stated = free_of(problem)
    device = replace(stated.devices[like], name=new_name(stated, like))
    many = CopiedRules(stated, peers, like, device.name)
    return made_again(
        problem,
        graph=_graph(stated.graph, stated.devices[like].name, device.name),
        devices=[*stated.devices, device],
        interconnect=_joined(stated, like, peers),
        change=lambda asked: replace(
            asked.with_constraints(many.constraints()),
            objective=many.objective(asked.objective),
            later=tuple(many.objective(one) for one in asked.later),
        ),
    )


def new_name(problem: Problem, like: int) -> str:
    """Return a name for another device of a family: ``gpu[4]`` after ``gpu[3]``, ``cpu_2`` beside ``cpu``."""
    name, taken = problem.devices[like].name, {device.name for device in problem.devices}
    indexed = re.fullmatch(r"(.*)\[(\d+)\]", name, re.DOTALL)
    numbers = range(int(indexed[2]) + 1 if indexed else 2, len(taken) + 10**6)
    made = (f"{indexed[1]}[{i}]" if indexed else f"{name}_{i}" for i in numbers)
    return next(each for each in made if each not in taken)


def _graph(graph: Graph, old: str, new: str) -> Graph:
    """Return the graph with the tables of device *old*, by its name, for device *new*, too."""
    tables = {
        what: _also(getattr(graph, what), old, new) for what in ("times", "device_times", "batch_times", "time_sources")
    }
    phases = tuple(replace(phase, graph=_graph(phase.graph, old, new)) for phase in graph.phases)
    return replace(graph, phases=phases, **tables)  # type: ignore[arg-type]


def _also(table: Mapping[str, T], old: str, new: str) -> Mapping[str, T]:
    return MappingProxyType({**table, new: table[old]}) if old in table else table


def _joined(problem: Problem, like: int, peers: Sequence[int]) -> Interconnect:
    """Return the interconnect with the new device as its last."""
    joined = problem.interconnect
    if isinstance(joined, Tree):
        k = joined.k
        return replace(
            joined,
            parents=_inserted(joined.parents, k, like),
            uplink=_inserted(joined.uplink, k, like),
            latency=_inserted(joined.latency, k, like),
            half=_inserted(joined.half, k, like),
        )
    if not isinstance(joined, Links):
        return joined
    twin = _twin(problem, joined, like, peers)
    tables = {"bandwidth": _grown(joined.bandwidth, like, twin), "latency": _grown(joined.latency, like, twin)}
    if joined.transfers is not None:
        tables["transfers"] = _grown(joined.transfers, like, twin)
    return replace(joined, **tables)


def _twin(problem: Problem, joined: Links, like: int, peers: Sequence[int]) -> tuple[int, int]:
    """Return two devices that are joined as the new one is to *like*.

    Raises:
        Refused: there is one device of its type, and not all pairs of devices are joined alike.
    """
    others = [p for p in peers if p != like]
    near = [p for p in others if problem.devices[p].group == problem.devices[like].group] or others
    if near:
        return like, max(near, key=lambda p: (joined.bandwidth[like, p], p))
    pairs = [(d, e) for d in range(problem.k) for e in range(problem.k) if d != e]
    first = next(iter(pairs), None)
    if first is not None and joined.transfers is None:
        bandwidths = {float(joined.bandwidth[pair]) for pair in pairs}
        if len(bandwidths) == len({float(joined.latency[pair]) for pair in pairs}) == 1:
            return first
    name = problem.devices[like].name
    raise Refused(f"there is one device such as {name}, so that nothing says what would join it to another one")


def _inserted(column: Any, k: int, like: int) -> Any:
    """Return a column of devices and then switches with a row for the new device behind the *k* devices."""
    return frozen(np.concatenate((column[:k], column[like : like + 1], column[k:])), column.dtype.type)


def _grown(table: Any, like: int, twin: tuple[int, int]) -> Any:
    """Return a table over pairs of devices, its last two axes, with a row and a column as those of *like*."""
    k = table.shape[-1]
    rows = np.concatenate((table, table[..., like : like + 1, :]), axis=-2)
    wide = np.concatenate((rows, rows[..., :, like : like + 1]), axis=-1)
    wide[..., k, like] = table[..., twin[1], twin[0]]
    wide[..., like, k] = table[..., twin[0], twin[1]]
    wide[..., k, k] = table[..., like, like]
    return frozen(wide, np.float64)
