"""Labelled rows as arrays, for compiled searches that move supernodes between devices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Finish, Latency, Linear, Load, Makespan, On, Start, Used
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

SLACK = 5e-7
"""Of the right-hand side: by how much a row may be missed in a search, half of what the check of plans allows."""
ROUNDING = 1e-12
"""Of the largest numbers in a row: what sums may be off by."""


class LabelledRows(NamedTuple):
    """Labelled rows, and what each is at the moment.

    Row r is ``on[r]`` and, for each of its parts, ``per_load * load[d] + per_use * (occupants[d] > 0)`` of the part's
    device, ``per_peak[r]`` times the largest load or the makespan, and for each of its moments ``per_time`` times the
    end of a node. It holds if that is between ``low[r]`` and ``high[r]``, with ``slack[r]`` for rounding.

    Attributes:
        at: [n k + 1] row pointers into ``row`` and ``weight``: of supernode c on device d from ``at[c * k + d]`` on.
        row, weight: what the supernode adds there to which rows.
        part_at: [rows + 1] row pointers into ``part``, ``per_load`` and ``per_use``.
        part: devices.
        per_load, per_use: coefficients of their loads, and of their being used.
        per_peak: [rows] coefficients of the largest load, or of the makespan.
        moment_at: [rows + 1] row pointers into ``moment``, ``per_time`` and ``ahead``.
        moment: nodes.
        per_time: coefficients of their ends.
        ahead: 1 where the row speaks of the node's start, which is its end less its time on its device.
        low, high, slack, scale: [rows]; a row missed by *scale* counts as much as one that is missed at all.
        on: [rows] what placements add to each row now.
        occupants: [devices] supernodes on each now.
        charge: [1] what is charged for the rows that do not hold now.
    """

    at: Ints
    row: Ints
    weight: Floats
    part_at: Ints
    part: Ints
    per_load: Floats
    per_use: Floats
    per_peak: Floats
    moment_at: Ints
    moment: Ints
    per_time: Floats
    ahead: Ints
    low: Floats
    high: Floats
    slack: Floats
    scale: Floats
    on: Floats
    occupants: Ints
    charge: Floats

    def fresh(self, device: Ints) -> LabelledRows:
        """Return rows of their own for a search that begins with supernodes on *device*, [n]."""
        own = self._replace(on=np.zeros_like(self.on), occupants=np.zeros_like(self.occupants), charge=np.zeros(1))
        own.recount(device)
        return own

    def recount(self, device: Ints) -> None:
        """Count placements anew: sums that change by differences drift."""
        k = len(self.occupants)
        self.occupants[:] = np.bincount(device, minlength=k)
        self.on[:] = 0.0
        place = np.arange(len(device)) * k + device
        lengths = self.at[place + 1] - self.at[place]
        first = np.repeat(self.at[place] - np.append(0, np.cumsum(lengths)[:-1]), lengths)
        entries = first + np.arange(len(first))
        np.add.at(self.on, self.row[entries], self.weight[entries])


def rows_of(problem: Problem, group: Ints, unit: float = 1.0, time: Floats | None = None) -> LabelledRows | None:
    """Return the rows that every plan of *problem* must keep, or None if there are none.

    Args:
        problem: what is asked.
        group: [nodes] the supernode of each.
        unit: of the loads that a search has.
        time: [supernodes, devices] on links, where a load is a sum of these, and no largest load is kept; else None.
    """
    asked = problem.hard_rows
    if not asked:
        return None
    k, n = problem.k, int(group.max(initial=-1)) + 1
    placed: dict[tuple[int, int], float] = {}
    parts: list[dict[int, list[float]]] = [{} for _ in asked]
    moments: list[list[tuple[int, float, int]]] = [[] for _ in asked]
    per_peak, scale = np.zeros(len(asked)), np.zeros(len(asked))
    # Sort the terms by what they depend on: where a node is (placed), the load or use of a device (parts), the largest
    # load or the makespan (per_peak), the times of a node (moments).
    for r, row in enumerate(asked):
        for decision, given in row.terms:
            a = float(given)
            match decision:
                case On(node, d):
                    key = (int(group[node]) * k + d, r)
                    placed[key] = placed.get(key, 0.0) + a
                case Load(d) if time is not None:
                    for c in np.flatnonzero(time[:, d]).tolist():
                        key = (c * k + d, r)
                        placed[key] = placed.get(key, 0.0) + a * float(time[c, d])
                case Load(d):
                    parts[r].setdefault(d, [0.0, 0.0])[0] += a * unit
                case Used(d):
                    parts[r].setdefault(d, [0.0, 0.0])[1] += a
                case Latency() if time is None:
                    for d in range(k):
                        parts[r].setdefault(d, [0.0, 0.0])[0] += a * unit
                case Bottleneck() if time is None:
                    per_peak[r] += a * unit
                case Makespan():
                    per_peak[r] += a
                case Start(node) | Finish(node):
                    moments[r].append((node, a, int(isinstance(decision, Start))))
                case _:
                    raise NotImplementedError(f"{type(decision).__name__} in constraint {row}")
        scale[r] = _size(problem, row)
    # Lay the tables out one after the other, for a compiled loop: entries of a place stand between two pointers.
    keys = sorted(placed)
    at = np.searchsorted([place for place, _ in keys], np.arange(n * k + 1)).astype(np.int64)
    spread = [(d, *pair) for row_parts in parts for d, pair in sorted(row_parts.items())]
    ends = [moment for row_moments in moments for moment in row_moments]
    rhs = np.array([row.rhs for row in asked], np.float64)
    return LabelledRows(
        at=at,
        row=np.array([r for _, r in keys], np.int64),
        weight=np.array([placed[key] for key in keys], np.float64),
        part_at=_pointers(list(map(len, parts))),
        part=np.array([d for d, _, _ in spread], np.int64),
        per_load=np.array([a for _, a, _ in spread], np.float64),
        per_use=np.array([a for _, _, a in spread], np.float64),
        per_peak=per_peak,
        moment_at=_pointers(list(map(len, moments))),
        moment=np.array([v for v, _, _ in ends], np.int64),
        per_time=np.array([a for _, a, _ in ends], np.float64),
        ahead=np.array([ahead for _, _, ahead in ends], np.int64),
        low=np.where([row.sense == "<=" for row in asked], -np.inf, rhs),
        high=np.where([row.sense == ">=" for row in asked], np.inf, rhs),
        slack=SLACK * np.abs(rhs) + ROUNDING * scale,
        scale=scale,
        on=np.zeros(len(asked)),
        occupants=np.zeros(k, np.int64),
        charge=np.zeros(1),
    )


def _size(problem: Problem, row: Linear) -> float:
    """Return what a row may be missed by, about: its right-hand side, or its largest terms."""
    times = float(np.where(np.isfinite(problem.time), problem.time, 0.0).max(initial=0.0))
    largest = max((abs(a) * (1.0 if isinstance(one, (On, Used)) else times) for one, a in row.terms), default=0.0)
    return max(abs(float(row.rhs)), largest) or 1.0


def _pointers(lengths: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
